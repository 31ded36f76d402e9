/* The reference implementation of a wheel. See oracle.h for the rules. */
#include "oracle.h"

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }

static bool pends_on(const struct oracle_timer *t, unsigned wheel) { return t->pending && t->wheel == wheel; }

static void cursor_moves(struct oracle *o, unsigned wheel, uint64_t lo, uint64_t hi) {
    o->wheels[wheel].lo = lo;
    o->wheels[wheel].hi = hi;
    o->wheels[wheel].window = ++o->windows;
}

void oracle_open(struct oracle *o, unsigned wheels, unsigned timers, uint64_t now) {
    *o = (struct oracle){.count = timers};
    for (unsigned i = 0; i < wheels; ++i) {
        o->wheels[i] = (struct oracle_wheel){.now = now, .running = -1, .due = UINT64_MAX};
        cursor_moves(o, i, now, now);
    }
}

/* Gives `t` a tick and a new position in the order of arming; its period does not change. */
static void place(struct oracle *o, unsigned wheel, struct oracle_timer *t, uint64_t tick) {
    const struct oracle_wheel *w = &o->wheels[wheel];
    t->pending = true;
    t->ordered = true;
    t->to_cancel = false;
    t->wheel = wheel;
    t->expiry = tick;
    t->lo = later(tick, w->lo);
    t->hi = later(tick, w->hi);
    t->armed = ++o->arms;
    t->window = w->window;
}

void oracle_arm(struct oracle *o, unsigned wheel, struct oracle_timer *t, uint64_t tick) {
    place(o, wheel, t, tick);
    t->period = 0;
    t->fires_left = 0;
}

void oracle_move(struct oracle *o, unsigned wheel, struct oracle_timer *t, uint64_t tick) {
    place(o, wheel, t, tick);
}

void oracle_postpone(struct oracle_timer *t, uint64_t tick) {
    t->ordered = false;
    t->expiry = tick;
    t->lo = later(t->lo, tick);
    t->hi = later(t->hi, tick);
}

void oracle_remove(struct oracle_timer *t) { t->pending = t->to_cancel = false; }

void oracle_shift(struct oracle *o, unsigned wheel, uint64_t ticks) {
    for (unsigned i = 0; i < o->count; ++i) {
        struct oracle_timer *t = &o->timers[i];
        if (!pends_on(t, wheel))
            continue;
        t->expiry += ticks;
        t->lo = later(t->lo, t->expiry);
        t->hi = later(t->hi, t->expiry);
    }
    if (o->wheels[wheel].running >= 0)
        o->wheels[wheel].due += ticks;
}

void oracle_learns_cursor(struct oracle *o, unsigned wheel, uint64_t cursor) {
    if (o->wheels[wheel].lo != cursor || o->wheels[wheel].hi != cursor)
        cursor_moves(o, wheel, cursor, cursor);
}

bool oracle_precedes(const struct oracle_timer *a, const struct oracle_timer *b) {
    if (a->hi < b->lo)
        return true;
    if (!a->ordered || !b->ordered || a->armed > b->armed)
        return false;
    return a->hi == b->lo || (a->window == b->window && a->expiry <= b->expiry);
}

static bool is_overtaken(const struct oracle *o, unsigned wheel, const struct oracle_timer *t) {
    for (unsigned i = 0; i < o->count; ++i) {
        const struct oracle_timer *other = &o->timers[i];
        if (other != t && pends_on(other, wheel) && oracle_precedes(other, t))
            return true;
    }
    return false;
}

/* Returns the next tick after t->expiry that it is due at, past `missed` due ticks; UINT64_MAX
 * if that is beyond time. */
static uint64_t next_due(const struct oracle_timer *t, uint64_t now, uint64_t missed) {
    uint64_t from = t->missed == TW_DELAY && missed > 0 ? now : t->expiry;
    if (t->missed == TW_COALESCE)
        from += missed * t->period; /* at most now */
    return t->period < UINT64_MAX - from ? from + t->period : UINT64_MAX;
}

