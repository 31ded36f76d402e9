/* Busy-waits for an interrupt. It avoids wfi because of QEMU: see firmware.cmake. */
#include <tickwheel/cortexm/interrupts.h>

#include "../begin.h"
#include "../board.h"

#define VECTPENDING (*(const volatile uint32_t *)0xE000ED04u & 0x1FF000u)

volatile unsigned waits;

/* QEMU reports an interrupt as pending even if BASEPRI masks it. A real part would sleep on, so an image that
 * waits with such a mask fails. */
static void check_masks(void) {
#if !defined(__ARM_ARCH_6M__) && !defined(__ARM_ARCH_8M_BASE__)
    uint32_t basepri;
    __asm__ volatile("mrs %0, basepri" : "=r"(basepri));
    if (basepri != 0)
        fail_image("waits with a mask by BASEPRI\n");
#endif
}

void tw_interrupts_wait(void) {
    ++waits;
    check_masks();
    while (VECTPENDING == 0)
        __asm__ volatile(".rept 64\n\tnop\n\t.endr"); /* poll rarely: emulating the read is slow */
}
