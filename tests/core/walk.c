/* tw_walk_next visits the pending nodes while other calls arm, fire and cancel, one timer or all. */
#include "support/walk.h"
#include "promise.h"

#include <stdbool.h>

#define NODES 600

static struct timer timers[NODES];
static unsigned visits[NODES];
static uint64_t seed;

static int fresh(void **state) {
    fresh_wheel(state);
    memset(visits, 0, sizeof visits);
    seed = 20;
    for (unsigned i = 0; i < NODES; ++i)
        init(&timers[i]);
    return 0;
}

static unsigned index_of(const struct tw_node *node) {
    const struct timer *timer = (const struct timer *)(const void *)node;
    assert_in_range((uintptr_t)timer, (uintptr_t)timers, (uintptr_t)(timers + NODES - 1));
    return (unsigned)(timer - timers);
}

static void visit(const struct tw_node *node, const struct tw_node *was, UNUSED void *arg) {
    const unsigned i = index_of(node);
    assert_int_equal(was->expiry, timers[i].due);
    assert_ptr_equal(was->arg, &timers[i]);
    ++visits[i];
}

/* A tick at any distance: a few ticks are as likely as some rounds. */
static uint64_t any_tick(void) {
    const unsigned bits = (unsigned)random_below(&seed, shape_round_bits() + 3);
    return tw_now(&wheel) + 1 + random_below(&seed, UINT64_C(1) << bits);
}

static void arm_all(void) {
    for (unsigned i = 0; i < NODES; ++i)
        arm(&timers[i], any_tick());
}

FIXTURE(fresh, NULL);

TEST(walk_of_an_empty_wheel_is_none) { assert_int_equal(walk_through(&wheel, visit, NULL), 0); }

TEST(walk_visits_every_pending_node_once) {
    arm_all();
    arm(&timers[1], LAST_TICK); /* in the last slot */
    for (unsigned i = 0; i < NODES; i += 3)
        tw_cancel(&wheel, &timers[i].node);
    assert_int_equal(walk_through(&wheel, visit, NULL), NODES - NODES / 3);
    for (unsigned i = 0; i < NODES; ++i)
        assert_int_equal(visits[i], i % 3 != 0);
    assert_whole();
}

/* In between, a place of the walk stands in the slot. No query shows it. */
TEST(walk_visits_many_nodes_of_one_slot_once) {
    tw_core_shift(&wheel, 0); /* a shift that is over does not count */
    for (unsigned i = 0; i < NODES; ++i)
        arm(&timers[i], 5 * ROUND);
    assert_int_equal(walk_through(&wheel, visit, NULL), NODES);
    for (unsigned i = 0; i < NODES; ++i)
        assert_int_equal(visits[i], 1);
    assert_int_equal(tw_count(&wheel), NODES);
    assert_whole();
}

/* Nodes armed, cancelled or fired during the walk; the walk need not visit these. */
static bool touched[NODES];

static void expect_fire(struct tw_node *node, void *arg) {
    touched[index_of(node)] = true;
    fire(node, arg);
}

static void do_anything(void) {
    struct timer *const timer = &timers[random_below(&seed, NODES)];
    const unsigned i = (unsigned)(timer - timers);
    switch (random_below(&seed, 6)) {
    case 0:
        touched[i] = true;
        arm(timer, any_tick());
        break;
    case 1:
        touched[i] = true;
        tw_cancel(&wheel, &timer->node);
        break;
    case 2:
        advance(tw_now(&wheel) + random_below(&seed, 4));
        break;
    case 3:
        tw_idle(&wheel, 1 + (uint32_t)random_below(&seed, 50));
        break;
    case 4:
        assert_whole();
        break;
    default:
        break;
    }
}

static void visit_and_do_anything(const struct tw_node *node, UNUSED const struct tw_node *was,
                                  UNUSED void *arg) {
    ++visits[index_of(node)];
    do_anything();
}

static bool pending_at_begin[NODES];

