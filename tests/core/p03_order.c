/* P3: timers fire in tick order; on one tick, in the order they were armed, regardless of the
 * levels they passed through. fire() asserts this at each fire; the tests here create the
 * situations in which a wheel could get it wrong. */
#include "promise.h"

#define MANY 1000

static struct timer timers[MANY];
static size_t used;

static int fresh(void **state) {
    used = 0;
    return fresh_wheel(state);
}

static struct timer *next_timer(uint64_t tick) {
    assert_true(used < MANY);
    init_and_arm(&timers[used], tick);
    return &timers[used++];
}

static void assert_all_fired_once(void) {
    assert_int_equal(fires, used);
    for (size_t i = 0; i < used; ++i)
        assert_int_equal(timers[i].fires, 1);
    assert_int_equal(tw_count(&wheel), 0);
    assert_whole();
}

FIXTURE(fresh, NULL);

TEST(p3_ticks_fire_in_order_however_they_were_armed) {
    uint64_t seed = 3;
    for (size_t i = 0; i < MANY; ++i)
        next_timer(random_below(&seed, 4 * ROUND));
    advance(4 * ROUND);
    assert_all_fired_once();
}

TEST(p3_one_tick_fires_in_arming_order) {
    for (size_t i = 0; i < MANY; ++i)
        next_timer(3 * TOP_SLOT + 7);
    advance(3 * TOP_SLOT + 7);
    assert_all_fired_once();
}

/* The first timers are armed far away and lowered; later ones are armed nearer and nearer. */
static void arm_from_ever_nearer(uint64_t tick) {
    for (uint64_t distance = 4 * ROUND; distance > 0; distance = distance * 2 / 3) {
        advance(tick - distance);
        next_timer(tick);
        next_timer(tick);
    }
    next_timer(tick);
    advance(tick);
}

TEST(p3_same_tick_fires_in_arming_order_whatever_levels_it_came_through) {
    uint64_t tick = 5 * ROUND + 3 * TOP_SLOT;
    const uint64_t steps[] = {0,        1,         BLOCK - 1, BLOCK, BLOCK + 1, TOP_SLOT - 1,
                              TOP_SLOT, ROUND - 1, ROUND + 1};
    for (size_t i = 0; i < COUNT_OF(steps); ++i) {
        used = 0;
        start_at(tick - 4 * ROUND);
        arm_from_ever_nearer(tick += steps[i]);
        assert_all_fired_once();
    }
}

/* Look-ahead has moved only some nodes of the block that opens next. A timer armed now must
 * queue behind both groups. */
static void arm_into_half_moved_block(uint64_t start, uint64_t block, uint64_t span, uint32_t bite) {
    used = 0;
    start_at(start);
    for (unsigned i = 0; i < 40; ++i)
        next_timer(block + i % 4 * (span / 4));
    advance(block - 1 - span / 2);
    for (unsigned i = 0; i < 60; ++i) {
        tw_idle(&wheel, bite);
        next_timer(block + i % 4 * (span / 4));
    }
    assert_whole();
    advance(block + span);
    assert_all_fired_once();
}

TEST(p3_late_nodes_do_not_overtake_elders_that_idle_has_half_moved) {
    for (uint32_t bite = 1; bite <= 3; ++bite) {
        for (uint64_t span = BLOCK; span < ROUND; span <<= shape->bits) {
            arm_into_half_moved_block(0, span, span, bite);
            arm_into_half_moved_block(0, 2 * span, span, bite);
            arm_into_half_moved_block(ROUND - span, ROUND + span, span, bite);
            arm_into_half_moved_block(3 * ROUND - 2 * span, 3 * ROUND, span, bite);
        }
    }
}

/* The same at the boundary itself: a budget ends the call in the middle of lowering a slot. */
static void arm_into_interrupted_cascade(uint64_t start, uint64_t block, uint64_t span, uint32_t budget) {
    used = 0;
    start_at(start);
    for (unsigned i = 0; i < 50; ++i)
        next_timer(block + (i * 7) % 5 * (span / 5));
    for (unsigned calls = 0; tw_advance(&wheel, block, budget) == 1; ++calls) {
        assert_true(calls < 10000);
        if (used < 400)
            next_timer(block + 1 + calls % 5 * (span / 5));
        assert_whole();
    }
    for (unsigned i = 0; i < 5; ++i)
        next_timer(block + 1 + i * (span / 5));
    advance(block + span);
    assert_all_fired_once();
}

