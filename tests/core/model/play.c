/* Draws operations that keep wheels busy at their most delicate spots. See play.h. */
#include "play.h"

#include "shapes/shapes.h"

enum {
    FAR = 0,         /* timer 0 is far away and always pending on wheel 0 */
    PHASE = 128,     /* operations between changes of the number of timers in play */
    NESTED_MAX = 48, /* operations in callbacks that one operation may cause */
    FIRES_MAX = 100, /* catching-up fires of one timer that one operation may cause */
    FEW = 16         /* timers that a jump of any length may leave behind */
};

#define ROUND_BITS (shape->bits * shape->levels)
#define LAST_TICK (TW_NEVER - 1)

/* 32-bit ticks must stay less than 2^31 from now in both directions. A tick in reach must stay
 * in reach while its wheel lags behind over some jumps. */
#if TW_TICK_BITS == 32
enum { DISTANCE_BITS = 29, FAR_BITS = 29 };
#define LONGEST_DISTANCE ((uint64_t)1 << DISTANCE_BITS)
#define LONGEST_JUMP ((uint64_t)1 << 24)
#else
enum { DISTANCE_BITS = 64, FAR_BITS = 56 };
#define LONGEST_DISTANCE UINT64_MAX
#define LONGEST_JUMP UINT64_MAX
#endif

struct player {
    struct source *source;
    unsigned nested_left;
};

static struct player *player_of(const struct model *m) { return m->user; }

static uint64_t draw(const struct model *m, uint64_t below) {
    struct source *s = player_of(m)->source;
    return s->draw(s, below);
}

/* Timers 1 .. in_play(m) are in play. */
static unsigned in_play(const struct model *m) { return m->oracle.count - 1; }

static bool one_in(const struct model *m, uint64_t n) { return draw(m, n) == n - 1; }

/* ---- Distances and ticks. */

static uint64_t saturating_sum(uint64_t a, uint64_t b) { return b < LAST_TICK - a ? a + b : LAST_TICK; }

static uint64_t shifted(uint64_t value, unsigned bits) {
    return bits < 64 && value << bits >> bits == value ? value << bits : LAST_TICK;
}

/* Draws all magnitudes, and the neighbours of block boundaries more often than other ticks. */
static uint64_t draw_any_distance(struct model *m) {
    uint64_t level = draw(m, shape->levels + 2);
    switch (draw(m, 6)) {
    case 0:
        return draw(m, 5);
    case 1:
        return draw(m, (uint64_t)2 << shape->bits);
    case 2:
        return shifted(1 + draw(m, 4), (unsigned)level * shape->bits) + draw(m, 3) - 1;
    case 3:
        return draw(m, (uint64_t)1 << ROUND_BITS);
    case 4:
        return draw(m, (uint64_t)16 << ROUND_BITS);
    default:
        return ((uint64_t)1 << draw(m, DISTANCE_BITS)) + draw(m, 256);
    }
}

static uint64_t draw_distance(struct model *m) {
    uint64_t distance = draw_any_distance(m);
    return distance <= LONGEST_DISTANCE ? distance : distance % LONGEST_DISTANCE;
}

/* Returns the tick, or the farthest one in its direction that is in reach. Otherwise timers of
 * another wheel, or timers postponed again and again, would get out of reach. */
static uint64_t in_reach(uint64_t now, uint64_t tick) {
    if (tick > now)
        return tick - now <= LONGEST_DISTANCE ? tick : now + LONGEST_DISTANCE;
    return now - tick <= LONGEST_DISTANCE ? tick : now - LONGEST_DISTANCE;
}

static uint64_t start_of_block(uint64_t tick, uint64_t level) {
    unsigned bits = (unsigned)level * shape->bits;
    return bits < 64 ? tick >> bits << bits : 0;
}

