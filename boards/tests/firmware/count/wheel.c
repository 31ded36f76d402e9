/* Counts what the wheel's calls cost in instructions: one line each, the least and the most seen. Where a
 * line does not say among how many timers, there are 500, or as many as the machine has memory for. */
#include <stopwatch.h>

#include <tickwheel/tw.h>

#include "../expect.h"
#include "counting.h"
#include "support/random.h"

#ifndef COUNT_TIMERS
#define COUNT_TIMERS 2000
#endif

enum {
    USUAL = COUNT_TIMERS < 500 ? COUNT_TIMERS : 500,
    BLOCK = 256,      /* ticks of the slots of level 0 */
    TOP_SLOT = 65536, /* ticks of a slot of level 2 */
    SAMPLES = 200
};

static struct tw wheel;
static struct tw_node timers[COUNT_TIMERS], timer;

static tw_tick some(tw_tick below) {
    static uint64_t seed = 1;
    return (tw_tick)random_below(&seed, below);
}

static void nothing(struct tw_node *node, void *arg) { (void)node, (void)arg; }

static void begin(tw_tick now) {
    stopwatch_start(); /* restart: not every machine's stopwatch continues when it wraps */
    EXPECT(tw_init(&wheel, now, 0) == 0);
    EXPECT(tw_node_init(&timer, nothing, NULL) == 0);
}

/* Makes a wheel at `now`, with other timers armed in the `span` ticks from `first`. */
static void begin_among(unsigned others, tw_tick now, tw_tick first, tw_tick span) {
    begin(now);
    for (unsigned i = 0; i < others; ++i) {
        EXPECT(tw_node_init(&timers[i], nothing, NULL) == 0);
        EXPECT(tw_arm_at(&wheel, &timers[i], first + some(span)) == 0);
    }
}

/* Draws a distance on any level. */
static tw_tick some_distance(void) {
    static const tw_tick spans[] = {BLOCK, BLOCK * BLOCK, (tw_tick)4 * TOP_SLOT};
    return 1 + some(spans[some(3)]);
}

/* ---- Calls on one timer, with the others pending. */

static void count_adding(const char *what, arming *call, int is_relative, unsigned others) {
    struct figure f = figure_none();
    const unsigned draws = others < 100 ? 40 : 1; /* with few timers, the result of one draw is luck */
    for (unsigned draw = 0; draw < draws; ++draw) {
        begin_among(others, 1000, 1001, 2 * TOP_SLOT);
        for (unsigned i = 0; i < SAMPLES; ++i) {
            count_arming(&f, call, &wheel, &timer, some_distance() + (is_relative ? 0 : 1000));
            EXPECT(tw_cancel(&wheel, &timer) == 1);
        }
    }
    print_figure(what, &f);
}

static void count_changing(const char *what, arming *call, tw_tick least) {
    struct figure f = figure_none();
    begin_among(USUAL, 1000, 1001, 2 * TOP_SLOT);
    for (unsigned i = 0; i < SAMPLES; ++i) {
        EXPECT(tw_arm_at(&wheel, &timer, 1000 + some_distance()) >= 0);
        count_arming(&f, call, &wheel, &timer, 1000 + least + some_distance());
    }
    print_figure(what, &f);
}

static void count_cancelling(void) {
    struct figure f = figure_none();
    begin_among(USUAL, 1000, 1001, 2 * TOP_SLOT);
    for (unsigned i = 0; i < SAMPLES; ++i) {
        EXPECT(tw_arm_at(&wheel, &timer, 1000 + some_distance()) == 0);
        count_of_node(&f, tw_cancel, &wheel, &timer);
    }
    print_figure("cancel", &f);
}

static void count_asking_for_next(void) {
    struct figure one = figure_none(), many = figure_none();
    for (unsigned i = 0; i < SAMPLES / 4; ++i) {
        begin_among(USUAL, 1000, 1001, 2 * TOP_SLOT);
        count_asking(&many, tw_next, &wheel);
        EXPECT(tw_cancel_all(&wheel, NULL, NULL) == 0);
        EXPECT(tw_arm_at(&wheel, &timer, 1000 + some_distance()) == 0);
        count_asking(&one, tw_next, &wheel);
    }
    print_figure("next, one timer", &one);
    print_figure("next, many timers", &many);
}

