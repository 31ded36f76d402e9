/* tw_runtime_again: a node's delay starts again; and the jitter of a first deadline. */
#include "support/runtime_test.h"

#include <pthread.h>

#include <tickwheel/keyed.h>
#include <tickwheel/timers.h>

#define MS TW_MILLISECOND

static struct tw_runtime *rt;
static struct tw_node node;
static unsigned fires;
static int64_t fired_at;
static bool goes_on;

static void note(struct tw_node *fired, UNUSED void *arg) {
    assert_ptr_equal(fired, &node);
    ++fires;
    fired_at = tw_runtime_now(rt);
    if (goes_on)
        assert_ok(tw_runtime_again(rt, fired));
}

static void make(enum tw_clock clock) {
    rt = new_runtime((struct tw_runtime_options){.driver = "manual", .clock = clock});
    fires = 0;
    goes_on = false;
    assert_ok(tw_node_init(&node, note, NULL));
}

static void assert_next_fire_in(int64_t delay) {
    const unsigned before = fires;
    assert_int_equal(tw_runtime_remaining(rt, &node), delay);
    assert_ok(tw_runtime_advance(rt, delay - 1));
    assert_int_equal(fires, before);
    assert_ok(tw_runtime_advance(rt, 1));
    assert_int_equal(fires, before + 1);
}

static const enum tw_clock clocks[] = {TW_CLOCK_DEFAULT, TW_CLOCK_WALL};

TEST(again_fires_the_node_its_delay_from_now_whether_it_is_pending_or_not) {
    for (size_t c = 0; c < COUNT_OF(clocks); ++c) {
        make(clocks[c]);
        assert_ok(tw_runtime_after(rt, &node, 30 * MS));
        assert_ok(tw_runtime_advance(rt, 20 * MS));
        assert_ok(tw_runtime_again(rt, &node)); /* pending */
        assert_next_fire_in(30 * MS);
        assert_ok(tw_runtime_again(rt, &node)); /* has fired */
        assert_ok(tw_runtime_advance(rt, 10 * MS));
        assert_int_equal(tw_runtime_cancel(rt, &node), 1);
        assert_ok(tw_runtime_again(rt, &node)); /* cancelled */
        assert_ok(tw_runtime_move(rt, &node, 5 * MS));
        assert_ok(tw_runtime_postpone(rt, &node, 6 * MS));
        assert_ok(tw_runtime_again(rt, &node)); /* moved: that does not change its delay */
        assert_next_fire_in(30 * MS);
        assert_int_equal(tw_runtime_count(rt), 0);
        assert_int_equal(tw_runtime_check(rt, NULL, NULL), 0);
        tw_runtime_free(rt);
    }
}

TEST(again_in_its_own_callback_repeats_a_node) {
    make(TW_CLOCK_DEFAULT);
    goes_on = true;
    assert_ok(tw_runtime_after(rt, &node, 3 * MS));
    assert_ok(tw_runtime_advance(rt, 30 * MS));
    assert_int_equal(fires, 10);
    assert_int_equal(fired_at, 30 * MS);
    tw_runtime_free(rt);
}

TEST(again_takes_the_delay_of_arm_without_slack_and_jitter) {
    make(TW_CLOCK_DEFAULT);
    const struct tw_when when = {.due_ns = 7 * MS, .slack_ns = 50 * MS, .jitter_ns = 50 * MS};
    assert_ok(tw_runtime_arm(rt, &node, &when));
    assert_ok(tw_runtime_again(rt, &node));
    assert_next_fire_in(7 * MS);
    assert_ok(tw_runtime_after(rt, &node, 0)); /* 0 is a delay, too */
    assert_ok(tw_runtime_advance(rt, 0));
    assert_ok(tw_runtime_again(rt, &node));
    assert_int_equal(tw_runtime_remaining(rt, &node), 0);
    tw_runtime_free(rt);
}

