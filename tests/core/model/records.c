/* The records of the model: timers in the wheels' logs. To the oracle they are like nodes. See model.h and
 * ../shapes/records.h. */
#include "ops.h"

#if TW_RUNTIME
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Callbacks. */

static void on_fire(struct test_record *record) {
    struct body *b = (struct body *)((char *)record - offsetof(struct body, record));
    struct model *m = b->model;
    const unsigned timer = (unsigned)(b - m->bodies);
    const struct oracle_timer *t = &m->oracle.timers[timer];
    const unsigned wheel = t->wheel;
    model_fire_begins(m, timer);
    const uint64_t overruns = m->oracle.wheels[wheel].overruns;
    require(m, record->overruns == overruns, "record %u has missed %" PRIu64 " fires, not %" PRIu64, timer,
            record->overruns, overruns);
    model_check(m);
    if (m->on_fire != NULL)
        m->on_fire(m, wheel, timer);
    model_fire_ends(m, wheel);
}

/* ---- Storage. A record keeps its address for as long as its wheel lives. */

static void open_memory(struct model *m, unsigned wheel, unsigned wheels, uint64_t offset) {
    const size_t bytes = test_records_size(wheels, m->timer_count);
    void *memory = calloc(1, bytes);
    require(m, memory != NULL, "out of memory");
    m->record_memory[wheel] = memory;
    m->record_bytes[wheel] = bytes;
    test_records_begin(&m->on[wheel], wheels, m->timer_count, memory, offset);
}

void model_open_records(struct model *m) {
    for (unsigned i = 0; i < m->timer_count; ++i)
        m->bodies[i].record = (struct test_record){.fn = on_fire};
    for (unsigned i = 0; i < m->wheel_count; ++i)
        m->on[i] = (struct test_records){.w = &m->wheels[i], .offset = 0};
    if (m->records == 0)
        return;
    if (m->shares && m->wheel_count == 2) {
        open_memory(m, 0, 2, m->record_offset);
        return;
    }
    for (unsigned i = 0; i < m->wheel_count; ++i)
        open_memory(m, i, 1, m->record_offset);
}

void model_disarm_records(struct model *m) {
    for (unsigned i = 0; i < m->timer_count; ++i)
        if (model_is_record(m, i) && m->oracle.timers[i].pending)
            test_record_disarm(&m->on[m->oracle.timers[i].wheel], &m->bodies[i].record);
}

void model_free_records(struct model *m) {
    for (unsigned i = 0; i < m->wheel_count; ++i) {
        free(m->record_memory[i]);
        m->record_memory[i] = NULL;
        m->record_bytes[i] = 0;
    }
}

/* ---- Checks. */

void model_check_record(struct model *m, unsigned timer) {
    const struct oracle_timer *t = &m->oracle.timers[timer];
    const struct test_record *record = &m->bodies[timer].record;
    require(m, test_record_is_armed(record) == t->pending, "record %u: is_armed should be %d", timer,
            t->pending);
    if (!t->pending)
        return;
    const uint64_t due = test_record_due(&m->on[t->wheel], record);
    require(m, due == t->expiry, "record %u: is due at %#" PRIx64 ", not %#" PRIx64, timer, due, t->expiry);
}

void model_check_records(struct model *m, unsigned wheel) {
    struct test_records *on = &m->on[wheel];
    require(m, test_records_is_in_callback(on) == (m->oracle.wheels[wheel].running >= 0),
            "is_in_callback is wrong");
    require(m, on->abandoned == 0, "a fire is said to be abandoned");
}

/* ---- Operations. They pass no bad arguments, because only the library makes these calls. */

struct call {
    struct test_records *on;
    struct test_record *record;
    struct oracle_timer *t;
    uint64_t now;
};

static struct call call_of(struct model *m, const struct op *op) {
    return (struct call){&m->on[op->wheel], &m->bodies[op->timer].record, &m->oracle.timers[op->timer],
                         m->oracle.wheels[op->wheel].now};
}

/* Returns 1 if the record was armed, else 0. */
static int arm(struct model *m, const struct op *op, uint64_t tick) {
    const struct call c = call_of(m, op);
    const int was_armed = c.t->pending;
    c.record->period = 0;
    if (was_armed)
        test_record_move(c.on, c.record, tick);
    else
        test_record_arm(c.on, c.record, tick);
    oracle_arm(&m->oracle, op->wheel, c.t, tick);
    return was_armed;
}

static uint64_t allowed(const struct call *c, uint64_t tick) {
    return tick > c->on->offset ? tick : c->on->offset;
}

static int arm_after(struct model *m, const struct op *op) {
    const struct call c = call_of(m, op);
    if (op->tick > TW_NEVER - 1 - c.now)
        return 0;
    return arm(m, op, allowed(&c, c.now + op->tick));
}

static int arm_at(struct model *m, const struct op *op) {
    const struct call c = call_of(m, op);
    return op->tick == TW_NEVER ? 0 : arm(m, op, allowed(&c, op->tick));
}

static int arm_within(struct model *m, const struct op *op) {
    const struct call c = call_of(m, op);
    const uint64_t first = allowed(&c, op->tick);
    if (first == TW_NEVER || op->span > TW_NEVER - 1 - first)
        return 0;
    const uint64_t chosen = test_record_choose(c.on, first, op->span);
    require(m, chosen >= first && chosen - first <= op->span, "chose %#" PRIx64 ", outside its window",
            chosen);
    require(m, chosen > c.now || chosen == first + op->span, "chose %#" PRIx64 ", in the past", chosen);
    return arm(m, op, chosen);
}

static int arm_every(struct model *m, const struct op *op) {
    const struct call c = call_of(m, op);
    if (op->span == 0 || op->count > TW_FIRES_MAX || (unsigned)op->missed > TW_BURST || op->tick == TW_NEVER)
        return 0;
    const int was_armed = arm(m, op, allowed(&c, op->tick));
    c.record->period = c.t->period = op->span;
    c.record->missed = c.t->missed = op->missed;
    c.record->fires_left = c.t->fires_left = op->count;
    return was_armed;
}

static int move(struct model *m, const struct op *op) {
    const struct call c = call_of(m, op);
    if (!c.t->pending || op->tick == TW_NEVER)
        return 0;
    const uint64_t tick = allowed(&c, op->tick);
    test_record_move(c.on, c.record, tick);
    oracle_move(&m->oracle, op->wheel, c.t, tick);
    return 0;
}

/* Records have no call to postpone: a move stands in for one, and the order of arming stays exact. */
static int postpone(struct model *m, const struct op *op) {
    const struct call c = call_of(m, op);
    return c.t->pending && op->tick >= c.t->expiry ? move(m, op) : 0;
}

static int disarm(struct model *m, const struct op *op) {
    const struct call c = call_of(m, op);
    if (!c.t->pending)
        return 0;
    test_record_disarm(c.on, c.record);
    oracle_remove(c.t);
    return 1;
}

op_function *const record_functions[OP_SHIFT] = {
    [OP_ARM_AFTER] = arm_after, [OP_ARM_AT] = arm_at, [OP_ARM_WITHIN] = arm_within,
    [OP_ARM_EVERY] = arm_every, [OP_MOVE] = move,     [OP_POSTPONE] = postpone,
    [OP_CANCEL] = disarm,       [OP_RETIRE] = disarm, [OP_RENEW] = disarm,
    [OP_FREE] = disarm,
};
#else
typedef int no_records; /* an empty translation unit is not valid C */
#endif
