/* Port for RISC-V in machine mode: the lock clears mstatus.MIE and keeps in its word what that
 * was. So it may be taken in main, in any interrupt, and with interrupts masked already; and locks
 * that nest restore in order.
 *
 * One hart only: on another one, interrupts go on. */
#include <tickwheel/riscv/interrupts.h>

/* Nobody waits for another thread: whoever runs has the hart to itself. */
#define TW_PORT_ONE_THREAD

static inline void tw_port_lock_init(uint32_t *word) { *word = 0; }

/* The word is written once nobody else can: it holds what this caller has to restore. */
static inline void tw_port_lock(uint32_t *word) {
    const uint32_t mask = tw_interrupts_mask();
    *word = mask;
}
static inline void tw_port_unlock(uint32_t *word) { tw_interrupts_restore(*word); }