/* Returns the tick of some pending timer, so that ticks are shared; if there is none, now. */
static uint64_t tick_of_another(struct model *m, uint64_t now) {
    unsigned timers = in_play(m);
    uint64_t first = draw(m, timers);
    for (unsigned i = 0; i < timers; ++i) {
        const struct oracle_timer *t = &m->oracle.timers[1 + (first + i) % timers];
        if (t->pending)
            return t->expiry;
    }
    return now;
}

static uint64_t draw_tick(struct model *m, unsigned wheel) {
    uint64_t now = m->oracle.wheels[wheel].now;
    uint64_t distance;
    switch (draw(m, 8)) {
    case 0:
    case 1:
        return tick_of_another(m, now);
    case 2:
        return start_of_block(saturating_sum(now, draw_distance(m)), 1 + draw(m, shape->levels));
    case 3: /* the past */
        distance = draw_distance(m);
        return distance < now ? now - distance : now;
    case 4:
        return now + draw(m, 4);
    default:
        return saturating_sum(now, draw_distance(m));
    }
}

/* ---- Time. Jumps whose cost exceeds their use are shortened. */

static uint64_t draw_jump(struct model *m, unsigned wheel) {
    uint64_t now = m->oracle.wheels[wheel].now;
    uint64_t level = draw(m, shape->levels + 1);
    switch (draw(m, 16)) {
    case 0:
        return now;
    case 1:
    case 2:
    case 3:
        return saturating_sum(now, draw(m, 4));
    case 4:
    case 5:
    case 6:
        return tw_next(&m->wheels[wheel]);
    case 7:
        return oracle_earliest(&m->oracle, wheel);
    case 8:
    case 9:
        return saturating_sum(now, draw(m, (uint64_t)2 << shape->bits));
    case 10:
    case 11:
        return saturating_sum(start_of_block(now, level),
                              shifted(1 + draw(m, 3), (unsigned)level * shape->bits));
    case 12:
        return saturating_sum(now, draw(m, (uint64_t)4 << ROUND_BITS));
    case 13:
        return saturating_sum(now, draw(m, (uint64_t)16 << ROUND_BITS));
    case 14:
        return saturating_sum(now, (uint64_t)1 << draw(m, DISTANCE_BITS));
    default:
        return saturating_sum(now, draw_distance(m));
    }
}

static bool catches_up_too_long(const struct oracle_timer *t, uint64_t from, uint64_t now) {
    bool catches_up = t->period > 0 && t->missed == TW_BURST && now > from;
    bool is_limited = t->fires_left > 0 && t->fires_left <= FIRES_MAX;
    return catches_up && !is_limited && (now - from) / t->period > FIRES_MAX;
}

/* Returns a timer that a jump to `now` would make fire too often, or -1. */
static int tireless_timer(const struct model *m, unsigned wheel, uint64_t now) {
    for (unsigned i = 1; i < m->oracle.count; ++i) {
        const struct oracle_timer *t = &m->oracle.timers[i];
        if (t->pending && t->wheel == wheel && catches_up_too_long(t, t->expiry, now))
            return (int)i;
    }
    return -1;
}

static uint32_t draw_budget(struct model *m) {
    static const uint32_t budgets[] = {1, 1, 2, 3, 5, 9, 70, TW_UNBOUNDED};
    return one_in(m, 64) ? 0 : budgets[draw(m, 8)];
}

static void draw_advance(struct model *m, struct op *op) {
    uint64_t now = m->oracle.wheels[op->wheel].now;
    uint64_t bound = saturating_sum(now, (uint64_t)16 << ROUND_BITS);
    op->tick = draw_jump(m, op->wheel);
    if (in_play(m) >= FEW && op->tick > bound) /* a longer jump would visit each slot of each round */
        op->tick = bound;
    if (op->tick == TW_NEVER) /* nothing is pending */
        op->tick = saturating_sum(now, 1);
    if (op->tick > now && op->tick - now > LONGEST_JUMP)
        op->tick = now + LONGEST_JUMP;
    op->count = one_in(m, 3) ? draw_budget(m) : TW_UNBOUNDED;
    if (one_in(m, 64))
        op->tick = one_in(m, 2) ? TW_NEVER : op->tick - 1 - draw(m, 3);
    int tireless = tireless_timer(m, op->wheel, op->tick);
    if (tireless >= 0 && op->tick != TW_NEVER)
        *op = (struct op){.kind = OP_CANCEL, .wheel = op->wheel, .timer = (unsigned)tireless};
}