/* A period of whole ticks, and one that is not. */
TEST(again_makes_a_periodic_node_due_one_period_from_now) {
    const int64_t periods[] = {10 * MS, 10 * MS + MS / 2};
    for (size_t p = 0; p < COUNT_OF(periods); ++p) {
        make(TW_CLOCK_DEFAULT);
        assert_ok(tw_runtime_every(rt, &node, periods[p], TW_COALESCE));
        assert_ok(tw_runtime_advance(rt, 4 * MS));
        assert_ok(tw_runtime_again(rt, &node));
        assert_int_equal(tw_runtime_remaining(rt, &node), (periods[p] + MS - 1) / MS * MS);
        assert_int_equal(tw_runtime_cancel(rt, &node), 1);
        assert_int_equal(tw_runtime_again(rt, &node), -ENOENT);
        tw_runtime_free(rt);
    }
}

TEST(p14_again_refuses_a_node_without_a_delay) {
    struct tw_node zeroed;
    memset(&zeroed, 0, sizeof zeroed);
    make(TW_CLOCK_WALL);
    assert_int_equal(tw_runtime_again(NULL, &node), -EINVAL);
    assert_int_equal(tw_runtime_again(rt, NULL), -EINVAL);
    assert_int_equal(tw_runtime_again(rt, &zeroed), -EINVAL);
    assert_int_equal(tw_runtime_again(rt, &node), -EINVAL);
    assert_non_null(strstr(tw_explain(-EINVAL), "no delay"));
    assert_ok(tw_runtime_after(rt, &node, MS));
    assert_ok(tw_runtime_at(rt, &node, 5 * TW_SECOND)); /* forgets the delay */
    assert_int_equal(tw_runtime_again(rt, &node), -EINVAL);
    assert_int_equal(tw_runtime_retire(rt, &node), 1);
    assert_int_equal(tw_runtime_again(rt, &node), -EPERM);
    assert_ok(tw_node_init(&node, note, NULL));
    assert_ok(tw_runtime_after(rt, &node, MS));
    assert_int_equal(tw_runtime_retire(rt, &node), 1);
    assert_int_equal(tw_runtime_again(rt, &node), -EPERM);
    assert_ok(tw_node_init(&node, note, NULL));
    assert_ok(tw_runtime_every(rt, &node, MS, TW_COALESCE));
    assert_int_equal(tw_runtime_retire(rt, &node), 1);
    assert_int_equal(tw_runtime_again(rt, &node), -EPERM);
    tw_runtime_free(rt);
}

static atomic_bool race_is_over;

static void *again_and_again(void *raced) {
    while (!atomic_load(&race_is_over)) {
        const int result = tw_runtime_again(raced, &node);
        assert_true(result == 0 || result == -ENOENT);
    }
    return NULL;
}

/* Whichever of the two calls comes first, the node has a period afterwards. */
TEST(again_is_one_step_beside_a_call_that_arms) {
    pthread_t thread;
    make(TW_CLOCK_DEFAULT);
    atomic_store(&race_is_over, false);
    assert_ok(tw_runtime_after(rt, &node, TW_HOUR));
    assert_int_equal(pthread_create(&thread, NULL, again_and_again, rt), 0);
    for (unsigned i = 0; i < 20000; ++i) {
        assert_ok(tw_runtime_after(rt, &node, TW_HOUR));
        assert_ok(tw_runtime_every(rt, &node, 2 * TW_HOUR, TW_COALESCE));
        assert_true(tw_runtime_remaining(rt, &node) > TW_HOUR);
    }
    atomic_store(&race_is_over, true);
    pthread_join(thread, NULL);
    tw_runtime_free(rt);
}

/* --- jitter ---------------------------------------------------------------------------------- */

#define CROWD 2000

