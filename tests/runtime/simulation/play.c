/* Simulates a runtime on virtual time and compares it with the reference. One seed determines
 * everything that happens.
 *     simulation                           a few fixed seeds
 *     simulation --seed S --steps N        one run; --talk prints each operation
 * With TW_NIGHTLY=1 in the environment: ten times as many steps, from random seeds. */
#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "support/environment.h"
#include "support/random.h"

/* A life has a few timers across all of time, or many within some rounds of the wheel. */
enum { LIFE = 1200, FEW = 20, CALM = 200, MOST_FIRES_EACH = 40, MOST_HANDLES = 50 };

static struct {
    int64_t unit;
    int64_t span;    /* ns; no timer is farther away */
    int64_t longest; /* ns; no run moves further */
} scope;

static int64_t draw(struct world *w, int64_t below) {
    return below <= 1 ? 0 : (int64_t)random_below(&w->random, (uint64_t)below);
}

/* Draws a number of any magnitude. The draws are separate statements, because within one
 * expression the compiler would choose their order, and a seed must mean the same everywhere. */
static int64_t draw_any(struct world *w, int64_t below, int64_t shifts) {
    const int64_t number = draw(w, below);
    return number >> draw(w, shifts);
}

static bool one_in(struct world *w, int64_t n) { return draw(w, n) == 0; }

/* ---- Times. */

static int64_t ticks(int64_t n) { return n > scope.span / scope.unit ? scope.span : n * scope.unit; }

/* Draws any magnitude: small spans as often as large ones. */
static int64_t draw_span(struct world *w) {
    int64_t span = 0;
    switch (draw(w, 8)) {
    case 0:
        return one_in(w, 2) ? 0 : draw(w, scope.unit) + 1;
    case 1:
    case 2:
        span = ticks(draw(w, 9));
        break;
    case 3:
    case 4:
        span = INT64_C(1) << draw(w, 26);
        span = ticks(span + draw(w, 5) - 2);
        break;
    case 5:
        span = ticks(draw(w, 600));
        break;
    default:
        span = draw_any(w, scope.span, 60);
    }
    if (span < 0)
        span = 0;
    return one_in(w, 2) ? span : later_by(span, draw(w, 3));
}

static int64_t draw_delay(struct world *w) {
    if (scope.span == END_OF_TIME && one_in(w, 100))
        return INT64_MAX - draw(w, 3);
    return draw_span(w);
}

static int64_t shown(const struct world *w) { return w->ref.lines[w->ref.has_wall ? WALL : STEADY].clock; }

static int64_t draw_deadline(struct world *w) {
    if (one_in(w, 8)) {
        const int64_t back = draw_span(w);
        return back > shown(w) ? 0 : shown(w) - back;
    }
    return later_by(shown(w), draw_delay(w) % INT64_MAX);
}

static int64_t draw_period(struct world *w) {
    const int64_t most = (scope.span < END_OF_TIME / 2 ? scope.span : END_OF_TIME / 2) / scope.unit;
    const int64_t count = one_in(w, 2) ? draw(w, 12) + 1 : draw_any(w, most, 40) + 1;
    const int64_t period = (count < most ? count : most) * scope.unit;
    if (one_in(w, 2))
        return period;
    const int64_t part = part_of(scope.unit);
    return period + draw(w, scope.unit / part) * part;
}

/* ---- Bounds on a run's work. */

static int64_t fires_until(const struct world *w, const struct timer *t, enum running how, int64_t by) {
    const int64_t end = tick_down(&w->ref, later_by(w->ref.lines[t->line].clock, by));
    if (t->period == 0 || t->due > end || (how == LEAPING && t->missed != TW_BURST))
        return 1;
    const int64_t fires = (end * w->ref.unit - t->deadline) / t->period + 1;
    return t->fires_left != 0 && t->fires_left < fires ? t->fires_left : fires;
}

/* Cancels timers that would fire too often for a short run. */
static void make_room(struct world *w, enum running how, int64_t by) {
    for (unsigned i = 0; i < w->ref.count; ++i) {
        const struct timer *t = &w->ref.timers[i];
        if (t->pending && fires_until(w, t, how, by) > MOST_FIRES_EACH)
            world_cancel(w, i);
    }
}

/* ---- Operations. */

static unsigned draw_timer(struct world *w) { return (unsigned)draw(w, w->ref.count); }

static void draw_windowed(struct world *w, struct tw_when *when) {
    if (!one_in(w, 3))
        return;
    if (when->absolute && when->due_ns <= shown(w))
        return;
    if (!when->absolute && when->due_ns == 0)
        return;
    when->slack_ns = draw_span(w);
}

static void draw_periodic(struct world *w, struct tw_when *when) {
    if (!one_in(w, 3))
        return;
    when->period_ns = draw_period(w);
    when->missed = (enum tw_missed)draw(w, 3);
    if (w->inside || one_in(w, 2))
        when->fires = (uint32_t)draw(w, w->inside ? 6 : MOST_FIRES_EACH) + 1;
    if (!when->absolute && one_in(w, 2))
        when->due_ns = when->period_ns;
}