/* ---- Ticks. */

static void count_ticks_of_a_block(void) {
    struct figure quiet = figure_none(), ends = figure_none(), armed = figure_none(), due = figure_none();
    begin_among(USUAL, 0, 3 * TOP_SLOT, TOP_SLOT);
    EXPECT(tw_update(&wheel) == 0); /* the first tick after arming takes longer, see `armed` */
    for (tw_tick tick = 2; tick <= 8 * BLOCK; ++tick)
        count_of_wheel(tick % BLOCK == 0 ? &ends : &quiet, tw_update, &wheel);
    for (unsigned i = 0; i < SAMPLES; ++i) {
        EXPECT(tw_arm_after(&wheel, &timer, 3 * TOP_SLOT) >= 0);
        if ((tw_now(&wheel) + 1) % BLOCK != 0)
            count_of_wheel(&armed, tw_update, &wheel);
        else
            EXPECT(tw_update(&wheel) == 0);
        EXPECT(tw_arm_after(&wheel, &timer, 1) == 0);
        if ((tw_now(&wheel) + 1) % BLOCK != 0)
            count_of_wheel(&due, tw_update, &wheel);
        else
            EXPECT(tw_update(&wheel) == 0);
    }
    print_figure("tick, nothing due", &quiet);
    print_figure("tick, nothing due, end of a block", &ends);
    print_figure("tick, nothing due, first after an arm", &armed);
    print_figure("tick, one due", &due);
}

/* Begins 8 blocks before the slot opens, as after a sleep, and counts each tick until all timers have
 * fired. */
static void count_worst_tick(void) {
    struct figure f = figure_none();
    begin_among(USUAL, TOP_SLOT - 8 * BLOCK, TOP_SLOT, TOP_SLOT);
    while (tw_count(&wheel) != 0)
        count_of_wheel(&f, tw_update, &wheel);
    print_figure("worst tick, a full slot of the top level", &f);
}

/* ---- Ticks whose low bits are equal, where a tree is deepest. */

/* Different multiples of 65,536 in no order, fit for ticks of 32 bits. */
static tw_tick multiple(unsigned i) { return ((tw_tick)i * 7919 % 30000 + 1) << 16; }

static void begin_among_multiples(unsigned others) {
    begin(0);
    for (unsigned i = 0; i < others; ++i) {
        EXPECT(tw_node_init(&timers[i], nothing, NULL) == 0);
        EXPECT(tw_arm_at(&wheel, &timers[i], multiple(i)) == 0);
    }
}

static void count_adding_multiples(const char *what, unsigned others) {
    struct figure f = figure_none();
    begin_among_multiples(others);
    for (unsigned i = 0; i < SAMPLES; ++i) {
        count_arming(&f, tw_arm_at, &wheel, &timer, multiple(others + i));
        EXPECT(tw_cancel(&wheel, &timer) == 1);
    }
    print_figure(what, &f);
}

static int advance_by_multiple(struct tw *w) { return tw_advance(w, tw_now(w) + 65536, TW_UNBOUNDED); }

static void count_worst_multiple(void) {
    struct figure f = figure_none();
    begin_among_multiples(USUAL);
    while (tw_count(&wheel) != 0)
        count_of_wheel(&f, advance_by_multiple, &wheel);
    print_figure("worst tick, multiples of 65,536", &f);
}

int main(void) {
    counting_start();
    count_adding("add, arm_after", tw_arm_after, 1, USUAL);
    count_adding("add, arm_at", tw_arm_at, 0, USUAL);
    count_changing("re-arm", tw_arm_at, 0);
    count_changing("move", tw_move, 0);
    count_changing("postpone", tw_postpone, 4 * TOP_SLOT);
    count_cancelling();
    count_asking_for_next();
    count_ticks_of_a_block();
    count_worst_tick();
    count_adding("add among 16, arm_at", tw_arm_at, 0, 16);
    if (COUNT_TIMERS == 2000)
        count_adding("add among 2,000, arm_at", tw_arm_at, 0, COUNT_TIMERS);
    count_adding_multiples("add among 16, multiples of 65,536", 16);
    count_adding_multiples("add, multiples of 65,536", USUAL);
    count_worst_multiple();
    return 0;
}
