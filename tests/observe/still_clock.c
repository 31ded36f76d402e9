/* What a runtime measures, to the nanosecond: the clocks of this program stand still unless it moves them.
 * The library's stopwatch reads these clocks, too, because the test spoils its measurement of the processor's
 * counter. */
#include <semaphore.h>
#include <unistd.h>

#include "histogram.h"
#include "support/runtime_test.h"

#include <tickwheel/observe.h>
#include <tickwheel/timers.h>
#include <tickwheel/workers.h>

#define US TW_MICROSECOND
#define MS TW_MILLISECOND

/* --- the clocks -------------------------------------------------------------------------------- */

#define START (1000 * TW_SECOND)
#define WALL_START (1700000000 * TW_SECOND)

static _Atomic int64_t steady = START, wall = WALL_START;
static _Atomic int64_t each_reading_takes;
static _Atomic unsigned readings; /* of the steady clock */

/* How long the thread is held up before its third reading of a dispatch, which is when the first callback
 * begins. */
static int64_t held_up_before_callbacks;
static unsigned held_up_at;

static void pass(int64_t ns) {
    steady += ns;
    wall += ns;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *reading);
int __wrap_clock_gettime(clockid_t clock, struct timespec *reading) {
    const bool is_wall = clock == CLOCK_REALTIME;
    pass(each_reading_takes);
    if (!is_wall && ++readings == held_up_at)
        pass(held_up_before_callbacks);
    const int64_t now = is_wall ? wall : steady;
    *reading = (struct timespec){.tv_sec = now / TW_SECOND, .tv_nsec = (long)(now % TW_SECOND)};
    return 0;
}

/* Lets the first runtime's measurement of the counter fail. The alarm stands in for the time limit of
 * wait_for, which never passes on these clocks. */
static int spoil_the_measurement(UNUSED void **state) {
    alarm(60);
    each_reading_takes = 10 * TW_SECOND;
    tw_runtime_free(virtual_runtime());
    each_reading_takes = 0;
    return 0;
}

/* --- a driver, for the thread of a runtime and for a loop ---------------------------------------- */

static struct tw_deadlines asked; /* the deadlines of the last call to `program` */
static atomic_uint waits, woken, waits_without_sleep;
static sem_t wakes_left;

static int open_still(UNUSED void *memory, UNUSED enum tw_clock clock) {
    asked = (struct tw_deadlines){-1, -1};
    waits = woken = waits_without_sleep = 0;
    return sem_init(&wakes_left, 0, 0);
}
static void close_still(UNUSED void *memory) { sem_destroy(&wakes_left); }
static int wait_still(UNUSED void *memory, const struct tw_deadlines *until) {
    ++waits;
    if (until->steady_ns <= steady || until->wall_ns <= wall || waits <= waits_without_sleep)
        return 0;
    while (sem_wait(&wakes_left) != 0) {
    }
    return 1;
}
static void wake_still(UNUSED void *memory) {
    ++woken;
    sem_post(&wakes_left);
}
static int descriptor_of_still(UNUSED void *memory) { return 0; }
static int program_still(UNUSED void *memory, const struct tw_deadlines *until) {
    if (until != NULL)
        asked = *until;
    else if (held_up_before_callbacks != 0)
        held_up_at = readings + 4;
    return 0;
}

static const struct tw_driver still = {
    .name = "still",
    .clocks = TW_CLOCK_BIT(TW_CLOCK_MONOTONIC) | TW_CLOCK_BIT(TW_CLOCK_WALL),
    .state_size = 1,
    .open = open_still,
    .close = close_still,
    .wait_until = wait_still,
    .wake = wake_still,
    .descriptor = descriptor_of_still,
    .program = program_still,
};

/* --- timers that take their time ----------------------------------------------------------------- */

enum { MOST = 200 };

static struct tw_runtime *rt;
static struct tw_stats observed;
static struct tw_stats stats;

static struct timer {
    struct tw_node node;
    int64_t takes;
} timers[MOST];
static _Atomic unsigned fires;

/* The number of callbacks in each group: those that ran between two readings of the clock. */
static unsigned groups[MOST], group_count, readings_seen;

