/* The reference implementation of a runtime. See reference.h for the rules. */
#include "reference.h"

#include <stdlib.h>

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t greater(int64_t a, int64_t b) { return a > b ? a : b; }

int64_t later_by(int64_t time, int64_t by) { return by > END_OF_TIME - time ? END_OF_TIME : time + by; }

int64_t deadline_by(int64_t time, int64_t by) { return by > INT64_MAX - time ? INT64_MAX : time + by; }

int64_t tick_up(const struct reference *r, int64_t reading) {
    return reading / r->unit + (reading % r->unit != 0 ? 1 : 0);
}

int64_t tick_down(const struct reference *r, int64_t reading) { return reading / r->unit; }

int64_t reading_of(const struct reference *r, int64_t tick) {
    return tick > END_OF_TIME / r->unit ? TW_NO_DEADLINE : tick * r->unit;
}

int64_t part_of(int64_t unit) {
    if (unit < UINT32_MAX)
        return 1;
    return unit % 1000 == 0 ? 1000 : unit;
}

int64_t in_parts(const struct reference *r, int64_t deadline) {
    const int64_t part = part_of(r->unit), over = deadline % part;
    return over == 0 ? deadline : deadline_by(deadline, part - over);
}

/* ---- The progress of a line. */

/* Firing does not pass a pending timer. */
static int64_t farthest(const struct reference *r, enum line_id line, int64_t told) {
    int64_t place = told;
    for (unsigned i = 0; i < r->count; ++i) {
        const struct timer *t = &r->timers[i];
        if (t->pending && t->line == line)
            place = smaller(place, t->hi);
    }
    return place;
}

static void be_done(struct reference *r, enum line_id id) {
    struct line *line = &r->lines[id];
    line->told_lo = line->told_hi = line->place_lo = line->place_hi = tick_down(r, line->clock);
}

static bool has_due(const struct reference *r, enum line_id line) {
    for (unsigned i = 0; i < r->count; ++i)
        if (r->timers[i].line == line && reference_is_due(r, &r->timers[i]))
            return true;
    return false;
}

void reference_enter(struct reference *r, enum line_id on) {
    struct line *here = &r->lines[on], *there = &r->lines[on == STEADY ? WALL : STEADY];
    here->told_lo = here->told_hi = tick_down(r, here->clock);
    if (!r->has_wall)
        return;
    there->told_hi = greater(there->told_hi, tick_down(r, there->clock));
    there->place_hi = there->told_hi;
    if (on == STEADY)
        return;
    there->told_lo = there->told_hi; /* the steady line fires first */
    if (r->gets_done && !has_due(r, STEADY))
        be_done(r, STEADY);
}

void reference_settle(struct reference *r, bool done) {
    for (enum line_id id = STEADY; id < LINES; ++id) {
        struct line *line = &r->lines[id];
        if (done) {
            be_done(r, id);
        } else {
            line->told_hi = greater(line->told_hi, tick_down(r, line->clock));
            line->place_hi = line->told_hi;
        }
    }
}

/* ---- Arming. */

static void put(struct reference *r, struct timer *t, enum line_id id, int64_t due) {
    const struct line *line = &r->lines[id];
    t->pending = false;
    int64_t place_hi = line->place_hi;
    if (line->place_lo != place_hi)
        place_hi = greater(line->place_lo, farthest(r, id, place_hi));
    t->line = id;
    t->due = due;
    t->lo = greater(due, line->place_lo);
    t->hi = greater(due, place_hi);
    t->ordered = t->lo == t->hi;
    t->place = ++r->arms;
    t->armed_at = r->lines[STEADY].clock;
    t->pending = true;
}

void reference_arm(struct reference *r, struct timer *t, const struct plan *plan) {
    put(r, t, plan->line, plan->due);
    t->deadline = plan->deadline;
    t->period = plan->period;
    t->missed = plan->missed;
    t->fires_left = plan->fires;
}

void reference_move(struct reference *r, struct timer *t, int64_t due) {
    put(r, t, t->line, due);
    t->deadline = reading_of(r, due);
}

void reference_postpone(const struct reference *r, struct timer *t, int64_t due) {
    if (due <= t->due)
        return;
    t->due = due;
    t->deadline = reading_of(r, due);
    t->lo = greater(t->lo, due);
    t->hi = greater(t->hi, due);
    t->ordered = false;
}

/* ---- Firing. */

static bool must_precede(const struct timer *a, const struct timer *b) {
    if (a->hi < b->lo)
        return true;
    return a->ordered && b->ordered && a->lo == b->lo && a->place < b->place;
}