/* ---- Operations. */

#if TW_RUNTIME
/* Usually leaves the offset at or before the present: no record can be armed for a tick before the offset. */
static uint64_t draw_shift(struct model *m, unsigned wheel) {
    const uint64_t now = m->oracle.wheels[wheel].now, offset = m->on[wheel].offset;
    const uint64_t by = draw_distance(m);
    const uint64_t most = (offset < now ? now - offset : 0) + (one_in(m, 8) ? draw(m, 4) : 0);
    return m->records == 0 || by <= most ? by : most;
}
#endif

static void draw_schedule(struct model *m, struct op *op) {
    op->span = one_in(m, 64) ? 0 : 1 + draw_distance(m);
    op->missed = (enum tw_missed)draw(m, one_in(m, 64) ? 4 : 3);
    op->count = one_in(m, 2) ? 0 : (uint32_t)draw(m, 6);
    if (one_in(m, 64))
        op->count = TW_FIRES_MAX + (uint32_t)draw(m, 2);
    if (op->span == 0 || op->count > TW_FIRES_MAX)
        return;
    struct oracle_timer asked = {.period = op->span, .missed = op->missed, .fires_left = op->count};
    if (catches_up_too_long(&asked, op->tick, m->oracle.wheels[op->wheel].now))
        op->count = 1 + (uint32_t)draw(m, 8);
}

static uint64_t draw_later_tick(struct model *m, const struct op *op) {
    const struct oracle_timer *t = &m->oracle.timers[op->timer];
    if (!t->pending || one_in(m, 16))
        return draw_tick(m, op->wheel);
    if (one_in(m, 4))
        return tick_of_another(m, t->expiry);
    return saturating_sum(t->expiry, draw_distance(m));
}

static void draw_arguments(struct model *m, struct op *op) {
    uint64_t now = m->oracle.wheels[op->wheel].now;
    switch (op->kind) {
    case OP_ARM_AFTER:
        op->tick = draw_distance(m);
        break;
    case OP_ARM_AT:
        op->tick = in_reach(now, draw_tick(m, op->wheel));
        break;
    case OP_ARM_WITHIN:
        op->tick = in_reach(now, draw_tick(m, op->wheel));
        op->span = draw_distance(m);
        break;
    case OP_ARM_EVERY:
        op->tick = in_reach(now, draw_tick(m, op->wheel));
        draw_schedule(m, op);
        break;
    case OP_MOVE:
        op->tick = in_reach(now, draw_tick(m, op->wheel));
        if (catches_up_too_long(&m->oracle.timers[op->timer], op->tick, now))
            op->tick = now;
        break;
    case OP_POSTPONE:
        op->tick = in_reach(now, draw_later_tick(m, op));
        break;
#if TW_RUNTIME
    case OP_SHIFT:
        op->tick = draw_shift(m, op->wheel);
        break;
#endif
    case OP_ADVANCE:
        draw_advance(m, op);
        break;
    case OP_DRAIN:
        draw_advance(m, op);
        if (op->kind == OP_DRAIN && op->count == TW_UNBOUNDED)
            op->count = 1 + (uint32_t)draw(m, 4);
        break;
    case OP_IDLE:
    case OP_NEXT:
        op->count = draw_budget(m);
        break;
    case OP_INTERRUPT:
        op->count = one_in(m, 4);
        break;
    default:
        break;
    }
    if (op->kind == OP_NEXT && op->count == 0)
        op->count = 1;
}