static void take_time(UNUSED struct tw_node *node, void *arg) {
    if (readings != readings_seen)
        ++group_count;
    readings_seen = readings;
    ++groups[group_count - 1];
    ++fires;
    pass(((struct timer *)arg)->takes);
}

static int end(UNUSED void **state) { return tw_runtime_free(rt); }

GROUP_FIXTURE(spoil_the_measurement, end);

/* Also frees the previous runtime. */
static void start_with(struct tw_runtime_options options) {
    tw_runtime_free(rt);
    rt = NULL;
    steady = START;
    wall = WALL_START;
    memset(groups, 0, sizeof groups);
    group_count = readings_seen = 0;
    fires = 0;
    rt = new_runtime(options);
}

static void start_on(enum tw_clock clock) {
    start_with((struct tw_runtime_options){.own_driver = &still, .clock = clock});
}

static void start(void) { start_on(TW_CLOCK_MONOTONIC); }

static void init(struct timer *timer, int64_t takes) {
    timer->takes = takes;
    assert_ok(tw_node_init(&timer->node, take_time, timer));
}

static void arm(struct timer *timer, int64_t delay, int64_t takes) {
    init(timer, takes);
    assert_int_equal(tw_runtime_after(rt, &timer->node, delay), 0);
}

static void go_to_sleep(void) { assert_ok(tw_runtime_fd(rt)); }

static void dispatch(void) {
    assert_ok(tw_runtime_dispatch(rt));
    assert_ok(tw_runtime_stats(rt, &observed));
    assert_ok(tw_runtime_stats(rt, &stats));
}

static void dispatch_at(int64_t reading) {
    pass(reading - steady);
    dispatch();
}

/* --- durations ------------------------------------------------------------------------------------ */

/* A group takes two microseconds at most, so the library times callbacks of a microsecond one by one. The
 * next group is larger if this one took at most half of that; after a slow callback, the groups start at one
 * callback again. */
TEST(short_callbacks_that_follow_each_other_are_timed_together) {
    static const struct {
        struct {
            unsigned times;
            int64_t takes;
        } callbacks[4];
        unsigned of_two_labels; /* the first so many callbacks have two labels, in turn */
        unsigned groups[20];
    } rows[] = {
        {{{200, 10}}, 0, {1, 2, 4, 8, 16, 32, 32, 32, 32, 32, 9}},
        {{{8, 1023}}, 0, {1, 2, 2, 2, 1}},
        {{{4, 1024}}, 0, {1, 1, 1, 1}},
        {{{63, 60}, {64, 64}, {63, 65}}, 0, {1, 2, 4, 8, 16, 32, 32, 32, 32, 1, 2, 4, 8, 16}},
        {{{1, 3 * MS}, {3, 10}}, 0, {1, 1, 2}},
        {{{1, 10}, {1, 3 * MS}, {7, 10}}, 0, {1, 2, 1, 2, 3}},
        {{{18, 10}}, 10, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 2}},
    };
    for (unsigned r = 0; r < COUNT_OF(rows); ++r) {
        unsigned all = 0;
        int64_t sum = 0;
        start();
        for (unsigned c = 0; c < COUNT_OF(rows[r].callbacks); ++c)
            for (unsigned i = 0; i < rows[r].callbacks[c].times; ++i, ++all) {
                struct timer *const timer = &timers[all];
                init(timer, rows[r].callbacks[c].takes);
                assert_ok(tw_runtime_label(rt, &timer->node,
                                           all < rows[r].of_two_labels && all % 2 != 0 ? "odd" : NULL));
                assert_ok(tw_runtime_after(rt, &timer->node, MS));
                sum += timer->takes;
            }
        go_to_sleep();
        dispatch_at(START + MS);
        assert_int_equal(fires, all);
        for (unsigned g = 0; g < COUNT_OF(rows[r].groups); ++g)
            assert_int_equal(groups[g], rows[r].groups[g]);
        assert_int_equal(total_of(&observed.callbacks), all);
        assert_int_equal(observed.callbacks.sum_ns, sum);
    }
}

