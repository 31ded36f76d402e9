/* P8 on the tree: each hold of the lock goes down or up the levels of the tree a fixed number of times. There
 * are as many levels as a tick has bits. No tick pays for timers that are not due.
 *
 * As in p08_bounded_work.c the library uses this test's own port, and the nodes report when they are touched.
 * Arming a pending node takes the longest hold: it goes down to the node, moves one of two nodes up on each
 * level below, and goes down from the top again. */
#include "watched.h"

#include "support/random.h"
#include "support/test.h"

#include <stdbool.h>

#define LEVELS TW_TICK_BITS
#define NEIGHBOURS 6 /* in the rings that the node leaves and joins */
#define PER_HOLD (4 * LEVELS + NEIGHBOURS)

enum { CROWD = 300 }; /* more than PER_HOLD */

static struct tw wheel;
static unsigned fires, locked_callbacks;
static bool is_locked;
static size_t holds, worst_hold, touched_held;

void counting_locked(uint32_t held) {
    assert_int_equal(held, 1);
    assert_false(is_locked);
    is_locked = true;
    watch_again();
    ++holds;
}

void counting_unlocked(void) {
    is_locked = false;
    const size_t touched = watched_touched();
    touched_held += touched;
    if (touched > worst_hold)
        worst_hold = touched;
    watch_again();
}

static void forget_counts(void) {
    holds = worst_hold = touched_held = 0;
    watch_again();
}

static void count_fire(UNUSED struct tw_node *node, UNUSED void *arg) {
    locked_callbacks += is_locked;
    ++fires;
}

/* ---- Crowds of every shape. */

static uint64_t seed;

static tw_tick anywhere(UNUSED size_t i) { return 1 + (tw_tick)random_below(&seed, 1 << 20); }
static tw_tick on_one_tick(UNUSED size_t i) { return 1000; }
/* All have the same lowest bits, so the nodes stand below each other until the bits differ. */
static tw_tick far_apart(size_t i) { return (tw_tick)(1 + i) << 16; }
/* As many levels as possible: each bit leads to the same side. */
static tw_tick below_each_other(size_t i) { return ((tw_tick)1 << i % (TW_TICK_BITS - 2)) - 1; }

typedef tw_tick shape(size_t i);
static shape *const shapes[] = {anywhere, on_one_tick, far_apart, below_each_other};

static void open_crowd(void) {
    seed = 8;
    fires = locked_callbacks = 0;
    memset(&wheel, 0xA5, sizeof wheel); /* whatever was there before */
    assert_int_equal(tw_init(&wheel, 0, 0), 0);
    watched_open(CROWD, count_fire, NULL);
    forget_counts();
}

static void arm_crowd(shape *tick_of) {
    for (size_t i = 0; i < CROWD; ++i)
        assert_int_equal(tw_arm_at(&wheel, watched_node(i), tick_of(i)), 0);
}

static void open_armed_crowd(shape *tick_of) {
    open_crowd();
    watch_pause();
    arm_crowd(tick_of);
    watch_resume();
    forget_counts();
}

static void assert_bounded(size_t holds_expected) {
    assert_int_equal(holds, holds_expected);
    assert_in_range(worst_hold, 0, PER_HOLD);
    assert_false(is_locked);
    forget_counts();
}

#define FOR_EACH_SHAPE(s) \
    for (size_t s = 0; s < COUNT_OF(shapes); watched_close(), ++s) \
        if (open_armed_crowd(shapes[s]), true)

static tw_tick last_of_all(void) { return (tw_tick)1 << (TW_TICK_BITS - 2); }

/* ---- Calls on one node. */

TEST(p8_arming_is_bounded_however_many_are_armed) {
    for (size_t s = 0; s < COUNT_OF(shapes); ++s) {
        open_crowd();
        arm_crowd(shapes[s]);
        assert_bounded(CROWD);
        watched_close();
    }
}

TEST(p8_a_call_on_one_node_is_bounded) {
    FOR_EACH_SHAPE(s) {
        for (size_t i = 0; i < CROWD; i += 23) {
            struct tw_node *const node = watched_node(i);
            assert_int_equal(tw_cancel(&wheel, node), 1);
            assert_bounded(1);
            assert_int_equal(tw_arm_at(&wheel, node, shapes[s](i)), 0);
            assert_bounded(1);
            assert_int_equal(tw_arm_after(&wheel, node, 1 + shapes[s](i + 1)), 0);
            assert_bounded(1);
            assert_int_equal(tw_move(&wheel, node, shapes[s](i + 2)), 0);
            assert_bounded(1);
            assert_int_equal(tw_cancel(&wheel, node), 1);
            forget_counts();
            assert_int_equal(tw_arm_every(&wheel, node, shapes[s](i), 5, TW_COALESCE, 0), 0);
            assert_bounded(true);
        }
    }
}

