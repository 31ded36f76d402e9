/* The operations of the model on nodes and wheels: each makes a call, compares the result and informs the
 * oracle. */
#include "ops.h"
#include "support/walk.h"

#include <errno.h>
#include <inttypes.h>

enum {
    FEW = 20,         /* tw_next is exact for up to this many timers */
    ENDLESS = 1 << 20 /* more steps than any bounded sequence takes */
};

/* ---- Errors: a bad call may be refused for any of its faults, and for no other reason. */

struct faults {
    int codes[6];
    unsigned count;
};

static void fault_if(struct faults *f, bool condition, int code) {
    if (condition)
        f->codes[f->count++] = code;
}

/* Returns true if the call succeeded, as it had to. */
static bool went_through(struct model *m, const struct faults *f, int result) {
    if (f->count == 0) {
        require(m, result >= 0, "refused with %d, which nothing called for", result);
        return true;
    }
    for (unsigned i = 0; i < f->count; ++i)
        if (result == f->codes[i])
            return false;
    model_fail(m, "returned %d where %d was expected", result, f->codes[0]);
}

/* True if the library does not validate input, and this call has bad input. Every library refuses nodes that
 * are retired or not pending. */
static bool is_undefined(const struct faults *f) {
    for (unsigned i = 0; i < f->count; ++i)
        if (!TW_VALIDATION && (f->codes[i] == -EINVAL || f->codes[i] == -ERANGE))
            return true;
    return false;
}

/* ---- Operations that this library can perform, on nodes and on records. */

unsigned model_wheel_for(const struct model *m, unsigned timer, unsigned asked) {
    const struct oracle_timer *t = &m->oracle.timers[timer];
    if (!model_is_record(m, timer))
        return asked;
    if (t->pending)
        return t->wheel;
    return m->shares ? asked : m->wheel_count == 2 && timer / 3 % 4 == 3;
}

struct op model_fit(const struct model *m, const struct op *op) {
    struct op fitted = *op;
    if (op->kind < OP_SHIFT)
        fitted.wheel = model_wheel_for(m, op->timer, op->wheel);
    if (TW_SMALL)
        fitted.missed = TW_COALESCE;
    if (TW_SMALL && op->kind >= OP_ADVANCE)
        fitted.count = TW_UNBOUNDED;
    return fitted;
}

static int left_out(struct model *m, const struct op *op) {
    (void)m, (void)op;
    return 0;
}

/* ---- Operations. Each makes the call, compares the result and informs the oracle. */

struct call {
    struct tw *wheel;
    struct tw_node *node;
    struct oracle_wheel *w;
    struct oracle_timer *t;
};

static struct call call_of(struct model *m, const struct op *op) {
    return (struct call){&m->wheels[op->wheel], m->bodies[op->timer].node, &m->oracle.wheels[op->wheel],
                         &m->oracle.timers[op->timer]};
}

static bool is_elsewhere(const struct op *op, const struct oracle_timer *t) {
    return t->pending && t->wheel != op->wheel;
}

static struct faults arming_faults(const struct op *op, const struct oracle_timer *t) {
    struct faults f = {.count = 0};
    fault_if(&f, is_elsewhere(op, t), -EBUSY);
    fault_if(&f, t->is_retired, -EPERM);
    return f;
}

static int arm(struct model *m, const struct op *op, const struct faults *f, int result, uint64_t tick) {
    struct oracle_timer *t = &m->oracle.timers[op->timer];
    if (went_through(m, f, result)) {
        require(m, result == 0, "arming returned %d", result);
        oracle_arm(&m->oracle, op->wheel, t, tick);
    }
    return result;
}

static int arm_after(struct model *m, const struct op *op) {
    struct call c = call_of(m, op);
    struct faults f = arming_faults(op, c.t);
    fault_if(&f, op->tick == 0, -EINVAL);
    fault_if(&f, op->tick > TW_NEVER - 1 - c.w->now, -ERANGE);
    if (is_undefined(&f))
        return 0;
    return arm(m, op, &f, tw_arm_after(c.wheel, c.node, op->tick), c.w->now + op->tick);
}