/* A periodic timer far in the past would burst for a long time. */
static void tame(struct tw_when *when, int64_t now) {
    if (when->period_ns != 0 && when->absolute && when->due_ns < now &&
        (now - when->due_ns) / when->period_ns > MOST_FIRES_EACH)
        when->due_ns = now - MOST_FIRES_EACH / 2 * when->period_ns;
}

static void arm(struct world *w, unsigned timer) {
    struct tw_when when = {.absolute = one_in(w, 2)};
    when.due_ns = when.absolute ? draw_deadline(w) : draw_delay(w);
    draw_windowed(w, &when);
    draw_periodic(w, &when);
    tame(&when, shown(w));
    world_arm(w, timer, &when);
}

static void free_timer(struct world *w, unsigned timer) {
    if (one_in(w, 2))
        world_free(w, timer);
    else
        world_renew(w, timer);
}

static void cancel(struct world *w, unsigned timer) {
    if (one_in(w, 2))
        world_cancel(w, timer);
    else
        world_cancel_wait(w, timer);
}

static void on_one_timer(struct world *w, unsigned timer) {
    const int64_t kind = draw(w, 24);
    if (w->ref.timers[timer].is_retired && !one_in(w, 4))
        free_timer(w, timer);
    else if (kind < 13)
        arm(w, timer);
    else if (kind < 16)
        world_move(w, timer, draw_delay(w));
    else if (kind < 19)
        world_postpone(w, timer, draw_delay(w));
    else if (kind < 22)
        cancel(w, timer);
    else if (kind < 23)
        free_timer(w, timer);
    else
        world_retire(w, timer);
}

/* Draws a distance to just before, at or after the next deadline, or to anywhere. */
static int64_t draw_way(struct world *w) {
    const struct timer *t = &w->ref.timers[draw_timer(w)];
    if (one_in(w, 3) || !t->pending)
        return draw_span(w);
    int64_t way = later_by(reference_remaining(&w->ref, t), draw(w, 3)) - 1;
    for (unsigned i = 0; i < w->ref.count && one_in(w, 2); ++i) {
        const int64_t nearer = reference_remaining(&w->ref, &w->ref.timers[i]);
        way = nearer < way ? nearer : way;
    }
    return way < 0 ? 0 : way;
}

/* Keeps the clocks within the range of time. A wall clock ahead of the other would reach the
 * end first. */
static int64_t within_time(const struct world *w, int64_t by) {
    for (enum line_id id = STEADY; id < LINES; ++id)
        if (by > END_OF_TIME - w->ref.lines[id].clock)
            by = END_OF_TIME - w->ref.lines[id].clock;
    return by < scope.longest ? by : scope.longest;
}

/* Starts handles, most of which are due within `by`. */
static void start_handles(struct world *w, int64_t by) {
    for (int64_t left = draw_any(w, MOST_HANDLES, 6); left > 0; --left) {
        struct tw_when when = {.absolute = one_in(w, 2)};
        when.due_ns = draw(w, by < INT64_MAX / 2 ? by + 2 : by);
        if (when.absolute)
            when.due_ns = later_by(shown(w), when.due_ns);
        world_start_handle(w, &when);
    }
}

static void run(struct world *w) {
    const enum running how = one_in(w, 3) ? LEAPING : ADVANCING;
    const int64_t by = within_time(w, draw_way(w));
    make_room(w, how, by);
    if (w->handles != NULL && one_in(w, 2))
        start_handles(w, by);
    world_run(w, how, by);
}

/* Sets the wall clock by any amount, as long as the sum of all set backs fits into a wheel's
 * ticks. */
static void set_wall(struct world *w) {
    const struct line *wall = &w->ref.lines[WALL];
    const int64_t span = one_in(w, 8) ? draw_any(w, END_OF_TIME, 20) : draw_span(w);
    int64_t to = one_in(w, 2) ? later_by(wall->clock, span) : wall->clock - span;
    if (to < 0)
        to = 0;
    if (to > END_OF_TIME / 2 && !one_in(w, 8))
        to = END_OF_TIME / 2;
    const uint64_t back = to < wall->clock ? (uint64_t)((wall->clock - to) / w->ref.unit) : 0;
    if (back + w->set_back_so_far >= UINT64_C(1) << 60)
        return;
    if (!w->inside)
        make_room(w, LEAPING, to > wall->clock ? to - wall->clock : 0);
    world_set_wall(w, to);
}

void play_inside(struct world *w, unsigned timer) {
    if (w->ends_inside) {
        world_free_inside(w);
        return;
    }
    if (w->fired > CALM || one_in(w, 2)) {
        if (w->fired > CALM && w->ref.timers[timer].pending)
            world_cancel(w, timer);
        return;
    }
    for (int64_t left = draw(w, 3) + 1; left > 0 && !w->stopped; --left)
        on_one_timer(w, one_in(w, 2) ? timer : draw_timer(w));
    if (w->ref.has_wall && one_in(w, 40))
        set_wall(w);
    if (one_in(w, 60))
        world_stop(w);
}

