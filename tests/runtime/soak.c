/* The soak: tickwheel_soak [seconds]. Many timers on every driver that has a thread. Other threads arm, move,
 * postpone, cancel and replace them while they fire, for any length of time, and every arming, fire and
 * cancellation is counted. Prints one line at the end and exits with 0 if every promise held.
 *
 * A timer carries its bookkeeping and belongs to one arming thread. Its kind:
 *   careful   armed again only after cancel_wait. So each fire belongs to a known
 *             arming, and the soak judges it: early, twice, out of order. Some of them
 *             are by handle, in the lanes of the arming threads
 *   hasty     armed, moved and cancelled by any thread while it fires; only counted
 *   periodic  armed by the runtime after each fire */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/random.h"

#include <tickwheel/runtime.h>
#include <tickwheel/timers.h>

enum { DRIVERS = 4, ARMERS = 2, TIMERS_EACH = 25000 };

enum kind { CAREFUL, HASTY, PERIODIC };

#define UNKNOWN UINT64_MAX

struct timer {
    struct tw_node *node; /* on the heap: freed and allocated again; null: by handle, and careful */
    tw_handle handle;
    struct arena *arena;
    enum kind kind;
    unsigned armer; /* the arming thread that owns the timer */

    atomic_int credits;           /* armings that neither fired nor were cancelled; never less than 0 */
    atomic_uint generation;       /* careful: number of the latest arming */
    atomic_uint fired_generation; /* careful: number of the latest fire */
    _Atomic int64_t not_before;   /* except hasty: the deadline, by our own reading of the clock */
    _Atomic uint64_t known_at;    /* count of its driver's fires when it was surely armed; or UNKNOWN */
    _Atomic uint64_t place;       /* careful: position in its thread's order of arming; 0: unspecified */
    int64_t period;
};

/* A runtime with its timers. Only its driver's thread uses the fields from last_due on. */
static struct arena {
    const char *driver;
    struct tw_runtime *rt;
    struct tw_timers *set; /* of the timers by handle */
    struct timer timers[TIMERS_EACH];
    atomic_bool is_over;
    _Atomic(struct timer *) running; /* the timer whose callback is running */
    _Atomic uint64_t armed, fired, cancelled, early, twice, misordered, not_awaited;

    int64_t last_due;
    struct {
        int64_t due;
        uint64_t place;
    } last_of[ARMERS];
    int64_t latest; /* ns late */
} arenas[DRIVERS] = {{.driver = "sleep"}, {.driver = "epoll"}, {.driver = "timerfd"}, {.driver = "uring"}};

static struct armer {
    struct arena *arena;
    unsigned number;
    uint64_t random, places;
    pthread_t thread;
} armers[DRIVERS * ARMERS];

static void must(bool truth, const char *what) {
    if (truth)
        return;
    fprintf(stderr, "soak: %s failed\n", what);
    exit(EXIT_FAILURE);
}

static int64_t raw_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * TW_SECOND + now.tv_nsec;
}

/* --- a fire, on the driver's thread --------------------------------------------------------- */

/* P1 */
static bool is_early(const struct timer *t, int64_t now, int64_t due) {
    return now < due || (t->kind != HASTY && now < t->not_before);
}

/* P4 */
static bool is_twice(struct timer *t) {
    const bool had_credit = atomic_fetch_sub(&t->credits, 1) > 0;
    const unsigned generation = t->generation;
    return !had_credit ||
           (t->kind == CAREFUL && atomic_exchange(&t->fired_generation, generation) == generation);
}

/* P3: by tick, if this timer was armed before the other one fired; within a tick by arming, if
 * one thread armed both. */
static bool is_misordered(const struct timer *t, int64_t due, uint64_t fire) {
    struct arena *a = t->arena;
    const uint64_t known_at = t->known_at, place = t->place;
    bool is_broken = due < a->last_due && known_at != UNKNOWN && known_at < fire - 1;
    a->last_due = due;
    if (place != 0) {
        is_broken |= due == a->last_of[t->armer].due && place < a->last_of[t->armer].place;
        a->last_of[t->armer].due = due;
        a->last_of[t->armer].place = place;
    }
    return is_broken;
}

