/* What a timer does when it fires: it judges the runtime. Runs on the driver's thread. */
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

/* ---- Judgements. */

/* P1 */
static void judge_time(struct slot *s, int64_t now, int64_t due) {
    if (now < due || (s->kind != HASTY && now < s->not_before))
        ++s->arena->early;
}

/* P4 */
static void judge_once(struct slot *s) {
    const bool had_credit = atomic_fetch_sub(&s->credits, 1) > 0;
    const unsigned generation = s->generation;
    const bool fired_before =
        s->kind == CAREFUL && atomic_exchange(&s->fired_generation, generation) == generation;
    if (!had_credit || fired_before)
        ++s->arena->twice;
}

/* P3: by tick, if it was armed before the other one fired; on one tick, by arming where
 * one thread armed both. */
static void judge_order(struct slot *s, int64_t due, uint64_t fire) {
    struct arena *a = s->arena;
    const uint64_t known_at = s->known_at, place = s->place;
    bool is_broken = due < a->last_due && known_at != UNKNOWN && known_at < fire - 1;
    a->last_due = due;
    if (place != 0) {
        is_broken |= due == a->last_of[s->armer].due && place < a->last_of[s->armer].place;
        a->last_of[s->armer].due = due;
        a->last_of[s->armer].place = place;
    }
    if (is_broken)
        ++a->misordered;
}

/* ---- What becomes of it. */

static void arm_again(struct slot *s, uint64_t fire) {
    s->place = 0;
    arm_after(s, ((int64_t)(fire * 7919 % 4096) + 1) * TW_MILLISECOND, 0);
}

/* The runtime has armed it already. */
static void go_on(struct slot *s, int64_t due, uint64_t fire) {
    atomic_fetch_add(&s->credits, 1);
    ++s->arena->armed;
    s->not_before = due + s->period;
    s->known_at = fire;
}

/* So that others come to meet a callback that runs. */
static void linger(void) {
    for (unsigned i = 0; i < 8; ++i)
        sched_yield();
}

void on_fire(struct tw_node *node, void *slot) {
    struct slot *s = slot;
    struct arena *a = s->arena;
    (void)node;
    a->running = s;
    const int64_t now = raw_clock();
    const int64_t due = tw_runtime_due(a->rt);
    const uint64_t fire = atomic_fetch_add(&a->fired, 1) + 1;
    note_lateness(a, now - due);
    judge_time(s, now, due);
    judge_once(s);
    judge_order(s, due, fire);
    if (s->kind == BOUNCING)
        arm_again(s, fire);
    else if (s->kind == PERIODIC)
        go_on(s, due, fire);
    if (fire % 64 == 0)
        linger();
    a->running = NULL;
}
