/* The arming threads: they arm, move, postpone, cancel and replace timers while these fire,
 * and account for each arming. */
#include "soak.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "support/random.h"

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

static uint64_t next_place(struct armer *by) { return by->number < ARMERS ? ++by->places : 0; }

/* ---- Arming, and the bookkeeping before and after it. */

/* The timer is at rest, or it is hasty and its state is unknown. */
static void before_arming(struct timer *t, int64_t deadline) {
    atomic_fetch_add(&t->credits, 1);
    t->known_at = UNKNOWN;
    t->place = 0;
    t->not_before = deadline;
    ++t->generation;
}

/* If the deadline passed before the timer was armed, its order is unspecified. */
static void note_place(struct timer *t, int64_t deadline, uint64_t place) {
    if (t->kind == HASTY)
        return;
    t->place = place;
    t->known_at = raw_clock() < deadline ? t->arena->fired : UNKNOWN;
}

static void after_arming(struct timer *t, int result, int64_t deadline, uint64_t place) {
    if (result != 0)
        atomic_fetch_sub(&t->credits, 1); /* refused, or one arming replaced another */
    if (result < 0)
        return;
    ++t->arena->armed;
    if (result == 1)
        ++t->arena->cancelled;
    note_place(t, deadline, place);
}

void arm_after(struct timer *t, int64_t delay, uint64_t place) {
    const int64_t deadline = raw_clock() + delay;
    before_arming(t, deadline);
    after_arming(t, tw_runtime_after(t->arena->rt, t->node, delay), deadline, place);
}

static void arm_at(struct timer *t, int64_t delay, uint64_t place) {
    const int64_t deadline = raw_clock() + delay;
    before_arming(t, deadline);
    after_arming(t, tw_runtime_at(t->arena->rt, t->node, deadline), deadline, place);
}

static void arm_every(struct timer *t, struct armer *by) {
    t->period = ((int64_t)draw(by, 80) + 20) * 50 * TW_MILLISECOND;
    const int64_t deadline = raw_clock() + t->period;
    before_arming(t, deadline);
    after_arming(t, tw_runtime_every(t->arena->rt, t->node, t->period, (enum tw_missed)draw(by, 3)), deadline,
                 0);
}

static void arm(struct timer *t, struct armer *by) {
    if (t->kind == PERIODIC)
        arm_every(t, by);
    else if (draw(by, 2) == 0)
        arm_after(t, draw_delay(by), next_place(by));
    else
        arm_at(t, draw_delay(by), next_place(by));
}

/* ---- Everything else. */

static void count_cancelled(struct timer *t, int prevented) {
    if (prevented != 1)
        return;
    atomic_fetch_sub(&t->credits, 1);
    ++t->arena->cancelled;
}

/* P6: afterwards its callback is not running. */
static void cancel_and_wait(struct timer *t, int (*off)(struct tw_runtime *, struct tw_node *)) {
    count_cancelled(t, off(t->arena->rt, t->node));
    if (t->arena->running == t)
        ++t->arena->not_awaited;
}

static bool renew(struct timer *t) {
    t->node = malloc(sizeof *t->node);
    return t->node != NULL && tw_node_init(t->node, on_fire, t) == 0;
}

static void replace(struct timer *t, struct armer *by) {
    cancel_and_wait(t, tw_runtime_shutdown);
    free(t->node);
    if (!renew(t))
        abort();
    arm(t, by);
}

static void rearm(struct timer *t, struct armer *by) {
    if (t->kind != HASTY)
        cancel_and_wait(t, tw_runtime_cancel_wait);
    arm(t, by);
}

/* While a timer is moved it may fire at either time, in any order. */
static void move(struct timer *t, struct armer *by) {
    const int64_t delay = draw_delay(by), deadline = raw_clock() + delay;
    if (t->kind == CAREFUL) {
        t->known_at = UNKNOWN;
        t->place = 0;
        if (deadline < t->not_before)
            t->not_before = deadline;
    }
    if (tw_runtime_move(t->arena->rt, t->node, delay) != 0 || t->kind != CAREFUL)
        return;
    t->not_before = deadline;
    note_place(t, deadline, next_place(by));
}

static void postpone(struct timer *t, struct armer *by) {
    const int64_t delay = draw_delay(by), deadline = raw_clock() + delay;
    if (t->kind == CAREFUL) {
        t->known_at = UNKNOWN;
        t->place = 0;
    }
    if (tw_runtime_postpone(t->arena->rt, t->node, delay) == 0 && t->kind == CAREFUL &&
        t->not_before < deadline)
        t->not_before = deadline;
}

/* ---- The thread. */

/* Sometimes chooses the timer whose callback is running. */
static struct timer *draw_own(struct armer *by) {
    struct timer *running = draw(by, 4) == 0 ? by->arena->running : NULL;
    if (running != NULL && running->armer == by->number && running->kind != HASTY)
        return running;
    return &by->arena->timers[draw(by, TIMERS_EACH / ARMERS) * ARMERS + by->number];
}

static void disturb_any(struct armer *by) {
    struct timer *t = &by->arena->timers[draw(by, TIMERS_EACH)];
    if (t->kind != HASTY)
        return;
    if (draw(by, 2) == 0)
        arm_after(t, draw_delay(by), 0);
    else
        count_cancelled(t, tw_runtime_cancel(by->arena->rt, t->node));
}

static void disturb_own(struct armer *by) {
    struct timer *t = draw_own(by);
    const uint64_t kind = draw(by, 8);
    const bool moves = t->kind == CAREFUL || t->kind == HASTY;
    if (moves && kind < 2)
        move(t, by);
    else if (moves && kind < 4)
        postpone(t, by);
    else if (t->kind == CAREFUL && kind == 4)
        cancel_and_wait(t, tw_runtime_cancel_wait);
    else if (t->kind == HASTY && kind == 4)
        count_cancelled(t, tw_runtime_cancel(t->arena->rt, t->node));
    else if (t->kind == HASTY || (kind > 5 && t->kind != BOUNCING))
        rearm(t, by);
    else
        replace(t, by);
}

/* Of sixteen timers in a row, eight are careful, four hasty, two bouncing and two periodic. */
static enum kind kind_of(unsigned i) {
    const unsigned place = i / ARMERS % 16;
    return place < 8 ? CAREFUL : place < 12 ? HASTY : place < 14 ? BOUNCING : PERIODIC;
}

bool fill(struct arena *a, unsigned seed) {
    struct armer by = {.arena = a, .number = ARMERS, .random = seed};
    a->timers = calloc(TIMERS_EACH, sizeof *a->timers);
    if (a->timers == NULL)
        return false;
    for (unsigned i = 0; i < TIMERS_EACH; ++i) {
        struct timer *t = &a->timers[i];
        t->arena = a;
        t->kind = kind_of(i);
        t->armer = i % ARMERS;
        if (!renew(t))
            return false;
        arm(t, &by);
    }
    return true;
}

void *keep_arming(void *armer) {
    struct armer *by = armer;
    const struct timespec pause = {0, 5 * TW_MILLISECOND};
    while (!by->arena->is_over) {
        for (unsigned i = 0; i < 64; ++i) {
            disturb_own(by);
            disturb_any(by);
        }
        nanosleep(&pause, NULL); /* leave processor time for other programs */
    }
    return NULL;
}
