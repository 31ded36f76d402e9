/* P4: an armed one-shot timer fires exactly once unless it is cancelled. No timer is lost, at any distance
 * and any uptime, and none fires before its tick. */
#include "promise.h"
#include "support/sanitized.h"

/* Next to ticks where a digit of the tick, or of a machine word, turns over: from two below to two above. */
enum { NEAR = 5, EDGES = 12 * NEAR };
static uint64_t near_edge(size_t i) {
    const uint64_t edges[EDGES / NEAR] = {0,
                                          BLOCK,
                                          BLOCK << shape->bits,
                                          ROUND,
                                          ROUND << shape->bits,
                                          UINT64_C(1) << 8,
                                          UINT64_C(1) << 16,
                                          UINT64_C(1) << 24,
                                          UINT64_C(1) << 32,
                                          UINT64_C(1) << 48,
                                          UINT64_C(1) << 63,
                                          TW_NEVER};
    return edges[i / NEAR] + i % NEAR - 2;
}

/* Calls check(start, tick) for each pair of an uptime and a later tick. */
static void for_each_start_and_tick(void (*check)(uint64_t start, uint64_t tick)) {
    for (size_t i = 0; i < EDGES; ++i) {
        const uint64_t start = near_edge(i);
        for (size_t j = 0; j < EDGES; ++j) {
            const uint64_t by_distance = start + near_edge(j);
            const uint64_t at_edge = near_edge(j);
            if (start == TW_NEVER)
                continue;
            if (by_distance >= start && by_distance != TW_NEVER)
                check(start, by_distance);
            if (at_edge >= start && at_edge != TW_NEVER)
                check(start, at_edge);
        }
    }
}

static struct timer one;

static void assert_one_fires_only_at(uint64_t tick) {
    assert_true(tw_next(&wheel) <= tick);
    if (tick > tw_now(&wheel))
        advance(tick - 1);
    assert_int_equal(one.fires, 0);
    assert_int_equal(tw_expiry(&wheel, &one.node), tick);
    advance(tick);
    assert_int_equal(one.fires, 1);
    assert_int_equal(tw_pending(&wheel, &one.node), 0);
    advance(LAST_TICK);
    assert_int_equal(one.fires, 1);
}

static void assert_fires_at_its_tick_only(uint64_t start, uint64_t tick) {
    start_at(start);
    init_and_arm(&one, tick);
    assert_one_fires_only_at(tick);
}

FIXTURE(fresh_wheel, NULL);

TEST(p4_fires_once_at_its_tick_at_any_uptime_and_distance) {
    for_each_start_and_tick(assert_fires_at_its_tick_only);
}

static void assert_fires_in_one_jump(uint64_t start, uint64_t tick) {
    start_at(start);
    init_and_arm(&one, tick);
    advance(LAST_TICK);
    assert_int_equal(one.fires, 1);
    assert_int_equal(tw_count(&wheel), 0);
}

TEST(p4_fires_once_when_time_jumps_to_its_end) { for_each_start_and_tick(assert_fires_in_one_jump); }

static struct timer all[60];

static void assert_all_fired_by(size_t used, uint64_t now) {
    for (size_t i = 0; i < used; ++i)
        assert_int_equal(all[i].fires, all[i].due <= now);
}

/* Jumps over each landmark while look-ahead is half done. */
TEST(p4_nothing_is_lost_by_a_jump_over_half_done_look_ahead) {
    for (uint32_t bite = 1; bite < 40; bite += 6) {
        for (uint64_t jump = 1; jump <= 4 * ROUND; jump = jump * 3 + 1) {
            start_at(0);
            for (size_t i = 0; i < 60; ++i)
                init_and_arm(&all[i], 1 + i * BLOCK / 20 + i % 3 * TOP_SLOT + i % 2 * ROUND);
            tw_idle(&wheel, bite);
            advance(jump);
            tw_idle(&wheel, bite);
            assert_all_fired_by(60, jump);
            assert_whole();
            advance(6 * ROUND);
            assert_all_fired_by(60, 6 * ROUND);
        }
    }
}

enum { MANY = SLOW ? 20000 : 100000 };

#define SPREAD (4 * ROUND)

static size_t fired_late, fired_twice;
static uint64_t earlier_now;

