/* reference.h - what a runtime on virtual time must do, in the simplest form: an array of
 * timers and linear scans; no wheel, no shifted ticks.
 *
 * Lines   A timer is on the steady line (delays, and everything if there is no wall
 *         clock) or on the wall line (absolute deadlines). A line has a clock in
 *         nanoseconds; its ticks are whole multiples of the unit on that clock.
 * Order   On each line: by effective tick, max(due, the tick that firing had reached
 *         when the timer was armed), then by arming.
 * Bounds  After a callback has stopped a run, it is open how far the lines have come. So the
 *         progress is an interval [place_lo, place_hi], and so is a timer's effective
 *         tick. Nearly always both ends are the same. */
#ifndef TICKWHEEL_TESTS_REFERENCE_H
#define TICKWHEEL_TESTS_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <tickwheel/runtime.h>

enum { MOST_TIMERS = 160 };

#define END_OF_TIME (INT64_MAX - 1) /* the last reading of a clock, ns */

enum line_id { STEADY, WALL, LINES };

struct timer {
    bool pending, is_retired;
    bool ordered;      /* false once postponed: any order within its tick is right */
    enum line_id line; /* the line it is, or was last, on */
    int64_t due;       /* tick */
    int64_t lo, hi;    /* bounds of its effective tick */
    uint64_t place;    /* position in the order of arming */
    int64_t period;    /* ns; 0: one-shot */
    int64_t deadline;  /* of a periodic timer: rounds up to `due`, ns */
    enum tw_missed missed;
    uint32_t fires_left; /* 0: unlimited */
    int64_t armed_at;    /* reading of the steady clock, ns */
};

struct line {
    int64_t clock;              /* reading, ns */
    int64_t told_lo, told_hi;   /* bounds of the present tick last told when firing */
    int64_t place_lo, place_hi; /* ticks; bounds of how far firing has come */
};

struct reference {
    int64_t unit; /* ns */
    bool has_wall;
    bool gets_done; /* the budget is so large that one line finishes before the other starts */
    struct line lines[LINES];
    int64_t disturbed_at; /* steady reading when a run began or the wall clock was set */
    uint64_t arms;        /* so far */
    unsigned count;       /* of timers in play */
    struct timer timers[MOST_TIMERS];
};

/* Saturating sums: of a clock's reading, which stays within time, and of a deadline, which may
 * lie beyond. */
int64_t later_by(int64_t time, int64_t by);
int64_t deadline_by(int64_t time, int64_t by);

/* Convert between ticks and readings: a deadline to its tick (after the last tick if no clock
 * reaches it), a reading to the present tick, and a tick to its reading (TW_NO_DEADLINE beyond
 * the last). */
int64_t tick_up(const struct reference *r, int64_t reading);
int64_t tick_down(const struct reference *r, int64_t reading);
int64_t reading_of(const struct reference *r, int64_t tick);

/* The length of the part of a tick that periods count in, ns; and a deadline rounded up to
 * parts. */
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

/* Returns true if `t` may fire next on its line. If not, sets `before` to a timer that must
 * fire first. */
bool reference_is_next(const struct reference *r, const struct timer *t, const struct timer **before);

/* Returns how many further fires were missed when `t` fires now (P5). */
uint64_t reference_overruns(const struct reference *r, const struct timer *t);

/* Records that `t` fires; a periodic timer is armed for its next tick. */
void reference_fire(struct reference *r, struct timer *t);

/* Records that a callback on line `on` begins, which means the line was told the time. */
void reference_enter(struct reference *r, enum line_id on);

/* Records the end of a run; `done` means that no callback stopped it. */
void reference_settle(struct reference *r, bool done);

/* P12: the runtime may have noticed that the clock was set back; must have noticed; has noticed, when the
 * wall clock showed `read`. */
bool reference_is_behind(const struct reference *r, int64_t read);
bool reference_is_surely_behind(const struct reference *r, int64_t read);
void reference_set_back(struct reference *r, int64_t read);

bool reference_is_due(const struct reference *r, const struct timer *t);
int64_t reference_remaining(const struct reference *r, const struct timer *t);
unsigned reference_pending(const struct reference *r);

#endif
