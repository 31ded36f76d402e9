/* oracle.h - what a wheel must do, said plainly: an array of timers and linear
 * scans, no slots, levels or blocks.
 *
 * Order   A pending timer fires at its effective tick, max(tick, cursor when it
 *         was armed), and within a tick in the order of arming. The cursor is the
 *         tick that the wheel's work has come to: the told time after a complete
 *         advance, the tick of the callback inside one.
 * Bounds  After an advance that ran out of budget nobody outside can know how far
 *         the cursor got, only that it is in [lo, hi]: not before the last fire,
 *         not beyond what is due next. An effective tick is such an interval as
 *         well. lo == hi, and all order exact, unless a timer was armed for the
 *         past while the wheel lagged behind.
 * Windows A window is a stretch in which the cursor stands still. Two timers
 *         armed in one window compare by their ticks, wherever the cursor is. */
#ifndef TICKWHEEL_TESTS_ORACLE_H
#define TICKWHEEL_TESTS_ORACLE_H

#include "wide.h"

#ifndef MODEL_WHEELS
#define MODEL_WHEELS 2
#endif
#ifndef MODEL_TIMERS
#define MODEL_TIMERS 100
#endif

struct oracle_timer {
    bool pending;
    bool ordered; /* false once postponed: any place within its tick will do */
    bool shut_down;
    bool to_clear;  /* pending, and about to be removed by a tw_clear */
    unsigned wheel; /* that it is, or was last, armed on */
    uint64_t expiry, period;
    enum tw_missed missed;
    uint32_t fires_left; /* 0: no limit */
    uint64_t lo, hi;     /* the effective tick is in here */
    uint64_t armed;      /* place in the order of arming */
    uint64_t window;     /* it was armed in */
};

struct oracle_wheel {
    uint64_t now;    /* latest tick told */
    uint64_t lo, hi; /* the cursor is in here */
    uint64_t window;
    bool advancing;
    bool lagging;      /* the last advance left something undone */
    unsigned clearing; /* depth of tw_clear calls */
    uint32_t fired;    /* in the running advance */
    int running;       /* the timer whose callback runs; -1: none */
    uint64_t overruns;
};

struct oracle {
    struct oracle_wheel wheels[MODEL_WHEELS];
    uint64_t arms, windows; /* so far */
    unsigned count;         /* of timers in play; the others are idle */
    struct oracle_timer timers[MODEL_TIMERS];
};

void oracle_open(struct oracle *o, uint64_t now);

void oracle_arm(struct oracle *o, unsigned wheel, struct oracle_timer *t, uint64_t tick);
/* The same for one that pends: it keeps its period. */
void oracle_move(struct oracle *o, unsigned wheel, struct oracle_timer *t, uint64_t tick);
void oracle_postpone(struct oracle_timer *t, uint64_t tick);
void oracle_remove(struct oracle_timer *t);

void oracle_advance_begins(struct oracle *o, unsigned wheel, uint64_t now);
void oracle_advance_ends(struct oracle *o, unsigned wheel, bool more);

/* `t` fires on `wheel`: NULL if it may, else what is wrong with that. Re-arms it
 * if it is periodic. */
const char *oracle_fires(struct oracle *o, unsigned wheel, struct oracle_timer *t);
void oracle_callback_ends(struct oracle *o, unsigned wheel);

/* Must a fire before b? Both pending on one wheel. */
bool oracle_precedes(const struct oracle_timer *a, const struct oracle_timer *b);

/* With nothing pending nothing is left undone either, and the wheel is found to be at `now`. */
void oracle_is_asked_for_next(struct oracle *o, unsigned wheel);

/* The earliest tick that a node is due at; TW_NEVER if there is none. */
uint64_t oracle_first_due(const struct oracle *o, unsigned wheel);

/* The earliest effective tick pending, at the latest; TW_NEVER if there is none. */
uint64_t oracle_earliest(const struct oracle *o, unsigned wheel);
size_t oracle_pending(const struct oracle *o, unsigned wheel);
bool oracle_has_postponed(const struct oracle *o, unsigned wheel);

#endif