/* Due within the step that advance is working on. */
static void fire_in_step(UNUSED struct tw_node *node, void *arg) {
    struct timer *timer = arg;
    fired_late += timer->due <= earlier_now || timer->due > tw_now(&wheel);
    fired_twice += timer->fires++ != 0;
    ++fires;
}

static void arm_many(struct timer *many, uint64_t seed) {
    fired_late = fired_twice = 0;
    for (size_t i = 0; i < MANY; ++i) {
        assert_int_equal(tw_node_init(&many[i].node, fire_in_step, &many[i]), 0);
        many[i].due = tw_now(&wheel) + 1 + random_below(&seed, SPREAD);
        assert_int_equal(tw_arm_at(&wheel, &many[i].node, many[i].due), 0);
    }
    assert_int_equal(tw_count(&wheel), MANY);
}

static void assert_many_fired(void) {
    assert_int_equal(fired_late, 0);
    assert_int_equal(fired_twice, 0);
    assert_int_equal(fires, MANY);
    assert_int_equal(tw_count(&wheel), 0);
    assert_whole();
}

TEST(p4_each_of_very_many_fires_once_in_the_right_step) {
    struct timer *many = new_timers(MANY);
    uint64_t seed = 40;
    start_at((UINT64_C(1) << 32) - ROUND);
    arm_many(many, 41);
    while (tw_count(&wheel)) {
        earlier_now = tw_now(&wheel);
        advance(earlier_now + 1 + random_below(&seed, SPREAD / 1000 + 1));
    }
    assert_many_fired();
    free(many);
}

/* As a tickless driver does: sleeps until tw_next, with no call in between. */
TEST(p4_driven_by_next_alone_each_fires_exactly_at_its_tick) {
    struct timer *many = new_timers(2000);
    uint64_t seed = 44;
    for (size_t i = 0; i < 2000; ++i)
        init_and_arm(&many[i], 1 + random_below(&seed, random_below(&seed, 2) ? 2 * BLOCK : 3 * ROUND));
    unsigned wakes = 0;
    for (uint64_t next; (next = tw_next(&wheel)) != TW_NEVER; ++wakes) {
        assert_true(wakes < 10000);
        if (next == tw_now(&wheel))
            idle_until_done(100);
        advance(tw_next(&wheel));
    }
    assert_int_equal(fires, 2000);
    assert_int_equal(lateness, 0);
    free(many);
}

/* P9 as far as the wheel is responsible: few timers, no needless wake-up. */
TEST(p9_a_handful_of_timers_wakes_a_tickless_driver_only_to_fire) {
    struct timer handful[10];
    uint64_t seed = 440;
    for (unsigned run = 0; run < 100; ++run) {
        start_at(random_next(&seed) >> 1);
        for (size_t i = 0; i < COUNT_OF(handful); ++i)
            init_and_arm(&handful[i],
                         tw_now(&wheel) + 1 + (random_next(&seed) >> (2 + random_below(&seed, 60))));
        while (tw_count(&wheel)) {
            const uint64_t fired_before = fires;
            advance(tw_next(&wheel));
            assert_true(fires > fired_before);
        }
        assert_int_equal(lateness, 0);
    }
}

TEST(p9_a_crowd_that_was_postponed_is_no_work_to_do_at_once) {
    struct timer *crowd = new_timers(100);
    advance(5);
    for (size_t i = 0; i < 100; ++i) {
        arm(&crowd[i], 7);
        assert_int_equal(tw_postpone(&wheel, &crowd[i].node, 7 + BLOCK), 0);
        crowd[i].due = 7 + BLOCK;
    }
    const uint64_t next = tw_next(&wheel);
    assert_in_range(next, TW_TREE ? 7 + BLOCK : 7, 7 + BLOCK);
    advance(next);
    assert_int_equal(fires, next == 7 + BLOCK ? 100 : 0);
    forget_all();
    free(crowd);
}

TEST(p9_nothing_pending_is_never_woken_for) {
    struct timer timer;
    assert_true(tw_next(&wheel) == TW_NEVER);
    init_and_arm(&timer, 3 * ROUND);
    assert_true(tw_next(&wheel) == 3 * ROUND);
    tw_cancel(&wheel, &timer.node);
    assert_true(tw_next(&wheel) == TW_NEVER);
    advance(LAST_TICK);
    assert_true(tw_next(&wheel) == TW_NEVER);
}

