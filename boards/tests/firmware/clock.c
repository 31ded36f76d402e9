/* The machine's clock, tickless and ticking, checked against another timer. */
#include "expect.h"
#include "measured.h"

static volatile unsigned ticks_handled, signals, alarms;
static volatile uint64_t told; /* the clock's tick, read in an alarm */

void on_tick(void) {
    clock_isr();
    ++ticks_handled;
}

void on_signal(void) { ++signals; }

void on_alarm(void) {
    alarm_silence();
    ++alarms;
    told = clock_now();
}

static void expect_steady(uint32_t lag_before, uint32_t lag_after) {
    EXPECT(lag_after <= lag_before + MICROSECONDS(2) && lag_before <= lag_after + MICROSECONDS(2));
}

/* P1, P2: sleeps and work of various lengths. */
static void keeps_deadlines(int tickless) {
    measure(tickless);
    for (unsigned i = 0; i < 2000; ++i) {
        spin_until(watched() + some(2 * WATCH_PER_TICK));
        sleep_exactly(clock_now() + 1 + some(5));
        EXPECT(clock_now() * WATCH_PER_TICK <= watched());
    }
}

/* Each sleep starts a little closer to the end of the tick, where the counter reloads. */
static void sleeps_from_any_moment_of_a_tick(void) {
    measure(1);
    const uint32_t first = lag();
    for (uint32_t before = MICROSECONDS(16); before > 0;
         before -= before < 100 ? 1 : 40 * STOPWATCH_HZ / 1000000000u + 1) {
        const uint64_t next = clock_now() + 2;
        spin_until(next * WATCH_PER_TICK - before);
        sleep_exactly(next + 3);
    }
    const uint32_t last = lag();
    say("sleeps from any moment: behind by", first);
    say("  and at the end", last);
    expect_steady(first, last);
}

static void does_not_drift(void) {
    measure(1);
    const uint32_t first = lag();
    for (unsigned i = 0; i < 10000; ++i)
        sleep_exactly(clock_now() + 1 + some(3));
    const uint32_t last = lag();
    say("10000 sleeps: behind by", first);
    say("  and at the end", last);
    expect_steady(first, last);
}

/* P9 */
static void wakes_for_a_deadline_only(void) {
    measure(1);
    const unsigned before = waits;
    sleep_masked(500);
    EXPECT(clock_now() == 500);
    EXPECT(waits - before <= MOST_WAITS(500));
    EXPECT(ticks_handled == 0 || MOST_WAITS(500) == 1);
}

static void long_sleeps_are_chained(void) {
    const uint64_t far = 3 * (1u << 24) / CLOCK_PER_TICK + 77;
    measure(1);
    const uint32_t first = lag();
    const unsigned before = waits;
    sleep_exactly(far);
    EXPECT(waits - before <= MOST_WAITS(far));
    expect_steady(first, lag());
}

static void pending_interrupts_end_a_sleep(void) {
    measure(1);
    signal_start();
    signals = 0;
    const uint32_t mask = tw_interrupts_mask();
    signal_raise();
    clock_sleep_until(UINT64_MAX);
    EXPECT(signals == 0);
    EXPECT(clock_now() == 0);
    tw_interrupts_restore(mask);
    EXPECT(signals == 1);
}

static void interrupts_end_a_sleep_without_deadline(void) {
    measure(1);
    alarms = 0;
    alarm_start(150 * WATCH_PER_TICK);
    const unsigned before = waits;
    sleep_masked(UINT64_MAX);
    EXPECT(alarms == 1);
    EXPECT(clock_now() == 150);
    EXPECT(waits - before <= MOST_WAITS(150));
}

/* An interrupt arms an earlier deadline than the one slept for. Only this restarts a counter;
 * the clock may then lag by some cycles, but may never be ahead. */
