/* Start-up code for a RISC-V hart in machine mode: the first instructions and the trap
 * handler. */
#include <stdint.h>

#include "../begin.h"
#include "../board.h"

#define MSIP (*(volatile uint32_t *)CLINT)
#define MIE_MSIE 8u
#define INTERRUPT ((uintptr_t)1 << (8 * sizeof(uintptr_t) - 1))

enum { SOFTWARE_INTERRUPT = 3, TIMER_INTERRUPT = 7, EXTERNAL_INTERRUPT = 11 };

__attribute__((interrupt("machine"), aligned(4))) static void trap(void) {
    uintptr_t cause;
    __asm__ volatile("csrr %0, mcause" : "=r"(cause));
    if (cause == (INTERRUPT | TIMER_INTERRUPT)) {
        on_tick();
    } else if (cause == (INTERRUPT | SOFTWARE_INTERRUPT)) {
        MSIP = 0;
        on_signal();
    } else if (cause == (INTERRUPT | EXTERNAL_INTERRUPT)) {
        on_alarm();
    } else {
        unexpected_interrupt();
    }
}

__attribute__((used, noreturn)) static void set_trap_and_begin(void) {
    __asm__ volatile("csrw mtvec, %0" : : "r"(trap));
    __asm__ volatile("csrsi mstatus, 8");
    begin();
}

__attribute__((naked, noreturn, section(".vectors"), used)) void reset(void);
void reset(void) {
    __asm__ volatile("la sp, stack_top\n\t"
                     "j %0"
                     :
                     : "i"(set_trap_and_begin));
}

void signal_start(void) { __asm__ volatile("csrs mie, %0" : : "r"(MIE_MSIE)); }

void signal_raise(void) {
    MSIP = 1;
    (void)MSIP; /* read back, so that the store has arrived */
}
