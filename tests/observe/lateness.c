/* P2: how late fires are, and what made them late. Each cause is brought about by itself. */
#include "support/runtime_test.h"

#include <tickwheel/handle.h>
#include <tickwheel/observe.h>

static struct tw_observed observed;

static uint64_t times_late(struct tw_runtime *rt, enum tw_late_cause cause) {
    uint64_t total = 0;
    assert_ok(tw_runtime_observe(rt, &observed));
    for (unsigned i = 0; i < TW_BUCKETS; ++i)
        total += observed.late[cause].counts[i];
    return total;
}

static uint64_t fires_in(struct tw_runtime *rt) {
    return times_late(rt, TW_LATE_WAKING) + times_late(rt, TW_LATE_CALLBACKS) +
           times_late(rt, TW_LATE_BUDGET);
}

TEST(a_fire_in_time_is_late_by_nothing) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_node node;
    tw_node_init(&node, no_callback, NULL);
    tw_runtime_every(rt, &node, TW_SECOND, TW_BURST);
    tw_runtime_advance(rt, 10 * TW_SECOND);
    assert_int_equal(fires_in(rt), 10);
    assert_int_equal(times_late(rt, TW_LATE_WAKING), 10);
    assert_int_equal(observed.late[TW_LATE_WAKING].max_ns, 0);
    tw_runtime_cancel(rt, &node);
    tw_runtime_free(rt);
}

static struct tw_node armed_at_once;

static void arm_at_once(UNUSED struct tw_node *node, void *rt) { tw_runtime_after(rt, &armed_at_once, 0); }

/* In a second turn without a sleep, as nodes on the wall clock fire last. */
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
    struct tw_handles *handles;
    struct tw_node node;
    tw_handle id;
    assert_ok(tw_handles_new(&handles, rt, NULL));
    tw_node_init(&node, no_callback, NULL);
    tw_runtime_after(rt, &node, 10 * TW_MILLISECOND);
    assert_ok(tw_handle_after(handles, &id, 30 * TW_MILLISECOND, no_task, NULL));
    tw_runtime_leap(rt, 50 * TW_MILLISECOND);
    assert_int_equal(times_late(rt, TW_LATE_WAKING), 2);
    assert_int_equal(observed.late[TW_LATE_WAKING].max_ns, 40 * TW_MILLISECOND);
    assert_int_equal(observed.late[TW_LATE_WAKING].sum_ns, 60 * TW_MILLISECOND);
    assert_int_equal(fires_in(rt), 2);
    tw_runtime_free(rt);
}

/* Of virtual time, which can be late by centuries. */
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

#define OTHERS 10

/* Runs for longer than it was late itself: so the others of its tick are late by it more than by the
 * system, however late that was. */
static void hold_up(UNUSED struct tw_node *node, void *arg) {
    struct tw_runtime *rt = arg;
    const int64_t begin = monotonic(), late = begin - tw_runtime_due(rt);
    while (monotonic() - begin < 2 * late + 2 * TW_MILLISECOND) {
    }
}

TEST(fires_behind_a_slow_callback_are_late_by_callbacks) {
    for (unsigned d = 0; d < thread_drivers_here(); ++d) {
        struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = thread_drivers[d]});
        struct tw_node slow, others[OTHERS];
        const int64_t due = tw_runtime_now(rt) + 20 * TW_MILLISECOND;
        tw_node_init(&slow, hold_up, rt);
        tw_runtime_at(rt, &slow, due);
        for (int i = 0; i < OTHERS; ++i) {
            tw_node_init(&others[i], no_callback, NULL);
            tw_runtime_at(rt, &others[i], due);
        }
        wait_for(fires_in(rt) == OTHERS + 1);
        assert_int_equal(times_late(rt, TW_LATE_CALLBACKS), OTHERS);
        assert_int_equal(times_late(rt, TW_LATE_WAKING), 1);
        assert_true(observed.late[TW_LATE_CALLBACKS].sum_ns >= OTHERS * 2 * TW_MILLISECOND);
        tw_runtime_free(rt);
    }
}

/* So is one that came due while the callback ran, in the next turn. */
TEST(a_fire_that_comes_due_during_a_slow_callback_is_late_by_callbacks) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = "epoll"});
    struct tw_node slow, next;
    const int64_t due = tw_runtime_now(rt) + 20 * TW_MILLISECOND;
    tw_node_init(&slow, hold_up, rt);
    tw_node_init(&next, no_callback, NULL);
    tw_runtime_at(rt, &slow, due);
    tw_runtime_at(rt, &next, due + TW_MILLISECOND);
    wait_for(fires_in(rt) == 2);
    assert_int_equal(times_late(rt, TW_LATE_CALLBACKS), 1);
    tw_runtime_free(rt);
}

TEST(fires_that_a_turn_had_no_budget_for_are_late_by_the_budget) {
    enum { BUDGET = 16, ALL = 100 };
    struct tw_runtime *rt = new_runtime((struct tw_runtime_options){.budget = BUDGET});
    static struct tw_node nodes[ALL];
    const int64_t due = tw_runtime_now(rt) + TW_MILLISECOND;
    for (int i = 0; i < ALL; ++i) {
        tw_node_init(&nodes[i], no_callback, NULL);
        tw_runtime_at(rt, &nodes[i], due);
    }
    assert_ok(tw_runtime_start(rt));
    wait_for(fires_in(rt) == ALL);
    assert_in_range(times_late(rt, TW_LATE_BUDGET), ALL - BUDGET, ALL); /* moving them takes budget, too */
    tw_runtime_free(rt);
}

/* A wall clock that is set forwards makes timers due, but no_callback is late by that. */
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
