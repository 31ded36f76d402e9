/* Prints the operations that led to a failure in readable form. */
#include "model.h"
#include "report.h"

#include <inttypes.h>
#include <stdarg.h>

static const char *const names[OP_KINDS] = {
    [OP_ARM_AFTER] = "arm_after",
    [OP_ARM_AT] = "arm_at",
    [OP_ARM_WITHIN] = "arm_within",
    [OP_ARM_EVERY] = "arm_every",
    [OP_MOVE] = "move",
    [OP_POSTPONE] = "postpone",
    [OP_CANCEL] = "cancel",
    [OP_RETIRE] = "retire",
    [OP_RENEW] = "renew",
    [OP_FREE] = "free",
    [OP_SHIFT] = "shift",
    [OP_ADVANCE] = "advance",
    [OP_DRAIN] = "drain",
    [OP_UPDATE] = "update",
    [OP_IDLE] = "idle",
    [OP_NEXT] = "next",
    [OP_CANCEL_ALL] = "cancel_all",
    [OP_EACH] = "each",
    [OP_INTERRUPT] = "interrupt",
    [OP_MISUSE] = "misuse",
};

struct event *model_record(struct model *m, const struct op *op) {
    struct event *e = &m->history[m->events++ % HISTORY];
    *e = (struct event){.op = *op, .depth = m->depth, .now = m->oracle.wheels[op->wheel].now};
    e->is_record = op->kind < OP_SHIFT && model_is_record(m, op->timer);
    return e;
}

static void print_tick(const char *name, uint64_t tick, uint64_t now) {
    report(", %s %#" PRIx64, name, tick);
    if (tick >= now)
        report(" (now + %" PRIu64 ")", tick - now);
    else
        report(" (now - %" PRIu64 ")", now - tick);
}

static void print_budget(uint32_t budget) {
    if (budget == TW_UNBOUNDED)
        report(", unbounded");
    else
        report(", budget %" PRIu32, budget);
}

static void print_schedule(const struct op *op) {
    static const char *const policies[] = {"coalesce", "delay", "burst"};
    const char *policy = (unsigned)op->missed < 3 ? policies[op->missed] : "an unknown policy";
    report(", period %" PRIu64 ", %s, fires %" PRIu32, op->span, policy, op->count);
}

static const char *kind_of(const struct event *e) { return e->is_record ? "record" : "timer"; }

static void print_arguments(const struct event *e) {
    const struct op *op = &e->op;
    const uint64_t now = e->now;
    report("wheel %u", op->wheel);
    if (op->kind < OP_SHIFT)
        report(", %s %u", kind_of(e), op->timer);
    if (op->kind == OP_ARM_AFTER)
        report(", delay %" PRIu64, op->tick);
    else if (op->kind <= OP_POSTPONE || op->kind == OP_ADVANCE || op->kind == OP_DRAIN)
        print_tick("tick", op->tick, now);
    else if (op->kind == OP_SHIFT)
        report(", by %" PRIu64, op->tick);
    if (op->kind == OP_ARM_WITHIN)
        report(", slack %" PRIu64, op->span);
    if (op->kind == OP_ARM_EVERY)
        print_schedule(op);
    if (op->kind == OP_INTERRUPT && op->count == 1)
        report(", forgotten");
    if (op->kind == OP_ADVANCE || op->kind == OP_DRAIN || op->kind == OP_IDLE || op->kind == OP_NEXT)
        print_budget(op->count);
}

static void print_event(const struct event *e) {
    report("  %*s", (int)(4 * e->depth), "");
    if (e->is_fire) {
        report("fires: %s %u on wheel %u", kind_of(e), e->op.timer, e->op.wheel);
        print_tick("due", e->op.tick, e->now);
        report("\n");
        return;
    }
    report("%s(", names[e->op.kind]);
    print_arguments(e);
    if (e->is_done)
        report(") = %d\n", e->result);
    else
        report(") ...\n");
}

void model_print_history(const struct model *m) {
    uint64_t first = m->events > HISTORY ? m->events - HISTORY : 0;
    report("the last %d of %" PRIu64 " events, \"now\" being their wheel's before each:\n",
           (int)(m->events - first), m->events);
    for (uint64_t i = first; i < m->events; ++i)
        print_event(&m->history[i % HISTORY]);
}

void model_fail(struct model *m, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    model_print_history(m);
    report("model: ");
    report_list(format, arguments);
    report("\n");
    va_end(arguments);
    if (m->on_failure != NULL)
        m->on_failure(m);
    report_ends();
}