static int arm_at(struct model *m, const struct op *op) {
    struct call c = call_of(m, op);
    struct faults f = arming_faults(op, c.t);
    fault_if(&f, op->tick == TW_NEVER, -ERANGE);
    if (is_undefined(&f))
        return 0;
    return arm(m, op, &f, tw_arm_at(c.wheel, c.node, op->tick), op->tick);
}

static int arm_within(struct model *m, const struct op *op) {
    struct call c = call_of(m, op);
    struct faults f = arming_faults(op, c.t);
    fault_if(&f, op->tick == TW_NEVER || op->span > TW_NEVER - 1 - op->tick, -ERANGE);
    if (is_undefined(&f))
        return 0;
    int result = tw_arm_within(c.wheel, c.node, op->tick, op->span);
    uint64_t chosen = result < 0 ? op->tick : tw_expiry(c.wheel, c.node);
    require(m, chosen >= op->tick && chosen - op->tick <= op->span, "chose %#" PRIx64 ", outside its window",
            chosen);
    return arm(m, op, &f, result, chosen);
}

static int arm_every(struct model *m, const struct op *op) {
    struct call c = call_of(m, op);
    struct faults f = arming_faults(op, c.t);
    fault_if(&f, op->span == 0 || op->count > TW_FIRES_MAX || (unsigned)op->missed > TW_BURST, -EINVAL);
    fault_if(&f, op->tick == TW_NEVER, -ERANGE);
    if (is_undefined(&f))
        return 0;
    int result = tw_arm_every(c.wheel, c.node, op->tick, op->span, op->missed, op->count);
    arm(m, op, &f, result, op->tick);
    if (result >= 0) {
        c.t->period = op->span;
        c.t->missed = op->missed;
        c.t->fires_left = op->count;
    }
    return result;
}

static int move(struct model *m, const struct op *op) {
    struct call c = call_of(m, op);
    struct faults f = {.count = 0};
    fault_if(&f, !c.t->pending, -ENOENT);
    fault_if(&f, is_elsewhere(op, c.t), -EBUSY);
    fault_if(&f, op->tick == TW_NEVER, -ERANGE);
    if (is_undefined(&f))
        return 0;
    int result = tw_move(c.wheel, c.node, op->tick);
    if (went_through(m, &f, result)) {
        require(m, result == 0, "tw_move returned %d", result);
        oracle_move(&m->oracle, op->wheel, c.t, op->tick);
    }
    return result;
}

static int postpone(struct model *m, const struct op *op) {
    struct call c = call_of(m, op);
    struct faults f = {.count = 0};
    fault_if(&f, !c.t->pending, -ENOENT);
    fault_if(&f, is_elsewhere(op, c.t), -EBUSY);
    fault_if(&f, op->tick == TW_NEVER, -ERANGE);
    if (is_undefined(&f))
        return 0;
    const bool is_later = op->tick > c.t->expiry;
    int result = tw_postpone(c.wheel, c.node, op->tick);
    if (went_through(m, &f, result)) {
        require(m, result == 0, "tw_postpone returned %d", result);
        if (!is_later)
            return result;
        if (TW_TREE) /* a tree moves the node at once */
            oracle_move(&m->oracle, op->wheel, c.t, op->tick);
        else
            oracle_postpone(c.t, op->tick);
    }
    return result;
}

static bool disarm(struct model *m, const struct op *op, int result) {
    struct oracle_timer *t = &m->oracle.timers[op->timer];
    struct faults f = {.count = 0};
    fault_if(&f, is_elsewhere(op, t), -EBUSY);
    if (!went_through(m, &f, result))
        return false;
    require(m, result == t->pending, "cancelling returned %d", result);
    oracle_remove(t);
    return true;
}

static int cancel(struct model *m, const struct op *op) {
    struct call c = call_of(m, op);
    int result = tw_cancel(c.wheel, c.node);
    disarm(m, op, result);
    return result;
}

static int retire(struct model *m, const struct op *op) {
    struct call c = call_of(m, op);
    int result = tw_retire(c.wheel, c.node);
    if (disarm(m, op, result))
        c.t->is_retired = true;
    return result;
}

static int renew(struct model *m, const struct op *op) {
    struct call c = call_of(m, op);
    if (!disarm(m, op, tw_cancel(c.wheel, c.node)))
        return 0;
    c.t->is_retired = false;
    return tw_node_init(c.node, model_on_fire, &m->bodies[op->timer]);
}