static enum op_kind draw_kind(struct model *m) {
    static const enum op_kind weighted[] = {
        OP_ARM_AT,    OP_ARM_AT,     OP_ARM_AT,     OP_ARM_AT,    OP_ARM_AFTER, OP_ARM_AFTER,
        OP_ARM_AFTER, OP_ARM_WITHIN, OP_ARM_WITHIN, OP_ARM_EVERY, OP_ARM_EVERY, OP_ARM_EVERY,
        OP_POSTPONE,  OP_POSTPONE,   OP_POSTPONE,   OP_CANCEL,    OP_CANCEL,    OP_FREE,
        OP_ADVANCE,   OP_ADVANCE,    OP_ADVANCE,    OP_ADVANCE,   OP_ADVANCE,   OP_UPDATE,
        OP_UPDATE,    OP_IDLE,       OP_NEXT,       OP_DRAIN,     OP_MOVE,      OP_MOVE,
    };
#if TW_RUNTIME
    static const enum op_kind rare[] = {OP_RETIRE, OP_RENEW, OP_RENEW, OP_CANCEL_ALL, OP_MISUSE,
                                        OP_SHIFT,  OP_SHIFT, OP_EACH,  OP_INTERRUPT};
#else
    static const enum op_kind rare[] = {OP_RETIRE,     OP_RENEW,  OP_RENEW,
                                        OP_CANCEL_ALL, OP_MISUSE, OP_INTERRUPT};
#endif
    if (one_in(m, 24))
        return rare[draw(m, sizeof rare / sizeof *rare)];
    return weighted[draw(m, sizeof weighted / sizeof *weighted)];
}

/* Usually draws the timer's own wheel. A pending timer is refused on another wheel if nodes
 * know their wheel. */
static unsigned draw_wheel(struct model *m, unsigned timer) {
    const struct oracle_timer *t = &m->oracle.timers[timer];
    if (!WIDE_NODES_NAME_WHEELS && t->pending)
        return t->wheel;
    return model_wheel_for(m, timer, t->pending && !one_in(m, 24) ? t->wheel : one_in(m, 4));
}

static struct op draw_op(struct model *m) {
    struct op op = {.kind = draw_kind(m), .timer = 1 + (unsigned)draw(m, in_play(m))};
    op.wheel = draw_wheel(m, op.timer);
    if (m->oracle.timers[op.timer].is_retired && op.kind <= OP_ARM_EVERY && one_in(m, 2))
        op.kind = OP_RENEW;
    if (op.kind == OP_ADVANCE || op.kind == OP_DRAIN || op.kind == OP_UPDATE)
        op.wheel = one_in(m, 4);
    draw_arguments(m, &op);
    return op;
}

/* ---- Inside callbacks. */

/* Returns a timer that fires on the tick of the running callback: the first, the last or one
 * in between; 0 if there is none. */
static unsigned draw_neighbour(struct model *m, unsigned wheel) {
    unsigned due[MODEL_TIMERS];
    unsigned count = 0;
    for (unsigned i = 1; i < m->oracle.count; ++i) {
        const struct oracle_timer *t = &m->oracle.timers[i];
        if (t->pending && t->wheel == wheel && t->lo <= m->oracle.wheels[wheel].hi)
            due[count++] = i;
    }
    if (count == 0)
        return 0;
    unsigned chosen = due[draw(m, count)];
    uint64_t end = draw(m, 3);
    for (unsigned i = 0; i < count && end < 2; ++i) {
        bool is_before = m->oracle.timers[due[i]].armed < m->oracle.timers[chosen].armed;
        if (is_before == (end == 0))
            chosen = due[i];
    }
    return chosen;
}

