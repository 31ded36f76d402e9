/* oracle.h - what a wheel must do, in the simplest form: an array of timers and linear scans,
 * no slots, levels or blocks. A timer is a node or a record: the oracle makes no difference.
 *
 * Order   A pending timer fires at its effective tick, max(tick, cursor when it was
 *         armed), and within a tick in the order of arming. The cursor is the tick that
 *         the wheel's work has reached: the told time after a complete advance, the
 *         tick of the callback inside one.
 * Bounds  After an advance that ran out of budget, the cursor is known from outside only
 *         to lie in [lo, hi]: not before the last fire, not beyond the next due tick.
 *         An effective tick is such an interval, too. lo == hi, and the order is exact,
 *         unless a timer was armed for the past while the wheel lagged.
 * Windows A window is a stretch in which the cursor stands still. Two timers armed in
 *         one window compare by their ticks, wherever the cursor is. */
#ifndef TICKWHEEL_TESTS_ORACLE_H
#define TICKWHEEL_TESTS_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tickwheel/tw.h> /* enum tw_missed; nothing here depends on the library's configuration */

#ifdef __cplusplus
extern "C" {
#endif

enum { MODEL_WHEELS = 2 };
#ifndef MODEL_TIMERS
#define MODEL_TIMERS 100
#endif

struct oracle_timer {
    bool pending;
    bool ordered; /* false once postponed: any order within its tick is right */
    bool is_retired;
    bool to_cancel; /* pending, and about to be removed by a tw_cancel_all */
    unsigned wheel; /* the wheel it is, or was last, armed on */
    uint64_t expiry, period;
    enum tw_missed missed;
    uint32_t fires_left; /* 0: unlimited */
    uint64_t lo, hi;     /* bounds of the effective tick */
    uint64_t armed;      /* position in the order of arming */
    uint64_t window;     /* the window it was armed in */
};

struct oracle_wheel {
    uint64_t now;    /* latest tick told */
    uint64_t lo, hi; /* bounds of the cursor */
    uint64_t window;
    bool advancing;
    bool lagging;         /* the last advance left work pending */
    unsigned cancel_alls; /* depth of tw_cancel_all calls */
    enum oracle_interruption {
        ORACLE_GOES_ON,
        ORACLE_INTERRUPTED, /* nothing fires until an advance has returned 1 */
        ORACLE_PERHAPS /* or perhaps one already has: the interrupted advance had also used up its budget */
    } interruption;
    uint32_t fired; /* in the running advance */
    int running;    /* the timer whose callback runs; -1: none */
    uint64_t due;   /* the tick that this timer was due at; otherwise UINT64_MAX */
    uint64_t overruns;
};

struct oracle {
    struct oracle_wheel wheels[MODEL_WHEELS];
    uint64_t arms, windows;                   /* so far */
    unsigned count;                           /* of timers in play; the others are idle */
    struct oracle_timer timers[MODEL_TIMERS]; /* last, as tests save and restore those in use */
};

/* Starts with so many wheels and timers, at most MODEL_WHEELS and MODEL_TIMERS. */
void oracle_open(struct oracle *o, unsigned wheels, unsigned timers, uint64_t now);

void oracle_arm(struct oracle *o, unsigned wheel, struct oracle_timer *t, uint64_t tick);
/* Arms a pending timer for another tick; its period stays. */
void oracle_move(struct oracle *o, unsigned wheel, struct oracle_timer *t, uint64_t tick);
void oracle_postpone(struct oracle_timer *t, uint64_t tick);
void oracle_remove(struct oracle_timer *t);
/* Makes everything on a wheel due so many ticks later, the running callback included. REQUIRES: no tick is
 * beyond the last one then. */
void oracle_shift(struct oracle *o, unsigned wheel, uint64_t ticks);

/* Tells the oracle the exact cursor, which a test has read from inside the wheel. */
void oracle_learns_cursor(struct oracle *o, unsigned wheel, uint64_t cursor);

void oracle_advance_begins(struct oracle *o, unsigned wheel, uint64_t now);
/* `is_spent`: the advance may have used up its budget. */
void oracle_advance_ends(struct oracle *o, unsigned wheel, bool more, bool is_spent);

/* Records that `t` fires on `wheel`, and arms it again if it is periodic. Returns null if it
 * may fire, else why not. */
const char *oracle_fires(struct oracle *o, unsigned wheel, struct oracle_timer *t);
void oracle_callback_ends(struct oracle *o, unsigned wheel);

/* Returns true if a must fire before b. Both are pending on one wheel. */
bool oracle_precedes(const struct oracle_timer *a, const struct oracle_timer *b);

/* tw_next was called. With nothing pending no work is left either, and the wheel may jump to `now`. */
void oracle_is_asked_for_next(struct oracle *o, unsigned wheel);

/* Returns the earliest tick at which a timer is due, or UINT64_MAX. */
uint64_t oracle_first_due(const struct oracle *o, unsigned wheel);

/* Returns an upper bound for the earliest effective tick pending, or UINT64_MAX. */
uint64_t oracle_earliest(const struct oracle *o, unsigned wheel);
size_t oracle_pending(const struct oracle *o, unsigned wheel);
bool oracle_has_postponed(const struct oracle *o, unsigned wheel);

#ifdef __cplusplus
}
#endif

#endif
