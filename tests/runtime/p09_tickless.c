/* P9: no wake-up while nothing is due. The kernel counts wake-ups as voluntary context switches of the
 * runtimes' threads. */
#define _GNU_SOURCE
#include "support/runtime_test.h"
#include "support/sanitized.h"
#include "support/threads.h"

#include <tickwheel/observe.h>

static long switches_of(long thread) {
    struct thread_look look;
    assert_true(look_at_thread(thread, &look));
    return (long)look.voluntary;
}

struct sleeper {
    struct tw_runtime *rt;
    struct tw_node node;
    char name[16];
    long thread, before;
};

static void start(struct sleeper *sleeper, unsigned driver, unsigned kind) {
    snprintf(sleeper->name, sizeof sleeper->name, "tw-%s-%u", thread_drivers[driver], kind);
    sleeper->rt = new_runtime((struct tw_runtime_options){
        .driver = thread_drivers[driver], .tick_ns = kind == 2 ? 1000 : 0, .thread_name = sleeper->name});
    tw_node_init(&sleeper->node, no_callback, NULL);
    if (kind > 0)
        tw_runtime_after(sleeper->rt, &sleeper->node, 3600 * TW_SECOND);
    assert_ok(tw_runtime_start(sleeper->rt));
    wait_for((sleeper->thread = thread_named(sleeper->name)) > 0);
    wait_for(is_asleep(sleeper->thread));
}

/* Tests every driver with nothing armed, with a timer an hour away, and with that timer and
 * short ticks (the hour is then many rounds of the wheel), all in the same ten seconds. */
TEST(p9_no_wake_up_in_ten_seconds_while_nothing_is_due) {
    static struct sleeper sleepers[COUNT_OF(thread_drivers)][3];
    for (unsigned d = 0; d < thread_drivers_here(); ++d)
        for (unsigned kind = 0; kind < 3; ++kind)
            start(&sleepers[d][kind], d, kind);
    for (unsigned d = 0; d < thread_drivers_here(); ++d)
        for (unsigned kind = 0; kind < 3; ++kind)
            sleepers[d][kind].before = switches_of(sleepers[d][kind].thread);
    const int64_t until = monotonic() + 10 * TW_SECOND;
    wait_for(monotonic() > until);
    for (unsigned d = 0; d < thread_drivers_here(); ++d)
        for (unsigned kind = 0; kind < 3; ++kind) {
            struct sleeper *sleeper = &sleepers[d][kind];
            const long woken = switches_of(sleeper->thread) - sleeper->before;
            if (woken != 0)
                fail_msg("%s woke up %ld times", sleeper->name, woken);
            tw_runtime_free(sleeper->rt);
        }
}

static atomic_uint fires;

static void count(UNUSED struct tw_node *node, UNUSED void *arg) { atomic_fetch_add(&fires, 1); }

/* Arms all timers at the start and then leaves the runtime alone. Some timers share a tick. */
TEST(p9_with_20_timers_no_more_wake_ups_than_fires_and_2) {
    enum { TIMERS = 20 };
    unsigned run = 0;
    for (unsigned d = 0; d < thread_drivers_here(); ++d)
        for (int64_t tick_ns = 1000; tick_ns <= TW_MILLISECOND; tick_ns *= 1000) {
            struct tw_node nodes[TIMERS];
            char name[16]; /* unique: the kernel lists a thread for a while after it was joined */
            snprintf(name, sizeof name, "tw-twenty-%u", run++ % 100);
            struct tw_runtime *rt = new_runtime((struct tw_runtime_options){
                .driver = thread_drivers[d], .tick_ns = tick_ns, .thread_name = name});
            uint64_t seed = 20 + d;
            const int64_t begin = monotonic() + 50 * TW_MILLISECOND;
            atomic_store(&fires, 0);
            for (unsigned i = 0; i < TIMERS; ++i) {
                tw_node_init(&nodes[i], count, NULL);
                tw_runtime_at(rt, &nodes[i], begin + (int64_t)random_below(&seed, 400000000));
            }
            assert_ok(tw_runtime_start(rt));
            long thread = -1;
            wait_for((thread = thread_named(name)) > 0);
            wait_for(is_asleep(thread));
            /* else all timers may have been due before the thread slept */
            const unsigned least = monotonic() < begin;
            wait_for(fires == TIMERS);
            wait_for(is_asleep(thread));
            struct tw_stats stats;
            tw_runtime_stats(rt, &stats);
            if (!EMULATED) /* the emulator has locks of its own to wait for */
                assert_in_range(switches_of(thread), least, TIMERS + 2);
            assert_in_range(stats.wakeups, least, TIMERS + 2);
            tw_runtime_free(rt);
        }
}

/* --- ticks so short that the wheel goes round many times a second ----------------------------- */

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

/* P2, too: a crowd an hour away does not delay a near timer. Processor time distinguishes an idle thread from
 * a busy one, however loaded the machine is. */
static void a_near_timer_fires_beside(size_t n, int64_t tick_ns) {
    enum { ENOUGH = 20 };
    const int64_t period = 10 * TW_MILLISECOND;
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.tick_ns = tick_ns});
    struct tw_node near, *far = arm_crowd(rt, n, 3600 * TW_SECOND, 3600 * TW_SECOND);
    struct tw_stats before, after;
    atomic_store(&fires, 0);
    tw_node_init(&near, count, NULL);
    assert_ok(tw_runtime_every(rt, &near, period, TW_COALESCE));
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