/* Draws the delicate operations: on the timer itself and its neighbours, at ticks nearby. */
static struct op draw_close_op(struct model *m, unsigned wheel, unsigned timer) {
    static const enum op_kind kinds[] = {OP_CANCEL,    OP_ARM_AT,    OP_ARM_AT,    OP_POSTPONE,  OP_FREE,
                                         OP_ARM_AFTER, OP_ARM_EVERY, OP_MOVE,      OP_RENEW,     OP_RETIRE,
                                         OP_SHIFT,     OP_EACH,      OP_INTERRUPT, OP_CANCEL_ALL};
    enum { OFTEN = 8, ALL = sizeof kinds / sizeof *kinds };
    unsigned neighbour = one_in(m, 2) ? draw_neighbour(m, wheel) : timer;
    struct op op = {.wheel = wheel, .timer = neighbour == 0 ? timer : neighbour};
    if (!WIDE_NODES_NAME_WHEELS && m->oracle.timers[op.timer].pending)
        op.wheel = m->oracle.timers[op.timer].wheel;
    op.wheel = wheel = model_wheel_for(m, op.timer, op.wheel);
    op.kind = kinds[draw(m, one_in(m, 8) ? ALL : OFTEN)];
    draw_arguments(m, &op);
    if (op.kind == OP_ARM_AT && one_in(m, 2)) {
        uint64_t cursor = m->oracle.wheels[wheel].lo;
        op.tick = one_in(m, 2) ? cursor : saturating_sum(cursor, draw(m, 3));
    }
    return op;
}

/* Advances inside callbacks are refused on the callback's wheel; on the other wheel they nest,
 * once. While a tw_cancel_all runs, nothing fires. */
static bool may_apply(const struct model *m, const struct op *op) {
    bool advances = op->kind == OP_ADVANCE || op->kind == OP_DRAIN || op->kind == OP_UPDATE;
    const struct oracle_wheel *w = &m->oracle.wheels[op->wheel];
    return !advances || w->advancing || (m->depth < 3 && w->cancel_alls == 0);
}

static void act_in_callback(struct model *m, unsigned wheel, unsigned timer) {
    struct player *p = player_of(m);
    for (uint64_t actions = draw(m, 8) / 3; actions > 0 && p->nested_left > 0; --actions) {
        struct op op = one_in(m, 3) ? draw_op(m) : draw_close_op(m, wheel, timer);
        if (!may_apply(m, &op))
            continue;
        --p->nested_left;
        model_apply(m, &op);
    }
}

static void on_fire(struct model *m, unsigned wheel, unsigned timer) {
    if (timer != FAR)
        act_in_callback(m, wheel, timer);
}

static void on_cancel_all(struct model *m, unsigned wheel, unsigned timer) {
    if (timer != FAR && one_in(m, 4))
        act_in_callback(m, wheel, timer);
}

static void on_visit(struct model *m, unsigned wheel) {
    if (one_in(m, 16))
        act_in_callback(m, wheel, 1 + (unsigned)draw(m, in_play(m)));
}

/* ---- A life. */

static uint64_t draw_origin(struct model *m, unsigned origin) {
#if TW_TICK_BITS == 32 /* often where ticks wrap */
    static const unsigned bits[PLAY_ORIGINS] = {32, 31, 32, 24, 32, 33, 32, 48};
#else
    static const unsigned bits[PLAY_ORIGINS] = {0, 8, 16, 24, 32, 48, 63, 64};
#endif
    uint64_t before = draw(m, (uint64_t)3 << (shape->bits * draw(m, 3)));
    if (bits[origin] == 0)
        return before;
    uint64_t power = bits[origin] == 64 ? 0 : (uint64_t)1 << bits[origin];
    return power == 0 || before < power - 1 ? power - 2 - before : power - 1;
}

/* Arms all timers within a stretch as long as a slot of some level. */
static void arm_a_crowd(struct model *m) {
    uint64_t length = (uint64_t)1 << (shape->bits * (1 + draw(m, shape->levels)));
    uint64_t from = saturating_sum(m->oracle.wheels[0].now, draw_distance(m));
    for (unsigned i = 1; i <= in_play(m); ++i) {
        const struct oracle_timer *t = &m->oracle.timers[i];
        uint64_t tick = saturating_sum(from, draw(m, length));
        if (!t->pending)
            model_apply(m, &(struct op){.kind = OP_ARM_AT, .timer = i, .tick = tick});
    }
}

