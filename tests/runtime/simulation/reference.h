/* reference.h - what a runtime on virtual time must do, said plainly: an array of
 * timers and linear scans; no wheel, no shifted ticks.
 *
 * Lines   A timer is on the steady line (delays, and all there is without a wall
 *         clock) or on the wall line (absolute deadlines). A line has a clock in
 *         nanoseconds; its ticks are whole multiples of the unit on that clock.
 * Order   On each line: by the tick that a timer counts for, max(due, the place
 *         that firing had come to when it was armed), then by arming.
 * Bounds  A run that a callback stopped leaves open how far its lines have come.
 *         So the place is an interval [place_lo, place_hi], and so is the tick that a
 *         timer counts for; nearly always both ends are the same. */
#ifndef TICKWHEEL_TESTS_REFERENCE_H
#define TICKWHEEL_TESTS_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <tickwheel/runtime.h>

enum { MOST_TIMERS = 160 };

#define END_OF_TIME (INT64_MAX - 1) /* the last reading of a clock, ns */

enum line_id { STEADY, WALL, LINES };

struct timer {
    bool pending, shut;
    bool ordered;      /* false once postponed: any place within its tick will do */
    enum line_id line; /* that it is, or was last, on */
    int64_t due;       /* tick */
    int64_t lo, hi;    /* the tick it counts for is in here */
    uint64_t place;    /* in the order of arming */
    int64_t period;    /* ns; 0: once */
    int64_t deadline;  /* of a periodic one: what rounds up to `due`, ns */
    enum tw_missed missed;
    uint32_t fires_left; /* 0: no limit */
    int64_t armed_at;    /* reading of the steady clock, ns */
};

struct line {
    int64_t clock;              /* reading, ns */
    int64_t told_lo, told_hi;   /* the present tick that it was last told, when firing */
    int64_t place_lo, place_hi; /* ticks; how far firing has come */
};

struct reference {
    int64_t unit; /* ns */
    bool has_wall;
    bool gets_done; /* its budget is so large that a line is done before the other goes on */
    struct line lines[LINES];
    int64_t disturbed_at; /* steady reading when a run began or the wall clock was set */
    uint64_t arms;        /* so far */
    unsigned count;       /* of timers in play */
    struct timer timers[MOST_TIMERS];
};

/* Sums: of what a clock reads, which stays within time; of a deadline, which may be beyond. */
int64_t later_by(int64_t time, int64_t by);
int64_t deadline_by(int64_t time, int64_t by);

/* The tick of a deadline, after the last one if no clock comes to it; the present
 * tick; the reading of a tick, TW_NO_DEADLINE beyond the last. */
int64_t tick_up(const struct reference *r, int64_t reading);
int64_t tick_down(const struct reference *r, int64_t reading);
int64_t reading_of(const struct reference *r, int64_t tick);

/* Of a tick, ns: what periods count in. And a deadline in these, rounded up. */
int64_t part_of(int64_t unit);
int64_t in_parts(const struct reference *r, int64_t deadline);

struct plan {
    enum line_id line;
    int64_t due;              /* tick */
    int64_t deadline, period; /* ns */
    enum tw_missed missed;
    uint32_t fires;
};

void reference_arm(struct reference *r, struct timer *t, const struct plan *plan);
void reference_move(struct reference *r, struct timer *t, int64_t due);
void reference_postpone(const struct reference *r, struct timer *t, int64_t due);

/* Whether `t` may be the next to fire on its line; if not, `before` is one that must
 * come first. */
bool reference_is_next(const struct reference *r, const struct timer *t, const struct timer **before);

/* Further fires that were missed when `t` fires now (P5). */
uint64_t reference_overruns(const struct reference *r, const struct timer *t);

/* It fires: a periodic timer is armed for its next tick. */
void reference_fire(struct reference *r, struct timer *t);

/* A callback on `on` begins: its line has been told the time. */
void reference_enter(struct reference *r, enum line_id on);

/* A run is over; `done`: it was not stopped. */
void reference_settle(struct reference *r, bool done);

/* P12. May a set back have been noticed; must it. And: it was, when the wall clock's
 * tick was `read`. */
bool reference_is_behind(const struct reference *r, int64_t read);
bool reference_is_surely_behind(const struct reference *r, int64_t read);
void reference_set_back(struct reference *r, int64_t read);

bool reference_is_due(const struct reference *r, const struct timer *t);
int64_t reference_remaining(const struct reference *r, const struct timer *t);
unsigned reference_pending(const struct reference *r);

#endif
