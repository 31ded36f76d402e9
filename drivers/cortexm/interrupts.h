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

/* Returns how the mask was. */
static inline uint32_t tw_interrupts_mask(void) {
    uint32_t mask;
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(mask) : : "memory");
    return mask;
}

static inline void tw_interrupts_restore(uint32_t mask) {
    __asm__ volatile("msr primask, %0" : : "r"(mask) : "memory");
}

/* Sleeps until an enabled interrupt is pending, also if it is masked. TW_WAIT_AWAKE: does
 * the same without sleep, for emulators whose time is wrong during wfi. */
static inline void tw_interrupts_wait(void) {
#ifdef TW_WAIT_AWAKE
    const volatile uint32_t *const icsr = (const volatile uint32_t *)0xE000ED04u;
    while ((*icsr & 0x1FF000u) == 0)                  /* VECTPENDING */
        __asm__ volatile(".rept 64\n\tnop\n\t.endr"); /* emulators take their time to read a register */
#else
    __asm__ volatile("dsb\n\twfi\n\tisb" : : : "memory");
#endif
}

#endif
