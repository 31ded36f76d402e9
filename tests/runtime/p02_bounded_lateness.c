/* P2: at most one tick late, plus the time the system takes to wake a thread. The library's share is exact,
 * and tested as such: the runtime never asks the driver to sleep beyond the tick of the earliest deadline,
 * and a call that arms an earlier one wakes the driver. observe/still_clock.c tests how the library measures
 * lateness. */
#include "support/faults.h"

#include <sys/prctl.h>

#include <tickwheel/observe.h>

/* A driver that wraps the sleep driver and records the deadlines of its waits. */
static const struct tw_driver *inner;
static atomic_int_fast64_t asked; /* the latest deadline to sleep to */
static atomic_uint wakes;

static int listen_open(void *memory, enum tw_clock clock) { return inner->open(memory, clock); }
static void listen_close(void *memory) { inner->close(memory); }

static int listen_wait(void *memory, const struct tw_deadlines *until) {
    atomic_store(&asked, until->steady_ns);
    return inner->wait_until(memory, until);
}

static void listen_wake(void *memory) {
    atomic_fetch_add(&wakes, 1);
    inner->wake(memory);
}

static struct tw_driver listening;

static struct tw_runtime *listening_runtime(int64_t tick_ns) {
    inner = tw_driver_named("sleep");
    listening = (struct tw_driver){
        .name = "listening",
        .clocks = inner->clocks,
        .state_size = inner->state_size,
        .open = listen_open,
        .close = listen_close,
        .wait_until = listen_wait,
        .wake = listen_wake,
    };
    atomic_store(&asked, 0);
    atomic_store(&wakes, 0);
    return new_runtime((struct tw_runtime_options){.own_driver = &listening, .tick_ns = tick_ns});
}

static atomic_uint fires;

static void count(UNUSED struct tw_node *node, UNUSED void *arg) { atomic_fetch_add(&fires, 1); }

TEST(p2_sleeps_to_the_tick_of_the_earliest_deadline) {
    static const int64_t ticks[] = {1, 1000, 77777, TW_MILLISECOND};
    for (unsigned t = 0; t < COUNT_OF(ticks); ++t) {
        struct tw_node nodes[20];
        struct tw_runtime *rt = listening_runtime(ticks[t]);
        const int64_t first = monotonic() + 3600 * TW_SECOND + 12345;
        for (unsigned i = 0; i < COUNT_OF(nodes); ++i) {
            tw_node_init(&nodes[i], count, NULL);
            tw_runtime_at(rt, &nodes[i], first + (int64_t)((i * 7 + 3) % 20) * TW_SECOND);
        }
        assert_ok(tw_runtime_start(rt));
        wait_for(asked == up_to_tick(first, ticks[t]));
        tw_runtime_free(rt);
    }
}

TEST(p2_an_earlier_deadline_wakes_the_sleeper_and_a_later_one_does_not) {
    struct tw_node nodes[4];
    struct tw_runtime *rt = listening_runtime(TW_MILLISECOND);
    const int64_t hour = monotonic() / TW_MILLISECOND * TW_MILLISECOND + 3600 * TW_SECOND;
    for (unsigned i = 0; i < COUNT_OF(nodes); ++i)
        tw_node_init(&nodes[i], count, NULL);
    assert_ok(tw_runtime_start(rt));
    wait_for(asked == TW_NO_DEADLINE);
    tw_runtime_at(rt, &nodes[0], hour);
    wait_for(asked == hour);
    const unsigned woken = wakes;
    tw_runtime_at(rt, &nodes[1], hour + 1);
    tw_runtime_at(rt, &nodes[2], hour);
    tw_runtime_postpone(rt, &nodes[1], 7200 * TW_SECOND);
    tw_runtime_move(rt, &nodes[1], 7200 * TW_SECOND);
    tw_runtime_cancel(rt, &nodes[2]);
    assert_int_equal(wakes, woken);
    tw_runtime_at(rt, &nodes[3], hour - TW_SECOND);
    wait_for(asked == hour - TW_SECOND);
    assert_int_equal(wakes, woken + 1);
    tw_runtime_move(rt, &nodes[1], 1800 * TW_SECOND);
    wait_for(asked < hour - 1700 * TW_SECOND);
    assert_int_equal(wakes, woken + 2);
    tw_runtime_free(rt);
}