static int free_node(struct model *m, const struct op *op) {
    struct call c = call_of(m, op);
    if (disarm(m, op, tw_cancel(c.wheel, c.node)))
        model_bury(m, op->timer);
    return 0;
}

/* After a complete advance nothing is due. A bounded one stays within its budget. */
static void check_advanced(struct model *m, const struct op *op, uint32_t budget, int result) {
    const struct oracle_wheel *w = &m->oracle.wheels[op->wheel];
    require(m, result <= 1, "advancing returned %d", result);
    require(m, w->fired <= budget, "%" PRIu32 " callbacks on a budget of %" PRIu32, w->fired, budget);
    require(m, budget != TW_UNBOUNDED || w->interruption != ORACLE_GOES_ON || result == 0,
            "without a bound, something was left undone");
    for (unsigned i = 0; result == 0 && i < m->oracle.count; ++i) {
        const struct oracle_timer *t = &m->oracle.timers[i];
        bool was_due = t->pending && t->wheel == op->wheel && t->expiry <= w->now;
        require(m, !was_due, "timer %u did not fire", i);
    }
}

static int advance(struct model *m, const struct op *op) {
    struct call c = call_of(m, op);
    struct faults f = {.count = 0};
    fault_if(&f, op->tick == TW_NEVER || op->tick < c.w->now || op->count == 0, -EINVAL);
    fault_if(&f, c.w->advancing, -EBUSY);
    if (is_undefined(&f))
        return 0;
    if (f.count == 0)
        oracle_advance_begins(&m->oracle, op->wheel, op->tick);
    int result = tw_advance(c.wheel, op->tick, op->count);
    if (went_through(m, &f, result)) {
        check_advanced(m, op, op->count, result);
        oracle_advance_ends(&m->oracle, op->wheel, result == 1, op->count != TW_UNBOUNDED);
    }
    return result;
}

static int drain(struct model *m, const struct op *op) {
    for (int i = 0; i < ENDLESS; ++i) {
        int result = advance(m, op);
        if (result != 1)
            return result;
        model_check(m);
    }
    model_fail(m, "advancing does not come to an end");
}

static int update(struct model *m, const struct op *op) {
    struct call c = call_of(m, op);
    struct faults f = {.count = 0};
    fault_if(&f, c.w->now == TW_NEVER - 1, -ERANGE);
    fault_if(&f, c.w->advancing, -EBUSY);
    if (is_undefined(&f))
        return 0;
    if (f.count == 0)
        oracle_advance_begins(&m->oracle, op->wheel, c.w->now + 1);
    int result = tw_update(c.wheel);
    if (went_through(m, &f, result)) {
        check_advanced(m, op, TW_UNBOUNDED, result);
        oracle_advance_ends(&m->oracle, op->wheel, result == 1, false);
    }
    return result;
}

static int idle(struct model *m, const struct op *op) {
    struct faults f = {.count = 0};
    fault_if(&f, op->count == 0, -EINVAL);
    if (is_undefined(&f))
        return 0;
    int result = tw_idle(&m->wheels[op->wheel], op->count);
    if (went_through(m, &f, result))
        require(m, result <= 1, "tw_idle returned %d", result);
    return result;
}

static void look_ahead(struct model *m, const struct op *op) {
    int more = 1;
    for (int i = 0; i < ENDLESS && more == 1; ++i)
        more = idle(m, op);
    require(m, more == 0, "look-ahead does not come to an end");
}

/* Entries of records that were disarmed or moved may make tw_next earlier, but not once the wheel has no work
 * left. */
static void check_next_of_records(struct model *m, const struct op *op) {
    if (m->depth > 0)
        return;
    const struct call c = call_of(m, op);
    const struct op catch_up = {.wheel = op->wheel, .tick = c.w->now, .count = TW_UNBOUNDED};
    drain(m, &catch_up);
    look_ahead(m, op);
    require(m, tw_next(c.wheel) > c.w->now, "tw_next asks for attention at once, for nothing");
}