TEST_IF(!TW_SMALL, p3_late_nodes_do_not_overtake_elders_in_a_cascade_cut_short_by_its_budget) {
    for (uint32_t budget = 1; budget <= 5; ++budget) {
        for (uint64_t span = BLOCK; span <= ROUND; span <<= shape->bits) {
            arm_into_interrupted_cascade(0, span, span, budget);
            arm_into_interrupted_cascade(0, 3 * span, span, budget);
            arm_into_interrupted_cascade(ROUND - 1, ROUND + span, span, budget);
        }
    }
}

TEST(p3_rounds_that_share_a_slot_keep_their_order_under_look_ahead_and_late_arms) {
    uint64_t seed = 33;
    for (uint64_t now = 0; now < 4 * ROUND; now += TOP_SLOT / 2 + 1) {
        advance(now);
        tw_idle(&wheel, 2);
        if (used + 4 < MANY)
            for (unsigned i = 0; i < 4; ++i)
                next_timer(now + TOP_SLOT + random_below(&seed, 3) * ROUND + random_below(&seed, 4));
    }
    advance(8 * ROUND);
    assert_all_fired_once();
}

static unsigned children;

/* Arms timers for the running tick, and for later ticks of the same advance. */
static void fire_and_arm(struct tw_node *node, void *arg) {
    const struct timer *timer = arg;
    fire(node, arg);
    const uint64_t distances[] = {0, 1, BLOCK - 1, BLOCK, TOP_SLOT, ROUND};
    for (size_t i = 0; i < COUNT_OF(distances) && children; ++i, --children)
        next_timer(timer->due + distances[i]);
}

static void arm_parents_and_advance(uint32_t budget) {
    children = 600;
    for (unsigned i = 0; i < 100; ++i) {
        struct timer *timer = next_timer(i * BLOCK / 2 + 1);
        assert_int_equal(tw_cancel(&wheel, &timer->node), 1);
        assert_int_equal(tw_node_init(&timer->node, fire_and_arm, timer), 0);
        arm(timer, timer->due);
    }
    advance_in_bites(100 * BLOCK + 10 * ROUND, budget);
    assert_all_fired_once();
}

TEST(p3_nodes_armed_in_callbacks_take_their_place_under_any_budget) {
    const uint32_t budgets[] = {1, TW_UNBOUNDED};
    for (size_t i = 0; i < COUNT_OF(budgets); ++i) {
        fresh(NULL);
        arm_parents_and_advance(budgets[i]);
    }
}

TEST(p3_order_is_the_same_under_any_budget) {
    for (uint32_t budget = 1; budget <= 64; budget *= 2) {
        uint64_t seed = 34;
        used = 0;
        start_at(0);
        for (unsigned i = 0; i < 300; ++i)
            next_timer(random_below(&seed, 2) ? random_below(&seed, BLOCK) : random_below(&seed, 3 * ROUND));
        advance_in_bites(3 * ROUND, budget);
        assert_all_fired_once();
    }
}

TEST(p3_moving_a_node_to_its_own_tick_puts_it_last) {
    struct timer *first = next_timer(9);
    next_timer(9);
    next_timer(9);
    first->order = ++armings;
    assert_int_equal(tw_arm_at(&wheel, &first->node, 9), 0);
    advance(9);
    assert_all_fired_once();
}

/* A single move also spends a budget of one. */
static void advance_to_first_fire(uint64_t now) {
    for (unsigned calls = 0; fires == 0 && calls < 1000; ++calls)
        assert_int_equal(tw_advance(&wheel, now, 1), 1);
    assert_int_equal(fires, 1);
}

TEST_IF(!TW_SMALL, p3_armed_for_a_tick_that_is_half_fired_fires_last_on_it) {
    for (unsigned i = 0; i < 3; ++i)
        next_timer(10);
    advance_to_first_fire(10);
    next_timer(10);
    next_timer(11);
    advance(11);
    assert_all_fired_once();
}