/* Holds for every driver, and for every call that may bring an earlier deadline. */
TEST(p2_what_is_armed_while_the_thread_sleeps_fires_soon) {
    for (unsigned d = 0; d < thread_drivers_here(); ++d) {
        struct tw_node far, near;
        struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = thread_drivers[d]});
        tw_node_init(&far, count, NULL);
        tw_node_init(&near, count, NULL);
        tw_runtime_after(rt, &far, 3600 * TW_SECOND);
        for (unsigned i = 0; i < 200; ++i) {
            atomic_store(&fires, 0);
            switch (i % 4) {
            case 0:
                tw_runtime_after(rt, &near, TW_MILLISECOND);
                break;
            case 1:
                tw_runtime_at(rt, &near, monotonic());
                break;
            case 2:
                tw_runtime_after(rt, &near, 1800 * TW_SECOND);
                tw_runtime_move(rt, &near, 0);
                break;
            default:
                tw_runtime_arm(rt, &near, &(struct tw_when){.due_ns = 1, .slack_ns = 2000000});
            }
            wait_for(fires == 1);
        }
        tw_runtime_free(rt);
    }
}

static struct {
    struct tw_node node;
    int64_t asked;
    int64_t late[400];
    atomic_uint count;
} series;

static void note_lateness(struct tw_node *node, void *arg) {
    struct tw_runtime *rt = arg;
    const int64_t now = monotonic();
    series.late[series.count] = now - series.asked;
    if (series.count + 1 < COUNT_OF(series.late)) {
        series.asked = now + 1000000 + 997 * (int64_t)series.count;
        tw_runtime_at(rt, node, series.asked);
    }
    atomic_fetch_add(&series.count, 1);
}

static int compare(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Measures the system alone: bare sleeps to equally distant deadlines while the series lasts. */
static int64_t median_of_bare_sleeps(void) {
    static int64_t late[2000];
    unsigned n = 0;
    while (n < 100 || (series.count < COUNT_OF(series.late) && n < COUNT_OF(late))) {
        const int64_t until = monotonic() + 1000000 + 3989 * (int64_t)n;
        const struct timespec deadline = {until / TW_SECOND, (long)(until % TW_SECOND)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL);
        late[n++] = monotonic() - until;
    }
    qsort(late, n, sizeof late[0], compare);
    return late[n / 2];
}

/* Compares medians taken at the same time: a busy machine delays both alike. */
TEST(p2_the_median_fire_is_within_two_ticks_of_what_the_system_takes) {
    for (unsigned d = 0; d < thread_drivers_here(); ++d) {
        const int64_t tick = TW_MILLISECOND;
        struct tw_runtime *rt =
            started_runtime((struct tw_runtime_options){.driver = thread_drivers[d], .tick_ns = tick});
        tw_node_init(&series.node, note_lateness, rt);
        series.asked = monotonic() + TW_MILLISECOND;
        atomic_store(&series.count, 0);
        tw_runtime_at(rt, &series.node, series.asked);
        const int64_t bare = median_of_bare_sleeps();
        wait_for(series.count == COUNT_OF(series.late));
        struct tw_stats stats;
        assert_int_equal(tw_runtime_stats(rt, &stats), 0);
        tw_runtime_free(rt);
        qsort(series.late, COUNT_OF(series.late), sizeof series.late[0], compare);
        assert_true(series.late[0] >= 0);
        assert_true(series.late[COUNT_OF(series.late) / 2] <= bare + 2 * tick);
        assert_true(stats.timed >= COUNT_OF(series.late) / 2);
        assert_true(stats.late_sum_ns >= 0 && stats.late_max_ns * (int64_t)stats.timed >= stats.late_sum_ns);
    }
}

static atomic_int slack_seen;

static void see_slack(UNUSED struct tw_node *node, UNUSED void *arg) {
    atomic_store(&slack_seen, prctl(PR_GET_TIMERSLACK));
    atomic_store(&fires, 1);
}

TEST(p2_the_kernel_gives_the_thread_the_slack_that_was_asked_for_or_none) {
    static const int64_t asked_for[] = {0, 1, 70000};
    for (unsigned i = 0; i < COUNT_OF(asked_for); ++i) {
        struct tw_node node;
        struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.slack_ns = asked_for[i]});
        atomic_store(&fires, 0);
        tw_node_init(&node, see_slack, NULL);
        tw_runtime_after(rt, &node, 0);
        wait_for(fires == 1);
        tw_runtime_free(rt);
        assert_int_equal(slack_seen, asked_for[i] == 0 ? 1 : asked_for[i]);
    }
}