static int next(struct model *m, const struct op *op) {
    struct call c = call_of(m, op);
    look_ahead(m, op);
    if (m->records != 0) {
        check_next_of_records(m, op);
        return 0;
    }
    bool told = !c.w->advancing && !c.w->lagging && c.w->cancel_alls == 0;
    if (!told || oracle_pending(&m->oracle, op->wheel) > FEW || oracle_has_postponed(&m->oracle, op->wheel))
        return 0;
    uint64_t earliest = wide_next_for(oracle_earliest(&m->oracle, op->wheel));
    require(m, tw_next(c.wheel) == earliest, "tw_next is %#" PRIx64 ", not exactly %#" PRIx64,
            tw_next(c.wheel), earliest);
    return 0;
}

/* Records stay. */
static int cancel_all(struct model *m, const struct op *op) {
    struct call c = call_of(m, op);
    for (unsigned i = 0; i < m->oracle.count; ++i) {
        struct oracle_timer *t = &m->oracle.timers[i];
        t->to_cancel |= !model_is_record(m, i) && t->pending && t->wheel == op->wheel;
    }
    ++c.w->cancel_alls;
    int result = tw_cancel_all(c.wheel, model_on_cancel_all, m);
    --c.w->cancel_alls;
    for (unsigned i = 0; i < m->oracle.count; ++i)
        require(m, !m->oracle.timers[i].to_cancel || m->oracle.timers[i].wheel != op->wheel,
                "tw_cancel_all left timer %u", i);
    require(m, result == 0, "tw_cancel_all returned %d", result);
    return result;
}

#if TW_RUNTIME
/* No shift during a cancel_all, because nodes that the call has not handed out yet would become pending
 * again; none that takes a timer beyond the last tick, because the order of the timers that meet there is
 * unspecified; and none while a node is postponed: see begin_shift in lowering.hpp. */
static int shift(struct model *m, const struct op *op) {
    struct oracle_wheel *w = &m->oracle.wheels[op->wheel];
    uint64_t last = w->running >= 0 ? w->due : 0;
    bool is_postponed = false;
    if (last < m->on[op->wheel].offset)
        last = m->on[op->wheel].offset;
    for (unsigned i = 0; i < m->oracle.count; ++i) {
        const struct oracle_timer *t = &m->oracle.timers[i];
        if (t->pending && t->wheel == op->wheel && t->expiry > last)
            last = t->expiry;
        is_postponed |= t->pending && t->wheel == op->wheel && !t->ordered;
    }
    if (w->cancel_alls != 0 || is_postponed || op->tick > TW_NEVER - 1 - last)
        return 0;
    test_records_shift(&m->on[op->wheel], op->tick);
    oracle_shift(&m->oracle, op->wheel, op->tick);
    return 0;
}

struct visits {
    struct model *m;
    unsigned wheel;
    uint64_t operations; /* of the model, when the walk began */
    unsigned char of[MODEL_TIMERS];
};

/* If no other operation comes in between, the walk must visit all nodes but those of a cancel_all. */
static void on_visit(const struct tw_node *node, const struct tw_node *was, void *arg) {
    struct visits *v = arg;
    struct model *m = v->m;
    if (m->operations == v->operations) {
        const int timer = model_find(m, node);
        require(m, timer >= 0, "a walk meets an unknown node");
        const struct oracle_timer *t = &m->oracle.timers[timer];
        require(m, t->pending && t->wheel == v->wheel && ++v->of[timer] == 1, "a walk meets timer %d", timer);
        require(m, was->expiry == t->expiry, "a walk shows timer %d at another tick", timer);
    }
    ++m->depth;
    if (m->on_visit != NULL)
        m->on_visit(m, v->wheel);
    --m->depth;
}

static int each(struct model *m, const struct op *op) {
    struct visits v = {.m = m, .wheel = op->wheel, .operations = m->operations};
    walk_through(&m->wheels[op->wheel], on_visit, &v);
    for (unsigned i = 0; m->operations == v.operations && i < m->oracle.count; ++i) {
        const struct oracle_timer *t = &m->oracle.timers[i];
        const bool is_there = !model_is_record(m, i) && t->pending && !t->to_cancel && t->wheel == op->wheel;
        require(m, v.of[i] == is_there, "a walk does not meet timer %u", i);
    }
    return 0;
}
static int interrupt(struct model *m, const struct op *op) {
    struct oracle_wheel *w = &m->oracle.wheels[op->wheel];
    if (op->count == 1) {
        test_records_forget_interruption(&m->on[op->wheel]);
        w->interruption = ORACLE_GOES_ON;
        return 0;
    }
    tw_core_interrupt(&m->wheels[op->wheel]);
    w->interruption = ORACLE_INTERRUPTED;
    return 0;
}
#else
#define shift left_out
#define each left_out
#define interrupt left_out
#endif

