/* The operations on nodes: makes each call on the runtime and compares its answer with the
 * reference. */
#include "world.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void world_count_operation(struct world *w) {
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
    const int64_t now = w->ref.lines[line].clock;
    return delay == 0 ? tick_down(&w->ref, now) : tick_up(&w->ref, deadline_by(now, delay));
}

static struct plan plan_of(const struct world *w, const struct tw_when *when) {
    struct plan plan = {.line = when->absolute && w->ref.has_wall ? WALL : STEADY};
    plan.due = when->absolute ? tick_up(&w->ref, when->due_ns) : tick_after(w, STEADY, when->due_ns);
    plan.deadline = when->absolute      ? when->due_ns
                    : when->due_ns == 0 ? plan.due * w->ref.unit
                                        : deadline_by(w->ref.lines[STEADY].clock, when->due_ns);
    plan.deadline = in_parts(&w->ref, plan.deadline);
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
    world_count_operation(w);
    tell(w, "arm timer %u %s %" PRId64 " slack %" PRId64 " period %" PRId64 " policy %d fires %u", timer,
         when->absolute ? "at" : "after", when->due_ns, when->slack_ns, when->period_ns, (int)when->missed,
         when->fires);
    struct timer *t = timer_of(w, timer);
    const int result = call_arm(w, node_of(w, timer), when);
    world_follow_wall(w, !t->shut && when->absolute);
    const int expected = t->shut ? -EPERM : t->pending ? 1 : 0;
    require(w, result == expected, "arming timer %u: %d instead of %d", timer, result, expected);
    if (result >= 0) {
        struct plan plan = plan_of(w, when);
        if (when->slack_ns != 0) {
            plan.due = chosen(w, timer, &plan, last_of(w, when));
            plan.deadline = reading_of(&w->ref, plan.due);
        }
        reference_arm(&w->ref, t, &plan);
    }
    world_check_around(w, timer);
}

void world_move(struct world *w, unsigned timer, int64_t delay) {
    world_count_operation(w);
    tell(w, "move timer %u %" PRId64, timer, delay);
    struct timer *t = timer_of(w, timer);
    const int result = tw_runtime_move(w->rt, node_of(w, timer), delay);
    world_follow_wall(w, t->pending && t->line == WALL);
    require(w, result == (t->pending ? 0 : -ENOENT), "moving timer %u: %d", timer, result);
    if (result == 0)
        reference_move(&w->ref, t, tick_after(w, t->line, delay));
    world_check_around(w, timer);
}

static int expected_of_postpone(const struct timer *t) {
    if (!t->pending)
        return -ENOENT;
    return t->line == WALL ? -EINVAL : 0;
}

void world_postpone(struct world *w, unsigned timer, int64_t delay) {
    world_count_operation(w);
    tell(w, "postpone timer %u %" PRId64, timer, delay);
    struct timer *t = timer_of(w, timer);
    const int result = tw_runtime_postpone(w->rt, node_of(w, timer), delay);
    require(w, result == expected_of_postpone(t), "postponing timer %u: %d", timer, result);
    if (result == 0)
        reference_postpone(&w->ref, t, tick_after(w, STEADY, delay));
    world_check_around(w, timer);
}

/* P6 */
static void take_off(struct world *w, unsigned timer, int (*off)(struct tw_runtime *, struct tw_node *)) {
    world_count_operation(w);
    struct timer *t = timer_of(w, timer);
    const int prevented = off(w->rt, node_of(w, timer));
    require(w, prevented == (t->pending ? 1 : 0), "P6: cancelling timer %u prevented %d fires", timer,
            prevented);
    t->pending = false;
    world_check_around(w, timer);
}

void world_cancel(struct world *w, unsigned timer) {
    tell(w, "cancel timer %u", timer);
    take_off(w, timer, tw_runtime_cancel);
}

void world_cancel_wait(struct world *w, unsigned timer) {
    tell(w, "cancel_wait timer %u", timer);
    take_off(w, timer, tw_runtime_cancel_wait);
}

void world_shutdown(struct world *w, unsigned timer) {
    tell(w, "shut timer %u down", timer);
    take_off(w, timer, tw_runtime_shutdown);
    timer_of(w, timer)->shut = true;
}

void world_renew(struct world *w, unsigned timer) {
    if (timer_of(w, timer)->pending)
        world_cancel(w, timer);
    tell(w, "renew timer %u", timer);
    require(w, tw_node_init(node_of(w, timer), world_on_fire, &w->bodies[timer]) == 0, "tw_node_init failed");
    *timer_of(w, timer) = (struct timer){.line = STEADY};
}

void world_free(struct world *w, unsigned timer) {
    if (timer_of(w, timer)->pending)
        world_cancel_wait(w, timer);
    tell(w, "free timer %u", timer);
    memset(node_of(w, timer), 0xDD, sizeof(struct tw_node));
    free(node_of(w, timer));
    ++w->totals.frees;
    world_give_node(w, timer);
}
