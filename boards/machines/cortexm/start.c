/* Start-up code for any Cortex-M: the vector table, the first instructions, and the dispatch
 * of interrupts. */
#include <stdint.h>

#include "../begin.h"
#include "../board.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define NVIC_ISER REGISTER(0xE000E100u + SIGNAL_IRQ / 32 * 4)
#define NVIC_ISPR REGISTER(0xE000E200u + SIGNAL_IRQ / 32 * 4)
#define SIGNAL_BIT (1u << SIGNAL_IRQ % 32)
#define NVIC_IPR ((volatile uint32_t *)0xE000E400u) /* four priorities each */
#define SHPR3 REGISTER(0xE000ED20u)
#define SYSTICK_PRIORITY (0xFFu << 24) /* in SHPR3 */
#define CPACR REGISTER(0xE000ED88u)

enum { INTERRUPTS = 48 };

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

/* Gives all interrupts the least urgent priority. At reset they have the most urgent one, which BASEPRI
 * cannot mask. */
static void set_priorities(void) {
    for (unsigned i = 0; i < INTERRUPTS / 4; ++i)
        NVIC_IPR[i] = UINT32_MAX;
    SHPR3 |= SYSTICK_PRIORITY;
}

__attribute__((noreturn)) void reset(void);
void reset(void) {
#ifdef __ARM_FP
    CPACR |= 0xFu << 20; /* before the first instruction that uses a floating-point register */
    __asm__ volatile("dsb\n\tisb" : : : "memory");
#endif
    set_priorities();
    begin();
}

typedef void handler(void);
struct vectors {
    void *stack;
    handler *exceptions[15];
    handler *interrupts[INTERRUPTS];
};

__attribute__((section(".vectors"), used)) static const struct vectors vectors = {
    .stack = stack_top,
    .exceptions = {reset, [1 ... 13] = fault, [14] = on_tick},
    .interrupts = {[0 ... INTERRUPTS - 1] = interrupt},
};

void signal_set_priority(uint32_t priority) {
    const unsigned shift = SIGNAL_IRQ % 4 * 8;
    volatile uint32_t *const four = &NVIC_IPR[SIGNAL_IRQ / 4]; /* a Cortex-M0 writes whole words only */
    *four = (*four & ~(0xFFu << shift)) | priority << shift;
}

void signal_start(void) { NVIC_ISER = SIGNAL_BIT; }

void signal_raise(void) {
    NVIC_ISPR = SIGNAL_BIT;
    __asm__ volatile("dsb\n\tisb" : : : "memory"); /* if enabled, the interrupt is taken here and no later */
}
