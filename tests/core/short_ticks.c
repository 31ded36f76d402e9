/* 32-bit ticks wrap: P1, P3, P4 and P5 hold across the wrap. The test counts time with 64 bits
 * and gives the wheel the lower half. */
#include "support/random.h"
#include "support/test.h"

#include <tickwheel/tw.h>

/* Distances at which a wheel of slots would have something to do. */
#define BLOCK UINT64_C(256)
#define ROUND (UINT64_C(1) << 24)
#define WRAP (UINT64_C(1) << 32)
#define REACH UINT64_C(0x7fffffff) /* the longest distance to a tick */

struct timer {
    struct tw_node node;
    uint64_t due, order;
    unsigned fires;
};

static struct tw wheel;
static uint64_t now; /* the wheel's present, with 64 bits */
static uint64_t armings, fires, last_due, last_order;

static tw_tick narrow(uint64_t tick) { return (tw_tick)tick; }
static uint64_t widen(tw_tick tick) { return now + (uint64_t)(int64_t)(int32_t)(tick - narrow(now)); }

static void start_at(uint64_t tick) {
    now = tick;
    armings = fires = last_due = last_order = 0;
    assert_int_equal(tw_init(&wheel, narrow(now), 0), 0);
}

static void fire(struct tw_node *node, void *arg) {
    struct timer *timer = arg;
    assert_ptr_equal(node, &timer->node);
    assert_int_equal(tw_due(&wheel), narrow(timer->due));
    assert_true(timer->due <= now);
    assert_true(timer->due > last_due || (timer->due == last_due && timer->order > last_order));
    last_due = timer->due;
    last_order = timer->order;
    ++timer->fires;
    ++fires;
}

static void init(struct timer *timer) {
    memset(timer, 0, sizeof *timer);
    assert_int_equal(tw_node_init(&timer->node, fire, timer), 0);
}

static void arm(struct timer *timer, uint64_t tick) {
    init(timer);
    timer->due = tick;
    timer->order = ++armings;
    assert_int_equal(tw_arm_at(&wheel, &timer->node, narrow(tick)), 0);
    assert_int_equal(tw_expiry(&wheel, &timer->node), narrow(tick));
}

static void print_broken(const char *invariant, UNUSED const struct tw_node *node, UNUSED void *arg) {
    print_error("tw_check: %s\n", invariant);
}

static void assert_whole(void) { assert_int_equal(tw_check(&wheel, print_broken, NULL), 0); }

static void advance(uint64_t tick) {
    now = tick;
    assert_int_equal(tw_advance(&wheel, narrow(now), TW_UNBOUNDED), 0);
    assert_int_equal(tw_now(&wheel), narrow(now));
    assert_whole();
}

/* Sleeps to each tick that tw_next names, as a driver does, until `count` timers have fired,
 * each on its tick. */
static void sleep_through(uint64_t count) {
    for (unsigned sleeps = 0; fires < count; ++sleeps) {
        assert_true(sleeps < 20000);
        assert_true(tw_next(&wheel) != TW_NEVER);
        const uint64_t next = widen(tw_next(&wheel));
        const uint64_t fired = fires;
        advance(next > now ? next : now + 1);
        assert_true(fires == fired || last_due == now);
    }
    assert_int_equal(tw_count(&wheel), 0);
    assert_true(tw_next(&wheel) == TW_NEVER);
}

static const uint64_t before_the_wrap[] = {1, 2, 40, BLOCK, BLOCK + 3, ROUND - 1, ROUND + 7, 1 << 29};

TEST(p1_timers_of_every_distance_fire_on_their_ticks) {
    static struct timer timers[27];
    const uint64_t middles[] = {WRAP,
                                WRAP + BLOCK,
                                WRAP + ROUND,
                                WRAP - BLOCK,
                                WRAP + 3 * BLOCK,
                                WRAP + (UINT64_C(1) << 24),
                                WRAP + (1 << 28),
                                WRAP + (1 << 29),
                                WRAP + (1 << 30)};
    for (unsigned s = 0; s < COUNT_OF(before_the_wrap); ++s) {
        start_at(WRAP - 2 * BLOCK - before_the_wrap[s]);
        for (unsigned i = 0; i < COUNT_OF(timers); ++i)
            arm(&timers[i], middles[i / 3] + i % 3 - 1);
        sleep_through(fires + COUNT_OF(timers));
    }
}

