/* Shared by the promise tests: one wheel, and timers that know when and in which order they
 * were armed, so that every fire can be judged as it happens. */
#ifndef TICKWHEEL_TESTS_PROMISE_H
#define TICKWHEEL_TESTS_PROMISE_H

#include "core/door.h"
#include "shapes/shapes.h"
#include "support/random.h"
#include "support/test.h"

#include <tickwheel/tw.h>

/* True if the library refuses a node that is pending on another wheel. */
#define NODES_NAME_WHEELS (!TW_SMALL && TW_TICK_BITS != 32)

/* The landmarks of the wheel's shape. */
#define BLOCK (UINT64_C(1) << shape->bits)                            /* ticks of one round of level 0 */
#define TOP_SLOT (UINT64_C(1) << (shape->bits * (shape->levels - 1))) /* ticks in a slot of the top level */
#define ROUND (UINT64_C(1) << shape_round_bits()) /* ticks of one round of the top level */
#define LAST_TICK (TW_NEVER - 1)

struct timer {
    struct tw_node node;
    uint64_t due;   /* the tick it was armed for */
    uint64_t order; /* position in the order of arming; 0: unspecified (postponed) */
    unsigned fires;
};

static struct tw wheel;
static uint64_t armings;  /* calls of arm() */
static uint64_t fires;    /* calls of fire() */
static uint64_t last_due; /* of the latest fire */
static uint64_t last_order;
static uint64_t lateness; /* sum of ticks by which fires came late */

/* A callback for struct timer. In every test that uses it, it asserts P3 (by tick, then by
 * arming) and P4 (not before its tick, not twice). */
static inline void fire(struct tw_node *node, void *arg) {
    struct timer *timer = arg;
    assert_ptr_equal(node, &timer->node);
    assert_true(timer->due <= tw_now(&wheel));
    assert_true(timer->due >= last_due);
    if (timer->due > last_due)
        last_order = 0;
    if (timer->order) {
        assert_true(timer->order > last_order);
        last_order = timer->order;
    }
    last_due = timer->due;
    lateness += tw_now(&wheel) - timer->due;
    ++timer->fires;
    ++fires;
}

static inline void init(struct timer *timer) {
    memset(timer, 0, sizeof *timer);
    assert_int_equal(tw_node_init(&timer->node, fire, timer), 0);
}

static inline void arm(struct timer *timer, uint64_t tick) {
    timer->due = tick;
    timer->order = ++armings;
    assert_true(tw_arm_at(&wheel, &timer->node, tick) >= 0);
}

static inline void init_and_arm(struct timer *timer, uint64_t tick) {
    init(timer);
    arm(timer, tick);
}

/* Returns n idle timers; the caller frees them. */
static inline struct timer *new_timers(size_t n) {
    struct timer *timers = malloc(n * sizeof *timers);
    assert_non_null(timers);
    for (size_t i = 0; i < n; ++i)
        init(&timers[i]);
    return timers;
}

/* Initialises the wheel in memory with arbitrary content. */
static inline void start_at(uint64_t now) {
    memset(&wheel, 0xA5, sizeof wheel);
    assert_int_equal(tw_init(&wheel, now, 0), 0);
    armings = fires = last_due = last_order = lateness = 0;
}

/* Leaves nothing pending, because the nodes are about to end. Without tw_cancel_all, it makes the wheel
 * new. */
static inline void forget_all(void) {
    if (!TW_SMALL)
        assert_int_equal(tw_cancel_all(&wheel, NULL, NULL), 0);
    else
        start_at(tw_now(&wheel));
}

static inline int fresh_wheel(UNUSED void **state) {
    start_at(0);
    return 0;
}

static inline void print_broken(const char *invariant, const struct tw_node *node, UNUSED void *arg) {
    print_error("tw_check: %s (node %p)\n", invariant, (const void *)node);
}

static inline void assert_whole(void) { assert_int_equal(tw_check(&wheel, print_broken, NULL), 0); }

/* The budget, or TW_UNBOUNDED if the library has no budgets. */
static inline uint32_t bite(uint32_t budget) { return !TW_SMALL ? budget : TW_UNBOUNDED; }

static inline void advance(uint64_t now) { assert_int_equal(tw_advance(&wheel, now, TW_UNBOUNDED), 0); }

/* Advances in calls of a small budget. Their number is bounded, so that a wheel that never
 * finishes fails the test and does not hang it. */
static inline void advance_in_bites(uint64_t now, uint32_t budget) {
    for (unsigned calls = 0; tw_advance(&wheel, now, bite(budget)) == 1; ++calls)
        assert_true(calls < 10000000u);
}

static inline void idle_until_done(uint32_t budget) {
    for (unsigned calls = 0; tw_idle(&wheel, budget) == 1; ++calls)
        assert_true(calls < 10000000u);
}

#endif
