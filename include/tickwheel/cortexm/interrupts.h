/* tickwheel/cortexm/interrupts.h - masks interrupts on Cortex-M, for the port, the clock and programs.
 *
 *     const uint32_t mask = tw_interrupts_mask();
 *     ... no interrupt comes between ...
 *     tw_interrupts_restore(mask);
 *
 * Pairs nest. They may be used in thread mode and in any interrupt. PRIMASK does not mask NMI and
 * HardFault, so those handlers must not call the library. */
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

/* Sleeps until an enabled interrupt is pending, even a masked one. Used by the clock. A program that
 * wants to choose the depth of sleep, or to count sleeps, defines TW_OWN_WAIT for the clock and for
 * the file with its own definition (CMake: target_compile_definitions of tickwheel_clock, PUBLIC). */
#ifdef TW_OWN_WAIT
void tw_interrupts_wait(void);
#else
static inline void tw_interrupts_wait(void) { __asm__ volatile("dsb\n\twfi\n\tisb" : : : "memory"); }
#endif

#ifdef __cplusplus
}
#endif

#endif
