/* Timers far beyond the wheel's levels, in slots that double in length: they fire in order
 * (P3) and on their tick (P4), cause no wake-up before that (P9), and cost a bounded number of
 * moves each, however far time leaps and however many there are (P8). */
#include "promise.h"

static struct timer *crowd;
static size_t crowd_size;

static void open_crowd(size_t n) {
    crowd = new_timers(n);
    crowd_size = n;
}

static int close_crowd(UNUSED void **state) {
    free(crowd);
    crowd = NULL;
    return 0;
}

/* --- order and number -------------------------------------------------------------------- */

/* Ticks at which carries run through many digits, and others where none does. */
static uint64_t start_number(size_t i) {
    const uint64_t starts[] = {0,
                               1,
                               ROUND - 1,
                               ROUND,
                               3 * ROUND - 1,
                               8 * ROUND - 2,
                               (UINT64_C(1) << 40) - 1,
                               (UINT64_C(1) << 62) + 12345,
                               (UINT64_C(1) << 63) - 3};
    assert_true(i < COUNT_OF(starts));
    return starts[i];
}
enum { STARTS = 9 };

static uint64_t farther(uint64_t start, uint64_t by) {
    return by > LAST_TICK - start ? LAST_TICK : start + by;
}

/* Arms at each distance of 2^bit, a tick before it and a tick after it. */
static size_t arm_at_all_distances(uint64_t start, size_t first) {
    size_t n = first;
    for (unsigned bit = 1; bit < 64; ++bit)
        for (uint64_t beside = 0; beside < 3; ++beside)
            arm(&crowd[n++], farther(start, (UINT64_C(1) << bit) - 1 + beside));
    return n;
}

enum { ALL_DISTANCES = 3 * 63 };

/* Advances by tw_next, as a driver does. */
static void run_to_the_end(uint64_t budget) {
    for (unsigned turns = 0; tw_count(&wheel) != 0; ++turns) {
        assert_true(turns < 100000);
        assert_whole();
        advance_in_bites(tw_next(&wheel), (uint32_t)budget);
    }
}

FIXTURE(fresh_wheel, close_crowd);

TEST(p3_p4_timers_at_every_distance_fire_in_order_at_their_tick) {
    for (size_t s = 0; s < STARTS; ++s)
        for (uint32_t budget = 1; budget < 100; budget *= 10) {
            start_at(start_number(s));
            open_crowd(ALL_DISTANCES);
            assert_int_equal(arm_at_all_distances(start_number(s), 0), ALL_DISTANCES);
            run_to_the_end(budget);
            assert_int_equal(fires, ALL_DISTANCES);
            assert_int_equal(lateness, 0);
            close_crowd(NULL);
        }
}

/* Far nodes that look-ahead has sorted stand where the coming round looks for them, the others where the
 * present round does. */
TEST(p3_p4_a_leap_past_a_round_that_is_sorted_in_part_loses_nothing) {
    for (uint64_t round = 1; round <= 16; ++round)
        for (uint64_t past = 1; past <= 4; ++past)
            for (uint32_t sorted = 1; sorted < 40; sorted += 9) {
                start_at(round * ROUND - 1);
                open_crowd(40);
                for (size_t i = 0; i < crowd_size; ++i)
                    arm(&crowd[i], (round + past) * ROUND + i);
                tw_idle(&wheel, sorted);
                advance((round + past) * ROUND + crowd_size / 2);
                assert_int_equal(fires, crowd_size / 2 + 1);
                advance((round + past) * ROUND + crowd_size);
                assert_int_equal(fires, crowd_size);
                close_crowd(NULL);
            }
}

/* --- wake-ups ---------------------------------------------------------------------------- */

/* Arms n timers, one in each of n slots of the top level, all of them far away. */
static void arm_in_slots_of_their_own(size_t n, uint64_t first) {
    open_crowd(n);
    for (size_t i = 0; i < n; ++i)
        arm(&crowd[i], first + i * TOP_SLOT * (n < BLOCK ? BLOCK / n : 1));
}

static size_t wakes_until(uint64_t end) {
    size_t wakes = 0;
    for (uint64_t next; (next = tw_next(&wheel)) < end; ++wakes) {
        advance(next);
        assert_true(wakes < 100000);
    }
    return wakes;
}

TEST(p9_far_timers_cause_no_wake_up_in_earlier_rounds) {
    const size_t sizes[] = {1, 32, 33, 256, 3000};
    for (size_t i = 0; i < COUNT_OF(sizes); ++i) {
        start_at(0);
        arm_in_slots_of_their_own(sizes[i], UINT64_C(1) << 40);
        assert_int_equal(wakes_until((UINT64_C(1) << 40) - ROUND), 0);
        close_crowd(NULL);
    }
}

/* The most nodes that look-ahead moves in one tick; ahead_per_tick in the core. */
#define SHARE (sizeof(void *) == 8 ? 256 : 16)

/* Look-ahead sorts a crowd each time that its distance has halved. */
TEST(p9_the_wake_ups_for_a_far_crowd_grow_with_the_bits_of_its_distance) {
    for (unsigned bit = shape_round_bits() + 1; bit < 62; bit += 5) {
        start_at(12345);
        arm_in_slots_of_their_own(1000, (UINT64_C(1) << bit) - (UINT64_C(1) << (bit - 4)));
        const size_t wakes = wakes_until((UINT64_C(1) << bit) - (UINT64_C(1) << (bit - 4)));
        assert_in_range(wakes, 0, 2 * (bit + 1 - shape_round_bits()) * (1 + crowd_size / SHARE));
        close_crowd(NULL);
    }
}

/* --- work ---------------------------------------------------------------------------------- */

