/* P5: the n-th fire of a periodic timer is due at start + n * period, for ever. The caller
 * chooses what happens to missed fires and can read how many there were. */
#include "promise.h"
#include "support/sanitized.h"

#define FIRES (SLOW && IS_RERUN ? 10000u : SLOW || IS_RERUN ? 100000u : 1000000u)

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

TEST(p5_each_of_a_million_fires_is_at_start_plus_n_periods) {
    const enum tw_missed policies[] = {TW_BURST, TW_SKIP, TW_DELAY};
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

TEST(p5_fires_caught_up_on_in_one_go_are_all_on_the_grid) {
    start_grid(0, 3, 7, TW_BURST);
    advance(3 + (FIRES - 1) * UINT64_C(7));
    assert_int_equal(fires, FIRES);
    assert_int_equal(off_grid, 0);
    assert_int_equal(overruns, 0);
}

/* However late and uneven the caller advances, the number of fires is that of the grid. */
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

TEST(p5_skip_stays_on_the_grid_under_uneven_steps) {
    const uint64_t period = 10;
    uint64_t seed = 51;
    every(4, period, TW_SKIP, 0);
    for (unsigned step = 0; step < 10000; ++step) {
        const uint64_t due = tw_expiry(&wheel, &periodic);
        const uint64_t fired_before = fires;
        advance(tw_now(&wheel) + random_below(&seed, 5 * period));
        const uint64_t now = tw_now(&wheel);
        assert_int_equal(fires - fired_before, now >= due);
        if (now < due)
            continue;
        assert_int_equal(overruns, (now - due) / period);
        assert_int_equal(tw_expiry(&wheel, &periodic), due + (overruns + 1) * period);
        assert_true(tw_expiry(&wheel, &periodic) > now);
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

TEST(p5_skip_leaves_missed_ticks_out_and_goes_on_on_the_same_grid) {
    every(10, 10, TW_SKIP, 0);
    advance(45);
    assert_fired(1, 3, 50);
    advance(50);
    assert_fired(2, 0, 60);
}

TEST(p5_skip_counts_a_tick_that_is_due_right_now_as_missed) {
    every(10, 10, TW_SKIP, 0);
    advance(30);
    assert_fired(1, 2, 40);
}

TEST(p5_delay_leaves_missed_ticks_out_and_waits_a_full_period) {
    every(10, 10, TW_DELAY, 0);
    advance(45);
    assert_fired(1, 3, 55);
    advance(55);
    assert_fired(2, 0, 65);
}

TEST(p5_delay_keeps_its_grid_while_no_tick_is_missed) {
    every(10, 10, TW_DELAY, 0);
    advance(19);
    assert_fired(1, 0, 20);
    advance(29);
    assert_fired(2, 0, 30);
}

TEST(p5_overruns_of_far_grids_are_exact) {
    every(1, 3, TW_SKIP, 0);
    advance(UINT64_C(1) << 63);
    const uint64_t missed = ((UINT64_C(1) << 63) - 1) / 3;
    assert_fired(1, missed, 1 + (missed + 1) * 3);
}

TEST(p5_overruns_are_zero_outside_a_callback_and_for_a_oneshot) {
    every(10, 10, TW_SKIP, 0);
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
        assert_fires_exactly(limits[i], TW_SKIP, 5);
        assert_fires_exactly(limits[i], TW_DELAY, 7);
    }
}

TEST(p5_limited_fires_count_calls_not_the_ticks_left_out) {
    every(10, 10, TW_SKIP, 3);
    advance(55);
    advance(105);
    assert_int_equal(fires, 2);
    advance(205);
    assert_int_equal(fires, 3);
    assert_int_equal(tw_pending(&wheel, &periodic), 0);
}

static uint64_t read_overruns[8];

static void collect(struct tw_node *node, void *arg) {
    note(node, arg);
    if (fires <= COUNT_OF(read_overruns))
        read_overruns[fires - 1] = overruns;
}

TEST(p5_a_limited_burst_ends_in_one_go_and_counts_only_fires_to_come) {
    tw_node_init(&periodic, collect, NULL);
    every(10, 10, TW_BURST, 3);
    advance(1000);
    assert_int_equal(fires, 3);
    for (uint64_t n = 0; n < 3; ++n)
        assert_int_equal(read_overruns[n], 2 - n);
    assert_int_equal(tw_count(&wheel), 0);
}

TEST(p5_the_most_fires_that_can_be_asked_for_are_kept) {
    every(10, 10, TW_SKIP, TW_FIRES_MAX);
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
    const enum tw_missed policies[] = {TW_BURST, TW_SKIP, TW_DELAY};
    for (size_t i = 0; i < COUNT_OF(policies); ++i) {
        assert_ends_after(LAST_TICK - 20, 10, policies[i], 3);
        assert_ends_after(LAST_TICK - 29, 10, policies[i], 3);
        assert_ends_after(LAST_TICK, 1, policies[i], 1);
        assert_ends_after(1, UINT64_MAX, policies[i], 1);
        assert_ends_after(LAST_TICK / 2, LAST_TICK / 2 + 1, policies[i], 1);
        assert_ends_after(LAST_TICK / 2, LAST_TICK / 2, policies[i], 2);
    }
}

TEST(p5_a_late_series_ends_at_the_end_of_time) {
    start_at(LAST_TICK - 100);
    every(LAST_TICK - 95, 10, TW_BURST, 0);
    advance(LAST_TICK);
    assert_int_equal(fires, 10);
    assert_int_equal(overruns, 0);

    start_at(LAST_TICK - 100);
    every(LAST_TICK - 95, 10, TW_SKIP, 0);
    advance(LAST_TICK);
    assert_int_equal(fires, 1);
    assert_int_equal(overruns, 9);
    assert_int_equal(tw_count(&wheel), 0);

    start_at(LAST_TICK - 100);
    every(LAST_TICK - 95, 10, TW_DELAY, 0);
    advance(LAST_TICK - 3);
    assert_int_equal(fires, 1);
    assert_int_equal(tw_count(&wheel), 0);
}

static void rearm_on_another_grid(struct tw_node *node, void *arg) {
    note(node, arg);
    if (fires == 2)
        assert_int_equal(tw_arm_every(&wheel, node, 101, 5, TW_BURST, 0), 1);
}

TEST(p5_rearming_inside_the_callback_starts_a_new_grid) {
    tw_node_init(&periodic, rearm_on_another_grid, NULL);
    every(10, 10, TW_BURST, 0);
    advance(100);
    assert_int_equal(fires, 2);
    advance(111);
    assert_fired(5, 0, 116);
}

TEST(p5_a_oneshot_armed_over_a_periodic_forgets_the_period) {
    every(10, 10, TW_BURST, 5);
    assert_int_equal(tw_arm_at(&wheel, &periodic, 7), 1);
    advance(1000);
    assert_int_equal(fires, 1);
    assert_int_equal(tw_count(&wheel), 0);
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

TEST(p5_a_first_tick_in_the_past_is_the_start_of_the_grid) {
    advance(100);
    every(70, 20, TW_BURST, 0);
    advance(100);
    assert_fired(2, 0, 110);
    assert_int_equal(tw_cancel(&wheel, &periodic), 1);
    every(70, 20, TW_SKIP, 0);
    advance(100);
    assert_fired(3, 1, 110);
}

/* Timers of many periods on one wheel do not disturb each other's grids. */
struct grid {
    struct tw_node node;
    uint64_t period, fires;
};

static void count_fire(UNUSED struct tw_node *node, void *arg) { ++((struct grid *)arg)->fires; }

TEST(p5_many_grids_side_by_side_keep_their_counts) {
    static struct grid grids[200];
    for (size_t i = 0; i < COUNT_OF(grids); ++i) {
        grids[i].period = 1 + i * i;
        grids[i].fires = 0;
        tw_node_init(&grids[i].node, count_fire, &grids[i]);
        assert_int_equal(tw_arm_every(&wheel, &grids[i].node, i, grids[i].period, TW_BURST, 0), 0);
    }
    uint64_t seed = 52;
    while (tw_now(&wheel) < 2 * TOP_SLOT)
        advance_in_bites(tw_now(&wheel) + random_below(&seed, BLOCK), 100);
    for (size_t i = 0; i < COUNT_OF(grids); ++i)
        assert_int_equal(grids[i].fires, tw_now(&wheel) < i ? 0 : (tw_now(&wheel) - i) / grids[i].period + 1);
    assert_whole();
}

#if TW_RUNTIME
static uint64_t due_before, due_after;

static void put_all_off_by_five(struct tw_node *node, void *arg) {
    note(node, arg);
    due_before = tw_due(&wheel);
    assert_int_equal(tw_postpone_all(&wheel, 5), 0);
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

static struct tw_node cleared[3];

static void put_all_off_in_clear(struct tw_node *node, UNUSED void *arg) {
    assert_ptr_equal(node, &cleared[0]);
    assert_int_equal(tw_postpone_all(&wheel, 5), 0);
    assert_whole();
}

TEST(p5_nodes_that_a_clear_still_holds_are_shifted_with_the_rest) {
    for (unsigned i = 0; i < COUNT_OF(cleared); ++i) {
        tw_node_init(&cleared[i], note, NULL);
        assert_int_equal(tw_arm_every(&wheel, &cleared[i], 10, 20, TW_BURST, 2), 0);
    }
    assert_int_equal(tw_clear(&wheel, put_all_off_in_clear, NULL), 0);
    assert_int_equal(tw_count(&wheel), COUNT_OF(cleared) - 1);
    for (unsigned i = 1; i < COUNT_OF(cleared); ++i)
        assert_int_equal(tw_expiry(&wheel, &cleared[i]), 15);
    advance(14);
    assert_int_equal(fires, 0);
    advance(35);
    assert_int_equal(fires, 4);
    assert_int_equal(tw_count(&wheel), 0);
}

TEST(p5_a_shift_beyond_the_last_tick_ends_at_that_tick) {
    every(10, 10, TW_BURST, 0);
    assert_int_equal(tw_postpone_all(&wheel, LAST_TICK - 10), 0);
    assert_int_equal(tw_expiry(&wheel, &periodic), LAST_TICK);
    assert_int_equal(tw_postpone_all(&wheel, TW_NEVER), 0);
    assert_int_equal(tw_expiry(&wheel, &periodic), LAST_TICK);
    advance(LAST_TICK);
    assert_int_equal(fires, 1);
    assert_int_equal(tw_count(&wheel), 0);
}
#endif
