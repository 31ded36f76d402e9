/* Port for Cortex-M: the lock masks interrupts and keeps the former mask in its word.
 * So it may be taken in thread mode, in any interrupt but NMI and HardFault, and with
 * interrupts masked already; and locks that nest restore in order.
 *
 * One core only: on another one, interrupts go on. */
#include <tickwheel/cortexm/interrupts.h>

/* Nobody waits for another thread: whoever runs has the core to itself. */
#define TW_PORT_ONE_THREAD

static inline void tw_port_lock_init(uint32_t *word) { *word = 0; }

/* The word is written once nobody else can: it holds what this caller has to restore. */
static inline void tw_port_lock(uint32_t *word) {
    const uint32_t mask = tw_interrupts_mask();
    *word = mask;
}
static inline void tw_port_unlock(uint32_t *word) { tw_interrupts_restore(*word); }
