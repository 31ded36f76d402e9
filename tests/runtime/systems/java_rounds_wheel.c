/* The features of the Java wheel, one level of 256 slots with rounds and all time counted from
 * one start stamp: no work tick by tick, and no drift. */
#include "systems.h"

static_assert(TW_BITS == 8 && TW_LEVELS == 1, "one level of 256 slots");

enum { SLOTS = 256 };
#define DAY (INT64_C(86400) * TW_SECOND)
#define YEAR (365 * DAY)

/* --- one start stamp ------------------------------------------------------------------ */

static int64_t grid_first, grid_period;
static uint64_t grid_fires, off_grid;

static void note_on_grid(UNUSED struct tw_node *node, UNUSED void *arg) {
    const int64_t due = grid_first + (int64_t)grid_fires++ * grid_period;
    off_grid += tw_runtime_due(rt) != due || tw_runtime_now(rt) != due;
}

static void start_grid(struct tw_node *node, int64_t period_ns) {
    grid_fires = off_grid = 0;
    grid_first = tw_runtime_now(rt) + period_ns;
    grid_period = period_ns;
    tw_node_init(node, note_on_grid, NULL);
    assert_int_equal(tw_runtime_every(rt, node, period_ns, TW_BURST), 0);
}

FIXTURE(at_zero, freed);

TEST(rounds_a_periodic_task_does_not_drift_in_a_hundred_years) {
    static struct tw_node hourly;
    let_pass(1234567 * TW_SECOND); /* start in the middle of a round */
    start_grid(&hourly, 3600 * TW_SECOND);
    let_pass(100 * YEAR);
    assert_int_equal(grid_fires, 100 * 365 * 24);
    assert_int_equal(off_grid, 0);
}

TEST(rounds_a_start_between_two_ticks_is_rounded_up_once_and_for_all) {
    static struct tw_node minutely;
    let_pass(TW_SECOND / 3);
    tw_node_init(&minutely, note_on_grid, NULL);
    assert_int_equal(tw_runtime_every(rt, &minutely, 60 * TW_SECOND, TW_BURST), 0);
    grid_first = 61 * TW_SECOND; /* a minute from a third of a second, rounded up to a tick */
    grid_period = 60 * TW_SECOND;
    grid_fires = off_grid = 0;
    let_pass(10 * DAY);
    assert_int_equal(grid_fires, 10 * 24 * 60 - 1);
    assert_int_equal(off_grid, 0);
}

TEST(rounds_a_year_of_standstill_is_counted_and_the_grid_kept) {
    static struct noted daily;
    init(&daily);
    assert_int_equal(tw_runtime_every(rt, &daily.node, DAY, TW_SKIP), 0);
    assert_int_equal(tw_runtime_leap(rt, YEAR + DAY / 2), 0);
    assert_int_equal(daily.fires, 1);
    assert_int_equal(daily.last_ns, DAY);
    assert_int_equal(tw_runtime_remaining(rt, &daily.node), DAY / 2);
    let_pass(DAY / 2);
    assert_fired(&daily, 2, YEAR + DAY);
}

/* --- rounds ----------------------------------------------------------------------------- */

TEST(rounds_tasks_of_one_slot_fire_each_in_its_own_round) {
    enum { ROUNDS = 300 }; /* more than a bounded search can distinguish at once */
    static struct noted tasks[ROUNDS];
    for (int i = 0; i < ROUNDS; ++i)
        start_after(&tasks[i], (7 + (int64_t)(i * 77 % ROUNDS) * SLOTS) * TW_SECOND);
    let_pass(6 * TW_SECOND);
    for (int round = 0; round < ROUNDS; ++round) {
        assert_int_equal(tw_runtime_count(rt), ROUNDS - round);
        let_pass((round == 0 ? 1 : SLOTS) * TW_SECOND);
    }
    for (int i = 0; i < ROUNDS; ++i)
        assert_fired(&tasks[i], 1, (7 + (int64_t)(i * 77 % ROUNDS) * SLOTS) * TW_SECOND);
}

TEST(rounds_delays_around_a_round_fire_to_the_tick) {
    static const int64_t ticks[] = {1, 254, 255, 256, 257, 511, 512, 513, 65535, 65536, 16777217};
    static struct noted tasks[COUNT_OF(ticks)];
    let_pass(200 * TW_SECOND);
    for (size_t i = 0; i < COUNT_OF(ticks); ++i)
        start_after(&tasks[i], ticks[i] * TW_SECOND);
    let_pass(YEAR);
    for (size_t i = 0; i < COUNT_OF(ticks); ++i)
        assert_fired(&tasks[i], 1, (200 + ticks[i]) * TW_SECOND);
}

/* --- no work tick by tick -------------------------------------------------------------------- */

static void count(UNUSED struct tw_node *node, void *arg) { ++*(unsigned *)arg; }

FIXTURE(NULL, NULL);

TEST(rounds_a_lone_task_four_million_rounds_away_takes_one_step) {
    struct tw wheel;
    struct tw_node node;
    unsigned fires = 0;
    const uint64_t due = UINT64_C(1) << 30 | 5;
    assert_int_equal(tw_init(&wheel, 0, TW_UNLOCKED), 0);
    assert_int_equal(tw_node_init(&node, count, &fires), 0);
    assert_int_equal(tw_arm_at(&wheel, &node, due), 0);
    assert_int_equal(tw_next(&wheel), due);
    assert_int_equal(tw_advance(&wheel, due - 1, TW_UNBOUNDED), 0);
    assert_int_equal(fires, 0);
    assert_int_equal(tw_advance(&wheel, due, TW_UNBOUNDED), 0);
    assert_int_equal(fires, 1);
    assert_int_equal(tw_next(&wheel), TW_NEVER);
}
