/* soak.h - many timers on every thread driver, which several threads arm, move and cancel at
 * once, for any length of time. Every arming, fire and cancellation is counted.
 *
 * A timer carries its bookkeeping and belongs to one arming thread. Its kind:
 *   careful   armed again only after cancel_wait. So each fire belongs to a known
 *             arming, and is judged: early, twice, out of order
 *   hasty     armed, moved and cancelled by any thread while it fires; only counted
 *   bouncing  armed by its own callback
 *   periodic  armed by the runtime after each fire */
#ifndef TICKWHEEL_TESTS_SOAK_H
#define TICKWHEEL_TESTS_SOAK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <tickwheel/runtime.h>

enum {
    DRIVERS = 4,
    ARMERS = 2,
    TIMERS = 100000,
    TIMERS_EACH = (TIMERS + DRIVERS - 1) / DRIVERS,
    BUCKETS = 40 * 8
};

enum kind { CAREFUL, HASTY, BOUNCING, PERIODIC };

#define UNKNOWN UINT64_MAX

struct timer {
    struct tw_node *node; /* on the heap: freed and allocated again */
    struct arena *arena;
    enum kind kind;
    unsigned armer; /* the thread that it belongs to */

    atomic_int credits;           /* armings that neither fired nor were cancelled; never less than 0 */
    atomic_uint generation;       /* careful: of its latest arming */
    atomic_uint fired_generation; /* careful: of its latest fire */
    _Atomic int64_t not_before;   /* except hasty: the deadline, by our own reading of the clock */
    _Atomic uint64_t known_at;    /* count of its driver's fires when it was surely armed; or UNKNOWN */
    _Atomic uint64_t place;       /* careful: position in its thread's order of arming; 0: unspecified */
    int64_t period;
};

/* A runtime with its timers. Only its driver's thread uses the fields from last_due on. */
struct arena {
    const char *driver;
    struct tw_runtime *rt;
    struct timer *timers;
    atomic_bool is_over;
    _Atomic(struct timer *) running; /* its callback is running */
    _Atomic uint64_t armed, fired, cancelled, early, twice, misordered, not_awaited;

    int64_t last_due;
    struct {
        int64_t due;
        uint64_t place;
    } last_of[ARMERS];
    int64_t latest; /* ns late */
    uint64_t lateness[BUCKETS];
};

int64_t raw_clock(void);

/* Arms on behalf of the timer's thread or its callback, with all bookkeeping. `place`:
 * position among the armings of one thread, or 0. */
void arm_after(struct timer *t, int64_t delay, uint64_t place);

/* arming.c: an arming thread, which runs until the arena is over. */
struct armer {
    struct arena *arena;
    unsigned number; /* ARMERS: not an arming thread */
    uint64_t random, places;
    pthread_t thread;
};
bool fill(struct arena *a, unsigned seed);
void *keep_arming(void *armer);

/* firing.c: the callback of every timer. */
void on_fire(struct tw_node *node, void *timer);
int64_t lateness_below(const struct arena *arenas, double share); /* ns */

#endif