TEST(walk_misses_no_node_that_stays_whatever_else_happens) {
    for (unsigned round = 0; round < 60; ++round) {
        fresh(NULL);
        seed += round;
        for (unsigned i = 0; i < NODES; ++i)
            assert_int_equal(tw_node_init(&timers[i].node, expect_fire, &timers[i]), 0);
        arm_all();
        if (round % 2 != 0) /* crowded slots, in which the walk has to stand */
            for (unsigned i = 0; i < NODES; i += 2)
                arm(&timers[i], tw_now(&wheel) + (round % 4 == 1 ? 3 : 3 * BLOCK));
        advance(tw_now(&wheel) + random_below(&seed, 3));
        for (unsigned i = 0; i < NODES; ++i) {
            pending_at_begin[i] = tw_pending(&wheel, &timers[i].node) != 0;
            touched[i] = false;
        }
        walk_through(&wheel, visit_and_do_anything, NULL);
        for (unsigned i = 0; i < NODES; ++i)
            if (pending_at_begin[i] && !touched[i])
                assert_in_range(visits[i], 1, shape->levels + 3);
        assert_whole();
        tw_cancel_all(&wheel, NULL, NULL);
        assert_int_equal(tw_count(&wheel), 0);
    }
}

static unsigned cancelled;

static void note_cancelled(struct tw_node *node, UNUSED void *arg) {
    index_of(node); /* fails unless the node is one of the test's: a place of a walk is not */
    ++cancelled;
}

static void visit_and_cancel_all(const struct tw_node *node, UNUSED const struct tw_node *was,
                                 UNUSED void *arg) {
    if (++visits[index_of(node)] == 1 && tw_count(&wheel) > 0)
        tw_cancel_all(&wheel, note_cancelled, NULL);
}

TEST(walk_ends_when_everything_is_cancelled_meanwhile) {
    for (unsigned i = 0; i < NODES; ++i)
        arm(&timers[i], 70);
    cancelled = 0;
    assert_int_equal(walk_through(&wheel, visit_and_cancel_all, NULL), 1);
    assert_int_equal(cancelled, NODES);
    assert_int_equal(tw_count(&wheel), 0);
    assert_whole();
}

static void visit_and_shift(const struct tw_node *node, UNUSED const struct tw_node *was, UNUSED void *arg) {
    if (++visits[index_of(node)] == 1 && visits[0] != 2)
        tw_core_shift(&wheel, 1);
}

/* A shift moves every node, so the walk may miss some. */
TEST(walk_ends_when_everything_is_shifted_meanwhile) {
    for (unsigned i = 0; i < 100; ++i)
        arm(&timers[i], 3);
    assert_in_range(walk_through(&wheel, visit_and_shift, NULL), 1, 200);
    assert_int_equal(tw_count(&wheel), 100);
    assert_whole();
}

static void shift_once(const struct tw_node *node, UNUSED const struct tw_node *was, void *calls) {
    ++visits[index_of(node)];
    if ((*(unsigned *)calls)++ != 0)
        return;
    tw_core_shift(&wheel, 1);
    for (unsigned i = 0; i < NODES; ++i)
        assert_int_equal(tw_expiry(&wheel, &timers[i].node), ++timers[i].due);
}

TEST(walk_begins_its_slot_again_after_a_shift) {
    unsigned calls = 0;
    for (unsigned i = 0; i < NODES; ++i)
        arm(&timers[i], 5 * ROUND);
    assert_int_equal(walk_through(&wheel, shift_once, &calls), 1 + NODES);
    for (unsigned i = 0; i < NODES; ++i)
        assert_in_range(visits[i], 1, 2);
    assert_whole();
}

static void open_slot_once(const struct tw_node *node, UNUSED const struct tw_node *was, void *calls) {
    ++visits[index_of(node)];
    if ((*(unsigned *)calls)++ == 0)
        assert_int_equal(tw_advance(&wheel, ROUND, 50), 1);
}

/* The walk's place has left the slot with the nodes before it; the mark for the end of the slot's nodes has
 * not. */
TEST(walk_visits_what_stays_in_a_slot_that_opens_meanwhile_and_what_has_come_down) {
    unsigned calls = 0;
    for (unsigned i = 0; i < NODES; ++i)
        arm(&timers[i], ROUND + BLOCK / 2);
    walk_through(&wheel, open_slot_once, &calls);
    for (unsigned i = 0; i < NODES; ++i)
        assert_in_range(visits[i], 1, 2);
    assert_whole();
    advance(2 * ROUND);
    assert_int_equal(fires, NODES);
}

