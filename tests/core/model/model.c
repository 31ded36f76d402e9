/* The hooks, checks and callbacks of the model. See model.h. */
#include "ops.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define WATCHED 1
#endif
#ifndef WATCHED
#define WATCHED 0 /* 1: a sanitizer reports accesses to a freed node */
#endif

enum { POISON = 0xDD };

/* ---- Storage of nodes. */

static void give_node(struct model *m, unsigned timer) {
    struct body *b = &m->bodies[timer];
    b->buried = false;
    b->node = m->allocate != NULL ? m->allocate(sizeof *b->node) : &b->in_place;
    require(m, b->node != NULL, "out of memory");
    require(m, tw_node_init(b->node, model_on_fire, b) == 0, "tw_node_init failed");
    m->oracle.timers[timer].is_retired = false;
}

static void revive(struct model *m, unsigned timer) {
    struct body *b = &m->bodies[timer];
    if (!b->buried)
        return;
    if (!WATCHED) {
        const unsigned char *bytes = (const unsigned char *)b->node;
        for (size_t i = 0; i < sizeof *b->node; ++i)
            require(m, bytes[i] == POISON, "timer %u was written to after it was freed", timer);
        if (m->allocate != NULL)
            m->release(b->node);
    }
    give_node(m, timer);
}

void model_bury(struct model *m, unsigned timer) {
    struct body *b = &m->bodies[timer];
    memset(b->node, POISON, sizeof *b->node);
    b->buried = true;
    if (WATCHED && m->allocate != NULL)
        m->release(b->node);
}

int model_find(struct model *m, const struct tw_node *node) {
    for (unsigned i = 0; i < m->oracle.count; ++i)
        if (!model_is_record(m, i) && !m->bodies[i].buried && m->bodies[i].node == node)
            return (int)i;
    return -1;
}

/* ---- Checks that hold at any time. */

static void on_broken_invariant(const char *invariant, const struct tw_node *node, void *arg) {
    struct model *m = arg;
    model_fail(m, "tw_check: broken: %s (timer %d)", invariant, node == NULL ? -1 : model_find(m, node));
}

static void check_timer(struct model *m, unsigned wheel, unsigned timer) {
    struct tw *w = &m->wheels[wheel];
    const struct tw_node *node = m->bodies[timer].node;
    const struct oracle_timer *t = &m->oracle.timers[timer];
    bool pending = t->pending && t->wheel == wheel;
    uint64_t expiry = pending ? t->expiry : TW_NEVER;

    require(m, tw_pending(w, node) == pending, "timer %u: tw_pending should be %d", timer, pending);
    require(m, tw_expiry(w, node) == expiry, "timer %u: tw_expiry is %#" PRIx64 ", not %#" PRIx64, timer,
            tw_expiry(w, node), expiry);
}

static void check_next(struct model *m, unsigned wheel) {
    const struct oracle_wheel *w = &m->oracle.wheels[wheel];
    oracle_is_asked_for_next(&m->oracle, wheel);
    uint64_t next = tw_next(&m->wheels[wheel]);
    uint64_t earliest = oracle_earliest(&m->oracle, wheel);
    if (earliest == TW_NEVER)
        require(m, next == TW_NEVER, "tw_next is %#" PRIx64 " with nothing pending", next);
    uint64_t latest = earliest > w->now ? earliest : w->now;
    require(m, next >= wide_next_for(w->now), "tw_next is %#" PRIx64 ", before now", next);
    require(m, next <= latest || next == TW_NEVER, "tw_next is %#" PRIx64 ", later than %#" PRIx64, next,
            latest);
    require(m, next != TW_NEVER || earliest == TW_NEVER, "tw_next is \"never\" with timers pending");
}

#if TW_RUNTIME || TW_TREE
/* No node may be due before the first one. tw_first must find a node if the wheel has caught up with time,
 * may look at all nodes and has no records, one of which could be due first. */
