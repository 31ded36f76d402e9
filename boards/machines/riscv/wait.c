/* Sleeps until an interrupt, and counts the waits. */
#include <tickwheel/riscv/interrupts.h>

#include "../board.h"

volatile unsigned waits;

void tw_interrupts_wait(void) {
    ++waits;
    __asm__ volatile("wfi" : : : "memory");
}
