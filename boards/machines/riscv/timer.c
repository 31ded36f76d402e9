/* The stopwatch and alarm are the virt machine's real-time clock, which counts nanoseconds and
 * raises its interrupt through the PLIC. QEMU needs -rtc clock=vm; otherwise this clock
 * follows the host's. */
#include <stopwatch.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define RTC 0x00101000u
#define RTC_TIME_LOW REGISTER(RTC + 0x00) /* latches the high half */
#define RTC_TIME_HIGH REGISTER(RTC + 0x04)
#define RTC_ALARM_LOW REGISTER(RTC + 0x08) /* sets the alarm; write the high half first */
#define RTC_ALARM_HIGH REGISTER(RTC + 0x0c)
#define RTC_INTERRUPT_ENABLED REGISTER(RTC + 0x10)
#define RTC_CLEAR_ALARM REGISTER(RTC + 0x14)
#define RTC_CLEAR_INTERRUPT REGISTER(RTC + 0x1c)

#define RTC_SOURCE 11u
#define PLIC 0x0c000000u
#define PLIC_PRIORITY REGISTER(PLIC + 4 * RTC_SOURCE)
#define PLIC_ENABLE REGISTER(PLIC + 0x2000u)
#define PLIC_CLAIM REGISTER(PLIC + 0x200004u)
#define MIE_MEIE (1u << 11)

static uint32_t origin;

static uint64_t nanoseconds(void) {
    const uint32_t low = RTC_TIME_LOW;
    return (uint64_t)RTC_TIME_HIGH << 32 | low;
}

static uint64_t present(void) { return nanoseconds() / (1000000000u / STOPWATCH_HZ); }

void stopwatch_start(void) { origin = (uint32_t)present(); }
uint32_t stopwatch_read(void) { return (uint32_t)present() - origin; }

void alarm_start(uint32_t counts) {
    PLIC_PRIORITY = 1;
    PLIC_ENABLE = 1u << RTC_SOURCE;
    __asm__ volatile("csrs mie, %0" : : "r"(MIE_MEIE));
    const uint64_t at = (present() + counts) * (1000000000u / STOPWATCH_HZ);
    RTC_INTERRUPT_ENABLED = 1;
    RTC_ALARM_HIGH = (uint32_t)(at >> 32);
    RTC_ALARM_LOW = (uint32_t)at;
}

void alarm_silence(void) {
    RTC_CLEAR_ALARM = 1;
    RTC_CLEAR_INTERRUPT = 1;
    PLIC_CLAIM = PLIC_CLAIM;
}
