/* P7: callbacks run with no lock held and may do anything: arm, move, cancel any node (their
 * own, a neighbour on the same tick), free their own node, cancel all nodes.
 * (p08_bounded_work.c counts locks held, and threads.c checks from a second thread.) */
#include "promise.h"

#include <errno.h>
#include <setjmp.h>

#define CROWD 9

static struct timer crowd[CROWD]; /* all due on one tick, in this order */
static size_t acting;             /* the one whose callback acts */
static size_t target;             /* the one it acts on */
static void (*act)(void);
static int answer;

static void fire_and_act(struct tw_node *node, void *arg) {
    fire(node, arg);
    if (arg == &crowd[acting] && act) {
        void (*const once)(void) = act;
        act = NULL;
        once();
    }
}

static void arm_crowd(uint64_t tick) {
    start_at(tick > TOP_SLOT ? 1 : 0);
    for (size_t i = 0; i < CROWD; ++i) {
        init(&crowd[i]);
        assert_int_equal(tw_node_init(&crowd[i].node, fire_and_act, &crowd[i]), 0);
        arm(&crowd[i], tick);
    }
}

/* Runs `what` in the callback of each timer of the crowd, on each timer of the crowd, with
 * near and far ticks. Then judge() checks what fired. */
static void for_each_pair(void (*what)(void), uint64_t advance_to, void (*judge)(void)) {
    const uint64_t ticks[] = {1, BLOCK, TOP_SLOT + 1, ROUND};
    for (size_t i = 0; i < COUNT_OF(ticks); ++i) {
        for (acting = 0; acting < CROWD; ++acting) {
            for (target = 0; target < CROWD; ++target) {
                act = what;
                arm_crowd(ticks[i]);
                advance(ticks[i] + advance_to);
                assert_null(act);
                judge();
                assert_whole();
            }
        }
    }
}

/* Asserts that the others fired once, and the target so many times. */
static void assert_target_fired(unsigned times) {
    for (size_t i = 0; i < CROWD; ++i)
        assert_int_equal(crowd[i].fires, i == target ? times : 1);
    assert_int_equal(tw_count(&wheel), 0);
}

static void cancel_target(void) { answer = tw_cancel(&wheel, &crowd[target].node); }

static void judge_cancelled(void) {
    assert_int_equal(answer, target > acting);
    assert_target_fired(target <= acting);
}

FIXTURE(fresh_wheel, NULL);

TEST(p7_a_callback_may_cancel_any_node_of_its_tick) { for_each_pair(cancel_target, 5, judge_cancelled); }

static void move_target(void) { arm(&crowd[target], tw_now(&wheel) + 1); }

static void judge_moved(void) {
    assert_int_equal(crowd[target].fires, target <= acting);
    assert_int_equal(tw_count(&wheel), 1);
    advance(tw_now(&wheel) + 1);
    assert_target_fired(1 + (target <= acting));
}

TEST(p7_a_callback_may_move_any_node_of_its_tick_to_a_later_one) {
    for_each_pair(move_target, 0, judge_moved);
}

static void move_target_to_the_end_of_this_tick(void) { arm(&crowd[target], crowd[acting].due); }

static void judge_moved_to_the_end(void) { assert_target_fired(1 + (target <= acting)); }

TEST(p7_a_callback_may_move_any_node_of_its_tick_to_the_end_of_it) {
    for_each_pair(move_target_to_the_end_of_this_tick, 0, judge_moved_to_the_end);
    for_each_pair(move_target_to_the_end_of_this_tick, 3, judge_moved_to_the_end);
}

static void postpone_target(void) {
    answer = tw_postpone(&wheel, &crowd[target].node, tw_now(&wheel) + BLOCK);
    if (answer == 0) {
        crowd[target].due = tw_now(&wheel) + BLOCK;
        crowd[target].order = 0;
    }
}

static void judge_postponed(void) {
    assert_int_equal(answer, target > acting ? 0 : -ENOENT);
    assert_int_equal(crowd[target].fires, target <= acting);
    advance(tw_now(&wheel) + BLOCK);
    assert_target_fired(1);
}

TEST(p7_a_callback_may_postpone_any_node_of_its_tick) { for_each_pair(postpone_target, 0, judge_postponed); }

static void shut_target_down(void) { answer = tw_retire(&wheel, &crowd[target].node); }

TEST(p7_a_callback_may_retire_any_node_of_its_tick) { for_each_pair(shut_target_down, 5, judge_cancelled); }

static void judge_rest_cancelled(void) {
    for (size_t i = 0; i < CROWD; ++i)
        assert_int_equal(crowd[i].fires, i <= acting);
    assert_int_equal(tw_count(&wheel), 0);
}

static size_t cancelled;

static void count_cancelled(struct tw_node *node, UNUSED void *arg) {
    cancelled += tw_pending(&wheel, node) == 0;
}

static void cancel_all(void) {
    cancelled = 0;
    assert_int_equal(tw_cancel_all(&wheel, count_cancelled, NULL), 0);
}

static void judge_all_cancelled(void) {
    judge_rest_cancelled();
    assert_int_equal(cancelled, CROWD - 1 - acting);
}