static void note_fire(struct timer *t, int64_t due) {
    struct arena *a = t->arena;
    a->running = t;
    const int64_t now = raw_clock();
    const uint64_t fire = atomic_fetch_add(&a->fired, 1) + 1;
    a->latest = now - due > a->latest ? now - due : a->latest;
    a->early += is_early(t, now, due);
    a->twice += is_twice(t);
    a->misordered += is_misordered(t, due, fire);
    if (t->kind == PERIODIC) { /* the runtime has armed it again */
        atomic_fetch_add(&t->credits, 1);
        ++a->armed;
        t->not_before = due + t->period;
        t->known_at = fire;
    }
    for (unsigned i = 0; i < 8 && fire % 64 == 0; ++i)
        sched_yield(); /* other threads act on a timer that is running */
    a->running = NULL;
}

static void on_fire(struct tw_node *node, void *timer) {
    (void)node;
    note_fire(timer, tw_runtime_due(((struct timer *)timer)->arena->rt));
}
static void on_fire_by_handle(const struct tw_event *event, void *timer) { note_fire(timer, event->due_ns); }

/* --- arming --------------------------------------------------------------------------------- */

static uint64_t draw(struct armer *by, uint64_t below) { return random_below(&by->random, below); }

/* Mostly within seconds, in tens of milliseconds, so that many share a tick. */
static int64_t draw_delay(struct armer *by) {
    const uint64_t kind = draw(by, 32);
    if (kind == 0)
        return 0;
    if (kind < 4)
        return (int64_t)draw(by, 5 * (uint64_t)TW_SECOND);
    if (kind == 4)
        return 3600 * TW_SECOND;
    return ((int64_t)draw(by, 600) + 1) * 10 * TW_MILLISECOND;
}

/* If the deadline passed before the timer was armed, its order is unspecified. */
static void note_place(struct timer *t, int64_t deadline, uint64_t place) {
    if (t->kind == HASTY)
        return;
    t->place = place;
    t->known_at = raw_clock() < deadline ? t->arena->fired : UNKNOWN;
}

static int start_by_handle(struct timer *t, int64_t due, bool is_absolute) {
    const struct tw_when when = {.due_ns = due, .absolute = is_absolute};
    const struct tw_task task = {.fn = on_fire_by_handle, .arg = t};
    return tw_timer_start(t->arena->set, &t->handle, &when, &task);
}

/* REQUIRES: the timer is at rest, or it is hasty and its state does not matter */
static void arm(struct timer *t, struct armer *by) {
    struct arena *a = t->arena;
    const bool is_absolute = draw(by, 2) == 0;
    const enum tw_missed missed = (enum tw_missed)draw(by, 3);
    if (t->kind == PERIODIC)
        t->period = ((int64_t)draw(by, 80) + 20) * 50 * TW_MILLISECOND;
    const int64_t delay = t->kind == PERIODIC ? t->period : draw_delay(by), deadline = raw_clock() + delay;
    atomic_fetch_add(&t->credits, 1);
    t->known_at = UNKNOWN;
    t->place = 0;
    t->not_before = deadline;
    ++t->generation;
    const bool is_moved = t->kind == HASTY && tw_runtime_move(a->rt, t->node, delay) == 0;
    const int result = is_moved              ? 0
                       : t->node == NULL     ? start_by_handle(t, is_absolute ? deadline : delay, is_absolute)
                       : t->kind == PERIODIC ? tw_runtime_every(a->rt, t->node, delay, missed)
                       : is_absolute         ? tw_runtime_at(a->rt, t->node, deadline)
                                             : tw_runtime_after(a->rt, t->node, delay);
    if (is_moved || result < 0) {
        atomic_fetch_sub(&t->credits, 1);
        return;
    }
    ++a->armed;
    note_place(t, deadline, t->kind == CAREFUL ? ++by->places : 0);
}