/* ---- The range of ticks. */

static const uint64_t starts[] = {0, 1, WRAP / 2 - 1, WRAP / 2, WRAP / 2 + 1, WRAP - 2, WRAP - 1, WRAP + 77};

TEST(p1_the_longest_delay_is_kept_and_a_longer_one_refused) {
    static struct timer timer;
    for (unsigned s = 0; s < COUNT_OF(starts); ++s) {
        start_at(starts[s]);
        init(&timer);
        timer.due = now + REACH;
        timer.order = 1;
        if (TW_VALIDATION) {
            assert_int_equal(tw_arm_after(&wheel, &timer.node, narrow(REACH + 1)), -ERANGE);
            assert_int_equal(tw_arm_after(&wheel, &timer.node, TW_NEVER), -ERANGE);
        }
        assert_int_equal(tw_count(&wheel), 0);
        assert_int_equal(tw_arm_after(&wheel, &timer.node, narrow(REACH)), 0);
        if (TW_VALIDATION)
            assert_int_equal(tw_arm_after(&wheel, &timer.node, narrow(REACH + 1)), -ERANGE);
        assert_int_equal((tw_tick)(tw_expiry(&wheel, &timer.node) - tw_now(&wheel)), REACH);
        advance(now + REACH - 1);
        assert_int_equal(fires, 0);
        advance(now + 1);
        assert_int_equal(fires, 1);
    }
}

TEST_IF(!TW_SMALL, windows_reach_as_far_as_delays) {
    struct timer timer;
    for (unsigned s = 0; s < COUNT_OF(starts); ++s) {
        start_at(starts[s]);
        init(&timer);
        for (uint64_t ahead = 0; ahead <= REACH; ahead += REACH / 7) {
            const tw_tick first = narrow(now + ahead), slack = narrow(REACH - ahead);
            assert_int_equal(tw_arm_within(&wheel, &timer.node, first, slack + 1), -ERANGE);
            assert_true(tw_arm_within(&wheel, &timer.node, first, slack) >= 0);
            assert_in_range(tw_expiry(&wheel, &timer.node) - first, 0, slack);
            assert_int_equal(tw_cancel(&wheel, &timer.node), 1);
        }
        assert_int_equal(tw_arm_within(&wheel, &timer.node, narrow(now - 9), narrow(REACH + 1)), -ERANGE);
        assert_int_equal(tw_arm_within(&wheel, &timer.node, narrow(now - 9), narrow(REACH)), 0);
    }
}

TEST(the_past_is_half_of_all_ticks_and_fires_at_once) {
    struct timer timer;
    const uint64_t ago[] = {0, 1, 2, 9, BLOCK, ROUND, 1 << 30, REACH - 1, REACH};
    for (unsigned s = 0; s < COUNT_OF(starts); ++s) {
        for (unsigned i = 0; i < COUNT_OF(ago); ++i) {
            start_at(starts[s] + WRAP);
            arm(&timer, now - ago[i]);
            assert_int_equal(widen(tw_next(&wheel)), narrow(now) == UINT32_MAX ? now - 1 : now);
            advance(now);
            assert_int_equal(fires, 1);
        }
    }
}

TEST_IF(TW_VALIDATION, time_goes_forward_by_less_than_half_of_all_ticks_and_never_back) {
    for (unsigned s = 0; s < COUNT_OF(starts); ++s) {
        const uint64_t start = starts[s] + WRAP;
        start_at(start);
        assert_int_equal(tw_advance(&wheel, narrow(start - 1), 1), -EINVAL);
        assert_int_equal(tw_advance(&wheel, narrow(start - REACH), 1), -EINVAL);
        assert_int_equal(tw_advance(&wheel, narrow(start + REACH + 1), 1), -EINVAL);
        assert_int_equal(tw_now(&wheel), narrow(start));
        advance(start);
        advance(start + REACH);
        assert_int_equal(tw_advance(&wheel, narrow(start), 1), -EINVAL);
    }
}