TEST_IF(!TW_SMALL, p7_a_callback_may_cancel_all) { for_each_pair(cancel_all, 5, judge_all_cancelled); }

static void judge_all_fired(void) { assert_target_fired(1); }

static void advance_again(void) {
    assert_int_equal(tw_advance(&wheel, tw_now(&wheel) + 1, TW_UNBOUNDED), -EBUSY);
    assert_int_equal(tw_update(&wheel), -EBUSY);
    assert_int_equal(tw_advance(&wheel, tw_now(&wheel), bite(1)), -EBUSY);
}

TEST(p7_advancing_the_own_wheel_is_refused_and_the_rest_fires) {
    for_each_pair(advance_again, 0, judge_all_fired);
    advance(tw_now(&wheel) + 1);
}

/* A node that is not pending may be freed, even in its own callback. Sanitizers or the
 * overwritten bytes would reveal a wheel that still reads it. */
static void free_itself(struct tw_node *node, UNUSED void *arg) {
    memset(node, 0xa5, sizeof *node);
    free(node);
    ++fires;
}

TEST(p7_a_one_shot_may_free_itself) {
    for (unsigned i = 0; i < 300; ++i) {
        struct tw_node *node = malloc(sizeof *node);
        assert_int_equal(tw_node_init(node, free_itself, NULL), 0);
        assert_int_equal(tw_arm_at(&wheel, node, 1 + i / 3 * BLOCK / 3), 0);
    }
    advance(BLOCK);
    assert_whole();
    advance(100 * BLOCK);
    assert_int_equal(fires, 300);
}

/* A callback that keeps arming its node for "now" is due again at once; a budget ends that. */
static void rearm_for_now(struct tw_node *node, UNUSED void *arg) {
    ++fires;
    assert_int_equal(tw_arm_at(&wheel, node, tw_now(&wheel)), 0);
}

TEST_IF(!TW_SMALL, p7_a_callback_that_is_always_due_again_is_stopped_by_the_budget) {
    struct tw_node node;
    tw_node_init(&node, rearm_for_now, NULL);
    tw_arm_at(&wheel, &node, 0);
    assert_int_equal(tw_advance(&wheel, 0, 100), 1);
    assert_int_equal(fires, 100);
    assert_int_equal(tw_cancel(&wheel, &node), 1);
    advance(1);
    assert_int_equal(fires, 100);
}

static struct tw elsewhere;
static uint64_t fired_there;

static void count_there(UNUSED struct tw_node *node, UNUSED void *arg) { ++fired_there; }

static void use_another_wheel(void) {
    struct tw_node node;
    fired_there = 0;
    assert_int_equal(tw_init(&elsewhere, 7, 0), 0);
    assert_int_equal(tw_node_init(&node, count_there, NULL), 0);
    assert_int_equal(tw_arm_every(&elsewhere, &node, 8, 1, TW_BURST, 0), 0);
    assert_int_equal(tw_advance(&elsewhere, 17, TW_UNBOUNDED), 0);
    assert_null(tw_running(&elsewhere));
    assert_ptr_equal(tw_running(&wheel), &crowd[acting].node);
    assert_int_equal(tw_cancel_all(&elsewhere, NULL, NULL), 0);
    assert_int_equal(fired_there, 10);
}

TEST_IF(!TW_SMALL, p7_a_callback_may_make_and_advance_another_wheel) {
    for_each_pair(use_another_wheel, 3, judge_all_fired);
}

/* The same promise holds for callbacks of tw_cancel_all. */
static void free_cancelled(struct tw_node *node, UNUSED void *arg) { free_itself(node, NULL); }

TEST_IF(!TW_SMALL, p7_cancel_all_may_free_each_node) {
    for (unsigned i = 0; i < 500; ++i) {
        struct tw_node *node = malloc(sizeof *node);
        tw_node_init(node, fire, NULL);
        tw_arm_at(&wheel, node, 1 + i * i * i);
    }
    assert_int_equal(tw_cancel_all(&wheel, free_cancelled, NULL), 0);
    assert_int_equal(fires, 500);
    assert_int_equal(tw_count(&wheel), 0);
    assert_whole();
}

static void ask_during_cancel_all(UNUSED struct tw_node *node, UNUSED void *arg) {
    ++cancelled;
    assert_true(tw_next(&wheel) == TW_NEVER);
}

TEST_IF(!TW_SMALL, p7_what_a_cancel_all_still_holds_is_nothing_to_wake_up_for) {
    arm_crowd(3);
    cancelled = 0;
    assert_int_equal(tw_cancel_all(&wheel, ask_during_cancel_all, NULL), 0);
    assert_int_equal(cancelled, CROWD);
}

static void advance_during_cancel_all(UNUSED struct tw_node *node, UNUSED void *arg) {
    ++cancelled;
    assert_int_equal(tw_advance(&wheel, tw_now(&wheel) + 1, TW_UNBOUNDED), 0);
    assert_whole();
}

/* Nodes that a cancel_all has taken off the wheel are no longer pending: advancing does not fire
 * them. */
