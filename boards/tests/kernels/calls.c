/* Timers on a kernel, call by call: what starts and stops return, when callbacks run, when the timers' thread
 * is woken, and how it sleeps. Races are in races.c. */
#include "script.h"

/* Plays the test from an ordinary tick; from where 32-bit ticks wrap, and a timer may be due at the value of
 * TW_NEVER; and from where they would turn negative if they had a sign. */
static void play(void (*hook)(void), void (*of_test)(void)) {
    static const int64_t begins[] = {1000, (int64_t)UINT32_MAX - 6, (int64_t)INT32_MAX - 6};
    for (size_t i = 0; i < COUNT_OF(begins); ++i)
        play_from(begins[i], LENGTH, hook, of_test);
}

static void play_deferred(void (*of_test)(void)) {
    is_deferred = true;
    play(NULL, of_test);
}

static void play_both(void (*of_test)(void)) {
    play_deferred(of_test);
    is_deferred = false;
    if (HAS_TICK_HOOK)
        play(tick_interrupt, of_test);
}

static int start(tw_tick delay) { return tw_kernel_start(&timers, &node, delay); }
static int start_other(tw_tick delay) { return tw_kernel_start(&timers, &other, delay); }

/* --- one-shots --------------------------------------------------------------------------------- */

static void one_shots(void) {
    EXPECT(start(5) == 0 && start_other(0) == 0);
    pass(20);
    EXPECT(fires == 2);
    EXPECT(fired[0].node == &other && fired[0].after == 1);
    EXPECT(fired[1].node == &node && fired[1].after == 6);
}
TEST(p01_a_one_shot_fires_when_its_delay_has_passed) { play_both(one_shots); }

static void late_starts(void) {
    pass(40); /* the wheel was last advanced at the beginning */
    EXPECT(start(5) == 0);
    pass(20);
    EXPECT(fires == 1 && fired[0].after == 46);
}
TEST(p01_a_delay_counts_from_the_present_after_a_long_sleep) { play_both(late_starts); }

static void a_restart(void) {
    EXPECT(start(5) == 0 && start(20) == 0 && start(10) == 0);
    pass(10);
    EXPECT(fires == 0);
    pass(20);
    EXPECT(fires == 1 && fired[0].after == 11);
}
TEST(p04_a_start_moves_a_pending_timer) { play_both(a_restart); }

static void stops(void) {
    EXPECT(start(5) == 0 && tw_kernel_stop(&timers, &node) == 1 && tw_kernel_stop(&timers, &node) == 0);
    pass(20);
    EXPECT(fires == 0);
}
TEST(p06_a_stopped_timer_does_not_fire) { play_both(stops); }

static void starts_in_interrupts(void) {
    EXPECT(tw_kernel_start_from_isr(&timers, &node, 5) == 0);
    EXPECT(tw_kernel_start_every_from_isr(&timers, &other, 10, TW_BURST) == 0);
    pass(21);
    EXPECT(fires == 3 && fired[0].after == 6 && fired[1].after == 11 && fired[2].after == 21);
    EXPECT(tw_kernel_stop(&timers, &other) == 1);
}
TEST(p01_interrupts_start_timers) { play_both(starts_in_interrupts); }

/* --- periodic timers --------------------------------------------------------------------------- */

static void periodic(void) {
    EXPECT(tw_kernel_start_every(&timers, &node, 10, TW_BURST) == 0);
    pass(35);
    EXPECT(fires == 3);
    for (unsigned i = 0; i < fires; ++i)
        EXPECT(fired[i].after == 11 + 10 * i && fired[i].overruns == 0);
    EXPECT(tw_kernel_stop(&timers, &node) == 1);
}
TEST(p05_a_periodic_timer_fires_on_its_grid) { play_both(periodic); }

static void hold_up(void) {
    if (fires == 1)
        pass(25);
}
static void missed(void) {
    EXPECT(tw_kernel_start_every(&timers, &node, 10, TW_COALESCE) == 0);
    EXPECT(tw_kernel_start_every(&timers, &other, 4, TW_BURST) == 0);
    on_other = hold_up;
    pass(45);
    EXPECT(fired[0].node == &other && fired[0].after == 5);
    unsigned of_node = 0, of_other = 0;
    for (unsigned i = 0; i < fires; ++i)
        fired[i].node == &node ? ++of_node : ++of_other;
    EXPECT(tw_kernel_stop(&timers, &node) == 1 && tw_kernel_stop(&timers, &other) == 1);
    EXPECT(of_node == 3 && of_other == 11); /* at 30 (for 11 and 21), 31 and 41; for 5, 9, ... 45 */
}
TEST(p05_missed_fires_are_skipped_or_caught_up) { play_deferred(missed); }

