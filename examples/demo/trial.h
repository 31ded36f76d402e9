/* One driver on trial: a runtime with periodic and oneshot timers, all armed from C,
 * whose callbacks compare the clock with the deadline that was asked for.
 *
 * The runtime's thread writes, any thread reads meanwhile. */
#ifndef DEMO_TRIAL_H
#define DEMO_TRIAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <tickwheel/runtime.h>

#include "lateness.h"

enum { PERIODIC = 8, ONESHOTS = 32, TIMERS = PERIODIC + ONESHOTS };

struct timer {
    struct tw_node node;
    struct trial *trial;
    int64_t deadline_ns; /* the next one asked for */
    int64_t period_ns;   /* 0: a oneshot, armed again by its callback */
    uint32_t random;     /* where its next delay comes from */
    atomic_uint fires;
};

struct trial {
    const char *driver; /* its name */
    int64_t tick_ns;    /* what deadlines round up to */
    int64_t unit_ns;    /* delays are 1 to 200 of these, periods 10 to 250 */
    bool is_virtual;    /* time moves by trial_move alone */

    enum { WAITING, RUNNING, DONE } state;
    struct tw_runtime *rt;
    int64_t began_ns, ran_ns;
    struct timer timers[TIMERS];

    struct lateness lateness;
    atomic_uint_least64_t early;   /* fires that ran, or were due, before their deadline */
    atomic_int_least64_t drift_ns; /* furthest that a periodic fire's due was off its grid */
    atomic_uint periods;           /* most periods that one timer has gone through */
    unsigned lost;                 /* timers that neither fired as often as armed nor are pending */
};

/* Makes and starts the runtime and arms the timers. Returns 0 or a negative errno. */
int trial_begin(struct trial *trial);

/* Moves virtual time. Returns 0 or a negative errno. */
int trial_move(struct trial *trial, int64_t ns);

/* How long it has run, by its own clock. */
int64_t trial_ran(struct trial *trial);

/* Whether each of its timers has fired. */
bool trial_saw_all(struct trial *trial);

/* Stops it; what came of it can still be read. */
void trial_stop(struct trial *trial);

/* How often its thread has woken up. */
uint64_t trial_wakeups(struct trial *trial);

/* Nothing was early, lost, or off its grid. However late it was is no fault here: that
 * is the machine's as well. */
bool trial_is_good(struct trial *trial);

void trial_free(struct trial *trial);

#endif
