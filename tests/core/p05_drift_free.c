/* P5: the n-th fire of a periodic timer is due at start + n * period, forever. The caller
 * chooses what happens to missed fires and can read how many there were. */
#include "promise.h"
#include "support/sanitized.h"

enum { FIRES = SLOW ? 10000 : 100000 };

static struct tw_node periodic;
static uint64_t off_grid; /* fires that were not due on the grid */
static uint64_t grid_first, grid_period;
static uint64_t overruns; /* as read by the latest callback */
static uint64_t next_due; /* the next tick, as read by the latest callback */

static void note(struct tw_node *node, UNUSED void *arg) {
    overruns = tw_overruns(&wheel);
    next_due = tw_expiry(&wheel, node);
    ++fires;
}

static void note_on_grid(struct tw_node *node, void *arg) {
    note(node, arg);
    off_grid += next_due != grid_first + fires * grid_period;
}

static int fresh_node(void **state) {
    off_grid = overruns = next_due = 0;
    const int result = fresh_wheel(state); /* first: the node may still be pending on the former wheel */
    tw_node_init(&periodic, note, NULL);
    return result;
}

static void every(uint64_t first, uint64_t period, enum tw_missed missed, uint32_t limit) {
    assert_int_equal(tw_arm_every(&wheel, &periodic, first, period, missed, limit), 0);
}

static void start_grid(uint64_t start, uint64_t first, uint64_t period, enum tw_missed missed) {
    start_at(start);
    off_grid = 0;
    grid_first = first;
    grid_period = period;
    tw_node_init(&periodic, note_on_grid, NULL);
    every(first, period, missed, 0);
}

/* Asserts one late fire, the number of missed deadlines, and the next deadline. */
static void assert_fired(uint64_t times, uint64_t missed, uint64_t next) {
    assert_int_equal(fires, times);
    assert_int_equal(overruns, missed);
    assert_int_equal(next_due, next);
    assert_int_equal(tw_expiry(&wheel, &periodic), next);
}

FIXTURE(fresh_node, NULL);

TEST(p5_each_of_very_many_fires_is_at_start_plus_n_periods) {
    const enum tw_missed policies[] = {TW_BURST, TW_COALESCE, TW_DELAY};
    for (size_t i = 0; i < COUNT_OF(policies); ++i) {
        start_grid(UINT64_C(1) << 32, (UINT64_C(1) << 32) + 5, 97, policies[i]);
        for (uint64_t n = 0; n < FIRES; ++n) {
            const uint64_t due = grid_first + n * 97;
            if (tw_expiry(&wheel, &periodic) != due || tw_advance(&wheel, due, TW_UNBOUNDED) ||
                fires != n + 1)
                fail_msg("fire %u is off", (unsigned)n);
        }
        assert_int_equal(off_grid, 0);
        assert_int_equal(overruns, 0);
    }
}

/* However late and unevenly the caller advances, the grid gives the number of fires. */
TEST(p5_burst_never_loses_or_gains_a_fire_under_uneven_steps) {
    const uint64_t periods[] = {1, 3, BLOCK - 1, BLOCK, BLOCK + 1, TOP_SLOT, TOP_SLOT + 1};
    uint64_t seed = 50;
    for (size_t i = 0; i < COUNT_OF(periods); ++i) {
        start_grid(ROUND - 5, ROUND + 2, periods[i], TW_BURST);
        for (unsigned step = 0; step < 1000; ++step) {
            advance(tw_now(&wheel) + random_below(&seed, 3 * periods[i]));
            const uint64_t now = tw_now(&wheel);
            assert_int_equal(fires, now < grid_first ? 0 : (now - grid_first) / periods[i] + 1);
            assert_int_equal(off_grid, 0);
        }
    }
}

static void advance_to_next_fire(uint64_t now) {
    const uint64_t fired_before = fires;
    for (unsigned calls = 0; fires == fired_before && calls < 1000; ++calls)
        assert_in_range(tw_advance(&wheel, now, 1), 0, 1);
    assert_int_equal(fires, fired_before + 1);
}

