/* Timer 0, with 32 bits at 8 MHz, serves as stopwatch and alarm: one compare register captures
 * the count for reading, another raises the alarm. It does not run at 16 MHz because the
 * period would not be a whole number of ns, and QEMU would run ahead a little at each reading. */
#include <stopwatch.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define TIMER 0x40008000u
#define TASK_START REGISTER(TIMER + 0x000u)
#define TASK_CLEAR REGISTER(TIMER + 0x00cu)
#define TASK_CAPTURE_0 REGISTER(TIMER + 0x040u)
#define EVENT_COMPARE_1 REGISTER(TIMER + 0x144u)
#define INTERRUPT_SET REGISTER(TIMER + 0x304u)
#define INTERRUPT_CLEAR REGISTER(TIMER + 0x308u)
#define BIT_MODE REGISTER(TIMER + 0x508u)
#define PRESCALER REGISTER(TIMER + 0x510u)
#define COMPARE_0 REGISTER(TIMER + 0x540u)
#define COMPARE_1 REGISTER(TIMER + 0x544u)
#define NVIC_ISER REGISTER(0xE000E100u)

enum { BITS_32 = 3, ON_COMPARE_1 = 1 << 17 };

void stopwatch_start(void) {
    BIT_MODE = BITS_32;
    PRESCALER = 1;
    TASK_CLEAR = 1;
    TASK_START = 1;
}

uint32_t stopwatch_read(void) {
    TASK_CAPTURE_0 = 1;
    return COMPARE_0;
}

void alarm_start(uint32_t counts) {
    INTERRUPT_CLEAR = ON_COMPARE_1;
    COMPARE_1 = stopwatch_read() + counts;
    EVENT_COMPARE_1 = 0;
    NVIC_ISER = 1u << ALARM_IRQ;
    INTERRUPT_SET = ON_COMPARE_1;
}

void alarm_silence(void) {
    INTERRUPT_CLEAR = ON_COMPARE_1;
    EVENT_COMPARE_1 = 0;
}