TEST(the_tick_that_never_stands_for_is_one) {
    const uint64_t last = WRAP - 1;
    struct timer timer;
    for (uint64_t ahead = 1; ahead < REACH; ahead *= 5) {
        start_at(last - ahead);
        arm(&timer, last);
        assert_int_equal(tw_pending(&wheel, &timer.node), 1);
        assert_true(tw_expiry(&wheel, &timer.node) == TW_NEVER);
        assert_int_equal(tw_move(&wheel, &timer.node, TW_NEVER), 0);
        assert_int_equal(tw_postpone(&wheel, &timer.node, TW_NEVER), 0);
        assert_true(tw_next(&wheel) == TW_NEVER - 1);
        advance(last - 1);
        assert_int_equal(fires, 0);
        assert_true(tw_next(&wheel) == TW_NEVER - 1);
        advance(last);
        assert_int_equal(fires, 1);
        assert_true(tw_next(&wheel) == TW_NEVER);
    }
    start_at(last);
    arm(&timer, WRAP);
    assert_int_equal(tw_next(&wheel), 0);
    advance(WRAP);
    assert_int_equal(fires, 1);
}

/* ---- A wheel that lags: its pending work lies further back than its present. */

static struct timer far_timer, neighbour;

/* Arms the far timer as far away as possible, and before it another timer on the same tick. */
static void arm_as_far_as_can_be(struct tw_node *node, void *arg) {
    fire(node, arg);
    arm(&neighbour, last_due);
    init(&far_timer);
    far_timer.due = now + REACH;
    far_timer.order = 1;
    assert_int_equal(tw_arm_after(&wheel, &far_timer.node, narrow(REACH)), 0);
    assert_whole();
}

static void assert_far_timer_fires_on_its_tick(void) {
    advance(far_timer.due - 1);
    assert_int_equal(far_timer.fires, 0);
    advance(far_timer.due);
    assert_int_equal(far_timer.fires, 1);
}

TEST(p1_the_longest_delay_from_a_late_callback_is_kept) {
    struct timer timer, soon;
    for (uint64_t late = 0; late < REACH - 4; late = 5 * late + 1) {
        start_at(WRAP - 3 * BLOCK - 1);
        arm(&timer, now + 1);
        timer.node.fn = arm_as_far_as_can_be;
        arm(&soon, now + late + 4);
        advance(now + 1 + late);
        assert_int_equal(fires, 2);
        advance(now + 3);
        assert_int_equal(soon.fires, 1);
        assert_far_timer_fires_on_its_tick();
    }
}

/* The budget ends with the first callback; another timer keeps the wheel from finishing. */
TEST_IF(!TW_SMALL, p1_the_longest_delay_on_a_wheel_that_lags_behind_is_kept) {
    struct timer first, second;
    for (uint64_t late = 2; late < REACH; late = 5 * late + 1) {
        start_at(WRAP - 3 * BLOCK - 1);
        arm(&first, now + 1);
        arm(&second, now + 2);
        now += 1 + late;
        for (unsigned calls = 0; fires == 0; ++calls) {
            assert_true(calls < 10);
            assert_int_equal(tw_advance(&wheel, narrow(now), 1), 1);
        }
        init(&far_timer);
        far_timer.due = now + REACH;
        far_timer.order = 1;
        assert_int_equal(tw_arm_at(&wheel, &far_timer.node, narrow(far_timer.due)), 0);
        assert_int_equal((tw_tick)(tw_expiry(&wheel, &far_timer.node) - tw_now(&wheel)), REACH);
        assert_whole();
        advance(now);
        assert_int_equal(fires, 2);
        assert_far_timer_fires_on_its_tick();
    }
}

#define HAS_ALL (!TW_SMALL && TW_VALIDATION)