TEST(p5_burst_fires_once_for_each_missed_tick_and_counts_down) {
    every(10, 10, TW_BURST, 0);
    for (uint64_t n = 1; n <= 4; ++n) {
        advance_to_next_fire(45);
        assert_fired(n, 4 - n, 10 + 10 * n);
    }
    advance(45);
    assert_int_equal(fires, 4);
}

/* After two advances, each with one fire. A tick that is due right now counts as missed. */
TEST(p5_skip_and_delay_leave_missed_ticks_out) {
    static const struct {
        enum tw_missed missed;
        uint64_t now[2], left_out[2], next[2];
    } series[] = {
        {TW_COALESCE, {45, 50}, {3, 0}, {50, 60}},
        {TW_COALESCE, {30, 40}, {2, 0}, {40, 50}},
        {TW_DELAY, {45, 55}, {3, 0}, {55, 65}},
        {TW_DELAY, {19, 29}, {0, 0}, {20, 30}},
    };
    for (size_t i = 0; i < COUNT_OF(series); ++i) {
        fresh_node(NULL);
        every(10, 10, series[i].missed, 0);
        for (unsigned turn = 0; turn < 2; ++turn) {
            advance(series[i].now[turn]);
            assert_fired(turn + 1, series[i].left_out[turn], series[i].next[turn]);
        }
    }
}

TEST(p5_overruns_of_far_grids_are_exact) {
    every(1, 3, TW_COALESCE, 0);
    advance(UINT64_C(1) << 63);
    const uint64_t missed = ((UINT64_C(1) << 63) - 1) / 3;
    assert_fired(1, missed, 1 + (missed + 1) * 3);
}

TEST(p5_overruns_are_zero_outside_a_callback_and_for_a_one_shot) {
    every(10, 10, TW_COALESCE, 0);
    advance(100);
    assert_int_equal(overruns, 9);
    assert_int_equal(tw_overruns(&wheel), 0);
    assert_int_equal(tw_cancel(&wheel, &periodic), 1);
    assert_int_equal(tw_arm_at(&wheel, &periodic, 105), 0);
    overruns = 77;
    advance(300);
    assert_int_equal(fires, 2);
    assert_int_equal(overruns, 0);
}

static void assert_fires_exactly(uint32_t limit, enum tw_missed missed, uint64_t step) {
    start_at(0);
    every(step, step, missed, limit);
    for (uint64_t n = 1; n <= limit; ++n) {
        assert_int_equal(tw_pending(&wheel, &periodic), 1);
        advance(n * step);
        assert_int_equal(fires, n);
    }
    assert_true(next_due == TW_NEVER);
    assert_int_equal(tw_pending(&wheel, &periodic), 0);
    assert_int_equal(tw_count(&wheel), 0);
    advance(LAST_TICK);
    assert_int_equal(fires, limit);
}

TEST(p5_limited_fires_happen_exactly_that_often) {
    const uint32_t limits[] = {1, 2, 3, 100, TW_FIRES_MAX};
    for (size_t i = 0; i < COUNT_OF(limits); ++i) {
        assert_fires_exactly(limits[i], TW_BURST, 3);
        assert_fires_exactly(limits[i], TW_COALESCE, 5);
        assert_fires_exactly(limits[i], TW_DELAY, 7);
    }
}

TEST(p5_the_most_fires_that_can_be_asked_for_are_kept) {
    every(10, 10, TW_COALESCE, TW_FIRES_MAX);
    advance(25);
    advance(35);
    assert_int_equal(fires, 2);
    assert_int_equal(tw_pending(&wheel, &periodic), 1);
    assert_int_equal(periodic.fires_left, TW_FIRES_MAX - 2);
}

