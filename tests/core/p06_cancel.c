/* P6: cancel tells the truth: 1 if it prevented a fire, 0 if there was none left to prevent. A
 * node that was retired cannot be armed again. */
#include "promise.h"

static struct timer one, other;

/* Results of calls inside a callback. */
static int answer;
static uint64_t calls;

static void cancel_itself(struct tw_node *node, UNUSED void *arg) {
    ++calls;
    answer = tw_cancel(&wheel, node);
}

static void cancel_other(struct tw_node *node, void *arg) {
    fire(node, arg);
    answer = tw_cancel(&wheel, &other.node);
}

static void retire_itself(struct tw_node *node, UNUSED void *arg) {
    ++calls;
    answer = tw_retire(&wheel, node);
}

static void retire_other(struct tw_node *node, void *arg) {
    fire(node, arg);
    answer = tw_retire(&wheel, &other.node);
}

static int fresh(void **state) {
    answer = -1;
    calls = 0;
    fresh_wheel(state);
    init(&one);
    init(&other);
    return 0;
}

static void give(struct timer *timer, tw_callback *fn) {
    assert_int_equal(tw_node_init(&timer->node, fn, timer), 0);
}

static int cancel(struct timer *timer) { return tw_cancel(&wheel, &timer->node); }

static void assert_idle_for_good(struct timer *timer) {
    const unsigned fired = timer->fires;
    assert_int_equal(tw_pending(&wheel, &timer->node), 0);
    assert_int_equal(tw_count(&wheel), 0);
    assert_true(tw_next(&wheel) == TW_NEVER);
    assert_whole();
    advance(LAST_TICK);
    assert_int_equal(timer->fires, fired);
}

FIXTURE(fresh, NULL);

TEST(p6_cancel_of_an_idle_node_is_0) {
    assert_int_equal(cancel(&one), 0);
    assert_idle_for_good(&one);
}

TEST(p6_cancel_of_a_queued_node_is_1_at_any_distance_and_it_never_fires) {
    const uint64_t distances[] = {0,         1,     BLOCK - 1,  BLOCK,        TOP_SLOT,
                                  ROUND - 1, ROUND, 40 * ROUND, LAST_TICK - 9};
    for (size_t i = 0; i < COUNT_OF(distances); ++i) {
        start_at(9);
        arm(&one, 9 + distances[i]);
        assert_int_equal(cancel(&one), 1);
        assert_idle_for_good(&one);
        assert_int_equal(one.fires, 0);
    }
}

TEST(p6_cancel_of_a_node_on_its_way_down_is_1_and_it_never_fires) {
    const uint64_t tick = ROUND + 3 * TOP_SLOT + BLOCK + 1;
    for (uint64_t distance = ROUND; distance > 0; distance /= 2) {
        start_at(0);
        arm(&one, tick);
        advance(tick - distance);
        tw_idle(&wheel, TW_UNBOUNDED);
        assert_int_equal(cancel(&one), 1);
        assert_idle_for_good(&one);
        assert_int_equal(one.fires, 0);
    }
}

TEST(p6_the_second_cancel_is_0) {
    arm(&one, 5);
    assert_int_equal(cancel(&one), 1);
    assert_int_equal(cancel(&one), 0);
    assert_idle_for_good(&one);
}

TEST(p6_cancel_after_the_fire_is_0) {
    arm(&one, 5);
    advance(5);
    assert_int_equal(cancel(&one), 0);
    assert_int_equal(one.fires, 1);
}

TEST(p6_cancel_of_a_node_due_later_in_the_same_jump_is_1_and_it_is_not_called) {
    give(&one, cancel_other);
    arm(&one, 5);
    arm(&other, 5 + TOP_SLOT);
    advance(ROUND);
    assert_int_equal(answer, 1);
    assert_int_equal(other.fires, 0);
}

/* A budget ends the call with the node at any stage of becoming due. */
TEST_IF(!TW_SMALL, p6_cancel_between_cut_short_advances_is_1_until_the_fire) {
    for (unsigned stop = 0; stop < 12; ++stop) {
        start_at(0);
        init(&one);
        arm(&one, TOP_SLOT + BLOCK + 1);
        for (unsigned i = 0; i < stop; ++i)
            tw_advance(&wheel, TOP_SLOT + BLOCK + 1, 1);
        assert_int_equal(cancel(&one), one.fires == 0);
        advance(TOP_SLOT + BLOCK + 1 + ROUND);
        assert_int_equal(one.fires, fires);
        assert_whole();
    }
}

TEST(p6_cancel_inside_the_own_callback_of_a_one_shot_is_0) {
    give(&one, cancel_itself);
    arm(&one, 5);
    advance(5);
    assert_int_equal(answer, 0);
    assert_int_equal(calls, 1);
}

TEST_IF(!TW_SMALL, p6_cancel_inside_the_own_callback_of_a_periodic_is_1_and_ends_it) {
    const enum tw_missed policies[] = {TW_BURST, TW_COALESCE, TW_DELAY};
    for (size_t i = 0; i < COUNT_OF(policies); ++i) {
        start_at(0);
        calls = 0;
        give(&one, cancel_itself);
        tw_arm_every(&wheel, &one.node, 5, 5, policies[i], 0);
        advance(100);
        assert_int_equal(answer, 1);
        assert_int_equal(calls, 1);
        assert_idle_for_good(&one);
        assert_int_equal(calls, 1);
    }
}

