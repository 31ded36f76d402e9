/* Start-up code for any Cortex-M: the vector table, the first instructions, and the dispatch
 * of interrupts. */
#include <stdint.h>

#include "../begin.h"
#include "../board.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define NVIC_ISER REGISTER(0xE000E100u + SIGNAL_IRQ / 32 * 4)
#define NVIC_ISPR REGISTER(0xE000E200u + SIGNAL_IRQ / 32 * 4)
#define SIGNAL_BIT (1u << SIGNAL_IRQ % 32)
#define CPACR REGISTER(0xE000ED88u)

static void fault(void) { unexpected_interrupt(); }

/* Handles all of the part's interrupts; IPSR tells which one is active. */
static void interrupt(void) {
    uint32_t ipsr;
    __asm__ volatile("mrs %0, ipsr" : "=r"(ipsr));
    if (ipsr == 16 + SIGNAL_IRQ)
        on_signal();
    else if (ipsr == 16 + ALARM_IRQ)
        on_alarm();
    else
        unexpected_interrupt();
}

__attribute__((noreturn)) void reset(void);
void reset(void) {
#ifdef __ARM_FP
    CPACR |= 0xFu << 20; /* before the first instruction that uses a floating-point register */
    __asm__ volatile("dsb\n\tisb" : : : "memory");
#endif
    begin();
}

typedef void handler(void);
struct vectors {
    void *stack;
    handler *exceptions[15];
    handler *interrupts[48];
};

__attribute__((section(".vectors"), used)) static const struct vectors vectors = {
    .stack = stack_top,
    .exceptions = {reset, [1 ... 13] = fault, [14] = on_tick},
    .interrupts = {[0 ... 47] = interrupt},
};

void signal_start(void) { NVIC_ISER = SIGNAL_BIT; }

void signal_raise(void) {
    NVIC_ISPR = SIGNAL_BIT;
    __asm__ volatile("dsb\n\tisb" : : : "memory"); /* if enabled, the interrupt is taken here and no later */
}