/* If the work were one tick further back, its ticks would count as future ones. */
TEST_IF(HAS_ALL, p4_work_left_as_far_back_as_ticks_reach_is_not_lost) {
    struct timer timers[3];
    for (unsigned s = 0; s < COUNT_OF(starts); ++s) {
        start_at(starts[s]);
        for (unsigned i = 0; i < COUNT_OF(timers); ++i)
            arm(&timers[i], now + 1);
        now += REACH;
        while (fires == 0)
            assert_int_equal(tw_advance(&wheel, narrow(now), 1), 1);
        ++now;
        assert_int_equal(tw_advance(&wheel, narrow(now), 1), 1);
        assert_int_equal(tw_update(&wheel), -EINVAL);
        assert_int_equal(tw_now(&wheel), narrow(now));
        advance(now);
        assert_int_equal(fires, COUNT_OF(timers));
    }
}

TEST(an_overdue_timer_can_be_postponed_as_far_as_ticks_reach) {
    struct timer timer;
    for (uint64_t late = 0; late < REACH; late = 5 * late + 1) {
        start_at(WRAP - 3);
        arm(&timer, now - late);
        timer.due = now + REACH;
        assert_int_equal(tw_postpone(&wheel, &timer.node, narrow(timer.due)), 0);
        advance(now);
        assert_int_equal(fires, 0);
        assert_int_equal(tw_postpone(&wheel, &timer.node, narrow(timer.due - 1)), 0); /* changes nothing */
        advance(timer.due - 1);
        assert_int_equal(fires, 0);
        advance(timer.due);
        assert_int_equal(fires, 1);
    }
}

/* A small budget leaves more and more work pending. */
TEST_IF(HAS_ALL, pending_work_never_lags_half_of_all_ticks) {
    static struct timer timers[40];
    start_at(WRAP - 5);
    for (unsigned i = 0; i < COUNT_OF(timers); ++i)
        arm(&timers[i], now + 1 + i % 2);
    for (uint64_t ahead = REACH / 2; ahead <= REACH; ahead += REACH / 2) {
        now = WRAP - 5 + ahead;
        assert_int_equal(tw_advance(&wheel, narrow(now), 1), 1);
        assert_whole();
    }
    const uint64_t oldest = WRAP - 4; /* the tick of the first */
    assert_int_equal(tw_advance(&wheel, narrow(oldest + REACH + 1), 1), -EINVAL);
    assert_int_equal(tw_advance(&wheel, narrow(oldest + REACH + 1), TW_UNBOUNDED), -EINVAL);
    assert_int_equal(tw_now(&wheel), narrow(now));
    assert_whole();
    now = oldest + REACH;
    assert_int_equal(tw_advance(&wheel, narrow(now), 1), 1);
    assert_whole();
    advance(now);
    assert_int_equal(fires, COUNT_OF(timers));
    advance(now + REACH);
}

/* Time may advance although work was left as far back as ticks reach, once that work is cancelled. */
TEST_IF(HAS_ALL, time_moves_on_over_any_work_that_was_cancelled) {
    struct timer timers[2], next;
    start_at(WRAP - 5);
    for (unsigned i = 0; i < COUNT_OF(timers); ++i)
        arm(&timers[i], now + 1);
    now += REACH;
    while (fires == 0)
        assert_int_equal(tw_advance(&wheel, narrow(now), 1), 1);
    assert_int_equal(tw_advance(&wheel, narrow(now + 10), 1), -EINVAL);
    assert_int_equal(tw_cancel(&wheel, &timers[1].node), 1);
    now += 10;
    assert_int_equal(tw_advance(&wheel, narrow(now), TW_UNBOUNDED), 0);
    assert_whole();
    arm(&next, now + REACH);
    advance(now + REACH - 1);
    assert_int_equal(fires, 1);
    advance(now + 1);
    assert_int_equal(fires, 2);
}

/* ---- Periodic. */

static struct timer periodic;
static uint64_t overruns;

/* timer->due is the tick of the next fire. */
static void fire_on_grid(struct tw_node *node, void *arg) {
    struct timer *timer = arg;
    ++timer->order;
    fire(node, arg);
    overruns = tw_overruns(&wheel);
    timer->due += node->period;
}

static void start_grid(uint64_t first, tw_tick period, enum tw_missed missed) {
    init(&periodic);
    periodic.due = first;
    assert_int_equal(tw_node_init(&periodic.node, fire_on_grid, &periodic), 0);
    assert_int_equal(tw_arm_every(&wheel, &periodic.node, narrow(first), period, missed, 0), 0);
}

