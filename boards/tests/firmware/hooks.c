/* The hooks around sleeps: the clock calls both once for each sleep, in turn, and announces its length. */
#include <tickwheel/board/hooks.h>

#include "expect.h"
#include "measured.h"

static volatile unsigned signals;
static unsigned sleeps;
static int asleep, undisturbed, raises_before, raises_after;
static uint64_t begun, ended, announced; /* of the latest sleep, in ticks */

void on_tick(void) { clock_isr(); }
void on_signal(void) { ++signals; }
void on_alarm(void) { alarm_silence(); }

void tw_before_sleep(uint64_t ticks) {
    EXPECT(!asleep);
    asleep = 1;
    ++sleeps;
    begun = clock_now();
    announced = ticks;
    if (raises_before)
        signal_raise();
}

void tw_after_sleep(void) {
    EXPECT(asleep);
    asleep = 0;
    ended = clock_now();
    EXPECT(announced > 0 && (!undisturbed || ended == begun + announced));
    if (raises_after)
        signal_raise();
}

static void each_wait_has_both_hooks_once(void) {
    measure(1);
    sleeps = 0;
    const unsigned before = waits;
    for (unsigned i = 0; i < 100; ++i)
        sleep_exactly(clock_now() + 1 + some(5));
    EXPECT(sleeps == waits - before);
    EXPECT(!asleep);
}

static void a_sleep_lasts_as_long_as_announced(void) {
    measure(1);
    undisturbed = 1; /* by other interrupts */
    for (unsigned i = 0; i < 100; ++i) {
        const uint64_t deadline = clock_now() + 1 + some(50);
        sleep_exactly(deadline);
        EXPECT(ended == deadline);
    }
    undisturbed = 0;
}

static void an_interrupt_ends_a_sleep_before_its_time(void) {
    measure(1);
    alarm_start(10 * WATCH_PER_TICK + WATCH_PER_TICK / 2);
    sleep_masked(1000);
    EXPECT(ended == 10);
    EXPECT(begun + announced == 1000);
}

static void without_deadline_as_long_as_the_counter_can(void) {
    measure(1);
    alarm_start(10 * WATCH_PER_TICK);
    sleep_masked(UINT64_MAX);
#ifdef __riscv
    EXPECT(announced == UINT64_MAX);
#else
    EXPECT(announced == (1u << 24) / CLOCK_PER_TICK);
#endif
}

static void no_sleep_no_hook(void) {
    measure(1);
    sleep_masked(10);
    const unsigned before = sleeps;
    sleep_masked(10);
    sleep_masked(0);
    EXPECT(sleeps == before);
}

static void ticking_announces_one_tick(void) {
    measure(0);
    for (unsigned i = 0; i < 20; ++i) {
        sleep_masked(UINT64_MAX);
        EXPECT(announced == 1);
        EXPECT(ended == begun + 1);
    }
}

/* A hook raises an interrupt, which is served only after the call. If the hook before the sleep raises it,
 * the sleep ends at once. */
static void interrupts_are_masked_in_hooks(void) {
    measure(1);
    signal_start();
    for (unsigned i = 0; i < 2; ++i) {
        raises_before = i == 0;
        raises_after = i == 1;
        signals = 0;
        const uint32_t mask = tw_interrupts_mask();
        clock_sleep_until(clock_now() + 5);
        EXPECT(signals == 0);
        EXPECT(!raises_before || ended == begun);
        tw_interrupts_restore(mask);
        EXPECT(signals == 1);
    }
}

int main(void) {
    each_wait_has_both_hooks_once();
    a_sleep_lasts_as_long_as_announced();
    an_interrupt_ends_a_sleep_before_its_time();
    without_deadline_as_long_as_the_counter_can();
    no_sleep_no_hook();
    ticking_announces_one_tick();
    interrupts_are_masked_in_hooks();
    return 0;
}