static void postpone(struct timer *timer, uint64_t tick) {
    assert_int_equal(tw_postpone(&wheel, &timer->node, tick), 0);
    timer->due = tick;
    timer->order = 0;
}

static void assert_postponed_fires_once(uint64_t start, uint64_t tick) {
    start_at(start);
    init_and_arm(&one, start + (tick - start) / 3);
    postpone(&one, start + (tick - start) / 2);
    postpone(&one, tick);
    assert_one_fires_only_at(tick);
}

TEST(p4_postponed_fires_once_at_its_new_tick_at_any_uptime_and_distance) {
    for_each_start_and_tick(assert_postponed_fires_once);
}

TEST(p4_postponed_from_a_slot_of_the_top_level_to_a_later_one_fires_once) {
    const uint64_t slots = 2 * ROUND / TOP_SLOT;
    for (uint64_t from = slots / 2; from < slots; ++from)
        for (uint64_t to = from + 1; to < from + 6; ++to) {
            start_at(ROUND);
            init_and_arm(&one, from * TOP_SLOT);
            postpone(&one, to * TOP_SLOT);
            assert_one_fires_only_at(to * TOP_SLOT);
        }
}

/* A neighbour on the same tick postpones it when it is the next to fire. */
static void postpone_one(struct tw_node *node, void *arg) {
    fire(node, arg);
    postpone(&one, tw_now(&wheel) + BLOCK + 1);
}

TEST(p4_postponed_when_due_but_not_yet_called_fires_once_at_its_new_tick) {
    struct timer first;
    init(&first);
    assert_int_equal(tw_node_init(&first.node, postpone_one, &first), 0);
    arm(&first, 5);
    init_and_arm(&one, 5);
    advance(5 + BLOCK);
    assert_int_equal(one.fires, 0);
    advance(2 * BLOCK + 6);
    assert_int_equal(first.fires + one.fires, 2);
}

static void assert_fires_within(uint64_t tick, uint64_t slack) {
    const uint64_t last = slack > LAST_TICK - tick ? LAST_TICK : tick + slack;
    init(&one);
    one.due = tick;
    assert_int_equal(tw_arm_within(&wheel, &one.node, tick, slack), 0);
    const uint64_t chosen = tw_expiry(&wheel, &one.node);
    assert_in_range(chosen, tick, last);
    one.due = chosen;
    advance(chosen - 1);
    assert_int_equal(one.fires, 0);
    advance(chosen);
    assert_int_equal(one.fires, 1);
}

TEST_IF(!TW_SMALL, p4_armed_within_a_window_fires_once_inside_it) {
    uint64_t seed = 47;
    struct timer others[20];
    for (unsigned i = 0; i < 3000; ++i) {
        start_at(random_next(&seed) >> (1 + random_below(&seed, 63)));
        const uint64_t now = tw_now(&wheel);
        for (size_t k = 0; k < COUNT_OF(others); ++k)
            init_and_arm(&others[k], now + 1 + random_below(&seed, 2 * BLOCK));
        const uint64_t reach = UINT64_C(1) << random_below(&seed, 40);
        assert_fires_within(now + 1 + random_below(&seed, reach), random_below(&seed, 2 * reach));
    }
}

TEST_IF(!TW_SMALL, p4_timers_with_a_common_window_meet_on_one_tick) {
    static struct timer crowd[50];
    advance(3);
    for (size_t i = 0; i < COUNT_OF(crowd); ++i) {
        init(&crowd[i]);
        assert_int_equal(tw_arm_within(&wheel, &crowd[i].node, BLOCK / 2 + i % (BLOCK / 4), BLOCK), 0);
    }
    for (size_t i = 1; i < COUNT_OF(crowd); ++i)
        assert_int_equal(tw_expiry(&wheel, &crowd[i].node), tw_expiry(&wheel, &crowd[0].node));
    forget_all();
}

/* The header promises this "if that is cheap to tell", which it is in the running block of a wheel of several
 * levels. */
