/* A deliberately broken port, to verify that the race tests notice: its lock does nothing or
 * does not nest, as BROKEN says. */
#ifdef __riscv
#include <tickwheel/riscv/interrupts.h>
#define UNMASKED TW_MSTATUS_MIE
#else
#include <tickwheel/cortexm/interrupts.h>
#define UNMASKED 0u
#endif

#define TW_PORT_ONE_THREAD

enum { NO_LOCK, ALWAYS_UNMASKS };

static inline void tw_port_lock_init(uint32_t *word) { *word = 0; }
static inline void tw_port_lock(uint32_t *word) {
    (void)word;
    if (BROKEN == ALWAYS_UNMASKS)
        (void)tw_interrupts_mask();
}
static inline void tw_port_unlock(uint32_t *word) {
    (void)word;
    if (BROKEN == ALWAYS_UNMASKS)
        tw_interrupts_restore(UNMASKED);
}
