/* A program in C on the two files: a one-shot and a periodic timer, and random ones, checked against a table
 * that says which of them are due. It ends at the first mistake, with status 1. */
#include "tickwheel.h"

#include <stdio.h>
#include <stdlib.h>

#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            printf("line %d: %s\n", __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

static struct tw wheel;

/* --- a one-shot and a periodic timer ------------------------------------------------------------- */

static struct tw_fires fires;
static struct tw_node once = TW_NODE(tw_count_fire, &fires), periodic;

static void fires_in_time(void) {
    EXPECT(tw_version() == TW_VERSION && tw_wheel_size() == sizeof wheel && tw_node_size() == sizeof once);
    EXPECT(tw_init(&wheel, 100, 0) == 0 && tw_node_init(&periodic, tw_count_fire, &fires) == 0);
    EXPECT(tw_arm_after(&wheel, &once, 30) == 0);
    EXPECT(tw_advance(&wheel, 129, TW_UNBOUNDED) == 0 && tw_fired(&fires) == 0);
    EXPECT(tw_advance(&wheel, 130, TW_UNBOUNDED) == 0 && tw_fired(&fires) == 1);
    EXPECT(tw_arm_every(&wheel, &periodic, 1000, 7, TW_SMALL ? TW_SKIP : TW_BURST, 0) == 0);
    EXPECT(tw_advance(&wheel, 1000 + 99 * 7 - 1, TW_UNBOUNDED) == 0);
    EXPECT(tw_fired(&fires) == (TW_SMALL ? 1 : 99));
    EXPECT(tw_expiry(&wheel, &periodic) == 1000 + 99 * 7);
    EXPECT(tw_cancel(&wheel, &periodic) == 1 && tw_count(&wheel) == 0 && tw_next(&wheel) == TW_NEVER);
}

/* --- random timers -------------------------------------------------------------------------------- */

enum { TIMERS = 100, STEPS = 10000, FARTHEST = TW_TICK_BITS == 32 ? 30 : 40 };

struct timer {
    struct tw_node node;
    int is_armed;
    tw_tick due;
    int order; /* of arming */
};
static struct timer timers[TIMERS];
static const struct timer *last; /* that fired in this step */
static int armings;

static int is_before(tw_tick a, tw_tick b) { return (tw_tick)(a - b) >> (TW_TICK_BITS - 1) != 0; }

/* By tick, and on one tick in the order of arming. */
static void on_fire(struct tw_node *node, void *arg) {
    struct timer *const timer = (struct timer *)arg;
    EXPECT(node == &timer->node && timer->is_armed && !is_before(tw_now(&wheel), timer->due));
    EXPECT(last == NULL || is_before(last->due, timer->due) ||
           (last->due == timer->due && last->order < timer->order));
    timer->is_armed = 0;
    last = timer;
}

static tw_tick below(tw_tick limit) {
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (tw_tick)((state >> 20) % limit);
}

/* Nothing that is due is left, and the wheel asks for attention in time for the earliest timer. */
static void check_pending(tw_tick now) {
    size_t pending = 0;
    const tw_tick next = tw_next(&wheel);
    for (int i = 0; i < TIMERS; ++i) {
        if (!timers[i].is_armed)
            continue;
        ++pending;
        EXPECT(is_before(now, timers[i].due) && !is_before(timers[i].due, next));
    }
    EXPECT(tw_count(&wheel) == pending);
}

static void fires_at_random(void) {
    tw_tick now = 0;
    EXPECT(tw_init(&wheel, now, TW_SMALL ? 0 : TW_UNLOCKED) == 0);
    for (int i = 0; i < TIMERS; ++i)
        EXPECT(tw_node_init(&timers[i].node, on_fire, &timers[i]) == 0);
    for (int step = 0; step < STEPS; ++step) {
        struct timer *const timer = &timers[below(TIMERS)];
        const tw_tick distance = 1 + below((tw_tick)1 << below(FARTHEST));
        switch (below(4)) {
        case 0:
            EXPECT(tw_cancel(&wheel, &timer->node) == timer->is_armed);
            timer->is_armed = 0;
            break;
        case 1:
            now += distance;
            last = NULL;
            EXPECT(tw_advance(&wheel, now, TW_UNBOUNDED) == 0);
            break;
        default:
            EXPECT(tw_arm_after(&wheel, &timer->node, distance) == timer->is_armed);
            timer->is_armed = 1;
            timer->due = now + distance;
            timer->order = armings++;
        }
        check_pending(now);
    }
    EXPECT(tw_check(&wheel, NULL, NULL) == 0);
}

int main(void) {
    fires_in_time();
    fires_at_random();
    return 0;
}