static void step(struct world *w) {
    const int64_t kind = draw(w, 32);
    if (kind < 11)
        run(w);
    else if (kind == 11 && w->ref.has_wall)
        set_wall(w);
    else if (kind == 13 && one_in(w, 8))
        world_stop(w);
    else if (kind == 14 && scope.span == END_OF_TIME && one_in(w, 8))
        world_run(w, LEAPING, INT64_MAX);
    else
        on_one_timer(w, draw_timer(w));
    if (one_in(w, 8))
        world_check(w);
}

/* ---- Lives. */

static struct life draw_life(struct world *w) {
    static const int64_t units[] = {1,       7,          1000,       65536,        999983,
                                    1000000, 1000000000, 4294967291, 160000000001, 3600000000000};
    static const uint32_t budgets[] = {1, 2, 5, 40, 0, 1u << 20, 1u << 20, UINT32_MAX};
    struct life life = {.unit = units[draw(w, 10)]};
    life.budget = budgets[draw(w, 8)];
    life.has_wall = one_in(w, 2);
    life.has_handles = one_in(w, 2);
    const bool is_wide = one_in(w, 2);
    life.timers = is_wide ? (unsigned)draw(w, FEW) + 1 : (unsigned)draw(w, MOST_TIMERS) + 1;
    scope.unit = life.unit;
    scope.span = scope.longest = END_OF_TIME;
    if (!is_wide) {
        const int64_t most = END_OF_TIME / life.unit;
        scope.span = life.unit * (most < 1 << 26 ? most : INT64_C(1) << (4 + draw(w, 23)));
        scope.longest = most < 1 << 26 ? scope.span : life.unit * (INT64_C(1) << 27);
    }
    return life;
}

/* Lets years pass before anything is armed. */
static void age(struct world *w) {
    const int64_t years = draw_any(w, END_OF_TIME / 2, 50);
    if (w->ref.has_wall && one_in(w, 2))
        world_set_wall(w, draw_any(w, END_OF_TIME / 4, 40));
    world_run(w, one_in(w, 2) ? LEAPING : ADVANCING, years);
}

/* Frees the runtime in the next callback, while other timers are pending. */
static void end_inside(struct world *w) {
    const struct tw_when at_once = {.due_ns = 0};
    world_renew(w, 0);
    world_arm(w, 0, &at_once);
    w->ends_inside = true;
    world_run(w, LEAPING, 0);
    require(w, w->is_freed, "the runtime was not freed");
}

static void play(struct world *w, uint64_t steps) {
    while (w->step < steps) {
        const struct life life = draw_life(w);
        world_begin(w, &life);
        if (one_in(w, 2))
            age(w);
        for (int64_t left = draw(w, LIFE) + 100; left > 0 && w->step < steps; --left) {
            ++w->step;
            step(w);
        }
        world_check(w);
        if (one_in(w, 2))
            end_inside(w);
        world_end(w);
    }
}

/* ---- Runs. */

enum { SEEDS = 8 };

static struct {
    uint64_t seed, steps;
    bool one, talks;
} asked = {.steps = SIMULATION_STEPS};

static void read_arguments(int argc, char **argv) {
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--talk") == 0) {
            asked.talks = true;
        } else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc) {
            asked.steps = strtoull(argv[++i], NULL, 0);
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            asked.seed = strtoull(argv[++i], NULL, 0);
            asked.one = true;
        } else {
            fprintf(stderr, "usage: %s [--seed S] [--steps N] [--talk]\n", argv[0]);
            exit(2);
        }
    }
}

static uint64_t simulate(uint64_t seed) {
    static struct world w;
    memset(&w, 0, sizeof w);
    w.seed = w.random = seed;
    w.talks = asked.talks;
    play(&w, asked.steps);
    const struct totals *t = &w.totals;
    const uint64_t events = t->operations + t->fires;
    printf("seed %" PRIu64 ": %" PRIu64 " events in %" PRIu64 " lives: %" PRIu64 " operations, %" PRIu64
           " of them in callbacks, %" PRIu64 " fires, %" PRIu64 " of them late by periods, %" PRIu64
           " stops, %" PRIu64 " sets back, %" PRIu64 " nodes freed\n",
           seed, events, t->lives, t->operations, t->nested, t->fires, t->bursts, t->stops, t->sets_back,
           t->frees);
    fflush(stdout);
    return events;
}

static uint64_t any_seed(void) {
    uint32_t seed;
    return getrandom(&seed, sizeof seed, 0) == sizeof seed ? seed : 1;
}

int main(int argc, char **argv) {
    read_arguments(argc, argv);
    uint64_t events = 0;
    const unsigned runs = asked.one ? 1 : is_nightly() ? 10 * SEEDS : SEEDS;
    for (unsigned i = 0; i < runs; ++i)
        events += simulate(asked.one ? asked.seed : is_nightly() ? any_seed() : i + 1);
    printf("simulation: passed: %" PRIu64 " events\n", events);
    return EXIT_SUCCESS;
}
