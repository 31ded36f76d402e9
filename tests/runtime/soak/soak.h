/* soak.h - many timers on every thread driver, armed, moved and ended by several
 * threads at once, for as long as one likes; everything is counted.
 *
 * A slot is a timer with its story. It belongs to one arming thread. What it is for:
 *   careful   armed anew only after cancel_wait: then it is known exactly which arming
 *             a fire belongs to, so these are judged for early, twice and order
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

enum { DRIVERS = 3, ARMERS = 2, TIMERS = 100000, SLOTS = (TIMERS + DRIVERS - 1) / DRIVERS, BUCKETS = 40 * 8 };

enum kind { CAREFUL, HASTY, BOUNCING, PERIODIC };

#define UNKNOWN UINT64_MAX

struct slot {
    struct tw_node *node; /* on the heap: freed and allocated again */
    struct arena *arena;
    enum kind kind;
    unsigned armer; /* the thread that it belongs to */

    atomic_int credits;           /* armings that have neither fired nor been taken back; never less than 0 */
    atomic_uint generation;       /* careful: of its arming */
    atomic_uint fired_generation; /* careful: the last that fired */
    _Atomic int64_t not_before;   /* but for hasty: the deadline, by our own reading of the clock */
    _Atomic uint64_t known_at;    /* fires of its driver by when it was armed for sure; or UNKNOWN */
    _Atomic uint64_t place;       /* careful: in its thread's order of arming; 0: unspecified */
    int64_t period;
};

/* A runtime with its slots. The second half is its own thread's. */
struct arena {
    const char *driver;
    struct tw_runtime *rt;
    struct slot *slots;
    atomic_bool is_over;
    _Atomic(struct slot *) running; /* whose callback runs */
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

/* Marks, arms and counts: an arming that the slot's thread or its callback does.
 * `place`: among the armings of one thread, or 0. */
void arm_after(struct slot *s, int64_t delay, uint64_t place);

/* arming.c: what an arming thread does until the arena is over. */
struct armer {
    struct arena *arena;
    unsigned number; /* ARMERS: none of its threads */
    uint64_t random, places;
    pthread_t thread;
};
bool fill(struct arena *a, unsigned seed);
void *keep_arming(void *armer);

/* firing.c: what every timer does. */
void on_fire(struct tw_node *node, void *slot);
int64_t lateness_below(const struct arena *arenas, double share); /* ns */

#endif
