/* Port for Cortex-M: the lock masks interrupts and keeps the former mask in its word. It may
 * therefore be taken in thread mode, in any interrupt except NMI and HardFault, and with interrupts
 * already masked; locks that nest restore the mask in order.
 *
 * For one core: another core's interrupts are not masked. */
#include <tickwheel/cortexm/interrupts.h>

/* There is no other thread to wait for: code that runs has the core to itself. */
#define TW_PORT_ONE_THREAD

static inline void tw_port_lock_init(uint32_t *word) { *word = 0; }

/* The word is written after masking, so it holds the mask that this caller has to restore. */
static inline void tw_port_lock(uint32_t *word) {
    const uint32_t mask = tw_interrupts_mask();
    *word = mask;
}
static inline void tw_port_unlock(uint32_t *word) { tw_interrupts_restore(*word); }
