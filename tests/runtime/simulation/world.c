/* Runs a runtime and the reference side by side. See world.h. */
#include "world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void require(struct world *w, bool truth, const char *format, ...) {
    if (truth)
        return;
    va_list arguments;
    va_start(arguments, format);
    printf("simulation: FAILED at step %" PRIu64 ": ", w->step);
    vprintf(format, arguments);
    printf("\nagain with: simulation --seed %" PRIu64 " --steps %" PRIu64 " [--talk]\n", w->seed, w->step);
    va_end(arguments);
    exit(EXIT_FAILURE);
}

void tell(const struct world *w, const char *format, ...) {
    if (!w->talks)
        return;
    va_list arguments;
    va_start(arguments, format);
    printf("%" PRIu64 "%s ", w->step, w->inside ? "   in callback:" : ":");
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

/* ---- Storage. */

void world_give_node(struct world *w, unsigned timer) {
    struct body *b = &w->bodies[timer];
    *b = (struct body){malloc(sizeof *b->node), w, timer};
    require(w, b->node != NULL, "out of memory");
    require(w, tw_node_init(b->node, world_on_fire, b) == 0, "tw_node_init failed");
    *timer_of(w, timer) = (struct timer){.line = STEADY};
}

static void ignore(struct tw_node *node, void *arg) {
    (void)node;
    (void)arg;
}

static struct tw_runtime *new_runtime(struct world *w, const struct life *life) {
    struct tw_runtime_options options = {
        .tick_ns = life->unit,
        .driver = "manual",
        .clock = life->has_wall ? TW_CLOCK_WALL : TW_CLOCK_DEFAULT,
        .budget = life->budget,
    };
    struct tw_runtime *rt = NULL;
    require(w, tw_runtime_new(&rt, &options) == 0, "tw_runtime_new failed");
    return rt;
}

void world_begin(struct world *w, const struct life *life) {
    memset(&w->ref, 0, sizeof w->ref);
    w->ref.unit = life->unit;
    w->ref.has_wall = life->has_wall;
    w->ref.gets_done = life->budget >= 1u << 20;
    w->ref.count = life->timers;
    w->rt = new_runtime(w, life);
    w->other_rt = new_runtime(w, life);
    require(w, tw_node_init(&w->stranger, ignore, NULL) == 0, "tw_node_init failed");
    require(w, tw_runtime_after(w->other_rt, &w->stranger, 1) == 0, "the stranger was not armed");
    for (unsigned i = 0; i < life->timers; ++i)
        world_give_node(w, i);
    w->is_freed = w->ends_inside = false;
    w->sets_seen = w->set_back_so_far = 0;
    w->wall_seen = 0;
    ++w->totals.lives;
    tell(w, "a new life: tick %" PRId64 " ns, budget %u, %u timers, %s", life->unit, life->budget,
         life->timers, life->has_wall ? "wall clock" : "virtual clock");
}

void world_end(struct world *w) {
    require(w, tw_runtime_remaining(w->other_rt, &w->stranger) != TW_NO_DEADLINE, "the stranger was touched");
    if (!w->is_freed)
        require(w, tw_runtime_free(w->rt) == 0, "tw_runtime_free failed");
    require(w, tw_runtime_free(w->other_rt) == 0, "tw_runtime_free failed");
    for (unsigned i = 0; i < w->ref.count; ++i)
        free(node_of(w, i));
}

/* ---- Queries. */

static int64_t shown_clock(const struct world *w) {
    return w->ref.lines[w->ref.has_wall ? WALL : STEADY].clock;
}

static void check_timer(struct world *w, unsigned timer) {
    const int64_t expected = reference_remaining(&w->ref, timer_of(w, timer));
    const int64_t remaining = tw_runtime_remaining(w->rt, node_of(w, timer));
    require(w, remaining == expected, "timer %u: remaining %" PRId64 " instead of %" PRId64, timer, remaining,
            expected);
}

void world_check_around(struct world *w, unsigned timer) {
    check_timer(w, timer);
    const size_t count = tw_runtime_count(w->rt);
    const unsigned expected = reference_pending(&w->ref);
    require(w, count == expected, "count %zu instead of %u", count, expected);
}

void world_check(struct world *w) {
    for (unsigned i = 0; i < w->ref.count; ++i)
        check_timer(w, i);
    world_check_around(w, 0);
    const int64_t now = tw_runtime_now(w->rt);
    require(w, now == shown_clock(w), "now %" PRId64 " instead of %" PRId64, now, shown_clock(w));
    if (!w->inside)
        require(w, tw_runtime_due(w->rt) == TW_NO_DEADLINE && tw_runtime_overruns(w->rt) == 0,
                "something is due outside callbacks");
}

void world_follow_wall(struct world *w, bool must) {
    if (!w->ref.has_wall)
        return;
    struct tw_stats stats;
    require(w, tw_runtime_stats(w->rt, &stats) == 0, "tw_runtime_stats failed");
    const int64_t read = tick_down(&w->ref, w->wall_seen);
    if (stats.clock_sets != w->sets_seen) {
        require(w, stats.clock_sets == w->sets_seen + 1 && reference_is_behind(&w->ref, read),
                "P12: noticed a set back that was none");
        tell(w, "noticed that the wall clock was set back, to tick %" PRId64, read);
        w->set_back_so_far += (uint64_t)(w->ref.lines[WALL].told_hi - read);
        reference_set_back(&w->ref, read);
        ++w->totals.sets_back;
    }
    const int64_t present = tick_down(&w->ref, w->ref.lines[WALL].clock);
    require(w, !must || !reference_is_surely_behind(&w->ref, present), "P12: a set back was not noticed");
    w->sets_seen = stats.clock_sets;
    w->wall_seen = w->ref.lines[WALL].clock;
}

/* ---- Firing. */

static void move_clocks(struct world *w, int64_t by) {
    w->ref.lines[STEADY].clock += by;
    if (w->ref.has_wall)
        w->ref.lines[WALL].clock += by;
}

static void read_clock(struct world *w, enum line_id on) {
    world_follow_wall(w, on == WALL);
    const int64_t passed = tw_runtime_now(w->rt) - shown_clock(w);
    const int64_t left = w->run_end - w->ref.lines[STEADY].clock;
    require(w, w->running == ADVANCING ? passed >= 0 && passed <= left : passed == 0,
            "the clock moved by %" PRId64 " ns", passed);
    move_clocks(w, passed);
    w->wall_seen = w->ref.lines[WALL].clock;
    reference_enter(&w->ref, on);
}

static int64_t smallest(int64_t a, int64_t b, int64_t c) {
    const int64_t smaller = a < b ? a : b;
    return smaller < c ? smaller : c;
}

/* tw_runtime_advance stops virtual time at each deadline, so no timer is late. */
static void check_lateness(struct world *w, const struct timer *t) {
    const int64_t steady = w->ref.lines[STEADY].clock;
    const int64_t late = w->ref.lines[t->line].clock - reading_of(&w->ref, t->due);
    require(w, late >= 0, "P1: %" PRId64 " ns early", -late);
    if (w->running != ADVANCING)
        return;
    const int64_t lag = smallest(late, steady - t->armed_at, steady - w->ref.disturbed_at);
    require(w, lag == 0, "P2: %" PRId64 " ns late in virtual time", lag);
}

static void check_due(struct world *w, int64_t due) {
    const int64_t answer = tw_runtime_due(w->rt);
    require(w, answer == due, "P5: due %" PRId64 " instead of %" PRId64, answer, due);
}

static void check_fire(struct world *w, unsigned timer) {
    const struct timer *t = timer_of(w, timer), *before = NULL;
    require(w, w->running != AT_REST && !w->inside, "timer %u fired while nothing was to fire", timer);
    require(w, !w->stopped, "timer %u fired after a callback had stopped the runtime", timer);
    require(w, t->pending, "P4: timer %u fired without being armed", timer);
    read_clock(w, t->line);
    const bool is_next = reference_is_next(&w->ref, t, &before);
    require(w, is_next, "P3: timer %u fired before timer %u", timer,
            is_next ? timer : (unsigned)(before - w->ref.timers));
    check_lateness(w, t);
    check_due(w, reading_of(&w->ref, t->due));
    const uint64_t overruns = tw_runtime_overruns(w->rt);
    const uint64_t expected = reference_overruns(&w->ref, t);
    require(w, overruns == expected, "P5: overruns %" PRIu64 " instead of %" PRIu64, overruns, expected);
    w->totals.bursts += expected != 0 ? 1 : 0;
}

void world_on_fire(struct tw_node *node, void *arg) {
    const struct body *b = arg;
    struct world *w = b->world;
    const unsigned timer = b->timer;
    require(w, b->node == node, "the callback got another node");
    check_fire(w, timer);
    struct timer *t = timer_of(w, timer);
    const int64_t due = reading_of(&w->ref, t->due);
    tell(w, "timer %u fires, due %" PRId64 ", at %" PRId64, timer, due, w->ref.lines[t->line].clock);
    w->on = t->line;
    reference_fire(&w->ref, t);
    world_check_around(w, timer);
    ++w->totals.fires;
    ++w->fired;
    w->inside = true;
    play_inside(w, timer);
    if (!w->is_freed)
        check_due(w, due);
    w->inside = false;
}

/* P4: none is lost. */
static void check_nothing_left(struct world *w) {
    for (unsigned i = 0; i < w->ref.count; ++i)
        require(w, !reference_is_due(&w->ref, timer_of(w, i)), "P4: timer %u did not fire", i);
}

static void begin_run(struct world *w, enum running how, int64_t by) {
    w->running = how;
    w->stopped = false;
    w->fired = 0;
    w->run_end = w->ref.lines[STEADY].clock + by;
    if (how == LEAPING)
        move_clocks(w, by);
    w->ref.disturbed_at = w->ref.lines[STEADY].clock;
    w->wall_seen = w->ref.lines[WALL].clock;
}

static void end_run(struct world *w) {
    w->running = AT_REST;
    if (w->is_freed)
        return;
    if (!w->stopped) {
        world_follow_wall(w, false);
        move_clocks(w, w->run_end - w->ref.lines[STEADY].clock);
        world_follow_wall(w, true);
    }
    if (!w->stopped)
        check_nothing_left(w);
    reference_settle(&w->ref, !w->stopped);
}

void world_run(struct world *w, enum running how, int64_t by) {
    tell(w, "%s %" PRId64, how == LEAPING ? "leap" : "advance", by);
    int (*const run)(struct tw_runtime *, int64_t) = how == LEAPING ? tw_runtime_leap : tw_runtime_advance;
    ++w->totals.operations;
    if (by > END_OF_TIME - w->ref.lines[STEADY].clock) {
        require(w, run(w->rt, by) == -ERANGE, "P14: time went beyond its end");
        return;
    }
    begin_run(w, how, by);
    require(w, run(w->rt, by) == 0, "time did not move");
    end_run(w);
}

void world_set_wall(struct world *w, int64_t to) {
    tell(w, "set the wall clock to %" PRId64, to);
    world_follow_wall(w, false);
    require(w, tw_runtime_set_wall(w->rt, to) == 0, "tw_runtime_set_wall failed");
    w->ref.lines[WALL].clock = to;
    w->wall_seen = to;
    w->ref.disturbed_at = w->ref.lines[STEADY].clock;
    if (w->inside)
        world_stop(w); /* the rest of this batch may be early or late on a clock that was set */
}

void world_stop(struct world *w) {
    tell(w, "stop");
    require(w, tw_runtime_stop(w->rt) == 0, "tw_runtime_stop failed");
    ++w->totals.stops;
    if (w->inside)
        w->stopped = true;
}

void world_free_inside(struct world *w) {
    tell(w, "free the runtime");
    require(w, tw_runtime_free(w->rt) == 0, "tw_runtime_free failed");
    w->is_freed = w->stopped = true;
}