TEST(p2_a_turn_fires_1024_timers_if_no_other_budget_was_asked_for) {
    static struct tw_node nodes[1500];
    /* all on one tick */
    struct tw_runtime *rt =
        new_runtime((struct tw_runtime_options){.driver = "timerfd", .tick_ns = 3600 * TW_SECOND});
    atomic_store(&fires, 0);
    for (unsigned i = 0; i < COUNT_OF(nodes); ++i) {
        tw_node_init(&nodes[i], count, NULL);
        tw_runtime_after(rt, &nodes[i], 0);
    }
    assert_int_equal(tw_runtime_dispatch(rt), 0);
    assert_int_equal(fires, 1024);
    tw_runtime_free(rt);
}

/* The kernel may end timeouts of poll, select and epoll late by a thousandth of the wait. */
TEST(p2_epoll_keeps_long_waits_by_a_timer_and_not_by_its_own_timeout) {
    static const int64_t delays[] = {TW_MICROSECOND,     300 * TW_MICROSECOND, TW_MILLISECOND,
                                     5 * TW_MILLISECOND, 40 * TW_MILLISECOND,  300 * TW_MILLISECOND,
                                     3600 * TW_SECOND};
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = "epoll", .tick_ns = 1000});
    struct tw_node node;
    tw_node_init(&node, count, NULL);
    longest_epoll_timeout();
    atomic_store(&fires, 0);
    for (unsigned i = 0; i < COUNT_OF(delays); ++i) {
        const int64_t deadline = up_to_tick(monotonic() + delays[i], 1000);
        tw_runtime_at(rt, &node, deadline);
        if (delays[i] <= TW_SECOND)
            wait_for(fires == i + 1);
        else
            wait_for(last_timerfd_deadline() == deadline);
    }
    tw_runtime_free(rt);
    assert_true(longest_epoll_timeout() <= TW_MILLISECOND); /* no timeout at all on a busy machine */
}

/* --- the next turn ---------------------------------------------------------------------------- */

static void come_again(struct tw_node *node, void *rt) {
    atomic_fetch_add(&fires, 1);
    tw_runtime_after(rt, node, 1);
}

TEST(p2_a_callback_that_asks_for_the_next_tick_does_not_keep_its_turn) {
    static const int64_t ticks[] = {1, 1000, TW_MILLISECOND};
    for (unsigned t = 0; t < COUNT_OF(ticks); ++t) {
        struct tw_node node;
        struct tw_runtime *rt =
            new_runtime((struct tw_runtime_options){.driver = "manual", .tick_ns = ticks[t]});
        atomic_store(&fires, 0);
        tw_node_init(&node, come_again, rt);
        assert_int_equal(tw_runtime_after(rt, &node, 0), 0);
        for (unsigned turn = 1; turn <= 100; ++turn) {
            assert_int_equal(tw_runtime_leap(rt, 0), 0);
            assert_int_equal(tw_runtime_leap(rt, 0), 0);
            assert_int_equal(fires, turn);
            assert_int_equal(tw_runtime_leap(rt, 7 * ticks[t]), 0);
            assert_int_equal(fires, turn + 1);
        }
        tw_runtime_cancel(rt, &node);
        tw_runtime_free(rt);
    }
}