static void check_first(struct model *m, unsigned wheel, uint32_t looks) {
    const struct oracle_wheel *w = &m->oracle.wheels[wheel];
    const uint64_t first = oracle_first_due(&m->oracle, wheel);
    const struct tw_node *const node = tw_first(&m->wheels[wheel], looks);
    if (node == NULL) {
        const bool is_excused = w->lagging || w->advancing || looks != TW_UNBOUNDED || m->records != 0;
        require(m, first == TW_NEVER || is_excused, "tw_first finds nothing");
        return;
    }
    const uint64_t expiry = tw_expiry(&m->wheels[wheel], node);
    const bool is_overdue = expiry <= w->now && first <= w->now;
    require(m, expiry == first || is_overdue, "tw_first finds a node due at %#" PRIx64 ", not %#" PRIx64,
            expiry, first);
}
#else
static void check_first(struct model *m, unsigned wheel, uint32_t looks) {
    (void)m, (void)wheel, (void)looks;
}
#endif

static void check_running(struct model *m, unsigned wheel) {
    struct tw *w = &m->wheels[wheel];
    const struct oracle_wheel *o = &m->oracle.wheels[wheel];
    const bool is_node = o->running >= 0 && !model_is_record(m, (unsigned)o->running);
    const uint64_t overruns = is_node ? o->overruns : 0;
    if (!TW_SMALL)
        require(m, tw_overruns(w) == overruns, "tw_overruns is %" PRIu64 ", not %" PRIu64, tw_overruns(w),
                overruns);
    require(m, (tw_running(w) != NULL) == is_node, "tw_running is wrong");
    require(m, tw_due(w) == o->due, "tw_due is %#" PRIx64 ", not %#" PRIx64, tw_due(w), o->due);
}

static void check_wheel(struct model *m, unsigned wheel) {
    struct tw *w = &m->wheels[wheel];
    const struct oracle_wheel *o = &m->oracle.wheels[wheel];
    size_t count = oracle_pending(&m->oracle, wheel);
    require(m, tw_check(w, on_broken_invariant, m) == 0, "tw_check counts what it does not report");
    require(m, tw_now(w) == o->now, "tw_now is %#" PRIx64 ", not %#" PRIx64, tw_now(w), o->now);
    require(m, tw_count(w) == count, "tw_count is %zu, not %zu", tw_count(w), count);
    check_running(m, wheel);
    model_check_records(m, wheel);
    if (o->cancel_alls != 0)
        return;
    check_next(m, wheel);
    check_first(m, wheel, TW_UNBOUNDED);
    check_first(m, wheel, 1 + (uint32_t)(m->operations % 3));
}

static bool may_be_asked_for(const struct model *m, unsigned wheel, unsigned timer) {
    const struct oracle_timer *t = &m->oracle.timers[timer];
    return !m->bodies[timer].buried && (WIDE_NODES_NAME_WHEELS || !t->pending || t->wheel == wheel);
}

void model_check(struct model *m) {
    for (unsigned wheel = 0; wheel < m->wheel_count; ++wheel) {
        check_wheel(m, wheel);
        for (unsigned timer = 0; timer < m->oracle.count; ++timer)
            if (!model_is_record(m, timer) && may_be_asked_for(m, wheel, timer))
                check_timer(m, wheel, timer);
    }
    for (unsigned timer = 0; timer < m->oracle.count; ++timer)
        if (model_is_record(m, timer))
            model_check_record(m, timer);
}

/* ---- Callbacks. */

void model_fire_begins(struct model *m, unsigned timer) {
    struct oracle_timer *t = &m->oracle.timers[timer];
    const unsigned wheel = t->wheel;
    ++m->depth;
    ++m->fires;
    const struct op fire = {.wheel = wheel, .timer = timer, .tick = t->expiry};
    model_record(m, &fire)->is_fire = true;
    const char *violation = oracle_fires(&m->oracle, wheel, t);
    require(m, violation == NULL, "timer %u %s", timer, violation);
}