TEST(p8_postponing_is_bounded) {
    FOR_EACH_SHAPE(s) {
        for (size_t i = 0; i < CROWD; i += 23) {
            assert_int_equal(tw_postpone(&wheel, watched_node(i), last_of_all()), 0);
            assert_bounded(1);
        }
    }
}

TEST_IF(!TW_SMALL, p8_a_window_is_looked_for_at_the_top_alone) {
    FOR_EACH_SHAPE(s) {
        for (size_t i = 0; i < CROWD; i += 23) {
            assert_int_equal(tw_arm_within(&wheel, watched_node(i), shapes[s](i), 1000), 0);
            assert_in_range(worst_hold, 0, PER_HOLD);
            forget_counts();
        }
    }
}

/* ---- Advancing. */

/* One hold ends before a fire, and the next one begins after it; a fire costs no further hold. */
TEST(p8_an_advance_lets_the_lock_go_for_each_fire) {
    FOR_EACH_SHAPE(s) {
        assert_int_equal(tw_advance(&wheel, last_of_all(), TW_UNBOUNDED), 0);
        assert_int_equal(fires, CROWD);
        assert_int_equal(locked_callbacks, 0);
        assert_bounded(CROWD + 1);
    }
}

TEST(p8_an_advance_past_postponed_nodes_is_bounded) {
    FOR_EACH_SHAPE(s) {
        watch_pause();
        for (size_t i = 0; i < CROWD; ++i)
            assert_int_equal(tw_postpone(&wheel, watched_node(i), last_of_all() + 1), 0);
        watch_resume();
        forget_counts();
        assert_int_equal(tw_advance(&wheel, last_of_all(), TW_UNBOUNDED), 0);
        assert_int_equal(fires, 0);
        assert_bounded(1);
    }
}

TEST(p8_periodic_nodes_that_fire_again_and_again_are_bounded_too) {
    FOR_EACH_SHAPE(s) {
        watch_pause();
        for (unsigned i = 0; i < CROWD; ++i)
            assert_int_equal(tw_arm_every(&wheel, watched_node(i), 1 + i % 5, 1 + i % 100, TW_COALESCE, 3),
                             0);
        watch_resume();
        forget_counts();
        for (unsigned turn = 0; turn < 2; ++turn)
            assert_int_equal(tw_advance(&wheel, tw_now(&wheel) + 200, TW_UNBOUNDED), 0);
        assert_int_equal(fires, 2 * CROWD);
        assert_in_range(worst_hold, 0, PER_HOLD);
    }
}

TEST(p8_no_tick_pays_for_timers_that_are_not_due) {
    FOR_EACH_SHAPE(s) {
        while (tw_now(&wheel) < 3000) {
            const unsigned fired = fires;
            forget_counts();
            assert_int_equal(tw_update(&wheel), 0);
            assert_in_range(touched_held, 0, 1 + (fires - fired) * PER_HOLD);
        }
    }
}

/* ---- Questions. */

TEST(p8_a_question_is_one_look_and_idle_time_none) {
    FOR_EACH_SHAPE(s) {
        assert_int_equal(tw_idle(&wheel, TW_UNBOUNDED), 0);
        assert_int_equal(touched_held, 0);
        for (size_t i = 0; i < CROWD; i += 23) {
            IGNORE(tw_expiry(&wheel, watched_node(i)));
            IGNORE(tw_count(&wheel));
            IGNORE(tw_next(&wheel));
            assert_non_null(tw_first(&wheel, 1 + (uint32_t)i));
            assert_in_range(worst_hold, 0, 1);
        }
    }
}

/* ---- cancel_all: one hold takes all nodes over, and each leaves in one of its own. */

TEST_IF(!TW_SMALL, p8_a_cancel_all_lets_the_lock_go_for_each_node) {
    FOR_EACH_SHAPE(s) {
        assert_int_equal(tw_cancel_all(&wheel, count_fire, NULL), 0);
        assert_int_equal(fires, CROWD);
        assert_int_equal(locked_callbacks, 0);
        assert_bounded(CROWD + 1);
    }
}