static void a_sleep_can_be_cut_short(void) {
    enum { CUTS = 500 };
    measure(1);
    const uint32_t first = lag();
    for (unsigned i = 0; i < CUTS; ++i) {
        const uint64_t now = clock_now();
        alarm_start(2 * WATCH_PER_TICK + some(WATCH_PER_TICK));
        sleep_masked(now + 1000);
        EXPECT(clock_now() <= now + 4);
        const uint64_t earlier = clock_now() + 1 + some(4);
        do
            sleep_masked(earlier);
        while (clock_now() < earlier);
        EXPECT(clock_now() == earlier);
        EXPECT(watched() >= earlier * WATCH_PER_TICK);
    }
    const uint32_t last = lag();
    say("500 cuts: behind by", first);
    say("  and at the end", last);
    EXPECT(last + MICROSECONDS(2) >= first && last <= first + CUTS * MICROSECONDS(1));
}

/* A sleep was set for as long as the counter can count, but an interrupt ended it within the
 * first tick. The long period must not have any effect later. */
static void sleeps_that_end_soon_leave_no_trace(void) {
    measure(1);
    const uint32_t first = lag();
    for (unsigned i = 0; i < 200; ++i) {
        const uint64_t tick = clock_now() + 1;
        spin_until(tick * WATCH_PER_TICK + MICROSECONDS(20));
        alarm_start(MICROSECONDS(20));
        sleep_masked(UINT64_MAX);
        EXPECT(clock_now() == tick);
        spin_until((tick + 1) * WATCH_PER_TICK + MICROSECONDS(30));
        sleep_exactly(tick + 3);
    }
    expect_steady(first, lag());
}

/* Reads the clock while its interrupt is masked, and inside an interrupt. */
static void tells_the_time_before_its_interrupt_was_served(void) {
    measure(1);
    for (unsigned i = 0; i < 300; ++i) {
        const uint32_t mask = tw_interrupts_mask();
        const uint64_t tick = clock_now() + 1;
        alarm_start(MICROSECONDS(8) + some(MICROSECONDS(16)));
        spin_until(tick * WATCH_PER_TICK + MICROSECONDS(30));
        EXPECT(clock_now() == tick);
        tw_interrupts_restore(mask);
        EXPECT(told == tick);
        EXPECT(clock_now() == tick);
        spin_until((tick + 1) * WATCH_PER_TICK - some(MICROSECONDS(20)));
    }
}

static void never_goes_back(void) {
    measure(1);
    uint64_t before = 0;
    for (unsigned i = 0; i < 3000; ++i) {
        if (i % 8 == 0)
            alarm_start(MICROSECONDS(8) + some(MICROSECONDS(100)));
        const uint64_t now = clock_now();
        EXPECT(now >= before);
        before = now;
        EXPECT(now * WATCH_PER_TICK <= watched());
    }
}

static void ticking_has_an_interrupt_at_each_tick(void) {
    measure(0);
    ticks_handled = 0;
    for (unsigned tick = 1; tick <= 100; ++tick) {
        sleep_masked(UINT64_MAX);
        EXPECT(clock_now() == tick);
        EXPECT(ticks_handled == tick);
    }
}

static void refuses_bad_ticks(void) {
    EXPECT(clock_start(0, TW_TICKLESS) < 0);
#ifndef __riscv
    EXPECT(clock_start(TW_SYSTICK_FEWEST_CYCLES - 1, TW_TICKLESS) < 0);
    EXPECT(clock_start(TW_SYSTICK_MOST_CYCLES + 1, TW_TICKLESS) < 0);
    EXPECT(clock_start(TW_SYSTICK_MOST_CYCLES, TW_TICKLESS) == 0);
#endif
}

int main(void) {
    refuses_bad_ticks();
    wakes_for_a_deadline_only();
    pending_interrupts_end_a_sleep();
    interrupts_end_a_sleep_without_deadline();
    sleeps_that_end_soon_leave_no_trace();
    tells_the_time_before_its_interrupt_was_served();
    never_goes_back();
    ticking_has_an_interrupt_at_each_tick();
    keeps_deadlines(0);
    keeps_deadlines(1);
    sleeps_from_any_moment_of_a_tick();
    a_sleep_can_be_cut_short();
    does_not_drift();
    long_sleeps_are_chained();
    return 0;
}