/* tw_now is already 100, but the budget ended the call at tick 10. */
TEST_IF(!TW_SMALL, p3_armed_for_a_tick_ahead_of_a_cut_short_advance_fires_in_order) {
    next_timer(10);
    next_timer(10);
    next_timer(60);
    advance_to_first_fire(100);
    next_timer(50);
    next_timer(60);
    next_timer(10);
    advance(100);
    assert_all_fired_once();
}

static char told[32];

static void tell(UNUSED struct tw_node *node, void *letter) { strcat(told, letter); }

static struct tw_node before, periodic, after;

static void tell_and_arm_after(struct tw_node *node, void *letter) {
    tell(node, letter);
    if (!tw_pending(&wheel, &after))
        assert_int_equal(tw_arm_at(&wheel, &after, 20), 0);
}

/* At tick 10 the periodic node is armed for 20: after timers that were armed for 20 earlier,
 * and before any that its own callback arms. */
TEST_IF(!TW_SMALL, p3_a_periodic_node_arms_itself_just_before_its_callback) {
    told[0] = '\0';
    tw_node_init(&before, tell, "a");
    tw_node_init(&periodic, tell_and_arm_after, "p");
    tw_node_init(&after, tell, "z");
    tw_arm_every(&wheel, &periodic, 10, 10, TW_BURST, 2);
    tw_arm_at(&wheel, &before, 20);
    advance(20);
    assert_string_equal(told, "papz");
}

TEST_IF(!TW_SMALL, p3_fires_caught_up_on_come_in_tick_order_with_everything_else) {
    static struct tw_node a, b, c;
    told[0] = '\0';
    tw_node_init(&a, tell, "a");
    tw_node_init(&b, tell, "b");
    tw_node_init(&c, tell, "c");
    tw_arm_every(&wheel, &a, 2, 2, TW_BURST, 4);
    tw_arm_every(&wheel, &b, 3, 3, TW_BURST, 2);
    tw_arm_at(&wheel, &c, 5);
    advance(9); /* a at 2 4 6 8, b at 3 6, c at 5; for 6, b was armed at 3 and a at 4 */
    assert_string_equal(told, "abacbaa");
}

static struct timer soon, later;

static void ask_and_arm(struct tw_node *node, void *arg) {
    fire(node, arg);
    IGNORE(tw_next(&wheel));
    init_and_arm(&later, 50);
    init_and_arm(&soon, 10);
}

/* The advance goes to 100, so both are due at once. */
TEST(p3_armed_by_the_only_timer_that_was_pending_others_fire_in_the_order_of_their_ticks) {
    struct timer *only = next_timer(10);
    assert_int_equal(tw_cancel(&wheel, &only->node), 1);
    assert_int_equal(tw_node_init(&only->node, ask_and_arm, only), 0);
    arm(only, 10);
    advance(100);
    assert_int_equal(fires, 3);
}

#if TW_RUNTIME
/* At any moment: while slots are half emptied, and while due nodes have not fired. */
static void shift_all(uint64_t by) {
    tw_core_shift(&wheel, by);
    for (size_t i = 0; i < used; ++i)
        if (timers[i].fires == 0)
            assert_int_equal(tw_expiry(&wheel, &timers[i].node), timers[i].due += by);
    assert_int_equal(tw_count(&wheel), used - fires);
    assert_whole();
}

TEST(p3_a_shift_of_everything_keeps_the_order_and_precedes_later_armings) {
    uint64_t seed = 33;
    for (unsigned round = 0; round < 20; ++round) {
        used = 0;
        start_at(random_below(&seed, ROUND));
        const uint64_t span = round % 2 != 0 ? 2 * BLOCK : 3 * ROUND;
        for (size_t i = 0; i < MANY / 10; ++i) {
            for (unsigned n = 0; n < 5; ++n)
                next_timer(tw_now(&wheel) + random_below(&seed, span) / 16 * 16);
            const uint64_t to = tw_now(&wheel) + random_below(&seed, span / 50 + 2);
            tw_advance(&wheel, to, 1 + (uint32_t)random_below(&seed, 40));
            if (i % 16 == 7)
                shift_all(random_below(&seed, span) / 16 * 16);
            next_timer(tw_now(&wheel) + 16 - tw_now(&wheel) % 16);
        }
        advance_in_bites(tw_now(&wheel) + 20 * span + 64, 7);
        assert_all_fired_once();
    }
}
#endif
