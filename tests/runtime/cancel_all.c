/* tw_runtime_cancel_all passes each node to the caller's function once, in order; timers of handles and keys
 * stay. Calls by several threads: cancel_against_fire.c. Work items: workers/cancel_all.c. */
#include "support/runtime_test.h"
#include "support/timer_remaining.h"

#include <tickwheel/keyed.h>
#include <tickwheel/timers.h>

#define MS TW_MILLISECOND

static struct tw_runtime *rt;
static atomic_uint fires, drops;

static void count_node(UNUSED struct tw_node *node, UNUSED void *arg) { atomic_fetch_add(&fires, 1); }
static void count_drop(UNUSED void *arg) { atomic_fetch_add(&drops, 1); }

static void make(struct tw_runtime_options options) {
    atomic_store(&fires, 0);
    atomic_store(&drops, 0);
    rt = new_runtime(options);
}

/* --- which nodes the caller gets, and in which order ----------------------------------------- */

enum { NODES = 300 };

static struct tw_node nodes[NODES], *reported[2 * NODES];
static size_t times_reported;

static void note(struct tw_node *node, void *arg) {
    assert_int_equal(tw_runtime_remaining(rt, node), TW_NO_DEADLINE);
    assert_ptr_equal(arg, &times_reported);
    reported[times_reported++] = node;
}

static void cancel_all(void) {
    times_reported = 0;
    assert_int_equal(tw_runtime_cancel_all(rt, note, &times_reported), 0);
}

/* Arms by delay, deadline and period in turn, on every third tick. */
static void arm_nodes(void) {
    for (unsigned i = 0; i < NODES; ++i) {
        tw_node_init(&nodes[i], count_node, NULL);
        const struct tw_when when = {.due_ns =
                                         (1 + i / 9) * TW_SECOND + (i % 3 == 2 ? tw_runtime_now(rt) : 0),
                                     .absolute = i % 3 == 2,
                                     .period_ns = i % 3 == 1 ? 5 * MS : 0};
        assert_int_equal(tw_runtime_arm(rt, &nodes[i], &when), 0);
    }
}

static void assert_each_was_reported_once(void) {
    assert_int_equal(times_reported, NODES);
    for (unsigned i = 0; i < NODES; ++i) {
        unsigned times = 0;
        for (unsigned t = 0; t < times_reported; ++t)
            times += reported[t] == &nodes[i];
        assert_int_equal(times, 1);
    }
}

/* Nodes of one tick of one timeline come in the order in which they were armed. */
static void assert_reported_in_order(void) {
    for (unsigned t = 1; t < times_reported; ++t)
        for (unsigned s = 0; s < t; ++s) {
            const size_t earlier = (size_t)(reported[s] - nodes), later = (size_t)(reported[t] - nodes);
            const bool is_one_tick = earlier / 9 == later / 9 && (earlier % 3 == 2) == (later % 3 == 2);
            assert_true(!is_one_tick || earlier < later);
        }
}

TEST(every_node_of_both_timelines_is_reported_once_and_idle) {
    const enum tw_clock clocks[] = {TW_CLOCK_VIRTUAL, TW_CLOCK_WALL};
    for (unsigned c = 0; c < COUNT_OF(clocks); ++c) {
        make((struct tw_runtime_options){.driver = "manual", .clock = clocks[c]});
        arm_nodes();
        cancel_all();
        assert_each_was_reported_once();
        assert_reported_in_order();
        assert_int_equal(tw_runtime_count(rt), 0);
        cancel_all();
        assert_int_equal(times_reported, 0);
        assert_int_equal(tw_runtime_cancel_all(rt, NULL, NULL), 0);
        assert_int_equal(tw_runtime_advance(rt, 3600 * TW_SECOND), 0);
        assert_int_equal(fires, 0);
        arm_nodes(); /* they can be armed again */
        assert_int_equal(tw_runtime_count(rt), NODES);
        tw_runtime_free(rt);
    }
    assert_int_equal(tw_runtime_cancel_all(NULL, note, NULL), -EINVAL);
}

static void arm_again_or_cancel_next(struct tw_node *node, void *arg) {
    note(node, arg);
    if (node == &nodes[0])
        assert_int_equal(tw_runtime_after(rt, node, 0), 0); /* stays pending */
    else if (node + 1 < nodes + NODES)
        tw_runtime_cancel(rt, node + 1);
}

TEST(what_each_arms_stays_and_what_it_cancels_is_not_reported) {
    make((struct tw_runtime_options){.driver = "manual"});
    arm_nodes();
    times_reported = 0;
    assert_int_equal(tw_runtime_cancel_all(rt, arm_again_or_cancel_next, &times_reported), 0);
    assert_int_equal(times_reported, 1 + NODES / 2);
    assert_int_equal(tw_runtime_count(rt), 1);
    assert_int_equal(tw_runtime_advance(rt, 0), 0);
    assert_int_equal(fires, 1);
    tw_runtime_free(rt);
}

