/* cortexm/interrupts.h - masking interrupts on Cortex-M, for the port, the clock and users.
 *
 *     const uint32_t mask = tw_interrupts_mask();
 *     ... no interrupt comes between ...
 *     tw_interrupts_restore(mask);
 *
 * Pairs nest. From thread mode and from any interrupt; PRIMASK leaves NMI and HardFault
 * alone, so these may not call the library. */
#ifndef TICKWHEEL_CORTEXM_INTERRUPTS_H
#define TICKWHEEL_CORTEXM_INTERRUPTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns how the mask was. */
static inline uint32_t tw_interrupts_mask(void) {
    uint32_t mask;
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(mask) : : "memory");
    return mask;
}

static inline void tw_interrupts_restore(uint32_t mask) {
    __asm__ volatile("msr primask, %0" : : "r"(mask) : "memory");
}

/* Sleeps until an enabled interrupt is pending, also if it is masked. With TW_OWN_WAIT the
 * program defines this: to choose how deep to sleep, to count, to switch off a light. It is for
 * the clock and for the file with that definition (CMake: target_compile_definitions of
 * tickwheel_clock, PUBLIC). */
#ifdef TW_OWN_WAIT
void tw_interrupts_wait(void);
#else
static inline void tw_interrupts_wait(void) { __asm__ volatile("dsb\n\twfi\n\tisb" : : : "memory"); }
#endif

#ifdef __cplusplus
}
#endif

#endif