/* --- when the thread is woken ------------------------------------------------------------------ */

static void not_earlier(void) {
    EXPECT(start(10) == 0 && asked.wakes == 1);
    pass(1);
    EXPECT(start_other(9) == 0 && start_other(20) == 0 && asked.wakes == 1);
}
TEST(a_start_that_is_not_earlier_wakes_nobody) { play_deferred(not_earlier); }

static void earlier(void) {
    EXPECT(start(10) == 0);
    pass(1);
    EXPECT(tw_kernel_start_from_isr(&timers, &other, 10) == 0 && asked.wakes == 1);
    EXPECT(tw_kernel_start_from_isr(&timers, &other, 3) == 0 && asked.wakes == 2);
    pass(20);
    EXPECT(fires == 2 && fired[0].after == 5);
}
TEST(a_start_that_is_earlier_wakes_the_thread) { play_deferred(earlier); }

static void start_from_callback(void) { EXPECT(start_other(1) == 0); }
static void callbacks(void) {
    on_node = start_from_callback;
    EXPECT(start(3) == 0);
    pass(20);
    EXPECT(fires == 2 && fired[1].after == 6 && asked.wakes == 1);
}
TEST(a_start_in_a_callback_wakes_nobody) { play_deferred(callbacks); }

/* The adapter compares a start with the tick of the turn, not with the tick of the planned wake-up. */
static void start_later_from_callback(void) { EXPECT(start_other(20) == 0); }
static void callbacks_after_a_wake_up(void) {
    on_node = start_later_from_callback;
    EXPECT(start(0) == 0); /* due when the thread, which is woken, begins its turn */
    set_present(present() + 1);
    pass(40);
    EXPECT(fires == 2 && fired[1].after == 22 && asked.wakes == 1);
}
TEST(a_start_in_a_callback_after_a_wake_up_wakes_nobody) { play_deferred(callbacks_after_a_wake_up); }

static void stop_the_next(void) {
    EXPECT(start(10) == 0);
    pass(1);
    const unsigned before = asked.sleeps;
    EXPECT(tw_kernel_stop(&timers, &node) == 1);
    pass(5);
    EXPECT(asked.wakes == 1 && asked.sleeps == before);
    pass(50);
    EXPECT(fires == 0 && asked.wakes == 1 && asked.sleeps - before <= 2);
}
TEST(a_stop_wakes_nobody_and_the_thread_wakes_once_for_nothing) { play_deferred(stop_the_next); }

static void arm_otherwise(void) {
    const tw_tick now = tw_kernel_now();
    EXPECT(tw_arm_within(&timers.wheel, &node, now + 5, 10) == 0 && asked.wakes == 0);
    tw_kernel_wake_by(&timers, now + 5);
    EXPECT(asked.wakes == 1);
    pass(1);
    tw_kernel_wake_by(&timers, now + 15);
    EXPECT(asked.wakes == 1);
    EXPECT(tw_arm_at(&timers.wheel, &other, now + 3) == 0);
    tw_kernel_wake_by_from_isr(&timers, now + 3);
    EXPECT(asked.wakes == 2);
    pass(20);
    EXPECT(fires == 2 && fired[0].after == 3 && fired[1].after >= 5 && fired[1].after <= 15);
}
TEST(what_other_functions_arm_wakes_by_the_tick_that_is_given) { play_deferred(arm_otherwise); }

static void not_yet(void) {
    EXPECT(start(3) == 0 && start_other(1) == 0);
    pass(10);
    EXPECT(fires == 0 && asked.wakes == 0);
    create(run_timers, &timers);
    pass(1);
    EXPECT(fires == 2 && fired[0].node == &other);
}
TEST(p04_timers_started_before_there_is_a_thread_fire) {
    is_deferred = false;
    play(NULL, not_yet);
}

/* --- how the thread sleeps --------------------------------------------------------------------- */

static void sleeps(void) {
    const unsigned before = asked.sleeps;
    EXPECT(start(50) == 0);
    pass(90);
    EXPECT(fires == 1 && asked.sleeps - before == 2); /* when it was woken, and when it fired */
}
TEST(p09_nothing_due_no_wake_up) { play_deferred(sleeps); }

static void with_nothing_pending(void) { EXPECT(asked.sleeps == 1 && asked.last_sleep == LONGEST_SLEEP); }
TEST(p09_with_nothing_pending_it_sleeps_as_long_as_ticks_allow) { play_deferred(with_nothing_pending); }