/* The library tells a slow callback from the others of its group if it is slower by the width of the
 * narrowest bucket. The slow callback makes all callbacks after it late, and those of its own group before
 * it. */
TEST(a_slow_callback_among_short_ones_is_counted_as_one) {
    enum { USUAL = 10 };
    static const struct {
        unsigned all, slow; /* callback number `slow` of `all`, from 1, is slow */
        int64_t takes, longest;
        uint64_t late_by_it;
    } rows[] = {
        {4, 1, 3 * MS, 3 * MS, 3},           {4, 2, 3 * MS, 3 * MS, 2},
        {4, 3, 3 * MS, 3 * MS, 2},           {140, 127, 3 * MS, 3 * MS, 31 + 13},
        {4, 3, USUAL + 512, USUAL + 512, 2}, {4, 3, USUAL + 511, (USUAL + USUAL + 511) / 2, 1},
    };
    for (unsigned r = 0; r < COUNT_OF(rows); ++r) {
        const struct tw_histogram *const late = &observed.late[TW_LATE_CALLBACKS];
        const int64_t all_of_them = (rows[r].all - 1) * USUAL + rows[r].takes;
        uint64_t late_by_it = 0;
        start();
        for (unsigned i = 0; i < rows[r].all; ++i)
            arm(&timers[i], MS, i + 1 == rows[r].slow ? rows[r].takes : USUAL);
        go_to_sleep();
        dispatch_at(START + MS);
        for (unsigned i = 0; i < TW_BUCKETS; ++i)
            late_by_it += tw_bucket_limit(i) > rows[r].takes ? late->counts[i] : 0;
        assert_int_equal(late_by_it, rows[r].late_by_it);
        assert_int_equal(late->sum_ns / rows[r].takes, late_by_it);
        assert_int_equal(total_of(late) + total_of(&observed.late[TW_LATE_WAKING]), rows[r].all);
        assert_int_equal(total_of(&observed.callbacks), rows[r].all);
        assert_int_equal(observed.callbacks.max_ns, rows[r].longest);
        assert_in_range(observed.callbacks.sum_ns, all_of_them - 1, all_of_them);
    }
}

/* For example, when a virtual machine moves to another host. */
TEST(a_counter_that_is_set_back_gives_a_duration_of_0) {
    start();
    arm(&timers[0], MS, -5);
    arm(&timers[1], MS, 0);
    go_to_sleep();
    dispatch_at(START + MS + 10);
    assert_int_equal(total_of(&observed.callbacks), 2);
    assert_int_equal(observed.callbacks.sum_ns, 0);
    assert_int_equal(observed.late[TW_LATE_WAKING].sum_ns, 20);
}

TEST(runs_on_workers_are_timed_on_virtual_time_too) {
    static const int64_t takes[] = {5000, 100};
    struct tw_workers *workers;
    struct tw_work item;
    start_with((struct tw_runtime_options){.driver = "manual"});
    assert_ok(tw_workers_new(&workers, rt, NULL));
    for (unsigned i = 0; i < COUNT_OF(takes); ++i) {
        timers[0].takes = takes[i];
        assert_ok(tw_work_init(&item, workers, take_time, &timers[0], 0));
        assert_ok(tw_runtime_after(rt, &item.node, MS));
        assert_ok(tw_runtime_advance(rt, MS));
        assert_ok(tw_workers_wait(workers));
    }
    assert_ok(tw_runtime_stats(rt, &observed));
    assert_int_equal(total_of(&observed.callbacks), 2);
    assert_int_equal(observed.callbacks.sum_ns, 5100);
    assert_int_equal(observed.callbacks.max_ns, 5000);
}

static void drop_slowly(UNUSED void *arg) { pass(5 * MS); }

TEST(a_slow_drop_counts_for_no_callback) {
    struct tw_timers *handles;
    const struct tw_task task = {.fn = no_task, .drop = drop_slowly};
    tw_handle id;
    start();
    assert_ok(tw_timers_new(&handles, rt, NULL));
    for (unsigned i = 0; i < 3; ++i)
        assert_ok(tw_timer_start(handles, &id, &(struct tw_when){.due_ns = MS}, &task));
    go_to_sleep();
    dispatch_at(START + MS);
    assert_int_equal(total_of(&observed.callbacks), 3);
    assert_int_equal(observed.callbacks.sum_ns, 0);
    assert_int_equal(observed.late[TW_LATE_CALLBACKS].sum_ns, 5 * MS + 10 * MS);
}