/* No node is early or too late, the deadlines are spread, and on virtual time each run draws the same. */
TEST(jitter_spreads_first_deadlines_and_their_periods_stay_exact) {
    static struct tw_node crowd[CROWD];
    static int64_t first[2][CROWD];
    const struct tw_when when = {
        .due_ns = 100 * MS, .jitter_ns = 50 * MS, .period_ns = 20 * MS, .missed = TW_COALESCE};
    for (unsigned run = 0; run < 2; ++run) {
        make(TW_CLOCK_DEFAULT);
        int64_t sum = 0;
        for (unsigned i = 0; i < CROWD; ++i) {
            assert_ok(tw_node_init(&crowd[i], no_callback, NULL));
            assert_ok(tw_runtime_arm(rt, &crowd[i], &when));
            first[run][i] = tw_runtime_remaining(rt, &crowd[i]);
            assert_in_range(first[run][i], 100 * MS, 150 * MS);
            sum += first[run][i];
        }
        assert_in_range(sum / CROWD, 122 * MS, 128 * MS);
        assert_ok(tw_runtime_advance(rt, 150 * MS));
        for (unsigned i = 0; i < CROWD; ++i)
            assert_true((150 * MS + tw_runtime_remaining(rt, &crowd[i]) - first[run][i]) % (20 * MS) == 0);
        tw_runtime_free(rt);
    }
    assert_memory_equal(first[0], first[1], sizeof first[0]);
}

static void no_fire(UNUSED const struct tw_event *event, UNUSED void *arg) {}

TEST(jitter_spreads_timers_of_sets_and_tables_as_well) {
    struct tw_timers *set;
    struct tw_keyed *table;
    struct tw_entry entry;
    tw_handle handle;
    unsigned spread[2] = {0, 0};
    const struct tw_when when = {.due_ns = TW_SECOND, .jitter_ns = TW_HOUR};
    const struct tw_task task = {.fn = no_fire};
    make(TW_CLOCK_DEFAULT);
    assert_ok(tw_timers_new(&set, rt, NULL));
    assert_ok(tw_keyed_new(&table, rt, NULL));
    for (unsigned i = 0; i < 50; ++i) {
        assert_ok(tw_timer_start(set, &handle, &when, &task));
        assert_ok(tw_timer_get(set, handle, &entry));
        assert_in_range(entry.remaining_ns, TW_SECOND, TW_SECOND + TW_HOUR);
        spread[0] += entry.remaining_ns > TW_MINUTE;
        assert_ok(tw_keyed_set(table, tw_key_number(i), &when, &task));
        assert_ok(tw_keyed_get(table, tw_key_number(i), &entry));
        spread[1] += entry.remaining_ns > TW_MINUTE;
    }
    assert_true(spread[0] > 25 && spread[1] > 25);
    tw_runtime_free(rt);
}

TEST(jitter_differs_between_runtimes_with_threads) {
    int64_t remaining[2][8];
    const struct tw_when when = {.due_ns = TW_HOUR, .jitter_ns = TW_HOUR};
    for (unsigned run = 0; run < 2; ++run) {
        rt = new_runtime((struct tw_runtime_options){0});
        for (unsigned i = 0; i < 8; ++i) {
            assert_ok(tw_node_init(&node, note, NULL));
            assert_ok(tw_runtime_arm(rt, &node, &when));
            remaining[run][i] = tw_runtime_remaining(rt, &node) / TW_MINUTE;
            assert_int_equal(tw_runtime_cancel(rt, &node), 1);
        }
        tw_runtime_free(rt);
    }
    assert_memory_not_equal(remaining[0], remaining[1], sizeof remaining[0]);
}

TEST(p14_when_refuses_a_negative_jitter_and_fires_without_a_period) {
    make(TW_CLOCK_DEFAULT);
    assert_int_equal(tw_runtime_arm(rt, &node, &(struct tw_when){.jitter_ns = -1}), -EINVAL);
    assert_non_null(strstr(tw_explain(-EINVAL), "jitter"));
    assert_int_equal(tw_runtime_arm(rt, &node, &(struct tw_when){.due_ns = MS, .fires = 3}), -EINVAL);
    assert_non_null(strstr(tw_explain(-EINVAL), "no period"));
    assert_ok(tw_runtime_arm(rt, &node, &(struct tw_when){.due_ns = MS, .jitter_ns = INT64_MAX}));
    assert_int_equal(tw_runtime_cancel(rt, &node), 1);
    tw_runtime_free(rt);
}