TEST_IF(!TW_SMALL, p7_cancel_all_outside_callbacks_may_advance_the_wheel) {
    arm_crowd(3);
    cancelled = 0;
    assert_int_equal(tw_cancel_all(&wheel, advance_during_cancel_all, NULL), 0);
    assert_int_equal(cancelled + fires, CROWD);
    assert_int_equal(tw_count(&wheel), 0);
}

/* --- interruptions ----------------------------------------------------------------- */

static unsigned due_count;

#if TW_RUNTIME
static uint64_t dues[8];

static void note_due(UNUSED struct tw_node *node, UNUSED void *arg) { dues[due_count++] = tw_due(&wheel); }

static void interrupt_once(struct tw_node *node, void *arg) {
    note_due(node, arg);
    if (due_count == 2)
        tw_core_interrupt(&wheel);
}

TEST(p7_an_interrupted_advance_calls_no_further_callback_until_called_again) {
    struct tw_node nodes[5];
    due_count = 0;
    for (unsigned i = 0; i < COUNT_OF(nodes); ++i) {
        tw_node_init(&nodes[i], interrupt_once, NULL);
        tw_arm_at(&wheel, &nodes[i], 10 + i / 2);
    }
    assert_int_equal(tw_advance(&wheel, 50, TW_UNBOUNDED), 1);
    assert_int_equal(due_count, 2);
    assert_int_equal(tw_count(&wheel), 3);
    assert_whole();
    assert_int_equal(tw_cancel(&wheel, &nodes[4]), 1);
    assert_int_equal(tw_advance(&wheel, 50, TW_UNBOUNDED), 0);
    assert_int_equal(due_count, 4);
}

TEST(p7_an_interruption_outside_holds_for_the_next_advance_that_would_call_someone) {
    struct tw_node node;
    due_count = 0;
    tw_node_init(&node, note_due, NULL);
    tw_arm_at(&wheel, &node, 10);
    tw_core_interrupt(&wheel);
    assert_int_equal(tw_advance(&wheel, 5, TW_UNBOUNDED), 0); /* no callback to call */
    assert_int_equal(tw_advance(&wheel, 20, TW_UNBOUNDED), 1);
    assert_int_equal(due_count, 0);
    assert_int_equal(tw_advance(&wheel, 20, TW_UNBOUNDED), 0);
    assert_int_equal(due_count, 1);
}

TEST(p7_an_interruption_is_not_used_up_by_a_postponed_node) {
    struct tw_node postponed;
    assert_int_equal(tw_node_init(&postponed, note_due, NULL), 0);
    assert_int_equal(tw_arm_at(&wheel, &postponed, tw_now(&wheel) + 3), 0);
    assert_int_equal(tw_postpone(&wheel, &postponed, tw_now(&wheel) + 9), 0);
    tw_core_interrupt(&wheel);
    assert_int_equal(tw_advance(&wheel, tw_now(&wheel) + 5, TW_UNBOUNDED), 0);
    assert_int_equal(tw_advance(&wheel, tw_now(&wheel) + 4, TW_UNBOUNDED), 1);
    assert_int_equal(tw_pending(&wheel, &postponed), 1);
    assert_int_equal(tw_advance(&wheel, tw_now(&wheel), TW_UNBOUNDED), 0);
    assert_int_equal(tw_pending(&wheel, &postponed), 0);
}
#endif

static void wait_for_itself(struct tw_node *node, UNUSED void *arg) {
    assert_int_equal(tw_wait(&wheel, node), 0);
    ++due_count;
}

TEST(p7_waiting_inside_the_callback_does_not_wait) {
    struct tw_node node;
    due_count = 0;
    tw_node_init(&node, wait_for_itself, NULL);
    assert_int_equal(tw_wait(&wheel, &node), 0);
    tw_arm_at(&wheel, &node, 10);
    assert_int_equal(tw_wait(&wheel, &node), 0); /* pending is not running */
    advance(10);
    assert_int_equal(due_count, 1);
}

#if TW_RUNTIME
/* --- callbacks that do not return ------------------------------------------------------------ */

static jmp_buf out;

static void leave_by_a_jump(UNUSED struct tw_node *node, UNUSED void *arg) { longjmp(out, 1); }

TEST(p7_a_wheel_whose_callback_was_left_by_a_jump_goes_on_once_it_is_told) {
    struct tw_node jumper;
    struct timer behind;
    tw_core_abandon(&wheel); /* no advance is under way: nothing changes */
    tw_node_init(&jumper, leave_by_a_jump, NULL);
    tw_arm_at(&wheel, &jumper, 5);
    init_and_arm(&behind, 5);
    if (setjmp(out) == 0) {
        tw_advance(&wheel, 5, TW_UNBOUNDED);
        fail_msg("no callback jumped");
    }
    assert_int_equal(tw_advance(&wheel, 5, TW_UNBOUNDED), -EBUSY);
    tw_core_abandon(&wheel);
    tw_core_abandon(&wheel);
    assert_null(tw_running(&wheel));
    assert_whole();
    advance(5);
    assert_int_equal(behind.fires, 1);
}
#endif
