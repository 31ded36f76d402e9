/* P9 and P2 with ticks so short that the wheel goes round many times a second: 100,000 timers
 * an hour away neither keep the thread awake nor delay a near one. */
#define _GNU_SOURCE
#include "support/runtime_test.h"

#include <stdlib.h>

static atomic_uint fires;

static void count(UNUSED struct tw_node *node, UNUSED void *arg) { atomic_fetch_add(&fires, 1); }

static struct tw_node *arm_crowd(struct tw_runtime *rt, size_t n, int64_t from, int64_t span) {
    struct tw_node *nodes = calloc(n, sizeof *nodes);
    uint64_t seed = n;
    assert_non_null(nodes);
    for (size_t i = 0; i < n; ++i) {
        tw_node_init(&nodes[i], count, NULL);
        assert_ok(tw_runtime_after(rt, &nodes[i], from + (int64_t)random_below(&seed, (uint64_t)span)));
    }
    return nodes;
}

/* Processor time distinguishes an idle thread from a busy one, however loaded the machine is. */
static void a_near_timer_fires_beside(size_t n, int64_t tick_ns) {
    enum { ENOUGH = 20 };
    const int64_t period = 10 * TW_MILLISECOND;
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.tick_ns = tick_ns});
    struct tw_node near, *far = arm_crowd(rt, n, 3600 * TW_SECOND, 3600 * TW_SECOND);
    struct tw_stats before, after;
    atomic_store(&fires, 0);
    tw_node_init(&near, count, NULL);
    assert_ok(tw_runtime_every(rt, &near, period, TW_SKIP));
    wait_for(fires > 0);
    tw_runtime_stats(rt, &before);
    const unsigned first = fires;
    const int64_t began = monotonic(), used_before = reading_of(CLOCK_PROCESS_CPUTIME_ID);
    wait_for(fires >= first + ENOUGH);
    const int64_t used = reading_of(CLOCK_PROCESS_CPUTIME_ID) - used_before, took = monotonic() - began;
    const unsigned fired = fires - first;
    tw_runtime_stats(rt, &after);
    if (used > took / 2)
        fail_msg("%zu far timers, ticks of %lld ns: busy for %lld of %lld us", n, (long long)tick_ns,
                 (long long)used / 1000, (long long)took / 1000);
    assert_in_range(after.wakeups - before.wakeups, 0, 2 * fired + 10);
    tw_runtime_free(rt);
    free(far);
}

TEST(p9_far_timers_do_not_keep_a_thread_awake_however_short_its_ticks) {
    a_near_timer_fires_beside(100000, 1);
    a_near_timer_fires_beside(100000, 10);
    a_near_timer_fires_beside(1000, 1);
}

/* A year of virtual time passes in a moment, whatever is pending after it. */
TEST(p8_a_year_of_short_ticks_is_a_moment_of_virtual_time) {
    const size_t sizes[] = {1, 33, 1000};
    const int64_t year = 365 * 24 * 3600 * TW_SECOND;
    for (size_t i = 0; i < COUNT_OF(sizes); ++i)
        for (int64_t tick_ns = 1; tick_ns <= 1000; tick_ns *= 1000) {
            struct tw_runtime *rt =
                new_runtime((struct tw_runtime_options){.driver = "manual", .tick_ns = tick_ns});
            struct tw_node *far = arm_crowd(rt, sizes[i], 2 * year, year);
            atomic_store(&fires, 0);
            assert_int_equal(tw_runtime_advance(rt, year), 0);
            assert_int_equal(fires, 0);
            assert_int_equal(tw_runtime_leap(rt, year - 1), 0);
            assert_int_equal(fires, 0);
            assert_int_equal(tw_runtime_advance(rt, 2 * year), 0);
            assert_int_equal(fires, sizes[i]);
            tw_runtime_free(rt);
            free(far);
        }
}