/* Advances by `step` past at least one fire, and asserts the overruns and the next tick. */
static void assert_left_out(tw_tick period, enum tw_missed missed, uint64_t step) {
    start_at(WRAP - 5);
    start_grid(WRAP - 2, period, missed);
    const uint64_t first = periodic.due, expected = (now + step - first) / period;
    advance(now + step);
    assert_int_equal(fires, 1);
    assert_int_equal(overruns, expected);
    if (expected != 0)
        periodic.due = missed == TW_COALESCE ? first + (expected + 1) * period : now + period;
    assert_int_equal(tw_expiry(&wheel, &periodic.node), narrow(periodic.due));
    assert_int_equal((tw_tick)(tw_expiry(&wheel, &periodic.node) - tw_now(&wheel)), periodic.due - now);
    advance(periodic.due - 1);
    assert_int_equal(fires, 1);
    advance(periodic.due);
    assert_int_equal(fires, 2);
}

TEST_IF(!TW_SMALL, p5_what_is_left_out_is_counted_over_steps_of_every_length) {
    const tw_tick short_and_long[] = {1, 10, BLOCK, 1 << 24, (1 << 30) - 1, (1 << 30) + 1, REACH};
    const uint64_t steps[] = {4, BLOCK, 1 << 24, 1 << 30, REACH - 4, REACH};
    for (unsigned i = 0; i < COUNT_OF(short_and_long); ++i)
        for (unsigned s = 0; s < COUNT_OF(steps); ++s) {
            assert_left_out(short_and_long[i], TW_COALESCE, steps[s]);
            assert_left_out(short_and_long[i], TW_DELAY, steps[s]);
        }
}

TEST_IF(!TW_SMALL, p5_a_period_of_half_of_all_ticks_is_refused) {
    struct timer timer;
    start_at(WRAP - 1);
    init(&timer);
    assert_int_equal(tw_arm_every(&wheel, &timer.node, 1, narrow(REACH + 1), TW_BURST, 0), -ERANGE);
    assert_int_equal(tw_arm_every(&wheel, &timer.node, 1, TW_NEVER, TW_BURST, 0), -ERANGE);
    assert_int_equal(tw_count(&wheel), 0);
    assert_int_equal(tw_arm_every(&wheel, &timer.node, TW_NEVER, 1, TW_BURST, 1), 0);
}

/* ---- Calls with ticks on both sides of the wrap. */

/* The tick that the wheel chooses in a window. */
static tw_tick choose(tw_tick first, tw_tick slack) {
    struct timer one;
    init(&one);
    assert_int_equal(tw_arm_within(&wheel, &one.node, first, slack), 0);
    const tw_tick chosen = tw_expiry(&wheel, &one.node);
    assert_int_equal(tw_cancel(&wheel, &one.node), 1);
    return chosen;
}

/* Chooses the roundest tick if nothing is due nearby. */
TEST_IF(!TW_SMALL, a_window_across_the_wrap_chooses_tick_0) {
    for (uint64_t before = 1; before < 1000; before *= 3)
        for (uint64_t after = 0; after < 1000; after = 3 * after + 1) {
            start_at(WRAP - before - 1);
            assert_int_equal(choose(narrow(WRAP - before), narrow(before + after)), 0);
            assert_int_equal(choose(narrow(now - 5), narrow(6 + before + after)), 0);
        }
}

TEST_IF(!TW_SMALL, of_a_window_that_has_passed_the_last_tick_is_chosen) {
    start_at(WRAP / 2 + 4);
    assert_int_equal(choose(narrow(WRAP / 2 - 5), 5), narrow(WRAP / 2));
}

TEST_IF(!TW_SMALL, a_window_with_a_busy_tick_behind_the_wrap_does_not_choose_one_before_now) {
    struct timer timer;
    start_at(WRAP - 3);
    arm(&timer, WRAP + 2);
    const tw_tick chosen = choose(narrow(WRAP + 1), 5);
    assert_in_range(chosen, 1, 6);
}