static void rearm_periodic(struct oracle *o, unsigned wheel, struct oracle_timer *t) {
    struct oracle_wheel *w = &o->wheels[wheel];
    const uint64_t missed = (w->now - t->expiry) / t->period;
    const bool cut_short = t->missed == TW_BURST && t->fires_left != 0 && missed >= t->fires_left;
    w->overruns = cut_short ? t->fires_left - 1 : missed;
    bool was_last = t->fires_left == 1;
    if (t->fires_left > 0)
        --t->fires_left;
    uint64_t due = next_due(t, w->now, missed);
    if (!was_last && due != UINT64_MAX)
        place(o, wheel, t, due);
}

const char *oracle_fires(struct oracle *o, unsigned wheel, struct oracle_timer *t) {
    struct oracle_wheel *w = &o->wheels[wheel];
    if (!w->advancing)
        return "fires while the wheel is not advanced";
    if (w->running >= 0)
        return "fires inside another callback of its wheel";
    if (!pends_on(t, wheel))
        return "fires without being pending";
    if (t->expiry > w->now)
        return "fires early";
    if (is_overtaken(o, wheel, t))
        return "fires out of order";
    if (w->interruption == ORACLE_INTERRUPTED)
        return "fires though the wheel was interrupted";
    w->interruption = ORACLE_GOES_ON;

    cursor_moves(o, wheel, later(w->lo, t->lo), t->hi);
    w->running = (int)(t - o->timers);
    w->due = t->expiry;
    ++w->fired;
    oracle_remove(t);
    w->overruns = 0;
    if (t->period > 0)
        rearm_periodic(o, wheel, t);
    return NULL;
}

void oracle_callback_ends(struct oracle *o, unsigned wheel) {
    o->wheels[wheel].running = -1;
    o->wheels[wheel].due = UINT64_MAX;
    o->wheels[wheel].overruns = 0;
}

void oracle_advance_begins(struct oracle *o, unsigned wheel, uint64_t now) {
    struct oracle_wheel *w = &o->wheels[wheel];
    w->now = now;
    w->advancing = true;
    w->fired = 0;
}

void oracle_advance_ends(struct oracle *o, unsigned wheel, bool more, bool is_spent) {
    struct oracle_wheel *w = &o->wheels[wheel];
    if (more && w->interruption != ORACLE_GOES_ON)
        w->interruption = is_spent ? ORACLE_PERHAPS : ORACLE_GOES_ON;
    w->advancing = false;
    w->lagging = more;
    if (more)
        cursor_moves(o, wheel, w->lo, earlier(w->now, oracle_earliest(o, wheel)));
    else
        cursor_moves(o, wheel, w->now, w->now);
}

void oracle_is_asked_for_next(struct oracle *o, unsigned wheel) {
    struct oracle_wheel *w = &o->wheels[wheel];
    if (w->running < 0 && oracle_pending(o, wheel) == 0)
        cursor_moves(o, wheel, w->lo, w->now);
}

static uint64_t expiry_of(const struct oracle_timer *timer) { return timer->expiry; }
static uint64_t hi_of(const struct oracle_timer *timer) { return timer->hi; }

static uint64_t earliest_of(const struct oracle *o, unsigned wheel,
                            uint64_t (*tick_of)(const struct oracle_timer *)) {
    uint64_t earliest = UINT64_MAX;
    for (unsigned i = 0; i < o->count; ++i)
        if (pends_on(&o->timers[i], wheel))
            earliest = earlier(earliest, tick_of(&o->timers[i]));
    return earliest;
}

uint64_t oracle_first_due(const struct oracle *o, unsigned wheel) { return earliest_of(o, wheel, expiry_of); }

uint64_t oracle_earliest(const struct oracle *o, unsigned wheel) { return earliest_of(o, wheel, hi_of); }

size_t oracle_pending(const struct oracle *o, unsigned wheel) {
    size_t count = 0;
    for (unsigned i = 0; i < o->count; ++i)
        count += pends_on(&o->timers[i], wheel);
    return count;
}

bool oracle_has_postponed(const struct oracle *o, unsigned wheel) {
    for (unsigned i = 0; i < o->count; ++i)
        if (pends_on(&o->timers[i], wheel) && !o->timers[i].ordered)
            return true;
    return false;
}
