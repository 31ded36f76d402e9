/* The features of go-zero's TimingWheel: set, move and remove by key, a drain that calls a
 * function for every timer left, and delays shorter than an interval. tests/cpp/ttl_map covers
 * its cache. */
#include "systems.h"

#include <tickwheel/keyed.h>

static struct tw_keyed *wheel;
static unsigned fires, drained;
static int64_t fired_at;

static void on_fire(UNUSED const struct tw_event *event, void *arg) {
    fired_at = tw_runtime_now(rt);
    ++*(unsigned *)arg;
}

static int set(uint64_t key, int64_t delay_ns, unsigned *runs) {
    return tw_keyed_after(wheel, tw_key_number(key), delay_ns, on_fire, runs);
}

static int move(uint64_t key, int64_t delay_ns) { return tw_keyed_move(wheel, tw_key_number(key), delay_ns); }

static int empty(void **state) {
    fires = drained = 0;
    fired_at = -1;
    at_zero(state);
    return tw_keyed_new(&wheel, rt, NULL);
}

/* --- set, move, remove -------------------------------------------------------------------- */

FIXTURE(empty, freed);

TEST(go_zero_set_runs_after_its_delay) {
    assert_int_equal(set(1, 5 * TW_SECOND, &fires), 0);
    let_pass(5 * TW_SECOND - 1);
    assert_int_equal(fires, 0);
    let_pass(1);
    assert_int_equal(fires, 1);
    assert_int_equal(tw_keyed_count(wheel), 0);
}

TEST(go_zero_set_under_a_key_that_is_there_takes_the_new_value_and_delay) {
    unsigned former = 0;
    assert_int_equal(set(1, 5 * TW_SECOND, &former), 0);
    assert_int_equal(set(1, 3 * TW_SECOND, &fires), 1);
    let_pass(100 * TW_SECOND);
    assert_int_equal(former, 0);
    assert_int_equal(fires, 1);
    assert_int_equal(fired_at, 3 * TW_SECOND);
}

static void assert_moved(int64_t from_s, int64_t to_s) {
    empty(NULL);
    assert_int_equal(set(1, from_s * TW_SECOND, &fires), 0);
    let_pass(TW_SECOND);
    assert_int_equal(move(1, to_s * TW_SECOND), 0);
    let_pass(100000 * TW_SECOND);
    assert_int_equal(fires, 1);
    assert_int_equal(fired_at, (1 + to_s) * TW_SECOND);
    freed(NULL);
}

FIXTURE(NULL, NULL);

TEST(go_zero_move_to_earlier_later_and_far_away) {
    assert_moved(50, 1);
    assert_moved(50, 48);
    assert_moved(50, 49);
    assert_moved(50, 60);
    assert_moved(5, 70000);
    assert_moved(70000, 5);
}

FIXTURE(empty, freed);

TEST(go_zero_move_of_a_key_that_is_not_there_does_nothing) {
    assert_int_equal(move(1, TW_SECOND), -ENOENT);
    set(1, TW_SECOND, &fires);
    let_pass(TW_SECOND);
    assert_int_equal(move(1, TW_SECOND), -ENOENT);
    let_pass(10 * TW_SECOND);
    assert_int_equal(fires, 1);
}

TEST(go_zero_remove_by_key) {
    set(1, 5 * TW_SECOND, &fires);
    set(2, 5 * TW_SECOND, &fires);
    assert_int_equal(tw_keyed_remove(wheel, tw_key_number(1)), 1);
    assert_int_equal(tw_keyed_remove(wheel, tw_key_number(1)), -ENOENT);
    assert_int_equal(move(1, TW_SECOND), -ENOENT);
    let_pass(100 * TW_SECOND);
    assert_int_equal(fires, 1);
}

/* --- a delay under one interval ------------------------------------------------------------ */

TEST(go_zero_a_delay_of_nothing_runs_at_once_and_one_under_an_interval_at_the_next_tick) {
    let_pass(TW_SECOND / 4);
    assert_int_equal(set(1, 0, &fires), 0);
    assert_int_equal(set(2, 1, &fires), 0);
    assert_int_equal(set(3, TW_SECOND / 2, &fires), 0);
    let_pass(3 * TW_SECOND / 4 - 1);
    assert_true(fires <= 1); /* not early: a quarter of a second is less than a tick */
    let_pass(1);
    assert_int_equal(fires, 3);
    assert_int_equal(fired_at, TW_SECOND);

    assert_int_equal(set(4, 0, &fires), 0); /* on a tick */
    let_pass(0);
    assert_int_equal(fires, 4);
    assert_int_equal(fired_at, TW_SECOND);
}

