/* Port for RISC-V in machine mode: the lock clears mstatus.MIE and keeps its former value in its
 * word. It may therefore be taken in main, in any interrupt, and with interrupts already masked;
 * locks that nest restore the mask in order.
 *
 * For one hart: another hart's interrupts are not masked. */
#include <tickwheel/riscv/interrupts.h>

/* There is no other thread to wait for: code that runs has the hart to itself. */
#define TW_PORT_ONE_THREAD

static inline void tw_port_lock_init(uint32_t *word) { *word = 0; }

/* The word is written after masking, so it holds the mask that this caller has to restore. */
static inline void tw_port_lock(uint32_t *word) {
    const uint32_t mask = tw_interrupts_mask();
    *word = mask;
}
static inline void tw_port_unlock(uint32_t *word) { tw_interrupts_restore(*word); }