/* --- lateness, and its cause ------------------------------------------------------------------------ */

TEST(a_fire_is_late_by_the_greater_of_two_causes) {
    static const struct {
        int64_t overslept, takes;
        enum tw_late_cause cause; /* the cause for the second of two fires */
    } rows[] = {
        {3, 4, TW_LATE_CALLBACKS}, {3, 3, TW_LATE_WAKING}, {0, 1, TW_LATE_CALLBACKS}, {1, 0, TW_LATE_WAKING}};
    for (unsigned r = 0; r < COUNT_OF(rows); ++r) {
        start();
        arm(&timers[0], MS, rows[r].takes);
        arm(&timers[1], MS, 0);
        go_to_sleep();
        dispatch_at(START + MS + rows[r].overslept);
        assert_int_equal(total_of(&observed.late[rows[r].cause]), rows[r].cause == TW_LATE_WAKING ? 2 : 1);
        assert_int_equal(observed.late[rows[r].cause].max_ns, rows[r].overslept + rows[r].takes);
        assert_int_equal(observed.late[TW_LATE_WAKING].sum_ns + observed.late[TW_LATE_CALLBACKS].sum_ns,
                         2 * rows[r].overslept + rows[r].takes);
    }
}

/* The same on virtual time: lateness.c. */
TEST(lateness_of_callbacks_that_are_timed_together_adds_up_to_no_more_than_all_time) {
    start();
    for (unsigned i = 0; i < 3; ++i)
        arm(&timers[i], MS, 0);
    go_to_sleep();
    dispatch_at(INT64_MAX / 5 * 3);
    assert_true(observed.late[TW_LATE_WAKING].sum_ns == INT64_MAX);
}

/* The system runs other threads between the first reading of a turn and its first callback, but not in the
 * next turn. */
TEST(a_thread_that_was_held_up_before_its_first_callback_woke_late) {
    start();
    arm(&timers[0], MS, 4);
    arm(&timers[1], MS, 3 * US); /* a slow callback, so that the library times the next ones one by one */
    go_to_sleep();
    held_up_before_callbacks = 5;
    dispatch_at(START + MS);
    assert_int_equal(observed.callbacks.sum_ns, 4 + 3 * US);
    assert_int_equal(observed.late[TW_LATE_WAKING].sum_ns, 5 + 9);
    assert_int_equal(observed.late[TW_LATE_WAKING].max_ns, 9);
    held_up_before_callbacks = 0;
    arm(&timers[0], MS, 3);
    arm(&timers[1], MS, 0);
    dispatch_at(START + 3 * MS + 1);
    assert_int_equal(observed.late[TW_LATE_WAKING].sum_ns, 5 + 9 + 1);
    assert_int_equal(observed.late[TW_LATE_CALLBACKS].max_ns, 4);
}

/* The second timer comes due during the callback of the first, and fires when the program's loop returns. */
TEST(a_timer_that_a_callback_holds_up_is_late_by_that_or_by_the_loop) {
    static const struct {
        int64_t takes, loop;
        uint64_t held_up;
        enum tw_late_cause cause;
    } rows[] = {{MS, 0, 0, TW_LATE_WAKING},
                {MS, 7, 0, TW_LATE_WAKING},
                {MS + 1, 10, 1, TW_LATE_WAKING},
                {2 * MS, 10, 1, TW_LATE_CALLBACKS},
                {2 * MS, 5 * MS, 1, TW_LATE_WAKING}};
    for (unsigned r = 0; r < COUNT_OF(rows); ++r) {
        const int64_t held_up = rows[r].takes - MS, late = held_up + rows[r].loop;
        start();
        arm(&timers[0], MS, rows[r].takes);
        arm(&timers[1], 2 * MS, 0);
        go_to_sleep();
        dispatch_at(START + MS);
        assert_int_equal(asked.steady_ns, START + 2 * MS);
        assert_int_equal(stats.held_up, rows[r].held_up);
        assert_int_equal(stats.held_up_sum_ns, held_up);
        assert_int_equal(stats.held_up_max_ns, held_up);
        pass(rows[r].loop);
        dispatch();
        assert_int_equal(fires, 2);
        assert_int_equal(observed.late[rows[r].cause].max_ns, late);
        assert_int_equal(observed.late[rows[r].cause].sum_ns, late);
        assert_int_equal(stats.held_up, rows[r].held_up);
        assert_int_equal(stats.timed, rows[r].held_up == 0 ? 2 : 1);
        assert_int_equal(stats.late_sum_ns, rows[r].held_up == 0 ? rows[r].loop : 0);
    }
}

