/* Runs a runtime and the reference side by side: makes each call on the runtime and compares its answer with
 * the reference. See world.h. */
#include "world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tickwheel/observe.h>

static struct timer *timer_of(struct world *w, unsigned timer) { return &w->ref.timers[timer]; }
static struct tw_node *node_of(struct world *w, unsigned timer) { return w->bodies[timer].node; }

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

static void on_fire(struct tw_node *node, void *arg);

static void give_node(struct world *w, unsigned timer) {
    struct body *b = &w->bodies[timer];
    *b = (struct body){malloc(sizeof *b->node), w, timer};
    require(w, b->node != NULL, "out of memory");
    require(w, tw_node_init(b->node, on_fire, b) == 0, "tw_node_init failed");
    *timer_of(w, timer) = (struct timer){.line = STEADY};
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

static struct tw_timers *new_handles(struct world *w) {
    struct tw_timers *handles = NULL;
    require(w, tw_timers_new(&handles, w->rt, NULL) == 0, "tw_timers_new failed");
    return handles;
}

void world_begin(struct world *w, const struct life *life) {
    memset(&w->ref, 0, sizeof w->ref);
    w->ref.unit = life->unit;
    w->ref.has_wall = life->has_wall;
    w->ref.gets_done = life->budget >= 1u << 20;
    w->ref.count = life->timers;
    w->rt = new_runtime(w, life);
    w->handles = life->has_handles ? new_handles(w) : NULL;
    w->handles_pending = 0;
    for (unsigned i = 0; i < life->timers; ++i)
        give_node(w, i);
    w->is_freed = w->ends_inside = false;
    w->sets_seen = w->set_back_so_far = 0;
    w->wall_seen = 0;
    ++w->totals.lives;
    tell(w, "a new life: tick %" PRId64 " ns, budget %u, %u timers, %s, %s", life->unit, life->budget,
         life->timers, life->has_wall ? "wall clock" : "virtual clock",
         life->has_handles ? "handles beside nodes" : "nodes alone");
}

void world_end(struct world *w) {
    if (!w->is_freed)
        require(w, tw_runtime_free(w->rt) == 0, "tw_runtime_free failed");
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

/* Checks this timer and the count. */
static void check_around(struct world *w, unsigned timer) {
    check_timer(w, timer);
    const size_t count = tw_runtime_count(w->rt);
    const unsigned expected = reference_pending(&w->ref) + w->handles_pending;
    require(w, count == expected, "count %zu instead of %u", count, expected);
}

void world_check(struct world *w) {
    for (unsigned i = 0; i < w->ref.count; ++i)
        check_timer(w, i);
    check_around(w, 0);
    const int64_t now = tw_runtime_now(w->rt);
    require(w, now == shown_clock(w), "now %" PRId64 " instead of %" PRId64, now, shown_clock(w));
    if (!w->inside)
        require(w, tw_runtime_due(w->rt) == TW_NO_DEADLINE && tw_runtime_overruns(w->rt) == 0,
                "something is due outside callbacks");
}

/* P12: lets the reference follow if the runtime has noticed that the wall clock was set back. `must`: the
 * runtime has read the clock, so it must have noticed. */
static void follow_wall(struct world *w, bool must) {
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
    follow_wall(w, on == WALL);
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

static void on_fire(struct tw_node *node, void *arg) {
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
    check_around(w, timer);
    ++w->totals.fires;
    ++w->fired;
    w->inside = true;
    play_inside(w, timer);
    if (!w->is_freed)
        check_due(w, due);
    w->inside = false;
}

/* A handle takes part in no other check: nodes must behave as if it were not there. */
static void on_handle(const struct tw_event *event, void *arg) {
    struct world *w = arg;
    tell(w, "a handle fires, due %" PRId64, event->due_ns);
    require(w, w->running != AT_REST && !w->stopped && w->handles_pending != 0, "a handle fired");
    --w->handles_pending;
}

void world_start_handle(struct world *w, const struct tw_when *when) {
    ++w->totals.operations;
    tell(w, "start a handle %s %" PRId64, when->absolute ? "at" : "after", when->due_ns);
    const struct tw_task task = {.fn = on_handle, .arg = w};
    tw_handle handle;
    const int result = tw_timer_start(w->handles, &handle, when, &task);
    follow_wall(w, when->absolute);
    require(w, result == 0, "starting a handle: %d", result);
    ++w->handles_pending;
}

/* P4: no timer is lost. */
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
        follow_wall(w, false);
        move_clocks(w, w->run_end - w->ref.lines[STEADY].clock);
        follow_wall(w, true);
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
    follow_wall(w, false);
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

/* ---- Operations on nodes. */

static void count_operation(struct world *w) {
    ++w->totals.operations;
    w->totals.nested += w->inside ? 1 : 0;
}

/* Returns the tick that the runtime chose within a window. */
static int64_t chosen(struct world *w, unsigned timer, const struct plan *plan, int64_t last) {
    const int64_t left = tw_runtime_remaining(w->rt, node_of(w, timer));
    const int64_t reading = deadline_by(w->ref.lines[plan->line].clock, left);
    if (plan->due == last)
        return last;
    const int64_t tick = tick_up(&w->ref, reading);
    require(w, tick >= plan->due && tick <= last && reading_of(&w->ref, tick) == reading,
            "timer %u: chose tick %" PRId64 ", not in [%" PRId64 ", %" PRId64 "]", timer, tick, plan->due,
            last);
    return tick;
}

static int64_t tick_after(const struct world *w, enum line_id line, int64_t delay) {
    return tick_up(&w->ref, deadline_by(w->ref.lines[line].clock, delay));
}

static struct plan plan_of(const struct world *w, const struct tw_when *when) {
    struct plan plan = {.line = when->absolute && w->ref.has_wall ? WALL : STEADY};
    const bool is_at_once = !when->absolute && when->due_ns == 0 && when->period_ns == 0;
    plan.due = when->absolute ? tick_up(&w->ref, when->due_ns)
               : is_at_once   ? tick_down(&w->ref, w->ref.lines[STEADY].clock)
                              : tick_after(w, STEADY, when->due_ns);
    plan.deadline = in_parts(&w->ref, when->absolute ? when->due_ns
                                                     : deadline_by(w->ref.lines[STEADY].clock, when->due_ns));
    plan.period = when->period_ns;
    plan.missed = when->missed;
    plan.fires = when->fires;
    return plan;
}

static int64_t last_of(const struct world *w, const struct tw_when *when) {
    const int64_t from =
        when->absolute ? when->due_ns : deadline_by(w->ref.lines[STEADY].clock, when->due_ns);
    const int64_t first = tick_up(&w->ref, from), last = END_OF_TIME / w->ref.unit;
    const int64_t latest = tick_up(&w->ref, deadline_by(from, when->slack_ns));
    return first > last ? first : latest > last ? last : latest;
}

/* Uses the simplest call that can express `when`. */
static int call_arm(struct world *w, struct tw_node *node, const struct tw_when *when) {
    if (when->slack_ns != 0 || when->fires != 0)
        return tw_runtime_arm(w->rt, node, when);
    if (when->period_ns == 0)
        return when->absolute ? tw_runtime_at(w->rt, node, when->due_ns)
                              : tw_runtime_after(w->rt, node, when->due_ns);
    if (!when->absolute && when->due_ns == when->period_ns)
        return tw_runtime_every(w->rt, node, when->period_ns, when->missed);
    return tw_runtime_arm(w->rt, node, when);
}

void world_arm(struct world *w, unsigned timer, const struct tw_when *when) {
    count_operation(w);
    tell(w, "arm timer %u %s %" PRId64 " slack %" PRId64 " period %" PRId64 " policy %d fires %u", timer,
         when->absolute ? "at" : "after", when->due_ns, when->slack_ns, when->period_ns, (int)when->missed,
         when->fires);
    struct timer *t = timer_of(w, timer);
    const int result = call_arm(w, node_of(w, timer), when);
    follow_wall(w, !t->is_retired && when->absolute);
    const int expected = t->is_retired ? -EPERM : 0;
    require(w, result == expected, "arming timer %u: %d instead of %d", timer, result, expected);
    if (result >= 0) {
        struct plan plan = plan_of(w, when);
        if (when->slack_ns != 0) {
            plan.due = chosen(w, timer, &plan, last_of(w, when));
            plan.deadline = reading_of(&w->ref, plan.due);
        }
        reference_arm(&w->ref, t, &plan);
    }
    check_around(w, timer);
}

void world_move(struct world *w, unsigned timer, int64_t delay) {
    count_operation(w);
    tell(w, "move timer %u %" PRId64, timer, delay);
    struct timer *t = timer_of(w, timer);
    const int result = tw_runtime_move(w->rt, node_of(w, timer), delay);
    follow_wall(w, t->pending && t->line == WALL);
    require(w, result == (t->pending ? 0 : -ENOENT), "moving timer %u: %d", timer, result);
    if (result == 0)
        reference_move(&w->ref, t, tick_after(w, t->line, delay));
    check_around(w, timer);
}

static int expected_of_postpone(const struct timer *t) {
    if (!t->pending)
        return -ENOENT;
    return t->line == WALL ? -EINVAL : 0;
}

void world_postpone(struct world *w, unsigned timer, int64_t delay) {
    count_operation(w);
    tell(w, "postpone timer %u %" PRId64, timer, delay);
    struct timer *t = timer_of(w, timer);
    const int result = tw_runtime_postpone(w->rt, node_of(w, timer), delay);
    require(w, result == expected_of_postpone(t), "postponing timer %u: %d", timer, result);
    if (result == 0)
        reference_postpone(&w->ref, t, tick_after(w, STEADY, delay));
    check_around(w, timer);
}

/* P6 */
static void take_off(struct world *w, unsigned timer, int (*off)(struct tw_runtime *, struct tw_node *)) {
    count_operation(w);
    struct timer *t = timer_of(w, timer);
    const int prevented = off(w->rt, node_of(w, timer));
    require(w, prevented == (t->pending ? 1 : 0), "P6: cancelling timer %u prevented %d fires", timer,
            prevented);
    t->pending = false;
    check_around(w, timer);
}

void world_cancel(struct world *w, unsigned timer) {
    tell(w, "cancel timer %u", timer);
    take_off(w, timer, tw_runtime_cancel);
}

void world_cancel_wait(struct world *w, unsigned timer) {
    tell(w, "cancel_wait timer %u", timer);
    take_off(w, timer, tw_runtime_cancel_wait);
}

void world_retire(struct world *w, unsigned timer) {
    tell(w, "retire timer %u", timer);
    take_off(w, timer, tw_runtime_retire);
    timer_of(w, timer)->is_retired = true;
}

void world_renew(struct world *w, unsigned timer) {
    if (timer_of(w, timer)->pending)
        world_cancel(w, timer);
    tell(w, "renew timer %u", timer);
    require(w, tw_node_init(node_of(w, timer), on_fire, &w->bodies[timer]) == 0, "tw_node_init failed");
    *timer_of(w, timer) = (struct timer){.line = STEADY};
}

void world_free(struct world *w, unsigned timer) {
    if (timer_of(w, timer)->pending)
        world_cancel_wait(w, timer);
    tell(w, "free timer %u", timer);
    memset(node_of(w, timer), 0xDD, sizeof(struct tw_node));
    free(node_of(w, timer));
    ++w->totals.frees;
    give_node(w, timer);
}
