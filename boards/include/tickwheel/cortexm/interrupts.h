/* tickwheel/cortexm/interrupts.h - masks interrupts on Cortex-M, for the port, the clock and programs.
 *
 *     const uint32_t mask = tw_interrupts_mask();
 *     ... no interrupt comes between ...
 *     tw_interrupts_restore(mask);
 *
 * Pairs nest. They may be used in thread mode and in any interrupt. PRIMASK does not mask NMI and
 * HardFault, so those handlers must not call the library.
 *
 * From Cortex-M3 up (ARMv7-M, ARMv8-M Mainline) interrupts can also be masked by their priority:
 *
 *     const uint32_t former = tw_interrupts_mask_from(0x40);
 *     ... no interrupt of priority 0x40 or less urgent comes between, more urgent ones do ...
 *     tw_interrupts_restore_from(former);
 *
 * A priority is a byte as in the registers of the NVIC: 0 is the most urgent, and a part has the upper
 * bits only, usually three or four. Priority 5 of 16 is 0x50 here. */
#ifndef TICKWHEEL_CORTEXM_INTERRUPTS_H
#define TICKWHEEL_CORTEXM_INTERRUPTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Masks interrupts and returns the former mask (PRIMASK). */
static inline uint32_t tw_interrupts_mask(void) {
    uint32_t mask;
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(mask) : : "memory");
    return mask;
}

/* Restores the mask that tw_interrupts_mask returned. */
static inline void tw_interrupts_restore(uint32_t mask) {
    __asm__ volatile("msr primask, %0" : : "r"(mask) : "memory");
}

#if !defined(__ARM_ARCH_6M__) && !defined(__ARM_ARCH_8M_BASE__)

/* Masks the interrupts of `priority` and all that are less urgent, and returns the former mask
 * (BASEPRI). A mask is only ever raised: masked interrupts stay masked. `priority` is 1 to 255; if the part
 * has none of its bits, this masks nothing.
 *
 * An early Cortex-M7 (r0p1, erratum 837070) raises its mask one instruction late: hence the nop. */
static inline uint32_t tw_interrupts_mask_from(uint32_t priority) {
    uint32_t former;
    __asm__ volatile("mrs %0, basepri\n\tmsr basepri_max, %1\n\tnop"
                     : "=&r"(former)
                     : "r"(priority)
                     : "memory");
    return former;
}

/* Restores `former`, the mask that tw_interrupts_mask_from returned. */
static inline void tw_interrupts_restore_from(uint32_t former) {
    __asm__ volatile("msr basepri, %0" : : "r"(former) : "memory");
}

/* For clocks, around tw_interrupts_wait. Masks all interrupts by PRIMASK and none by BASEPRI: an
 * interrupt that BASEPRI masks does not end a wait. Returns both former masks. */
static inline uint32_t tw_interrupts_mask_to_wait(void) {
    const uint32_t primask = tw_interrupts_mask();
    uint32_t basepri;
    __asm__ volatile("mrs %0, basepri\n\tmsr basepri, %1\n\tisb" : "=&r"(basepri) : "r"(0) : "memory");
    return (basepri << 8) | primask;
}

/* Restores `former`, the masks that tw_interrupts_mask_to_wait returned. */
static inline void tw_interrupts_restore_from_wait(uint32_t former) {
    tw_interrupts_restore_from(former >> 8);
    tw_interrupts_restore(former & 0xFFu);
}

#else /* no BASEPRI */

static inline uint32_t tw_interrupts_mask_to_wait(void) { return tw_interrupts_mask(); }
static inline void tw_interrupts_restore_from_wait(uint32_t former) { tw_interrupts_restore(former); }

#endif

/* Sleeps until an enabled interrupt is pending, even one that PRIMASK masks. The clocks call this. A program
 * that sleeps by other means than wfi defines this function, and TW_OWN_WAIT for the clock and for the file
 * with the definition (CMake: target_compile_definitions of tickwheel_clock, PUBLIC). To choose the depth of
 * sleep, see board/hooks.h. */
#ifdef TW_OWN_WAIT
void tw_interrupts_wait(void);
#else
static inline void tw_interrupts_wait(void) { __asm__ volatile("dsb\n\twfi\n\tisb" : : : "memory"); }
#endif

#ifdef __cplusplus
}
#endif

#endif