/* The wall clock may be set while the thread sleeps until 2 ms on it; a second timer is due at 3 ms. */
TEST(on_the_wall_clock_a_fire_is_late_at_most_by_the_sleep_that_was_too_long) {
    static const struct {
        int64_t after; /* of a timer on the steady clock; 0: none */
        int64_t slept, set;
        uint64_t timed, fires;
        int64_t late, sum; /* lateness of the wake-up; sum over all fires */
    } rows[] = {
        {0, 2 * MS + 7, 0, 1, 1, 7, 7},
        {0, 3 * MS + 10, 0, 1, 2, MS + 10, MS + 10 + 10},
        {0, MS, 5 * MS, 0, 2, 0, 0},
        {0, 2 * MS + 3, 5 * MS, 1, 2, 3, 3 + 3},
        {0, 2 * MS + 100 * US + 7, -100 * US, 1, 1, 7, 7},
        {MS, MS + 5, 0, 1, 1, 5, 5},
        {90 * MS, 2 * MS + 6, 0, 1, 1, 6, 6},
    };
    for (unsigned r = 0; r < COUNT_OF(rows); ++r) {
        start_on(TW_CLOCK_WALL);
        for (unsigned i = 0; i < 2; ++i) {
            init(&timers[i], 0);
            assert_int_equal(tw_runtime_at(rt, &timers[i].node, WALL_START + (2 + i) * MS), 0);
        }
        if (rows[r].after != 0)
            arm(&timers[2], rows[r].after, 0);
        go_to_sleep();
        assert_int_equal(asked.wall_ns, WALL_START + 2 * MS);
        assert_int_equal(asked.steady_ns, rows[r].after != 0 ? START + rows[r].after : TW_NO_DEADLINE);
        wall += rows[r].set;
        dispatch_at(START + rows[r].slept);
        assert_int_equal(fires, rows[r].fires);
        assert_int_equal(stats.timed, rows[r].timed);
        assert_int_equal(stats.late_sum_ns, rows[r].late);
        assert_int_equal(stats.late_max_ns, rows[r].late);
        assert_int_equal(stats.held_up, 0);
        assert_int_equal(observed.late[TW_LATE_WAKING].max_ns, rows[r].late);
        assert_int_equal(observed.late[TW_LATE_WAKING].sum_ns, rows[r].sum);
    }
}

/* --- sleeping and waking ------------------------------------------------------------------------------ */

TEST(wake_ups_are_counted_with_how_late_they_were) {
    start();
    arm(&timers[0], MS, 0);
    assert_int_equal(woken, 0); /* nothing sleeps yet */
    go_to_sleep();
    assert_int_equal(asked.steady_ns, START + MS);
    assert_int_equal(asked.wall_ns, TW_NO_DEADLINE);
    dispatch_at(START + MS + 7);
    assert_int_equal(asked.steady_ns, TW_NO_DEADLINE);
    assert_int_equal(stats.timed, 1);

    arm(&timers[1], 3 * MS, 0);
    assert_int_equal(woken, 1);
    dispatch();
    assert_int_equal(asked.steady_ns, START + 5 * MS);
    arm(&timers[2], 10 * MS, 0); /* after the end of the thread's sleep */
    assert_int_equal(woken, 1);
    arm(&timers[3], MS, 0);
    assert_int_equal(woken, 2);
    dispatch_at(START + 2 * MS);
    assert_int_equal(asked.steady_ns, START + 3 * MS);
    assert_int_equal(stats.wakeups, 3);
    assert_int_equal(stats.timed, 1); /* the calls ended the other sleeps */

    dispatch_at(START + 3 * MS + 5);
    dispatch_at(START + 5 * MS);
    dispatch_at(START + 12 * MS + 9);
    assert_int_equal(fires, 4);
    assert_int_equal(stats.wakeups, 6);
    assert_int_equal(stats.timed, 4);
    assert_int_equal(stats.late_sum_ns, 7 + 5 + 0 + 9);
    assert_int_equal(stats.late_max_ns, 9);
    assert_int_equal(stats.wakes, 2);
    assert_int_equal(stats.held_up, 0);
}