static void count_cancelled(struct timer *t, int prevented) {
    if (prevented != 1)
        return;
    atomic_fetch_sub(&t->credits, 1);
    ++t->arena->cancelled;
}

/* P6: afterwards the timer's callback is not running. */
static void cancel_and_wait(struct timer *t, int (*off)(struct tw_runtime *, struct tw_node *)) {
    count_cancelled(t, t->node == NULL ? tw_timer_cancel_wait(t->arena->set, t->handle)
                                       : off(t->arena->rt, t->node));
    t->arena->not_awaited += t->arena->running == t;
}

static void renew(struct timer *t) {
    t->node = malloc(sizeof *t->node);
    must(t->node != NULL && tw_node_init(t->node, on_fire, t) == 0, "allocation");
}

static void replace(struct timer *t, struct armer *by) {
    cancel_and_wait(t, tw_runtime_retire);
    if (t->node != NULL) {
        free(t->node);
        renew(t);
    }
    arm(t, by);
}

static void rearm(struct timer *t, struct armer *by) {
    if (t->kind != HASTY)
        cancel_and_wait(t, tw_runtime_cancel_wait);
    arm(t, by);
}

/* While a timer is moved or postponed it may fire at either time, in any order. */
static void put_off(struct timer *t, struct armer *by, bool may_move) {
    const bool moves = may_move || t->node == NULL;
    const int64_t delay = draw_delay(by), deadline = raw_clock() + delay;
    if (t->kind == CAREFUL) {
        t->known_at = UNKNOWN;
        t->place = 0;
        if (moves && deadline < t->not_before)
            t->not_before = deadline;
    }
    const int result = t->node == NULL ? tw_timer_move(t->arena->set, t->handle, delay)
                       : moves         ? tw_runtime_move(t->arena->rt, t->node, delay)
                                       : tw_runtime_postpone(t->arena->rt, t->node, delay);
    if (result != 0 || t->kind != CAREFUL)
        return;
    if (moves || t->not_before < deadline)
        t->not_before = deadline;
    if (moves)
        note_place(t, deadline, ++by->places);
}

/* Sometimes chooses the timer whose callback is running. */
static struct timer *draw_own(struct armer *by) {
    struct timer *running = draw(by, 4) == 0 ? by->arena->running : NULL;
    if (running != NULL && running->armer == by->number && running->kind != HASTY)
        return running;
    return &by->arena->timers[draw(by, TIMERS_EACH / ARMERS) * ARMERS + by->number];
}

static void disturb_own(struct armer *by) {
    struct timer *t = draw_own(by);
    const uint64_t kind = draw(by, 8);
    if (t->kind != PERIODIC && kind < 4)
        put_off(t, by, kind < 2);
    else if (t->kind == CAREFUL && kind == 4)
        cancel_and_wait(t, tw_runtime_cancel_wait);
    else if (t->kind == HASTY || kind > 5)
        rearm(t, by);
    else
        replace(t, by);
}

static void disturb_any(struct armer *by) {
    struct timer *t = &by->arena->timers[draw(by, TIMERS_EACH)];
    if (t->kind != HASTY)
        return;
    if (draw(by, 2) == 0)
        arm(t, by);
    else
        count_cancelled(t, tw_runtime_cancel(t->arena->rt, t->node));
}

static void *keep_arming(void *armer) {
    struct armer *by = armer;
    while (!by->arena->is_over) {
        for (unsigned i = 0; i < 64; ++i) {
            disturb_own(by);
            disturb_any(by);
        }
        nanosleep(&(struct timespec){0, 5 * TW_MILLISECOND}, NULL); /* leave processor time for others */
    }
    return NULL;
}

/* --- the run --------------------------------------------------------------------------------- */