TEST_IF(!TW_SMALL, p9_a_window_shares_the_wake_up_of_a_timer_that_is_in_it) {
    if (shape->levels == 1 || BLOCK < 64)
        return;
    struct timer there;
    init_and_arm(&there, 21);
    init(&one);
    assert_int_equal(tw_arm_within(&wheel, &one.node, 10, 15), 0);
    assert_int_equal(tw_expiry(&wheel, &one.node), 21);
    assert_int_equal(tw_arm_within(&wheel, &one.node, 22, 15), 0);
    assert_int_equal(tw_expiry(&wheel, &one.node), 32);
    assert_int_equal(tw_arm_within(&wheel, &one.node, 10, 10), 0);
    assert_int_equal(tw_expiry(&wheel, &one.node), 16);
    forget_all();
}

/* The tick that the wheel chooses in a window. */
static uint64_t choose(uint64_t first, uint64_t slack) {
    struct timer chooser;
    init(&chooser);
    assert_int_equal(tw_arm_within(&wheel, &chooser.node, first, slack), 0);
    const uint64_t chosen = tw_expiry(&wheel, &chooser.node);
    assert_int_equal(tw_cancel(&wheel, &chooser.node), 1);
    return chosen;
}

/* Only in the running block is each busy slot of the lowest level one tick of the window. */
TEST_IF(!TW_TREE, p9_a_window_shares_a_wake_up_in_the_running_block_alone) {
    static const struct {
        uint64_t first, slack, chosen;
    } windows[] = {{10, 11, 21}, {250, 12, 255}, {250, 4, 252}, {522, 15, 528}};
    static struct timer there[3];
    if (shape->levels == 1 || BLOCK != 256)
        return;
    init_and_arm(&there[2], 3 * BLOCK);
    assert_int_equal(choose(10, 1000), 2 * BLOCK);
    for (uint64_t start = 0; start <= BLOCK; start += BLOCK) {
        start_at(start);
        init_and_arm(&there[0], start + 21);
        init_and_arm(&there[1], start + 255);
        for (size_t i = 0; i < COUNT_OF(windows); ++i)
            assert_int_equal(choose(start + windows[i].first, windows[i].slack), start + windows[i].chosen);
    }
}

TEST_IF(!TW_SMALL, p9_of_a_window_that_has_begun_a_tick_to_come_is_chosen) {
    start_at(20);
    assert_int_equal(choose(5, 20), 24);
    assert_int_equal(choose(5, 15), 20);
    assert_int_equal(choose(5, 10), 15);
}

/* How many ticks before a crowd's slot opens the wheel begins to move the crowd: as late as it can if each
 * tick moves a quarter of its share (ahead_per_tick in the core). */
#define LEAD_OF(crowd) (1 + (crowd) / (sizeof(void *) == 8 ? 64 : 4))

/* The second of these slots is the first of its level, into which the nodes were moved ahead of time. */
TEST(p9_more_nodes_than_are_looked_at_ask_for_a_call_ahead_of_their_slot) {
    static struct timer crowd[40];
    const uint64_t lead = LEAD_OF(COUNT_OF(crowd)) < BLOCK ? LEAD_OF(COUNT_OF(crowd)) : BLOCK;
    for (uint64_t span = BLOCK; span <= TOP_SLOT && shape->ahead;
         span <<= shape->bits * (shape->levels - 2)) {
        start_at(span == BLOCK ? 0 : span);
        for (size_t i = 0; i < COUNT_OF(crowd); ++i)
            init_and_arm(&crowd[i], 2 * span + 1 + i % 2);
        idle_until_done(TW_UNBOUNDED);
        assert_int_equal(tw_next(&wheel), 2 * span - lead);
        advance(2 * span - lead);
        idle_until_done(TW_UNBOUNDED);
        assert_int_equal(tw_next(&wheel), 2 * span + 1);
        forget_all();
    }
}

/* However large the crowd is. */
TEST(p4_a_crowd_is_begun_at_most_one_block_ahead) {
    enum { CROWD = 64 * 40, LEAD = LEAD_OF(CROWD) };
    struct timer *crowd = new_timers(CROWD);
    for (size_t i = 0; i < CROWD; ++i)
        arm(&crowd[i], 5 * BLOCK + 1 + i % 2);
    idle_until_done(TW_UNBOUNDED);
    const uint64_t next = tw_next(&wheel);
    assert_true(next <= 5 * BLOCK + 1);
    if (shape->levels > 1)
        assert_true(next >= 5 * BLOCK - (LEAD < BLOCK ? LEAD : BLOCK) || !shape->ahead);
    advance(6 * BLOCK);
    assert_int_equal(fires, CROWD);
    free(crowd);
}
