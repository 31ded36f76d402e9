/* riscv/interrupts.h - masking interrupts in machine mode, for the port, the clock and users.
 *
 *     const uint32_t mask = tw_interrupts_mask();
 *     ... no interrupt comes between ...
 *     tw_interrupts_restore(mask);
 *
 * Pairs nest. From main and from any interrupt; an NMI may not call the library. */
#ifndef TICKWHEEL_RISCV_INTERRUPTS_H
#define TICKWHEEL_RISCV_INTERRUPTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_MSTATUS_MIE 8u

/* Returns how the mask was: MIE, where interrupts were allowed, or 0. */
static inline uint32_t tw_interrupts_mask(void) {
    uintptr_t mstatus;
    __asm__ volatile("csrrci %0, mstatus, 8" : "=r"(mstatus) : : "memory");
    return (uint32_t)mstatus & TW_MSTATUS_MIE;
}

static inline void tw_interrupts_restore(uint32_t mask) {
    __asm__ volatile("csrs mstatus, %0" : : "r"((uintptr_t)mask) : "memory");
}

/* Sleeps until an enabled interrupt is pending, also if it is masked; or returns at once.
 * With TW_OWN_WAIT the program defines this: to choose how deep to sleep, to count. It is for
 * the clock and for the file with that definition (CMake: target_compile_definitions of
 * tickwheel_clock, PUBLIC). */
#ifdef TW_OWN_WAIT
void tw_interrupts_wait(void);
#else
static inline void tw_interrupts_wait(void) { __asm__ volatile("wfi" : : : "memory"); }
#endif

#ifdef __cplusplus
}
#endif

#endif
