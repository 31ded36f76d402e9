/* One driver on trial: a runtime with periodic and one-shot timers whose callbacks compare the clock with
 * the requested deadline.
 *
 * The runtime's thread writes; any thread may read at the same time. */
#ifndef DEMO_TRIAL_H
#define DEMO_TRIAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <tickwheel/runtime.h>

#include "lateness.h"

enum { PERIODIC = 8, ONE_SHOTS = 32, TIMERS = PERIODIC + ONE_SHOTS };

struct timer {
    struct tw_node node;
    struct trial *trial;
    int64_t deadline_ns; /* the next requested deadline */
    int64_t period_ns;   /* 0: a one-shot timer, which its callback arms again */
    uint32_t random;     /* state of the generator of its delays */
    atomic_uint fires;
};

struct trial {
    const char *driver; /* name of the driver */
    int64_t tick_ns;    /* length of a tick */
    int64_t unit_ns;    /* delays are 1 to 200 units, periods 10 to 250 */
    bool is_virtual;    /* only trial_move moves time */
    bool is_optional;   /* a system may refuse the driver */

    enum { WAITING, REFUSED, RUNNING, DONE } state;
    char refusal[64]; /* why the system refused it */
    struct tw_runtime *rt;
    int64_t began_ns, ran_ns;
    struct timer timers[TIMERS];

    struct lateness lateness;
    atomic_uint_least64_t early;   /* fires that ran, or were due, before their deadline */
    atomic_int_least64_t drift_ns; /* largest distance of a periodic fire from its grid */
    atomic_uint periods;           /* highest number of periods of one timer */
    unsigned lost;                 /* timers that neither fired as often as armed nor are pending */
};

/* Makes and starts the runtime and arms the timers. Returns 0 or a negative errno; also 0 if the system
 * refuses an optional driver. */
int trial_begin(struct trial *trial);

/* Moves virtual time. Returns 0 or a negative errno. */
int trial_move(struct trial *trial, int64_t ns);

/* Returns how long the trial has run, by its own clock. */
int64_t trial_ran(struct trial *trial);

/* Returns true if each of its timers has fired. */
bool trial_saw_all(struct trial *trial);

/* Stops the runtime. The results can still be read. */
void trial_stop(struct trial *trial);

/* Returns how often its thread has woken up. */
uint64_t trial_wakeups(struct trial *trial);

/* Returns true if no fire was early, lost or off its grid, or if the system refuses the driver.
 * Lateness does not count, because it depends on the machine. */
bool trial_is_good(struct trial *trial);

void trial_free(struct trial *trial);

#endif