/* Returns how many moves and slots it takes to advance to `now`, rounded up to a bite. */
static size_t work_of(uint64_t now) {
    enum { BITE = 64 };
    size_t bites = 1;
    for (; tw_advance(&wheel, now, BITE) == 1; ++bites)
        assert_true(bites < 1000000);
    return bites * BITE;
}

TEST_IF(!TW_SMALL, p8_a_leap_costs_the_moves_of_its_timers_however_many_rounds_it_passes) {
    open_crowd(1000);
    for (size_t i = 0; i < crowd_size; ++i)
        arm(&crowd[i], (UINT64_C(1) << 44) + 1 + i);
    assert_in_range(work_of(UINT64_C(1) << 44), 0, 3 * crowd_size);
    assert_int_equal(fires, 0);

    for (size_t i = 0; i < crowd_size; ++i)
        arm(&crowd[i], UINT64_MAX / 2 + i * 7 * ROUND);
    assert_in_range(work_of(UINT64_MAX / 4 * 3), crowd_size, (8 + 64 - shape_round_bits()) * crowd_size);
    assert_int_equal(fires, crowd_size);
}

TEST_IF(!TW_SMALL, p8_a_leap_over_empty_time_costs_nothing) {
    for (unsigned bit = 1; bit < 64; ++bit) {
        start_at(0);
        assert_in_range(work_of(UINT64_C(1) << bit), 0, 64);
        open_crowd(300);
        for (size_t i = 0; i < crowd_size; ++i)
            arm(&crowd[i], LAST_TICK - i);
        const uint64_t far = (UINT64_C(1) << bit) + (UINT64_C(1) << (bit - 1));
        if (bit < 63)
            assert_in_range(work_of(far), 0, 64 + (shape->ahead ? 0 : 64));
        close_crowd(NULL);
    }
}

#if TW_RUNTIME || TW_TREE /* only these have tw_first */
/* --- the exact tick of the next timer -------------------------------------------------------- */

/* A loop that expects progress at each wake-up. */
TEST(p9_first_never_wakes_a_loop_for_nothing) {
    uint64_t seed = 3;
    open_crowd(3000);
    for (size_t i = 0; i < crowd_size; ++i)
        arm(&crowd[i], random_below(&seed, UINT64_C(1) << random_below(&seed, 50)));
    for (size_t i = 0; i < crowd_size; i += 5) {
        crowd[i].due += random_below(&seed, ROUND);
        crowd[i].order = 0;
        assert_int_equal(tw_postpone(&wheel, &crowd[i].node, crowd[i].due), 0);
    }
    for (struct tw_node *first; (first = tw_first(&wheel, TW_UNBOUNDED)) != NULL;) {
        const uint64_t fired_before = fires;
        advance(tw_expiry(&wheel, first));
        assert_true(fires > fired_before);
    }
    assert_int_equal(fires, crowd_size);
    assert_int_equal(lateness, 0);
}

TEST_IF(ROUND >= 256, p9_first_is_null_if_it_may_not_look_at_enough_nodes) { /* else they share no slot */
    open_crowd(100);
    for (size_t i = 0; i < crowd_size; ++i)
        arm(&crowd[i], 5 * ROUND + 200 - i);
    if (!TW_TREE) /* a tree need not look at the nodes */
        assert_null(tw_first(&wheel, 99));
    assert_ptr_equal(tw_first(&wheel, 100), &crowd[99].node);
    for (size_t i = 0; i < 5; ++i) /* in a slot of one tick, one node is enough */
        arm(&crowd[i], 1);
    assert_ptr_equal(tw_first(&wheel, 1), &crowd[0].node);
    assert_ptr_equal(tw_first(&wheel, 100), &crowd[0].node); /* on a shared tick, the node that fires first */
}

/* In the middle of a turn, too. */
TEST_IF(!TW_SMALL, p9_first_is_the_next_one_to_take) {
    uint64_t seed = 9;
    struct tw_fire fire;
    open_crowd(500);
    for (size_t i = 0; i < crowd_size; ++i)
        arm(&crowd[i], 1 + random_below(&seed, UINT64_C(1) << random_below(&seed, 12)));
    for (size_t i = 0; i < crowd_size; ++i) {
        const struct tw_node *const first = tw_first(&wheel, TW_UNBOUNDED);
        assert_non_null(first);
        const tw_tick tick = tw_expiry(&wheel, first);
        assert_int_equal(tw_take(&wheel, 1 << 13, &fire), 1);
        assert_int_equal(fire.due, tick);
    }
    assert_null(tw_first(&wheel, TW_UNBOUNDED));
}

TEST_IF(TW_VALIDATION, p14_first_is_null_if_nothing_is_pending_and_for_what_makes_no_sense) {
    assert_null(tw_first(&wheel, 1));
    assert_null(tw_first(NULL, 1));
    open_crowd(1);
    arm(&crowd[0], 5);
    assert_ptr_equal(tw_first(&wheel, TW_UNBOUNDED), &crowd[0].node);
}
#endif

TEST_IF(!TW_SMALL, p9_nothing_pending_is_never_woken_for_though_an_advance_was_not_finished) {
    open_crowd(3);
    for (size_t i = 0; i < crowd_size; ++i)
        arm(&crowd[i], 10 * ROUND + i);
    assert_int_equal(tw_advance(&wheel, 11 * ROUND, 1), 1);
    for (size_t i = 0; i < crowd_size; ++i)
        tw_cancel(&wheel, &crowd[i].node);
    assert_int_equal(tw_next(&wheel), TW_NEVER);
    arm(&crowd[0], 11 * ROUND + 5);
    assert_int_equal(tw_next(&wheel), 11 * ROUND + 5);
}
