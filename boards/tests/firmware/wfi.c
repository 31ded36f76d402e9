/* The clock with the real sleep instruction, as in programs. The other images use a wait of
 * their own, without wfi on a Cortex-M, because with wfi QEMU loses ticks, see
 * boards/machines/firmware.cmake. Tests only what holds however much time passes: sleeps are never
 * early, and an interrupt ends a sleep. */
#include "expect.h"
#include "measured.h"

static volatile unsigned signals, alarms;

void on_tick(void) { clock_isr(); }
void on_signal(void) { ++signals; }
void on_alarm(void) {
    alarm_silence();
    ++alarms;
}

static void is_never_early(int tickless) {
    measure(tickless);
    for (unsigned i = 0; i < 500; ++i) {
        const uint64_t deadline = clock_now() + 1 + some(50);
        while (clock_now() < deadline)
            sleep_masked(deadline);
        EXPECT(watched() >= deadline * WATCH_PER_TICK);
    }
}

static void interrupts_end_a_sleep(void) {
    measure(1);
    signal_start();
    alarm_start(30 * WATCH_PER_TICK);
    sleep_masked(UINT64_MAX);
    EXPECT(alarms == 1);

    const uint32_t mask = tw_interrupts_mask();
    signal_raise();
    clock_sleep_until(UINT64_MAX);
    tw_interrupts_restore(mask);
    EXPECT(signals == 1);
}

int main(void) {
    is_never_early(1);
    is_never_early(0);
    interrupts_end_a_sleep();
    return 0;
}
