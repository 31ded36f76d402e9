/* tickwheel/riscv/interrupts.h - masks interrupts in machine mode, for the port, the clock and programs.
 *
 *     const uint32_t mask = tw_interrupts_mask();
 *     ... no interrupt comes between ...
 *     tw_interrupts_restore(mask);
 *
 * Pairs nest. They may be used in main and in any interrupt. An NMI must not call the library. */
#ifndef TICKWHEEL_RISCV_INTERRUPTS_H
#define TICKWHEEL_RISCV_INTERRUPTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_MSTATUS_MIE 8u

/* Masks interrupts and returns the former mask: TW_MSTATUS_MIE if they were enabled, else 0. */
static inline uint32_t tw_interrupts_mask(void) {
    uintptr_t mstatus;
    __asm__ volatile("csrrci %0, mstatus, 8" : "=r"(mstatus) : : "memory");
    return (uint32_t)mstatus & TW_MSTATUS_MIE;
}

/* Restores the mask that tw_interrupts_mask returned. */
static inline void tw_interrupts_restore(uint32_t mask) {
    __asm__ volatile("csrs mstatus, %0" : : "r"((uintptr_t)mask) : "memory");
}

/* For clocks, around tw_interrupts_wait. Masks interrupts and returns the former mask. */
static inline uint32_t tw_interrupts_mask_to_wait(void) { return tw_interrupts_mask(); }

/* Restores `former`, the mask that tw_interrupts_mask_to_wait returned. */
static inline void tw_interrupts_restore_from_wait(uint32_t former) { tw_interrupts_restore(former); }

/* Sleeps until an enabled interrupt is pending, even a masked one; may return early. The clocks call this. A
 * program that sleeps by other means than wfi defines this function, and TW_OWN_WAIT for the clock and for
 * the file with the definition (CMake: target_compile_definitions of tickwheel_clock, PUBLIC). To choose the
 * depth of sleep, see board/hooks.h. */
#ifdef TW_OWN_WAIT
void tw_interrupts_wait(void);
#else
static inline void tw_interrupts_wait(void) { __asm__ volatile("wfi" : : : "memory"); }
#endif

#ifdef __cplusplus
}
#endif

#endif
