/* The clock on a low-power timer, checked against the stopwatch, which counts in finer steps, and against the
 * machine's other clock, whose interrupts also disturb the sleeps. ../clocks/lptimer.cpp tests on a simulated
 * counter all that depends on the exact count. */
#include <low_power.h>

#include "expect.h"
#include "measured.h"

enum { COUNTS_PER_TICK = 32 };
#define PER_TICK (COUNTS_PER_TICK * LOW_POWER_DIVIDER) /* in stopwatch counts */
#define RANGE (UINT64_C(0x10000) * LOW_POWER_DIVIDER)

static uint64_t begin; /* of tick 0, by the stopwatch */
static volatile unsigned signals;

void on_tick(void) { clock_isr(); }
void on_signal(void) { ++signals; }
void on_alarm(void) {
    alarm_silence();
    tw_lptimer_isr();
}

static uint64_t tick_now(void) { return (watched() - begin) / PER_TICK; }

static uint64_t begin_of_count(uint64_t watch) { return watch / LOW_POWER_DIVIDER * LOW_POWER_DIVIDER; }

/* Starts the clock, and derives `begin` from the start of tick 1: tick 0 began with the count in which the
 * clock was started. */
static void start(void) {
    const uint64_t before = watched();
    EXPECT(tw_lptimer_start(&low_power_timer, COUNTS_PER_TICK) == 0);
    const uint64_t after = watched();
    while (tw_lptimer_now() == 0) {
    }
    begin = begin_of_count(watched()) - PER_TICK;
    EXPECT(begin >= begin_of_count(before) && begin <= after);
}

static uint64_t told(void) {
    const uint64_t least = tick_now();
    const uint64_t now = tw_lptimer_now();
    EXPECT(now >= least && now <= tick_now());
    return now;
}

static void sleep_once(uint64_t deadline) {
    const uint32_t mask = tw_interrupts_mask();
    tw_lptimer_sleep_until(deadline);
    tw_interrupts_restore(mask);
}

/* P1, P2 */
static void sleep_to(uint64_t deadline) {
    while (told() < deadline)
        sleep_once(deadline);
    const uint64_t woken = watched();
    EXPECT(woken >= begin + deadline * PER_TICK);
    EXPECT(woken < begin + (deadline + 1) * PER_TICK);
}

static void keeps_deadlines(void) {
    start();
    for (unsigned i = 0; i < 300; ++i) {
        spin_until(watched() + some(2 * PER_TICK));
        sleep_to(told() + 1 + some(20));
    }
}

/* P9 */
static void wakes_for_a_deadline_only(void) {
    start();
    sleep_to(1);
    const unsigned before = waits;
    sleep_to(500);
    EXPECT(waits - before == 1);
}

static void the_counter_wraps_while_interrupts_are_masked(void) {
    start();
    for (unsigned i = 0; i < 6; ++i) {
        const uint64_t wrap = (watched() / RANGE + 1) * RANGE;
        sleep_to((wrap - begin) / PER_TICK - 1 - some(400));
        const uint32_t mask = tw_interrupts_mask();
        spin_until(watched() + RANGE / 5);
        (void)told();
        tw_interrupts_restore(mask);
        (void)told();
    }
}

static void pending_interrupts_end_a_sleep(void) {
    start();
    signal_start();
    const uint32_t mask = tw_interrupts_mask();
    const uint64_t now = told();
    signal_raise();
    tw_lptimer_sleep_until(UINT64_MAX);
    EXPECT(signals == 0);
    EXPECT(told() <= now + 1);
    tw_interrupts_restore(mask);
    EXPECT(signals == 1);
}

/* The other clock ticks, which ends sleeps at any moment. In the end the two have counted the same time. */
static void other_interrupts_end_sleeps_and_change_no_deadline(void) {
    start();
    EXPECT(clock_start(CLOCK_HZ / 1000 * 7, TW_TICKING) == 0); /* ticks of 7 ms */
    const uint64_t first = told();
    const unsigned before = waits;
    for (unsigned i = 0; i < 200; ++i)
        sleep_to(told() + 1 + some(30));
    EXPECT(waits - before > 300);
    const uint64_t by_clock = clock_now() * (STOPWATCH_HZ / 1000 * 7);
    const uint64_t by_lptimer = (told() - first) * PER_TICK;
    EXPECT(by_lptimer <= by_clock + STOPWATCH_HZ / 1000 * 7 + PER_TICK);
    EXPECT(by_clock <= by_lptimer + 2 * PER_TICK);
}

int main(void) {
    low_power_start();
    wakes_for_a_deadline_only();
    keeps_deadlines();
    the_counter_wraps_while_interrupts_are_masked();
    pending_interrupts_end_a_sleep();
    other_interrupts_end_sleeps_and_change_no_deadline(); /* the last: the other clock does not stop */
    return 0;
}
