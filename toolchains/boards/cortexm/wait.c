/* Busy-waits for an interrupt. It avoids wfi because of QEMU: see TickwheelFirmware.cmake. */
#include <tickwheel/cortexm/interrupts.h>

#include "../board.h"

#define VECTPENDING (*(const volatile uint32_t *)0xE000ED04u & 0x1FF000u)

volatile unsigned waits;

void tw_interrupts_wait(void) {
    ++waits;
    while (VECTPENDING == 0)
        __asm__ volatile(".rept 64\n\tnop\n\t.endr"); /* poll rarely: emulating the read is slow */
}