TEST_IF(!TW_SMALL, p6_cancel_inside_the_last_callback_of_a_limited_periodic_is_0) {
    give(&one, cancel_itself);
    tw_arm_every(&wheel, &one.node, 5, 5, TW_BURST, 1);
    advance(100);
    assert_int_equal(answer, 0);
    assert_int_equal(calls, 1);
}

TEST_IF(!TW_SMALL, p6_cancel_between_the_fires_of_a_periodic_is_1_and_ends_it) {
    tw_arm_every(&wheel, &one.node, 5, 5, TW_BURST, 0);
    advance(22);
    assert_int_equal(one.fires, 4);
    assert_int_equal(cancel(&one), 1);
    assert_idle_for_good(&one);
}

static void assert_refuses_to_be_armed(struct timer *timer) {
    assert_int_equal(tw_arm_after(&wheel, &timer->node, 5), -EPERM);
    assert_int_equal(tw_arm_at(&wheel, &timer->node, 5), -EPERM);
    if (!TW_SMALL)
        assert_int_equal(tw_arm_within(&wheel, &timer->node, 5, 5), -EPERM);
    assert_int_equal(tw_arm_every(&wheel, &timer->node, 5, 5, TW_COALESCE, 0), -EPERM);
    assert_int_equal(tw_postpone(&wheel, &timer->node, LAST_TICK), -ENOENT);
    assert_int_equal(cancel(timer), 0);
    assert_idle_for_good(timer);
}

TEST(p6_retire_of_an_idle_node_is_0_and_final) {
    assert_int_equal(tw_retire(&wheel, &one.node), 0);
    assert_refuses_to_be_armed(&one);
}

TEST(p6_retire_of_a_queued_node_is_1_and_final) {
    arm(&one, 5);
    assert_int_equal(tw_retire(&wheel, &one.node), 1);
    assert_int_equal(tw_retire(&wheel, &one.node), 0);
    assert_refuses_to_be_armed(&one);
    assert_int_equal(one.fires, 0);
}

TEST(p6_retire_of_a_due_neighbour_is_1_and_final) {
    give(&one, retire_other);
    arm(&one, 5);
    arm(&other, 5);
    advance(5);
    assert_int_equal(answer, 1);
    assert_int_equal(other.fires, 0);
    assert_refuses_to_be_armed(&other);
}

TEST(p6_retire_inside_the_own_callback_of_a_one_shot_is_0_and_final) {
    give(&one, retire_itself);
    arm(&one, 5);
    advance(5);
    assert_int_equal(answer, 0);
    assert_refuses_to_be_armed(&one);
}

TEST_IF(!TW_SMALL, p6_retire_inside_the_own_callback_of_a_periodic_is_1_and_final) {
    give(&one, retire_itself);
    tw_arm_every(&wheel, &one.node, 5, 5, TW_BURST, 0);
    advance(100);
    assert_int_equal(answer, 1);
    assert_int_equal(calls, 1);
    assert_refuses_to_be_armed(&one);
}

TEST(p6_a_retired_node_can_be_armed_once_it_is_initialised_again) {
    assert_int_equal(tw_retire(&wheel, &one.node), 0);
    init(&one);
    arm(&one, 5);
    advance(5);
    assert_int_equal(one.fires, 1);
}

/* For any mixture: armed = fired + cancelled + still pending. */
TEST(p6_cancels_that_say_1_and_fires_add_up_to_what_was_armed) {
    struct timer *many = new_timers(500);
    uint64_t seed = 60, armed = 0, cancelled = 0;
    for (unsigned i = 0; i < 50000; ++i) {
        struct timer *timer = &many[random_below(&seed, 500)];
        if (random_below(&seed, 2)) {
            const int moved = tw_pending(&wheel, &timer->node);
            arm(timer, tw_now(&wheel) + 1 + random_below(&seed, random_below(&seed, 2) ? 20 : 2 * TOP_SLOT));
            armed += !moved;
        } else {
            cancelled += (uint64_t)cancel(timer);
        }
        if (i % 10 == 0)
            tw_advance(&wheel, tw_now(&wheel) + random_below(&seed, 30), bite(20));
        assert_int_equal(armed, fires + cancelled + tw_count(&wheel));
    }
    assert_whole();
    free(many);
}

/* --- a node and its wheel ---------------------------------------------------------------- */

#if !TW_SMALL && TW_TICK_BITS != 32
static void ignore_fire(UNUSED struct tw_node *node, UNUSED void *arg) {}

TEST(p6_a_node_names_the_wheel_that_it_was_armed_on) {
    struct tw_node zeroed, node;
    memset(&zeroed, 0, sizeof zeroed);
    tw_node_init(&node, ignore_fire, NULL);
    assert_null(tw_wheel_of(NULL));
    assert_null(tw_wheel_of(&zeroed));
    assert_null(tw_wheel_of(&node));
    tw_arm_at(&wheel, &node, 5);
    assert_ptr_equal(tw_wheel_of(&node), &wheel);
    tw_cancel(&wheel, &node);
    assert_ptr_equal(tw_wheel_of(&node), &wheel);
}
#endif