bool reference_is_next(const struct reference *r, const struct timer *t, const struct timer **before) {
    for (unsigned i = 0; i < r->count; ++i) {
        const struct timer *other = &r->timers[i];
        if (other != t && other->pending && other->line == t->line && must_precede(other, t)) {
            *before = other;
            return false;
        }
    }
    return true;
}

static int64_t missed_of(const struct reference *r, const struct timer *t) {
    if (t->period == 0)
        return 0;
    return (r->lines[t->line].told_hi * r->unit - t->deadline) / t->period;
}

uint64_t reference_overruns(const struct reference *r, const struct timer *t) {
    const int64_t missed = missed_of(r, t);
    if (t->missed == TW_BURST && t->fires_left != 0)
        return (uint64_t)smaller(missed, (int64_t)t->fires_left - 1);
    return (uint64_t)missed;
}

static int64_t next_deadline(const struct reference *r, const struct timer *t) {
    const int64_t missed = missed_of(r, t);
    if (t->missed == TW_COALESCE)
        return deadline_by(t->deadline + missed * t->period, t->period);
    if (t->missed == TW_DELAY && missed > 0)
        return deadline_by(r->lines[t->line].told_hi * r->unit, t->period);
    return deadline_by(t->deadline, t->period);
}

void reference_fire(struct reference *r, struct timer *t) {
    struct line *line = &r->lines[t->line];
    line->place_lo = greater(line->place_lo, t->lo);
    line->place_hi = greater(line->place_lo, t->hi);
    t->pending = false;
    if (t->period == 0 || t->fires_left == 1)
        return;
    if (t->fires_left != 0)
        --t->fires_left;
    t->deadline = next_deadline(r, t);
    put(r, t, t->line, tick_up(r, t->deadline));
}

/* ---- P12: the wall clock was set back. */

bool reference_is_behind(const struct reference *r, int64_t read) { return read < r->lines[WALL].told_hi; }

bool reference_is_surely_behind(const struct reference *r, int64_t read) {
    return read < r->lines[WALL].told_lo;
}

static int by_order(const void *a, const void *b) {
    const struct timer *s = *(struct timer *const *)a, *t = *(struct timer *const *)b;
    if (s->lo != t->lo)
        return s->lo < t->lo ? -1 : 1;
    return s->place < t->place ? -1 : s->place > t->place;
}

/* Renumbers the wall line's ticks: timers stay due at the same readings, and in the same order
 * where those are equal. */
static void count_anew(struct reference *r) {
    const struct line *wall = &r->lines[WALL];
    struct timer *sorted[MOST_TIMERS];
    unsigned count = 0;
    for (unsigned i = 0; i < r->count; ++i)
        if (r->timers[i].pending && r->timers[i].line == WALL)
            sorted[count++] = &r->timers[i];
    qsort(sorted, count, sizeof sorted[0], by_order);
    for (unsigned i = 0; i < count; ++i) {
        struct timer *t = sorted[i];
        t->lo = greater(t->due, wall->place_lo);
        t->hi = greater(t->due, wall->place_hi);
        t->ordered = t->lo == t->hi && (t->ordered || t->due > wall->place_hi);
        t->place = ++r->arms;
    }
}

void reference_set_back(struct reference *r, int64_t read) {
    struct line *wall = &r->lines[WALL];
    if (wall->place_lo != wall->place_hi)
        wall->place_hi = greater(wall->place_lo, farthest(r, WALL, wall->place_hi));
    const int64_t least = greater(wall->told_lo - read, 0), most = wall->told_hi - read;
    wall->place_lo -= most;
    wall->place_hi = smaller(wall->place_hi - least, read);
    wall->told_lo = wall->told_hi = read;
    count_anew(r);
}

/* ---- Answers. */

bool reference_is_due(const struct reference *r, const struct timer *t) {
    return t->pending && t->due <= tick_down(r, r->lines[t->line].clock);
}

int64_t reference_remaining(const struct reference *r, const struct timer *t) {
    if (!t->pending)
        return TW_NO_DEADLINE;
    const int64_t left = greater(0, reading_of(r, t->due) - r->lines[t->line].clock);
    return left == TW_NO_DEADLINE ? left - 1 : left; /* it is pending, however far its deadline is */
}

unsigned reference_pending(const struct reference *r) {
    unsigned pending = 0;
    for (unsigned i = 0; i < r->count; ++i)
        pending += r->timers[i].pending ? 1u : 0u;
    return pending;
}