static void have_all_fire_once(UNUSED const struct tw_node *node, UNUSED const struct tw_node *was,
                               void *calls) {
    if ((*(unsigned *)calls)++ != 0)
        return;
    advance(2 * ROUND);
    for (unsigned i = 0; i < 10; ++i)
        arm(&timers[i], 3 * ROUND); /* in the same slot */
}

TEST(walk_does_not_visit_what_is_armed_for_its_slot_when_that_has_been_emptied) {
    unsigned calls = 0;
    for (unsigned i = 0; i < NODES; ++i)
        arm(&timers[i], ROUND);
    assert_int_equal(walk_through(&wheel, have_all_fire_once, &calls), 1);
    assert_int_equal(fires, NODES);
    assert_whole();
}

/* Calls that count timers or look for the next one must not take the walk's place for a timer. */
static void cancel_all_and_ask(UNUSED const struct tw_node *node, UNUSED const struct tw_node *was,
                               UNUSED void *arg) {
    for (unsigned i = 0; i < NODES; ++i)
        tw_cancel(&wheel, &timers[i].node);
    assert_null(tw_first(&wheel, TW_UNBOUNDED));
    assert_int_equal(tw_count(&wheel), 0);
    assert_int_equal(tw_next(&wheel), TW_NEVER);
    arm(&timers[0], tw_now(&wheel) + 5 * ROUND); /* in a slot that the walk has left */
    assert_ptr_equal(tw_first(&wheel, 1), &timers[0].node);
    assert_int_equal(tw_next(&wheel), timers[0].due);
}

TEST(walk_hides_its_place) {
    const uint64_t distances[] = {1, 2 * BLOCK};
    for (size_t k = 0; k < COUNT_OF(distances); ++k) {
        for (unsigned i = 0; i < NODES; ++i)
            arm(&timers[i], tw_now(&wheel) + distances[k]);
        assert_int_equal(walk_through(&wheel, cancel_all_and_ask, NULL), 1);
        assert_whole();
    }
}

static bool has_walked;

static void visit_and_walk(const struct tw_node *node, UNUSED const struct tw_node *was, UNUSED void *arg) {
    ++visits[index_of(node)];
    if (has_walked)
        return;
    has_walked = true;
    assert_int_equal(walk_through(&wheel, visit, NULL), NODES);
}

/* The inner walk does not take the outer walk's place for a node. */
TEST(walk_may_be_called_by_what_it_calls) {
    has_walked = false;
    for (unsigned i = 0; i < NODES; ++i)
        arm(&timers[i], 5 * ROUND);
    assert_int_equal(walk_through(&wheel, visit_and_walk, NULL), NODES);
    for (unsigned i = 0; i < NODES; ++i)
        assert_int_equal(visits[i], 2);
}

static void arm_again(const struct tw_node *node, UNUSED const struct tw_node *was, void *calls) {
    const unsigned i = index_of(node);
    assert_true(++*(unsigned *)calls <= NODES);
    arm(&timers[i], timers[i].due);
}

/* Each visited node goes to the end of the slot that the walk is in. */
TEST(walk_ends_although_it_arms_what_it_visits) {
    unsigned calls = 0;
    for (unsigned i = 0; i < NODES; ++i)
        arm(&timers[i], 5 * ROUND);
    assert_int_equal(walk_through(&wheel, arm_again, &calls), NODES);
    assert_int_equal(tw_count(&wheel), NODES);
    assert_whole();
}

TEST(walk_hands_out_nodes_that_may_be_changed_and_can_end_early) {
    struct tw_walk walk = {0};
    arm_all();
    for (unsigned i = 0; i < NODES / 2; ++i)
        assert_int_equal(tw_cancel(&wheel, tw_walk_next(&wheel, &walk)), 1);
    assert_int_equal(tw_walk_end(&wheel, &walk), 0);
    assert_null(tw_walk_next(&wheel, &walk));
    assert_int_equal(tw_walk_end(&wheel, &walk), 0);
    memset(&walk, 0xff, sizeof walk); /* the wheel does not point to the walk any more */
    assert_whole();
    assert_int_equal(walk_through(&wheel, visit, NULL), NODES - NODES / 2);
    assert_whole();
}