void model_fire_ends(struct model *m, unsigned wheel) {
    oracle_callback_ends(&m->oracle, wheel);
    --m->depth;
}

void model_on_fire(struct tw_node *node, void *arg) {
    struct body *b = arg;
    struct model *m = b->model;
    unsigned timer = (unsigned)(b - m->bodies);
    unsigned wheel = m->oracle.timers[timer].wheel;
    require(m, node == b->node && !b->buried, "timer %u: its callback got another node", timer);
    model_fire_begins(m, timer);
    require(m, tw_running(&m->wheels[wheel]) == node, "tw_running is not the node whose callback runs");
    model_check(m);
    if (m->on_fire != NULL)
        m->on_fire(m, wheel, timer);
    model_fire_ends(m, wheel);
}

void model_on_cancel_all(struct tw_node *node, void *arg) {
    struct model *m = arg;
    int timer = model_find(m, node);
    require(m, timer >= 0, "tw_cancel_all passed an unknown node");
    struct oracle_timer *t = &m->oracle.timers[timer];
    require(m, t->to_cancel, "tw_cancel_all passed timer %d, which was not there to be removed", timer);
    oracle_remove(t);
    model_check(m);
    ++m->depth;
    if (m->on_cancel_all != NULL)
        m->on_cancel_all(m, t->wheel, (unsigned)timer);
    --m->depth;
}

/* ---- The model. */

static op_function *function_for(const struct model *m, const struct op *op) {
#if TW_RUNTIME
    if (op->kind < OP_SHIFT && model_is_record(m, op->timer))
        return record_functions[op->kind];
#endif
    (void)m;
    return op_functions[op->kind];
}

int model_apply(struct model *m, const struct op *asked) {
    const struct op fitted = model_fit(m, asked), *op = &fitted;
    ++m->operations;
    m->nested += m->depth > 0;
    revive(m, op->timer);
    struct event *event = model_record(m, op);
    uint64_t serial = m->events;
    int result = function_for(m, op)(m, op);
    if (m->events - serial < HISTORY) { /* otherwise events of callbacks have displaced it */
        event->result = result;
        event->is_done = true;
    }
    model_check(m);
    return result;
}

void model_open(struct model *m, unsigned wheels, unsigned timers, uint64_t now) {
    oracle_open(&m->oracle, wheels, timers, now);
    m->wheel_count = wheels;
    m->timer_count = timers;
    m->events = 0;
    for (unsigned i = 0; i < m->wheel_count; ++i) {
        const bool has_lock = i == 0 || m->shares || TW_SMALL;
        require(m, tw_init(&m->wheels[i], now, has_lock ? 0 : TW_UNLOCKED) == 0, "tw_init failed");
    }
    for (unsigned i = 0; i < m->timer_count; ++i) {
        m->bodies[i] = (struct body){.model = m};
        if (!model_is_record(m, i))
            give_node(m, i);
    }
    model_open_records(m);
    model_check(m);
}

static void cancel_all(struct model *m, unsigned wheel) {
    for (unsigned i = 0; i < m->timer_count; ++i)
        if (m->oracle.timers[i].pending && m->oracle.timers[i].wheel == wheel)
            tw_cancel(&m->wheels[wheel], m->bodies[i].node);
}

void model_close(struct model *m) {
    model_disarm_records(m);
    for (unsigned i = 0; i < m->wheel_count; ++i) {
        if (!TW_SMALL)
            tw_cancel_all(&m->wheels[i], NULL, NULL);
        else
            cancel_all(m, i);
        require(m, tw_count(&m->wheels[i]) == 0, "something is left on a wheel whose timers were cancelled");
    }
    for (unsigned i = 0; i < m->timer_count; ++i) {
        bool is_free = model_is_record(m, i) || (m->bodies[i].buried && WATCHED);
        if (m->allocate != NULL && !is_free)
            m->release(m->bodies[i].node);
    }
    model_free_records(m);
}