static void begin(struct arena *a) {
    struct tw_runtime_options options = {.driver = a->driver};
    int error = tw_runtime_new(&a->rt, &options);
    if (error < 0 && strcmp(options.driver, "uring") == 0) {
        printf("soak: no uring here, epoll twice instead: %s\n", tw_explain(error));
        options.driver = "epoll";
        error = tw_runtime_new(&a->rt, &options);
    }
    must(error == 0, "tw_runtime_new");
    must(tw_timers_new(&a->set, a->rt, NULL) == 0, "tw_timers_new");
    must(tw_runtime_start(a->rt) == 0, "tw_runtime_start");
    struct armer *const own = &armers[(a - arenas) * ARMERS];
    for (unsigned i = 0; i < ARMERS; ++i)
        own[i] = (struct armer){.arena = a, .number = i, .random = 100 + (uint64_t)(&own[i] - armers)};
    for (unsigned i = 0; i < TIMERS_EACH; ++i) {
        struct timer *t = &a->timers[i];
        const unsigned place = i / ARMERS % 16;
        t->arena = a;
        t->kind = place < 10 ? CAREFUL : place < 14 ? HASTY : PERIODIC;
        t->armer = i % ARMERS;
        if (place >= 4)
            renew(t);
        arm(t, &own[t->armer]);
    }
    for (unsigned i = 0; i < ARMERS; ++i)
        must(pthread_create(&own[i].thread, NULL, keep_arming, &own[i]) == 0, "pthread_create");
}

static void stop(struct arena *a) {
    a->is_over = true;
    for (unsigned i = 0; i < ARMERS; ++i)
        must(pthread_join(armers[(a - arenas) * ARMERS + i].thread, NULL) == 0, "pthread_join");
    must(tw_runtime_stop(a->rt) == 0, "tw_runtime_stop");
}

/* At rest, each timer's count of armings must match whether it is pending. */
static bool is_well(const struct arena *a) {
    const uint64_t pending = tw_runtime_count(a->rt);
    unsigned odd = 0;
    for (unsigned i = 0; i < TIMERS_EACH; ++i) {
        const struct timer *t = &a->timers[i];
        const bool is_pending = t->node == NULL ? tw_timer_get(a->set, t->handle, NULL) == 0
                                                : tw_runtime_remaining(a->rt, t->node) != TW_NO_DEADLINE;
        odd += t->credits != (is_pending ? 1 : 0);
    }
    printf("soak: %s: armed %" PRIu64 ", fired %" PRIu64 " + cancelled %" PRIu64 " + pending %" PRIu64
           "; early %" PRIu64 ", twice %" PRIu64 ", order broken %" PRIu64 ", not awaited %" PRIu64
           ", odd timers %u; at most %.3f ms late\n",
           a->driver, a->armed, a->fired, a->cancelled, pending, a->early, a->twice, a->misordered,
           a->not_awaited, odd, (double)a->latest / 1e6);
    return a->armed == a->fired + a->cancelled + pending && a->fired > 0 &&
           a->early + a->twice + a->misordered + a->not_awaited + odd == 0;
}

static void end(struct arena *a) {
    must(tw_runtime_free(a->rt) == 0, "tw_runtime_free");
    for (unsigned i = 0; i < TIMERS_EACH; ++i)
        free(a->timers[i].node);
}

int main(int argc, char **argv) {
    const long seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 60;
    bool all_are_well = true;
    if (seconds < 1 || argc > 2) {
        fprintf(stderr, "usage: %s [seconds]\n", argv[0]);
        return 2;
    }
    printf("soak: %d timers on %d drivers, %ld s\n", DRIVERS * TIMERS_EACH, DRIVERS, seconds);
    fflush(stdout);
    for (unsigned d = 0; d < DRIVERS; ++d)
        begin(&arenas[d]);
    const int64_t end_of_soak = raw_clock() + seconds * TW_SECOND;
    while (raw_clock() < end_of_soak)
        nanosleep(&(struct timespec){0, 100 * TW_MILLISECOND}, NULL);
    for (unsigned d = 0; d < DRIVERS; ++d)
        stop(&arenas[d]);
    for (unsigned d = 0; d < DRIVERS; ++d)
        all_are_well &= is_well(&arenas[d]);
    for (unsigned d = 0; d < DRIVERS; ++d)
        end(&arenas[d]);
    return all_are_well ? EXIT_SUCCESS : EXIT_FAILURE;
}