/* Moves most pending timers to one tick or to some neighbouring ticks, in an order other than that of
 * arming. */
static void move_a_crowd(struct model *m) {
    const unsigned timers = in_play(m), stride = one_in(m, 2) ? 1 : 7;
    const uint64_t length = one_in(m, 2) ? 1 : 1 + draw(m, (uint64_t)2 << shape->bits);
    const uint64_t distance = draw_distance(m);
    for (unsigned i = 0; i < timers; ++i) {
        const unsigned timer = 1 + i * stride % timers;
        const struct oracle_timer *t = &m->oracle.timers[timer];
        const uint64_t now = m->oracle.wheels[t->wheel].now;
        struct op op = {.kind = one_in(m, 8) ? OP_CANCEL : OP_MOVE, .wheel = t->wheel, .timer = timer};
        op.tick = in_reach(now, saturating_sum(saturating_sum(now, distance), draw(m, length)));
        if (t->pending && t->period == 0)
            model_apply(m, &op);
    }
}

/* Finishes the wheel's work, because many timers on a wheel that lags behind a long jump would take too
 * long. */
static void catch_up(struct model *m, unsigned wheel) {
    struct op op = {.kind = OP_DRAIN, .wheel = wheel, .count = TW_UNBOUNDED};
    op.tick = m->oracle.wheels[wheel].now;
    model_apply(m, &op);
}

static void new_phase(struct model *m) {
    static const unsigned sizes[] = {2, 5, FEW - 1, FEW - 1, 24, 40, MODEL_TIMERS - 1};
    unsigned count = 1 + sizes[draw(m, sizeof sizes / sizeof *sizes)];
    for (unsigned i = count; i < m->oracle.count; ++i) {
        const struct oracle_timer *t = &m->oracle.timers[i];
        if (t->pending)
            model_apply(m, &(struct op){.kind = OP_CANCEL, .wheel = t->wheel, .timer = i});
    }
    m->oracle.count = count;
    catch_up(m, 0);
    catch_up(m, 1);
    if (one_in(m, 3))
        arm_a_crowd(m);
    for (uint64_t crowds = draw(m, 6) / 2; crowds > 0; --crowds)
        move_a_crowd(m);
}

static void keep_far_timer(struct model *m) {
    if (m->oracle.timers[FAR].pending)
        return;
    uint64_t tick = saturating_sum(m->oracle.wheels[0].now, ((uint64_t)1 << FAR_BITS) + draw(m, 1000));
    model_apply(m, &(struct op){.kind = OP_ARM_AT, .timer = FAR, .tick = tick});
}

/* Which timers are records, and where their ticks begin. */
static void draw_records(struct model *m, uint64_t now) {
    const uint64_t before = draw_distance(m);
    m->records = (unsigned)draw(m, MODEL_ALL_RECORDS + 1);
    m->shares = one_in(m, 3);
    m->record_offset = before < now ? now - before : one_in(m, 2) ? now : 0;
}

void play(struct model *m, struct source *s, unsigned origin, uint64_t operations) {
    struct player p = {.source = s};
    m->user = &p;
    m->on_fire = on_fire;
    m->on_cancel_all = on_cancel_all;
    m->on_visit = on_visit;
    uint64_t end = m->operations + operations;
    uint64_t now = draw_origin(m, origin % PLAY_ORIGINS);
    if (TW_RUNTIME)
        draw_records(m, now);
    model_open(m, MODEL_WHEELS, MODEL_TIMERS, now);
    for (unsigned i = 0; m->operations < end && !s->is_empty(s); ++i) {
        if (i % PHASE == 0)
            new_phase(m);
        p.nested_left = 0;
        keep_far_timer(m);
        struct op op = draw_op(m);
        p.nested_left = NESTED_MAX;
        model_apply(m, &op);
    }
    model_close(m);
    m->user = NULL;
}
