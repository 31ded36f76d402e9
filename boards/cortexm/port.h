/* Port for Cortex-M: the lock masks interrupts and keeps the former mask in its word. It may
 * therefore be taken in thread mode, in any interrupt that it masks, and with interrupts already
 * masked; locks that nest restore the mask in order.
 *
 * It masks all interrupts except NMI and HardFault, by PRIMASK. With TW_BASEPRI, a priority, it masks
 * the interrupts of that priority and all less urgent ones, and leaves the more urgent ones running:
 * those must not call the library. See cortexm/interrupts.h for how a priority is written.
 *
 * For one core: another core's interrupts are not masked. */
#include <tickwheel/cortexm/interrupts.h>

/* There is no other thread to wait for: code that runs has the core to itself. */
#define TW_PORT_ONE_THREAD

#ifdef TW_BASEPRI

#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)
#error "TW_BASEPRI: this processor has no BASEPRI"
#elif TW_BASEPRI < 1 || TW_BASEPRI > 255
#error "TW_BASEPRI is a priority from 1 to 255, as BASEPRI takes it"
#endif

/* If the part had none of the priority's bits, the lock would mask nothing. */
static inline void tw_port_lock_init(uint32_t *word) {
    const uint32_t former = tw_interrupts_mask_from(TW_BASEPRI);
    const uint32_t raised = tw_interrupts_mask_from(TW_BASEPRI);
    tw_interrupts_restore_from(former);
    if (raised == 0u)
        __builtin_trap();
    *word = 0;
}

/* The word is written after masking, so it holds the mask that this caller has to restore. */
static inline void tw_port_lock(uint32_t *word) {
    const uint32_t former = tw_interrupts_mask_from(TW_BASEPRI);
    *word = former;
}
static inline void tw_port_unlock(uint32_t *word) { tw_interrupts_restore_from(*word); }

#else

static inline void tw_port_lock_init(uint32_t *word) { *word = 0; }

/* The word is written after masking, so it holds the mask that this caller has to restore. */
static inline void tw_port_lock(uint32_t *word) {
    const uint32_t mask = tw_interrupts_mask();
    *word = mask;
}
static inline void tw_port_unlock(uint32_t *word) { tw_interrupts_restore(*word); }

#endif
