/* P2: how late fires are, and what made them late, on virtual time. On other clocks: still_clock.c. */
#include "histogram.h"
#include "support/runtime_test.h"

#include <tickwheel/observe.h>
#include <tickwheel/timers.h>

static struct tw_stats observed;

static uint64_t times_late(struct tw_runtime *rt, enum tw_late_cause cause) {
    assert_ok(tw_runtime_stats(rt, &observed));
    return total_of(&observed.late[cause]);
}

static uint64_t fires_in(struct tw_runtime *rt) {
    return times_late(rt, TW_LATE_WAKING) + times_late(rt, TW_LATE_CALLBACKS) +
           times_late(rt, TW_LATE_BUDGET);
}

TEST(a_fire_in_time_is_late_by_nothing) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_node node;
    tw_node_init(&node, no_callback, NULL);
    for (int i = 0; i < 2; ++i) { /* at 0, too */
        tw_runtime_after(rt, &node, 0);
        tw_runtime_advance(rt, 0);
    }
    tw_runtime_every(rt, &node, TW_SECOND, TW_BURST);
    tw_runtime_advance(rt, 10 * TW_SECOND);
    assert_int_equal(fires_in(rt), 12);
    assert_int_equal(times_late(rt, TW_LATE_WAKING), 12);
    assert_int_equal(observed.late[TW_LATE_WAKING].max_ns, 0);
    tw_runtime_cancel(rt, &node);
    tw_runtime_free(rt);
}

static struct tw_node armed_at_once;

static void arm_at_once(UNUSED struct tw_node *node, void *rt) { tw_runtime_after(rt, &armed_at_once, 0); }

/* The node on the steady clock fires in a second turn without a sleep, because nodes on the wall clock fire
 * last. */
TEST(a_fire_that_a_callback_has_armed_at_once_is_late_by_nothing) {
    struct tw_runtime *rt =
        new_runtime((struct tw_runtime_options){.driver = "manual", .clock = TW_CLOCK_WALL});
    struct tw_node node;
    tw_node_init(&node, arm_at_once, rt);
    tw_node_init(&armed_at_once, no_callback, NULL);
    tw_runtime_at(rt, &node, TW_SECOND);
    tw_runtime_advance(rt, TW_SECOND);
    assert_int_equal(times_late(rt, TW_LATE_WAKING), 2);
    assert_int_equal(observed.late[TW_LATE_WAKING].max_ns, 0);
    tw_runtime_free(rt);
}

TEST(a_program_that_stalled_woke_late) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_timers *handles;
    struct tw_node node;
    tw_handle id;
    assert_ok(tw_timers_new(&handles, rt, NULL));
    tw_runtime_leap(rt, 0);
    tw_node_init(&node, no_callback, NULL);
    tw_runtime_after(rt, &node, 10 * TW_MILLISECOND);
    assert_ok(tw_timer_after(handles, &id, 30 * TW_MILLISECOND, no_task, NULL));
    tw_runtime_leap(rt, 50 * TW_MILLISECOND);
    assert_int_equal(times_late(rt, TW_LATE_WAKING), 2);
    assert_int_equal(observed.late[TW_LATE_WAKING].max_ns, 40 * TW_MILLISECOND);
    assert_int_equal(observed.late[TW_LATE_WAKING].sum_ns, 60 * TW_MILLISECOND);
    assert_int_equal(fires_in(rt), 2);
    tw_runtime_free(rt);
}

/* On virtual time, a fire can be late by centuries. */
TEST(lateness_adds_up_to_no_more_than_all_time) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_node nodes[3];
    for (int i = 0; i < 3; ++i) {
        tw_node_init(&nodes[i], no_callback, NULL);
        tw_runtime_after(rt, &nodes[i], (1 + i) * TW_SECOND);
    }
    assert_ok(tw_runtime_leap(rt, INT64_MAX - 1));
    assert_int_equal(times_late(rt, TW_LATE_WAKING), 3);
    assert_true(observed.late[TW_LATE_WAKING].sum_ns == INT64_MAX);
    assert_true(observed.late[TW_LATE_WAKING].max_ns == INT64_MAX - 1 - TW_SECOND);
    tw_runtime_free(rt);
}

TEST(fires_that_a_turn_had_no_budget_for_are_late_by_the_budget) {
    enum { BUDGET = 16, ALL = 100 };
    struct tw_runtime *rt = new_runtime((struct tw_runtime_options){.driver = "manual", .budget = BUDGET});
    struct tw_node nodes[ALL];
    for (int i = 0; i < ALL; ++i) {
        tw_node_init(&nodes[i], no_callback, NULL);
        tw_runtime_after(rt, &nodes[i], TW_MILLISECOND);
    }
    tw_runtime_advance(rt, TW_MILLISECOND);
    const uint64_t in_time = times_late(rt, TW_LATE_WAKING);
    assert_in_range(in_time, 1, BUDGET); /* moving them takes budget, too */
    assert_int_equal(times_late(rt, TW_LATE_BUDGET), ALL - in_time);
    tw_runtime_after(rt, &nodes[0], 0); /* the turn had left nothing */
    tw_runtime_advance(rt, 0);
    assert_int_equal(times_late(rt, TW_LATE_WAKING), in_time + 1);
    tw_runtime_free(rt);
}

/* Setting a wall clock forwards makes timers due, but the jump does not count as lateness. */
TEST(a_clock_that_is_set_makes_no_fire_late) {
    struct tw_runtime *rt =
        new_runtime((struct tw_runtime_options){.driver = "manual", .clock = TW_CLOCK_WALL});
    struct tw_node node;
    tw_node_init(&node, no_callback, NULL);
    assert_ok(tw_runtime_set_wall(rt, 1000 * TW_SECOND));
    tw_runtime_at(rt, &node, 2000 * TW_SECOND);
    tw_runtime_advance(rt, TW_SECOND);
    assert_ok(tw_runtime_set_wall(rt, 9000 * TW_SECOND));
    tw_runtime_advance(rt, 0);
    assert_int_equal(fires_in(rt), 1);
    assert_int_equal(observed.late[TW_LATE_WAKING].max_ns, 0);
    tw_runtime_free(rt);
}