static void assert_ends_after(uint64_t first, uint64_t period, enum tw_missed missed, uint64_t expected) {
    start_at(first - 1);
    every(first, period, missed, 0);
    for (uint64_t n = 0; n < expected; ++n)
        advance(first + n * period);
    assert_int_equal(fires, expected);
    assert_true(next_due == TW_NEVER);
    assert_int_equal(tw_count(&wheel), 0);
    advance(LAST_TICK);
    assert_int_equal(fires, expected);
}

TEST(p5_a_fire_beyond_the_end_of_time_ends_the_series) {
    const enum tw_missed policies[] = {TW_BURST, TW_COALESCE, TW_DELAY};
    for (size_t i = 0; i < COUNT_OF(policies); ++i) {
        assert_ends_after(LAST_TICK - 20, 10, policies[i], 3);
        assert_ends_after(LAST_TICK - 29, 10, policies[i], 3);
        assert_ends_after(LAST_TICK, 1, policies[i], 1);
        assert_ends_after(1, UINT64_MAX, policies[i], 1);
        assert_ends_after(LAST_TICK / 2, LAST_TICK / 2 + 1, policies[i], 1);
        assert_ends_after(LAST_TICK / 2, LAST_TICK / 2, policies[i], 2);
    }
}

TEST(p5_postponing_moves_all_further_fires_along) {
    every(10, 10, TW_BURST, 0);
    assert_int_equal(tw_postpone(&wheel, &periodic, 13), 0);
    advance(12);
    assert_int_equal(fires, 0);
    advance(13);
    assert_fired(1, 0, 23);
    advance(33);
    assert_fired(3, 0, 43);
}

#if TW_RUNTIME
static uint64_t due_before, due_after;

static void put_all_off_by_five(struct tw_node *node, void *arg) {
    note(node, arg);
    due_before = tw_due(&wheel);
    tw_core_shift(&wheel, 5);
    due_after = tw_due(&wheel);
}

TEST(p5_a_shift_of_everything_moves_the_grid) {
    tw_node_init(&periodic, put_all_off_by_five, NULL);
    every(10, 10, TW_BURST, 3);
    for (uint64_t n = 0; n < 3; ++n) {
        advance(10 + 15 * n);
        assert_int_equal(fires, n + 1);
        assert_int_equal(due_before, 10 + 15 * n);
        assert_int_equal(due_after, 15 + 15 * n);
    }
    assert_int_equal(tw_count(&wheel), 0);
}

static struct tw_node cancelled[3];

static void put_all_off_in_cancel_all(struct tw_node *node, UNUSED void *arg) {
    assert_ptr_equal(node, &cancelled[0]);
    tw_core_shift(&wheel, 5);
    assert_whole();
}

TEST(p5_nodes_that_a_cancel_all_still_holds_are_shifted_with_the_rest) {
    for (unsigned i = 0; i < COUNT_OF(cancelled); ++i) {
        tw_node_init(&cancelled[i], note, NULL);
        assert_int_equal(tw_arm_every(&wheel, &cancelled[i], 10, 20, TW_BURST, 2), 0);
    }
    assert_int_equal(tw_cancel_all(&wheel, put_all_off_in_cancel_all, NULL), 0);
    assert_int_equal(tw_count(&wheel), COUNT_OF(cancelled) - 1);
    for (unsigned i = 1; i < COUNT_OF(cancelled); ++i)
        assert_int_equal(tw_expiry(&wheel, &cancelled[i]), 15);
    advance(14);
    assert_int_equal(fires, 0);
    advance(35);
    assert_int_equal(fires, 4);
    assert_int_equal(tw_count(&wheel), 0);
}

TEST(p5_a_shift_beyond_the_last_tick_ends_at_that_tick) {
    every(10, 10, TW_BURST, 0);
    tw_core_shift(&wheel, LAST_TICK - 10);
    assert_int_equal(tw_expiry(&wheel, &periodic), LAST_TICK);
    tw_core_shift(&wheel, TW_NEVER);
    assert_int_equal(tw_expiry(&wheel, &periodic), LAST_TICK);
    advance(LAST_TICK);
    assert_int_equal(fires, 1);
    assert_int_equal(tw_count(&wheel), 0);
}
#endif
