/* How long callbacks run, and the buckets in which the library counts durations. */
#include <poll.h>

#include "histogram.h"
#include "support/runtime_test.h"

#include <tickwheel/observe.h>
#include <tickwheel/timers.h>
#include <tickwheel/workers.h>

TEST(bucket_limits_rise_by_a_half_and_a_third) {
    assert_int_equal(tw_bucket_limit(0), 512);
    for (unsigned i = 0; i + 2 < TW_BUCKETS; ++i) {
        const int64_t limit = tw_bucket_limit(i), next = tw_bucket_limit(i + 1);
        assert_true(i % 2 == 0 ? next * 2 == limit * 3 : next * 3 == limit * 4);
    }
    assert_true(tw_bucket_limit(TW_BUCKETS - 1) == INT64_MAX);
    assert_true(tw_bucket_limit(TW_BUCKETS + 7) == INT64_MAX);
}

/* The shortest and the longest duration of each bucket. On virtual time, the test can make fires late by
 * exactly that. */
TEST(a_duration_is_counted_below_the_limit_of_its_bucket) {
    struct tw_runtime *rt = new_runtime((struct tw_runtime_options){.driver = "manual", .tick_ns = 1});
    struct tw_node node;
    struct tw_stats observed;
    tw_node_init(&node, no_callback, NULL);
    for (unsigned i = 0; i < TW_BUCKETS; ++i) {
        const int64_t shortest = i == 0 ? 1 : tw_bucket_limit(i - 1);
        const int64_t longest = i == TW_BUCKETS - 1 ? shortest / 2 * 3 : tw_bucket_limit(i) - 1;
        tw_runtime_after(rt, &node, 1);
        assert_ok(tw_runtime_leap(rt, 1 + shortest));
        tw_runtime_after(rt, &node, 1);
        assert_ok(tw_runtime_leap(rt, 1 + longest));
        assert_ok(tw_runtime_stats(rt, &observed));
        assert_int_equal(observed.late[TW_LATE_WAKING].counts[i], 2);
    }
    tw_runtime_free(rt);
}

TEST(a_share_is_the_limit_of_its_bucket_but_never_more_than_the_longest) {
    struct tw_histogram histogram = {.max_ns = 900};
    assert_int_equal(tw_histogram_quantile(NULL, 0.5), 0);
    assert_int_equal(tw_histogram_quantile(&(struct tw_histogram){.max_ns = 0}, 0.5), 0);
    histogram.counts[0] = 98;
    histogram.counts[2] = 2;
    assert_int_equal(tw_histogram_quantile(&histogram, 0.5), 512);
    assert_int_equal(tw_histogram_quantile(&histogram, 0.98), 512);
    assert_int_equal(tw_histogram_quantile(&histogram, 0.99), 900);
    assert_int_equal(tw_histogram_quantile(&histogram, 1), 900);
}

/* A callback that takes some time, and how long it took by the test's own clock. */
#define WORK (3 * TW_MILLISECOND)
static int64_t took;

static void work(void) {
    const int64_t begin = monotonic();
    int64_t now;
    do {
        now = monotonic();
    } while (now - begin < WORK);
    took = now - begin;
}
static void work_as_node(UNUSED struct tw_node *node, UNUSED void *arg) { work(); }
static void work_as_task(UNUSED const struct tw_event *event, UNUSED void *arg) { work(); }

/* Waits for a timer that is due in a millisecond. Returns how long dispatch and the run on a worker, if any,
 * took. */
static int64_t dispatch(struct tw_runtime *rt, struct tw_workers *workers) {
    struct pollfd ready = {.fd = tw_runtime_fd(rt), .events = POLLIN};
    assert_int_equal(poll(&ready, 1, 60000), 1);
    const int64_t begin = monotonic();
    assert_ok(tw_runtime_dispatch(rt));
    assert_ok(tw_workers_wait(workers));
    return monotonic() - begin;
}

/* In dispatch or on a worker. The library must count no less than the callback itself measured, and no more
 * than the whole call took. A thousandth allows for two clocks that do not run at the same speed. */
TEST(a_callback_is_timed_where_it_runs) {
    enum { NODE, HANDLE, HANDLE_ON_WORKER };
    for (int kind = NODE; kind <= HANDLE_ON_WORKER; ++kind) {
        struct tw_runtime *rt = new_runtime((struct tw_runtime_options){.driver = "timerfd"});
        struct tw_workers *workers;
        struct tw_timers *handles;
        struct tw_node node;
        struct tw_stats observed;
        struct tw_label_counts counts[3];
        tw_handle id;
        assert_ok(tw_workers_new(&workers, rt, NULL));
        const struct tw_set_options options = {.label = "slow",
                                               .workers = kind == HANDLE_ON_WORKER ? workers : NULL};
        assert_ok(tw_timers_new(&handles, rt, &options));
        tw_node_init(&node, work_as_node, NULL);
        assert_ok(tw_runtime_label(rt, &node, "slow"));
        assert_ok(kind == NODE ? tw_runtime_after(rt, &node, TW_MILLISECOND)
                               : tw_timer_after(handles, &id, TW_MILLISECOND, work_as_task, NULL));
        const int64_t at_most = dispatch(rt, workers);
        assert_ok(tw_runtime_stats(rt, &observed));
        assert_int_equal(tw_runtime_labels(rt, counts, 3), 2);
        assert_string_equal(counts[1].label, "slow");
        assert_int_equal(total_of(&observed.callbacks), 1);
        assert_true(observed.callbacks.max_ns >= took - took / 1000);
        assert_true(observed.callbacks.max_ns <= at_most + at_most / 1000);
        assert_int_equal(observed.callbacks.sum_ns, observed.callbacks.max_ns);
        assert_int_equal(counts[1].callback_max_ns, observed.callbacks.max_ns);
        assert_int_equal(counts[1].callback_sum_ns, observed.callbacks.max_ns);
        tw_runtime_free(rt);
    }
}

/* So the counts of a simulation are the same in each run. */
TEST(on_virtual_time_nothing_is_timed) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_node node;
    struct tw_stats observed;
    tw_node_init(&node, work_as_node, NULL);
    tw_runtime_after(rt, &node, TW_MILLISECOND);
    assert_ok(tw_runtime_advance(rt, TW_MILLISECOND));
    assert_ok(tw_runtime_stats(rt, &observed));
    assert_int_equal(total_of(&observed.callbacks), 0);
    assert_int_equal(observed.callbacks.sum_ns, 0);
    tw_runtime_free(rt);
}