TEST(go_zero_moved_under_an_interval_runs_at_the_next_tick) {
    let_pass(TW_SECOND / 4);
    set(1, 50 * TW_SECOND, &fires);
    assert_int_equal(move(1, TW_SECOND / 2), 0);
    let_pass(3 * TW_SECOND / 4);
    assert_int_equal(fires, 1);
    assert_int_equal(fired_at, TW_SECOND);
}

/* --- drain ----------------------------------------------------------------------------------- */

enum { ENTRIES = 1000 };
static unsigned runs_of[ENTRIES], drains_of[ENTRIES];

static void drain_one(const struct tw_key *key, void *arg, void *drain_arg) {
    assert_int_equal(key->is_number, 1);
    assert_ptr_equal(arg, &runs_of[key->number]);
    assert_ptr_equal(drain_arg, &drained);
    ++drains_of[key->number];
    ++drained;
}

static void fill(void) {
    memset(runs_of, 0, sizeof runs_of);
    memset(drains_of, 0, sizeof drains_of);
    for (unsigned i = 0; i < ENTRIES; ++i)
        assert_int_equal(set(i, (1 + i % 100) * TW_SECOND, &runs_of[i]), 0);
}

TEST(go_zero_drain_calls_its_function_on_every_entry_and_nothing_fires_after_it) {
    fill();
    let_pass(30 * TW_SECOND); /* these have fired */
    assert_int_equal(tw_keyed_drain(wheel, drain_one, &drained), ENTRIES * 70 / 100);
    assert_int_equal(drained, ENTRIES * 70 / 100);
    assert_int_equal(tw_keyed_count(wheel), 0);
    let_pass(1000 * TW_SECOND);
    for (unsigned i = 0; i < ENTRIES; ++i) {
        assert_int_equal(runs_of[i], i % 100 < 30);
        assert_int_equal(drains_of[i], i % 100 >= 30);
    }
}

TEST(go_zero_a_drained_wheel_takes_new_entries) {
    fill();
    tw_keyed_drain(wheel, NULL, NULL);
    assert_int_equal(set(1, TW_SECOND, &fires), 0);
    let_pass(1000 * TW_SECOND);
    assert_int_equal(fires, 1);
    assert_int_equal(tw_keyed_drain(wheel, drain_one, &drained), 0);
}

/* --- drain against a thread that fires: on real time ----------------------------------------- */

static atomic_uint live_fires, touched[ENTRIES];
static unsigned fires_before_drain, fires_in_drain;

static int running(UNUSED void **state) {
    drained = 0;
    rt = started_runtime((struct tw_runtime_options){0});
    return tw_keyed_new(&wheel, rt, NULL);
}

static void fire_live(UNUSED const struct tw_event *event, void *arg) {
    atomic_fetch_add(&live_fires, 1);
    atomic_fetch_add((atomic_uint *)arg, 1);
}

/* Takes a while at first, so that any timer that could fire during the drain would. */
static void drain_slowly(UNUSED const struct tw_key *key, void *arg, UNUSED void *drain_arg) {
    if (drained++ == 0) {
        fires_before_drain = live_fires;
        outlast(20 * TW_MILLISECOND);
        fires_in_drain = live_fires - fires_before_drain;
    }
    atomic_fetch_add((atomic_uint *)arg, 1);
}

FIXTURE(running, freed);

TEST(go_zero_drain_against_a_thread_that_fires_meets_each_entry_once) {
    for (unsigned i = 0; i < ENTRIES; ++i)
        assert_int_equal(
            tw_keyed_after(wheel, tw_key_number(i), i * TW_MILLISECOND / 2, fire_live, &touched[i]), 0);
    wait_for(live_fires > ENTRIES / 10);
    const int64_t count = tw_keyed_drain(wheel, drain_slowly, NULL);
    const unsigned fired = live_fires;
    assert_int_equal(count, drained);
    assert_int_equal(count + fired, ENTRIES);
    assert_true(fires_in_drain <= 1); /* one whose callback had begun */
    outlast(ENTRIES / 2 * TW_MILLISECOND);
    assert_int_equal(live_fires, fired);
    for (unsigned i = 0; i < ENTRIES; ++i)
        assert_int_equal(touched[i], 1);
}