static void cancel_all_inside(UNUSED struct tw_node *node, UNUSED void *arg) { cancel_all(); }

TEST(a_callback_may_cancel_all_and_nothing_more_fires) {
    struct tw_node canceller;
    make((struct tw_runtime_options){.driver = "manual"});
    tw_node_init(&canceller, cancel_all_inside, NULL);
    assert_int_equal(tw_runtime_every(rt, &canceller, MS, TW_COALESCE), 0);
    arm_nodes();
    assert_int_equal(tw_runtime_advance(rt, 3600 * TW_SECOND), 0);
    assert_int_equal(times_reported, NODES + 1); /* the last node is periodic */
    assert_int_equal(fires, 0);
    tw_runtime_free(rt);
}

/* --- what cancel_all does not change --------------------------------------------------------- */

static int64_t due_by_order[4 * NODES];
static unsigned by_order;

static void note_due(const struct tw_event *event, UNUSED void *arg) {
    due_by_order[by_order++] = event->due_ns;
}

TEST(timers_of_handles_and_keys_stay_and_fire_as_they_would_have) {
    for (int on_wall = 0; on_wall <= 1; ++on_wall) {
        struct tw_timers *set = NULL;
        struct tw_keyed *table = NULL;
        tw_handle id;
        make((struct tw_runtime_options){.driver = "manual",
                                         .clock = on_wall ? TW_CLOCK_WALL : TW_CLOCK_VIRTUAL});
        assert_ok(tw_timers_new(&set, rt, NULL));
        assert_ok(tw_keyed_new(&table, rt, NULL));
        arm_nodes();
        by_order = 0;
        for (unsigned i = 0; i < NODES; ++i) {
            const struct tw_task task = {.fn = note_due, .drop = count_drop};
            const struct tw_when at = {.due_ns = (NODES - i) * TW_SECOND, .absolute = i % 2};
            const struct tw_when often = {.due_ns = TW_SECOND, .period_ns = TW_SECOND, .fires = 3};
            assert_int_equal(tw_timer_start(set, &id, i == 0 ? &often : &at, &task), 0);
            assert_int_equal(tw_keyed_after(table, tw_key_number(i), 3600 * TW_SECOND, note_due, NULL), 0);
        }
        assert_int_equal(tw_runtime_advance(rt, 1500 * MS), 0); /* in the middle of the period */
        cancel_all();
        assert_int_equal(tw_runtime_advance(rt, NODES * TW_SECOND), 0);
        assert_int_equal(by_order, NODES + 2);
        for (unsigned i = 1; i < by_order && !on_wall; ++i)
            assert_true(due_by_order[i - 1] <= due_by_order[i]);
        assert_int_equal(drops, NODES);
        assert_int_equal(tw_timers_count(set), 0);
        assert_int_equal(tw_keyed_cancel_all(table, NULL, NULL), NODES);
        tw_runtime_free(rt);
    }
}

/* Sets the clock back when only the first node has been reported, and makes the runtime notice. */
static void note_and_set_back(struct tw_node *node, void *arg) {
    note(node, arg);
    if (times_reported == 1) {
        assert_ok(tw_runtime_set_wall(rt, 1000 * TW_SECOND));
        assert_int_equal(tw_runtime_at(rt, node, 5000 * TW_SECOND), 0);
        assert_int_equal(tw_runtime_cancel(rt, node), 1);
    }
}

TEST(p1_a_clock_set_back_meanwhile_makes_nothing_that_stays_fire_early) {
    struct tw_timers *set = NULL;
    const struct tw_task task = {.fn = note_due};
    const struct tw_when when = {.due_ns = 2100 * TW_SECOND, .absolute = 1};
    tw_handle id;
    make((struct tw_runtime_options){.driver = "manual", .clock = TW_CLOCK_WALL});
    assert_ok(tw_runtime_set_wall(rt, 2000 * TW_SECOND));
    assert_ok(tw_timers_new(&set, rt, NULL));
    for (unsigned i = 0; i < NODES; ++i) {
        tw_node_init(&nodes[i], count_node, NULL);
        assert_ok(tw_runtime_at(rt, &nodes[i], 2001 * TW_SECOND));
    }
    assert_ok(tw_timer_start(set, &id, &when, &task));
    times_reported = by_order = 0;
    assert_ok(tw_runtime_cancel_all(rt, note_and_set_back, &times_reported));
    assert_each_was_reported_once();
    assert_int_equal(tw_runtime_count(rt), 1);
    assert_int_equal(timer_remaining(set, id), 1100 * TW_SECOND);
    assert_ok(tw_runtime_advance(rt, 1100 * TW_SECOND - MS));
    assert_int_equal(by_order, 0);
    assert_ok(tw_runtime_advance(rt, MS));
    assert_int_equal(by_order, 1);
    assert_int_equal(due_by_order[0], 2100 * TW_SECOND);
    assert_int_equal(fires, 0);
    tw_runtime_free(rt);
}