/* The cursor passes a slot in which only a place of the walk is left. */
TEST(walk_under_way_breaks_no_invariant) {
    struct tw_walk walk = {0};
    struct timer *const late = &timers[1];
    arm(&timers[0], 2 * BLOCK);
    arm(late, 5 * ROUND);
    while (tw_walk_next(&wheel, &walk) != &timers[0].node) {
    }
    assert_int_equal(tw_cancel(&wheel, &timers[0].node), 1);
    for (uint64_t tick = 1; tick < 4 * BLOCK; ++tick) {
        advance(tick);
        assert_int_equal(tw_check(&wheel, NULL, NULL), 0);
    }
    assert_int_equal(tw_walk_end(&wheel, &walk), 0);
}

TEST(walk_refuses_bad_arguments) {
    struct tw unknown;
    struct tw_walk walk = {0};
    memset(&unknown, 0, sizeof unknown);
    assert_null(tw_walk_next(NULL, &walk));
    assert_null(tw_walk_next(&unknown, &walk));
    assert_null(tw_walk_next(&wheel, NULL));
    assert_int_equal(tw_walk_end(NULL, &walk), -EINVAL);
    assert_int_equal(tw_walk_end(&unknown, &walk), -EINVAL);
    assert_int_equal(tw_walk_end(&wheel, NULL), -EINVAL);
}

/* --- time that goes back ------------------------------------------------------------------- */

/* Nodes of all distances, of which some are overdue, stay due at their ticks and in their order. */
TEST(walk_set_back_leaves_every_node_due_at_its_tick) {
    for (unsigned round = 0; round < 60; ++round) {
        const uint64_t from = tw_now(&wheel);
        fires = 0;
        arm_all();
        for (unsigned i = 0; i < NODES; i += 2)
            arm(&timers[i], from + 1 + random_below(&seed, 5));
        const uint64_t to = from + random_below(&seed, UINT64_C(1) << random_below(&seed, 20));
        tw_advance(&wheel, to, 1 + (uint32_t)random_below(&seed, 400)); /* may end early */
        const uint64_t back = to - random_below(&seed, to - from + 1);
        const uint64_t fired = fires;
        assert_int_equal(tw_set_back(&wheel, back), 0);
        assert_int_equal(tw_now(&wheel), back);
        assert_whole();
        assert_int_equal(tw_count(&wheel) + fired, NODES);
        for (unsigned i = 0; i < NODES; ++i)
            if (tw_pending(&wheel, &timers[i].node))
                assert_int_equal(tw_expiry(&wheel, &timers[i].node), timers[i].due);
        advance(back);
        for (unsigned i = 0; i < NODES; ++i)
            if (tw_pending(&wheel, &timers[i].node))
                assert_true(timers[i].due > back);
        advance(tw_now(&wheel) + 3 * ROUND); /* `fire` checks the ticks and the order */
        tw_cancel_all(&wheel, NULL, NULL);
    }
}

static void set_back_inside(UNUSED struct tw_node *node, UNUSED void *arg) {
    assert_int_equal(tw_set_back(&wheel, 0), -EBUSY);
    ++fires;
}

TEST(walk_set_back_refuses_a_later_tick_and_a_wheel_that_is_advanced) {
    struct tw unknown;
    struct tw_node node;
    memset(&unknown, 0, sizeof unknown);
    assert_int_equal(tw_set_back(NULL, 0), -EINVAL);
    assert_int_equal(tw_set_back(&unknown, 0), -EINVAL);
    advance(10);
    assert_int_equal(tw_set_back(&wheel, 11), -EINVAL);
    assert_int_equal(tw_set_back(&wheel, 10), 0);
    tw_node_init(&node, set_back_inside, NULL);
    tw_arm_at(&wheel, &node, 12);
    advance(12);
    assert_int_equal(fires, 1);
    assert_int_equal(tw_now(&wheel), 12);
}
