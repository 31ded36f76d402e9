/* The watchdog is the stopwatch, because QEMU does not implement reading the general-purpose
 * timers. General-purpose timer 1, in 32-bit mode, is the alarm. Both count down. */
#include <stopwatch.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define CLOCK_GATES_0 REGISTER(0x400FE100u)
#define CLOCK_GATES_1 REGISTER(0x400FE104u)
#define WATCHDOG_LOAD REGISTER(0x40000000u)
#define WATCHDOG_VALUE REGISTER(0x40000004u)
#define WATCHDOG_CONTROL REGISTER(0x40000008u)
#define TIMER 0x40031000u
#define TIMER_CONFIGURATION REGISTER(TIMER + 0x00u)
#define TIMER_MODE REGISTER(TIMER + 0x04u)
#define TIMER_CONTROL REGISTER(TIMER + 0x0cu)
#define TIMER_INTERRUPT_MASK REGISTER(TIMER + 0x18u)
#define TIMER_CLEAR_INTERRUPT REGISTER(TIMER + 0x24u)
#define TIMER_LOAD REGISTER(TIMER + 0x28u)
#define NVIC_ISER REGISTER(0xE000E100u)

enum {
    WATCHDOG_GATE = 1 << 3,
    TIMER_GATE = 1 << 17,
    COUNTING = 1, /* its interrupt, which comes after some minutes, stays disabled in the NVIC */
    AS_32_BITS = 0,
    ONE_SHOT = 1,
    ENABLE = 1,
    TIMED_OUT = 1
};

void stopwatch_start(void) {
    CLOCK_GATES_0 |= WATCHDOG_GATE;
    CLOCK_GATES_1 |= TIMER_GATE;
    (void)CLOCK_GATES_1; /* delay: a module answers only a few cycles after its gate opens */
    WATCHDOG_LOAD = UINT32_MAX;
    WATCHDOG_CONTROL = COUNTING;
}

uint32_t stopwatch_read(void) { return UINT32_MAX - WATCHDOG_VALUE; }

void alarm_start(uint32_t counts) {
    TIMER_CONTROL = 0;
    TIMER_CONFIGURATION = AS_32_BITS;
    TIMER_MODE = ONE_SHOT;
    TIMER_LOAD = counts;
    TIMER_CLEAR_INTERRUPT = TIMED_OUT;
    TIMER_INTERRUPT_MASK = TIMED_OUT;
    NVIC_ISER = 1u << ALARM_IRQ;
    TIMER_CONTROL = ENABLE;
}

void alarm_silence(void) {
    TIMER_CONTROL = 0;
    TIMER_CLEAR_INTERRUPT = TIMED_OUT;
}