static void misuse_node(struct model *m, struct tw *w, struct tw_node *n) {
    require(m, tw_arm_after(w, n, 1) == -EINVAL, "misuse: tw_arm_after");
    require(m, tw_arm_at(w, n, 1) == -EINVAL, "misuse: tw_arm_at");
    require(m, TW_SMALL || tw_arm_within(w, n, 1, 1) == -EINVAL, "misuse: tw_arm_within");
    require(m, tw_arm_every(w, n, 1, 1, TW_COALESCE, 0) == -EINVAL, "misuse: tw_arm_every");
    require(m, tw_move(w, n, 1) < 0, "misuse: tw_move");
    require(m, tw_postpone(w, n, TW_NEVER - 1) < 0, "misuse: tw_postpone");
    require(m, tw_expiry(w, n) == TW_NEVER, "misuse: tw_expiry");
}

static void misuse_wheel(struct model *m, struct tw *w) {
    require(m, tw_advance(w, TW_NEVER - 1, TW_UNBOUNDED) == -EINVAL, "misuse: tw_advance");
    require(m, tw_update(w) == -EINVAL, "misuse: tw_update");
    require(m, tw_idle(w, 1) == -EINVAL, "misuse: tw_idle");
    require(m, TW_SMALL || tw_cancel_all(w, NULL, NULL) == -EINVAL, "misuse: tw_cancel_all");
    require(m, tw_check(w, NULL, NULL) == -EINVAL, "misuse: tw_check");
    require(m, tw_now(w) == TW_NEVER && tw_next(w) == TW_NEVER, "misuse: tw_now, tw_next");
#if TW_RUNTIME || TW_TREE
    require(m, tw_first(w, 1) == NULL, "misuse: tw_first");
#endif
    require(m, tw_due(w) == TW_NEVER, "misuse: tw_due");
    require(m, tw_count(w) == 0 && tw_running(w) == NULL, "misuse: tw_count, tw_running");
    require(m, TW_SMALL || tw_overruns(w) == 0, "misuse: tw_overruns");
}

static int misuse(struct model *m, const struct op *op) {
    static struct tw forgotten_wheel; /* all zeroes */
    struct tw_node forgotten_node = {.fn = NULL};
    struct call c = call_of(m, op);
    misuse_node(m, c.wheel, NULL);
    misuse_node(m, c.wheel, &forgotten_node);
    misuse_node(m, NULL, c.node);
    misuse_node(m, &forgotten_wheel, c.node);
    misuse_wheel(m, NULL);
    misuse_wheel(m, &forgotten_wheel);
    require(m, tw_node_init(NULL, model_on_fire, NULL) == -EINVAL, "misuse: tw_node_init");
    require(m, tw_init(c.wheel, TW_NEVER, 0) == -EINVAL, "misuse: tw_init");
    require(m, tw_init(c.wheel, 0, 0x80) == -EINVAL, "misuse: tw_init");
    return 0;
}

op_function *const op_functions[OP_KINDS] = {
    [OP_ARM_AFTER] = arm_after,
    [OP_ARM_AT] = arm_at,
    [OP_ARM_WITHIN] = !TW_SMALL ? arm_within : left_out,
    [OP_ARM_EVERY] = arm_every,
    [OP_MOVE] = move,
    [OP_POSTPONE] = postpone,
    [OP_CANCEL] = cancel,
    [OP_RETIRE] = retire,
    [OP_RENEW] = renew,
    [OP_FREE] = free_node,
    [OP_SHIFT] = shift,
    [OP_ADVANCE] = advance,
    [OP_DRAIN] = drain,
    [OP_UPDATE] = update,
    [OP_IDLE] = idle,
    [OP_NEXT] = next,
    [OP_CANCEL_ALL] = !TW_SMALL ? cancel_all : left_out,
    [OP_EACH] = each,
    [OP_INTERRUPT] = interrupt,
    [OP_MISUSE] = TW_VALIDATION ? misuse : left_out,
};
