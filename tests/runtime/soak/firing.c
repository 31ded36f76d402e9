/* The callback of every timer, on the driver's thread: judges whether the runtime kept its
 * promises. */
#include "soak.h"

#include <sched.h>
#include <time.h>

int64_t raw_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * TW_SECOND + now.tv_nsec;
}

/* ---- Lateness: eight buckets for each power of two. */

static unsigned bucket_of(int64_t late) {
    if (late < 8)
        return late < 0 ? 0 : (unsigned)late;
    const unsigned power = 63 - (unsigned)__builtin_clzll((unsigned long long)late);
    const unsigned bucket = (power - 2) * 8 + (unsigned)(late >> (power - 3) & 7);
    return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

static int64_t end_of(unsigned bucket) {
    if (bucket < 8)
        return bucket + 1;
    return (INT64_C(9) + bucket % 8) << (bucket / 8 - 1);
}

int64_t lateness_below(const struct arena *arenas, double share) {
    uint64_t all = 0, seen = 0;
    for (unsigned d = 0; d < DRIVERS; ++d)
        for (unsigned b = 0; b < BUCKETS; ++b)
            all += arenas[d].lateness[b];
    for (unsigned b = 0; b < BUCKETS; ++b) {
        for (unsigned d = 0; d < DRIVERS; ++d)
            seen += arenas[d].lateness[b];
        if ((double)seen >= share * (double)all)
            return end_of(b);
    }
    return 0;
}

static void note_lateness(struct arena *a, int64_t late) {
    ++a->lateness[bucket_of(late)];
    if (late > a->latest)
        a->latest = late;
}

/* ---- Judgements */

/* P1 */
static void judge_time(struct timer *t, int64_t now, int64_t due) {
    if (now < due || (t->kind != HASTY && now < t->not_before))
        ++t->arena->early;
}

/* P4 */
static void judge_once(struct timer *t) {
    const bool had_credit = atomic_fetch_sub(&t->credits, 1) > 0;
    const unsigned generation = t->generation;
    const bool fired_before =
        t->kind == CAREFUL && atomic_exchange(&t->fired_generation, generation) == generation;
    if (!had_credit || fired_before)
        ++t->arena->twice;
}

/* P3: by tick, if this timer was armed before the other one fired; within a tick by arming, if
 * one thread armed both. */
static void judge_order(struct timer *t, int64_t due, uint64_t fire) {
    struct arena *a = t->arena;
    const uint64_t known_at = t->known_at, place = t->place;
    bool is_broken = due < a->last_due && known_at != UNKNOWN && known_at < fire - 1;
    a->last_due = due;
    if (place != 0) {
        is_broken |= due == a->last_of[t->armer].due && place < a->last_of[t->armer].place;
        a->last_of[t->armer].due = due;
        a->last_of[t->armer].place = place;
    }
    if (is_broken)
        ++a->misordered;
}

/* ---- After the fire */

static void arm_again(struct timer *t, uint64_t fire) {
    t->place = 0;
    arm_after(t, ((int64_t)(fire * 7919 % 4096) + 1) * TW_MILLISECOND, 0);
}

/* The runtime has already armed it again. */
static void go_on(struct timer *t, int64_t due, uint64_t fire) {
    atomic_fetch_add(&t->credits, 1);
    ++t->arena->armed;
    t->not_before = due + t->period;
    t->known_at = fire;
}

/* Stays in the callback for a while, so that other threads act on a timer that is running. */
static void linger(void) {
    for (unsigned i = 0; i < 8; ++i)
        sched_yield();
}

void on_fire(struct tw_node *node, void *timer) {
    struct timer *t = timer;
    struct arena *a = t->arena;
    (void)node;
    a->running = t;
    const int64_t now = raw_clock();
    const int64_t due = tw_runtime_due(a->rt);
    const uint64_t fire = atomic_fetch_add(&a->fired, 1) + 1;
    note_lateness(a, now - due);
    judge_time(t, now, due);
    judge_once(t);
    judge_order(t, due, fire);
    if (t->kind == BOUNCING)
        arm_again(t, fire);
    else if (t->kind == PERIODIC)
        go_on(t, due, fire);
    if (fire % 64 == 0)
        linger();
    a->running = NULL;
}