static void rest_of_callbacks(void) { pass(10); }
static void long_callback(void) {
    on_node = rest_of_callbacks;
    EXPECT(start(3) == 0 && start_other(8) == 0);
    pass(20);
    EXPECT(fires == 2 && fired[1].after == 14);
}
TEST(p02_what_came_due_during_a_callback_fires_right_after_it) { play_deferred(long_callback); }

static void longest(void) {
    EXPECT(start(LONGEST_DELAY) == 0);
    pass((int64_t)LONGEST_DELAY);
    EXPECT(fires == 0);
    pass(1);
    EXPECT(fires == 1 && fired[0].after == (int64_t)LONGEST_DELAY + 1 && asked.sleeps < 100);
}
TEST(p04_the_longest_delay_fires_on_its_tick) {
    is_deferred = true;
    play_from(1000, 3 * (int64_t)(LONGEST_DELAY / 2), NULL, longest);
    play_from((int64_t)UINT32_MAX - 5, 3 * (int64_t)(LONGEST_DELAY / 2), NULL, longest);
}

/* 32-bit ticks wrap between the rounds: the thread must advance the wheel in between. */
static void long_idle(void) {
    const unsigned before = asked.sleeps;
    for (unsigned round = 0; round < 5; ++round) {
        pass((int64_t)1 << 33);
        fires = 0;
        begin = present();
        EXPECT(start(10) == 0 && start_other(20) == 0);
        pass(30);
        EXPECT(fires == 2 && fired[0].after == 11 && fired[1].after == 21);
    }
    EXPECT(asked.last_sleep <= LONGEST_SLEEP && asked.sleeps - before < 150);
}
TEST(p04_the_wheel_follows_the_time_with_nothing_pending) {
    is_deferred = true;
    play_from(1000, (int64_t)1 << 36, NULL, long_idle);
}

static void on_last_tick(void) {
    const unsigned before = asked.sleeps;
    EXPECT(start((tw_tick)((int64_t)UINT32_MAX - present() - 1)) == 0);
    pass(30);
    EXPECT(fires == 1 && begin + fired[0].after == UINT32_MAX);
    EXPECT(asked.sleeps - before <= 3); /* tw_next may also name the tick before, which fires nothing */
}
TEST(p04_a_timer_fires_on_the_last_tick_before_ticks_wrap) {
    is_deferred = true;
    play_from((int64_t)UINT32_MAX - 10, 50, NULL, on_last_tick);
    is_deferred = false;
    if (HAS_TICK_HOOK)
        play_from((int64_t)UINT32_MAX - 10, 50, tick_interrupt, on_last_tick);
}

/* --- errors ------------------------------------------------------------------------------------ */

static void errors(void) {
    const tw_tick too_long = LONGEST_DELAY + 1;
    struct tw_node shut;
    EXPECT(start(5) == 0);
    const unsigned before = asked.wakes;
    EXPECT(start(too_long) == -ERANGE && start(TW_NEVER) == -ERANGE);
    EXPECT(tw_kernel_start_from_isr(&timers, &node, too_long) == -ERANGE);
    EXPECT(tw_kernel_start_every(&timers, &node, too_long, TW_BURST) == -ERANGE);
    EXPECT(tw_kernel_start_every_from_isr(&timers, &node, too_long, TW_BURST) == -ERANGE);
    EXPECT(tw_kernel_start_every(&timers, &node, 0, TW_BURST) == -EINVAL);
    EXPECT(tw_kernel_start_every(&timers, &node, 1, (enum tw_missed)3) == -EINVAL);
    EXPECT(tw_kernel_start(&timers, NULL, 1) == -EINVAL);
    EXPECT(tw_kernel_start(NULL, &node, 1) == -EINVAL);
    EXPECT(tw_kernel_start_every(NULL, &node, 1, TW_BURST) == -EINVAL);
    EXPECT(tw_kernel_start_from_isr(NULL, &node, 1) == -EINVAL);
    EXPECT(tw_kernel_start_every_from_isr(NULL, &node, 1, TW_BURST) == -EINVAL);
    EXPECT(tw_kernel_stop(NULL, &node) == -EINVAL && tw_kernel_stop(&timers, NULL) == -EINVAL);
    EXPECT(tw_node_init(&shut, on_fire, &on_node) == 0 && tw_retire(&timers.wheel, &shut) == 0);
    EXPECT(tw_kernel_start(&timers, &shut, 1) == -EPERM);
    EXPECT(asked.wakes == before);
    pass(30);
    EXPECT(fires == 1 && fired[0].after == 6);
}
TEST(p14_a_start_that_fails_changes_nothing) { play_both(errors); }

TEST(p14_init_needs_an_object) { assert_int_equal(-EINVAL, tw_kernel_init(NULL)); }
