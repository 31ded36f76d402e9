/* The arming threads. */
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

/* ---- Arming, with what has to be noted before and after. */

/* The slot is at rest, or it is hasty and nothing is known of it. */
static void before_arming(struct slot *s, int64_t deadline) {
    atomic_fetch_add(&s->credits, 1);
    s->known_at = UNKNOWN;
    s->place = 0;
    s->not_before = deadline;
    ++s->generation;
}

/* What has become due before it was armed is not known to have been in order. */
static void note_place(struct slot *s, int64_t deadline, uint64_t place) {
    if (s->kind == HASTY)
        return;
    s->place = place;
    s->known_at = raw_clock() < deadline ? s->arena->fired : UNKNOWN;
}

static void after_arming(struct slot *s, int result, int64_t deadline, uint64_t place) {
    if (result != 0)
        atomic_fetch_sub(&s->credits, 1); /* refused, or one arming gave way to another */
    if (result < 0)
        return;
    ++s->arena->armed;
    if (result == 1)
        ++s->arena->cancelled;
    note_place(s, deadline, place);
}

void arm_after(struct slot *s, int64_t delay, uint64_t place) {
    const int64_t deadline = raw_clock() + delay;
    before_arming(s, deadline);
    after_arming(s, tw_runtime_after(s->arena->rt, s->node, delay), deadline, place);
}

static void arm_at(struct slot *s, int64_t delay, uint64_t place) {
    const int64_t deadline = raw_clock() + delay;
    before_arming(s, deadline);
    after_arming(s, tw_runtime_at(s->arena->rt, s->node, deadline), deadline, place);
}

static void arm_every(struct slot *s, struct armer *by) {
    s->period = ((int64_t)draw(by, 80) + 20) * 50 * TW_MILLISECOND;
    const int64_t deadline = raw_clock() + s->period;
    before_arming(s, deadline);
    after_arming(s, tw_runtime_every(s->arena->rt, s->node, s->period, (enum tw_missed)draw(by, 3)), deadline,
                 0);
}

static void arm(struct slot *s, struct armer *by) {
    if (s->kind == PERIODIC)
        arm_every(s, by);
    else if (draw(by, 2) == 0)
        arm_after(s, draw_delay(by), next_place(by));
    else
        arm_at(s, draw_delay(by), next_place(by));
}

/* ---- Everything else. */

static void take_back(struct slot *s, int prevented) {
    if (prevented != 1)
        return;
    atomic_fetch_sub(&s->credits, 1);
    ++s->arena->cancelled;
}

/* P6: its callback does not run any more. */
static void see_off(struct slot *s, int (*off)(struct tw_runtime *, struct tw_node *)) {
    take_back(s, off(s->arena->rt, s->node));
    if (s->arena->running == s)
        ++s->arena->not_awaited;
}

static bool renew(struct slot *s) {
    s->node = malloc(sizeof *s->node);
    return s->node != NULL && tw_node_init(s->node, on_fire, s) == 0;
}

static void replace(struct slot *s, struct armer *by) {
    see_off(s, tw_runtime_shutdown);
    free(s->node);
    if (!renew(s))
        abort();
    arm(s, by);
}

static void rearm(struct slot *s, struct armer *by) {
    if (s->kind != HASTY)
        see_off(s, tw_runtime_cancel_wait);
    arm(s, by);
}

/* While it is on its way it may fire at either time, in any order. */
static void move(struct slot *s, struct armer *by) {
    const int64_t delay = draw_delay(by), deadline = raw_clock() + delay;
    if (s->kind == CAREFUL) {
        s->known_at = UNKNOWN;
        s->place = 0;
        if (deadline < s->not_before)
            s->not_before = deadline;
    }
    if (tw_runtime_move(s->arena->rt, s->node, delay) != 0 || s->kind != CAREFUL)
        return;
    s->not_before = deadline;
    note_place(s, deadline, next_place(by));
}

static void postpone(struct slot *s, struct armer *by) {
    const int64_t delay = draw_delay(by), deadline = raw_clock() + delay;
    if (s->kind == CAREFUL) {
        s->known_at = UNKNOWN;
        s->place = 0;
    }
    if (tw_runtime_postpone(s->arena->rt, s->node, delay) == 0 && s->kind == CAREFUL &&
        s->not_before < deadline)
        s->not_before = deadline;
}

/* ---- The thread. */

/* Now and then the one whose callback runs. */
static struct slot *draw_own(struct armer *by) {
    struct slot *running = draw(by, 4) == 0 ? by->arena->running : NULL;
    if (running != NULL && running->armer == by->number && running->kind != HASTY)
        return running;
    return &by->arena->slots[draw(by, SLOTS / ARMERS) * ARMERS + by->number];
}

static void disturb_any(struct armer *by) {
    struct slot *s = &by->arena->slots[draw(by, SLOTS)];
    if (s->kind != HASTY)
        return;
    if (draw(by, 2) == 0)
        arm_after(s, draw_delay(by), 0);
    else
        take_back(s, tw_runtime_cancel(by->arena->rt, s->node));
}

static void disturb_own(struct armer *by) {
    struct slot *s = draw_own(by);
    const uint64_t kind = draw(by, 8);
    const bool moves = s->kind == CAREFUL || s->kind == HASTY;
    if (moves && kind < 2)
        move(s, by);
    else if (moves && kind < 4)
        postpone(s, by);
    else if (s->kind == CAREFUL && kind == 4)
        see_off(s, tw_runtime_cancel_wait);
    else if (s->kind == HASTY && kind == 4)
        take_back(s, tw_runtime_cancel(s->arena->rt, s->node));
    else if (s->kind == HASTY || (kind > 5 && s->kind != BOUNCING))
        rearm(s, by);
    else
        replace(s, by);
}

/* Sixteen slots in a row: eight careful, four hasty, two bouncing, two periodic. */
static enum kind kind_of(unsigned i) {
    const unsigned place = i / ARMERS % 16;
    return place < 8 ? CAREFUL : place < 12 ? HASTY : place < 14 ? BOUNCING : PERIODIC;
}

bool fill(struct arena *a, unsigned seed) {
    struct armer by = {.arena = a, .number = ARMERS, .random = seed};
    a->slots = calloc(SLOTS, sizeof *a->slots);
    if (a->slots == NULL)
        return false;
    for (unsigned i = 0; i < SLOTS; ++i) {
        struct slot *s = &a->slots[i];
        s->arena = a;
        s->kind = kind_of(i);
        s->armer = i % ARMERS;
        if (!renew(s))
            return false;
        arm(s, &by);
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
        nanosleep(&pause, NULL); /* the machine has other work as well */
    }
    return NULL;
}