/* Ticks from before the clock was set cannot be compared with ticks after that. */
TEST(an_earlier_deadline_wakes_the_thread_also_when_the_wall_clock_was_set_back) {
    for (int has_deadline = 0; has_deadline < 2; ++has_deadline) {
        start_on(TW_CLOCK_WALL);
        init(&timers[0], 0);
        init(&timers[1], 0);
        if (has_deadline)
            assert_int_equal(tw_runtime_at(rt, &timers[0].node, WALL_START + 100 * TW_SECOND), 0);
        go_to_sleep();
        wall -= 3600 * TW_SECOND;
        assert_int_equal(tw_runtime_at(rt, &timers[1].node, wall + 150 * TW_SECOND), 0);
        assert_int_equal(woken, 1);
        dispatch();
        assert_int_equal(asked.wall_ns, wall + 150 * TW_SECOND);
        assert_int_equal(stats.clock_sets, 1);
    }
}

static void arm_the_next(UNUSED struct tw_node *node, void *next) { arm(next, MS, 0); }

TEST(a_timer_that_a_callback_arms_does_not_wake_the_thread) {
    struct tw_node node;
    start();
    assert_ok(tw_node_init(&node, arm_the_next, &timers[0]));
    assert_ok(tw_runtime_after(rt, &node, 2 * MS));
    go_to_sleep();
    dispatch_at(START + 2 * MS);
    assert_int_equal(woken, 0);
    assert_int_equal(asked.steady_ns, START + 3 * MS);
}

/* This driver watches no descriptors, so the library does not even call it. */
TEST(a_thread_whose_budget_was_used_up_does_not_sleep) {
    for (int on_wall = 0; on_wall < 2; ++on_wall) {
        start_with((struct tw_runtime_options){
            .own_driver = &still, .budget = 2, .clock = on_wall ? TW_CLOCK_WALL : TW_CLOCK_MONOTONIC});
        for (unsigned i = 0; i < MOST; ++i) {
            init(&timers[i], 0);
            assert_int_equal(tw_runtime_at(rt, &timers[i].node, (on_wall ? WALL_START : START) + MS), 0);
        }
        pass(MS);
        waits_without_sleep = 1;
        assert_ok(tw_runtime_start(rt));
        wait_for(fires == MOST && waits >= 2);
        assert_ok(tw_runtime_stop(rt));
        assert_int_equal(waits, 2);
        assert_ok(tw_runtime_stats(rt, &stats));
        assert_int_equal(stats.wakeups, 1); /* to stop */
        assert_int_equal(stats.timed, 0);
        assert_int_equal(stats.held_up, 0);
        assert_int_equal(stats.wait_errors, 0);
    }
}

/* The thread goes on with its next turn at once. */
TEST(a_thread_that_a_callback_holds_up_does_not_wake_late) {
    start();
    arm(&timers[0], MS, 2 * MS);
    arm(&timers[1], 2 * MS, 0);
    pass(MS);
    assert_ok(tw_runtime_start(rt));
    wait_for(fires == 2);
    assert_ok(tw_runtime_stop(rt));
    assert_ok(tw_runtime_stats(rt, &observed));
    assert_int_equal(observed.late[TW_LATE_WAKING].sum_ns, 0);
    assert_int_equal(observed.late[TW_LATE_CALLBACKS].sum_ns, MS);
}
