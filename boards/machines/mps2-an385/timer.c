/* CMSDK timer 0 is the stopwatch, timer 1 the alarm. Both count down. */
#include <stopwatch.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define STOPWATCH 0x40000000u
#define ALARM 0x40001000u
#define CONTROL(timer) REGISTER((timer) + 0x0u)
#define VALUE(timer) REGISTER((timer) + 0x4u)
#define RELOAD(timer) REGISTER((timer) + 0x8u)
#define CLEAR_INTERRUPT(timer) REGISTER((timer) + 0xcu)
#define NVIC_ISER REGISTER(0xE000E100u)

enum { ENABLE = 1, WITH_INTERRUPT = 8 };

void stopwatch_start(void) {
    CONTROL(STOPWATCH) = 0;
    RELOAD(STOPWATCH) = UINT32_MAX;
    VALUE(STOPWATCH) = UINT32_MAX;
    CONTROL(STOPWATCH) = ENABLE;
}

uint32_t stopwatch_read(void) { return UINT32_MAX - VALUE(STOPWATCH); }

void alarm_start(uint32_t counts) {
    CONTROL(ALARM) = 0;
    RELOAD(ALARM) = counts;
    VALUE(ALARM) = counts;
    CLEAR_INTERRUPT(ALARM) = 1;
    NVIC_ISER = 1u << ALARM_IRQ;
    CONTROL(ALARM) = ENABLE | WITH_INTERRUPT;
}

void alarm_silence(void) {
    CONTROL(ALARM) = 0; /* the timer would reload otherwise */
    CLEAR_INTERRUPT(ALARM) = 1;
}
