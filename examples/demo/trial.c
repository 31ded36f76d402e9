#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tickwheel/observe.h>

static const int64_t periods[PERIODIC] = {10, 20, 25, 40, 50, 100, 125, 250};
enum { LONGEST_DELAY = 200 };

/* Except on virtual time, we measure P1 by another clock than the wheel's. */
static int64_t reading(struct trial *trial) {
    struct timespec now;
    if (trial->is_virtual)
        return tw_runtime_now(trial->rt);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * TW_SECOND + now.tv_nsec;
}

/* Draws from a linear congruential generator, whose upper bits alone are random enough. */
static int64_t random_delay(struct timer *timer) {
    timer->random = timer->random * 1664525u + 1013904223u;
    return (timer->random >> 16) % LONGEST_DELAY + 1;
}

static int arm_one_shot(struct timer *timer) {
    int64_t delay = random_delay(timer) * timer->trial->unit_ns;
    timer->deadline_ns = reading(timer->trial) + delay;
    return tw_runtime_after(timer->trial->rt, &timer->node, delay);
}

static int arm_periodic(struct timer *timer, int64_t start, int64_t period) {
    struct tw_when when = {.due_ns = start + period, .absolute = 1, .period_ns = period, .missed = TW_BURST};
    timer->period_ns = period;
    timer->deadline_ns = start + period;
    return tw_runtime_arm(timer->trial->rt, &timer->node, &when);
}

/* P5: the n-th fire is due at start + n * period, which is the deadline kept here. */
static void note_period(struct timer *timer, unsigned n) {
    struct trial *trial = timer->trial;
    int64_t drift = llabs(tw_runtime_due(trial->rt) - timer->deadline_ns);
    if (drift > atomic_load_explicit(&trial->drift_ns, memory_order_relaxed))
        atomic_store_explicit(&trial->drift_ns, drift, memory_order_relaxed);
    if (n > atomic_load_explicit(&trial->periods, memory_order_relaxed))
        atomic_store_explicit(&trial->periods, n, memory_order_relaxed);
}

static void on_fire(struct tw_node *node, void *arg) {
    struct timer *timer = arg;
    struct trial *trial = timer->trial;
    int64_t late = reading(trial) - timer->deadline_ns;
    unsigned n = 1 + atomic_fetch_add_explicit(&timer->fires, 1, memory_order_relaxed);
    (void)node;

    /* Waking takes longer than a tick, which would hide a deadline that was rounded down; so we also compare
     * the due time. */
    if (late < 0 || tw_runtime_due(trial->rt) < timer->deadline_ns)
        atomic_fetch_add_explicit(&trial->early, 1, memory_order_relaxed);
    lateness_note(&trial->lateness, late > 0 ? late : 0);
    if (timer->period_ns == 0) {
        arm_one_shot(timer);
        return;
    }
    note_period(timer, n);
    timer->deadline_ns += timer->period_ns;
}

static int arm_all(struct trial *trial) {
    int64_t start = (trial->began_ns + trial->tick_ns - 1) / trial->tick_ns * trial->tick_ns;
    int error = 0;
    for (unsigned i = 0; i < TIMERS && error >= 0; ++i) {
        struct timer *timer = &trial->timers[i];
        timer->trial = trial;
        timer->random = i;
        tw_node_init(&timer->node, on_fire, timer);
        error = i < PERIODIC ? arm_periodic(timer, start, periods[i] * trial->unit_ns) : arm_one_shot(timer);
    }
    return error < 0 ? error : 0;
}

int trial_begin(struct trial *trial) {
    struct tw_runtime_options options = {.tick_ns = trial->tick_ns, .driver = trial->driver};
    int error = tw_runtime_new(&trial->rt, &options);
    if (error != 0 && trial->is_optional) {
        trial->state = REFUSED;
        snprintf(trial->refusal, sizeof trial->refusal, "%s", tw_explain(error));
        return 0;
    }
    if (error != 0)
        return error;
    if (!trial->is_virtual)
        error = tw_runtime_start(trial->rt);
    trial->began_ns = reading(trial);
    trial->state = RUNNING;
    return error != 0 ? error : arm_all(trial);
}

int trial_move(struct trial *trial, int64_t ns) { return tw_runtime_advance(trial->rt, ns); }

int64_t trial_ran(struct trial *trial) {
    return trial->state == RUNNING ? reading(trial) - trial->began_ns : trial->ran_ns;
}

bool trial_saw_all(struct trial *trial) {
    for (unsigned i = 0; i < TIMERS; ++i)
        if (atomic_load_explicit(&trial->timers[i].fires, memory_order_relaxed) == 0)
            return false;
    return true;
}

/* Every timer should be pending here: the wheel arms periodic timers again, and the callbacks arm the
 * one-shot timers. */
void trial_stop(struct trial *trial) {
    trial->ran_ns = trial_ran(trial);
    trial->state = DONE;
    tw_runtime_stop(trial->rt);
    trial->lost = TIMERS - (unsigned)tw_runtime_count(trial->rt);
}

uint64_t trial_wakeups(struct trial *trial) {
    struct tw_stats stats = {0};
    tw_runtime_stats(trial->rt, &stats);
    return stats.wakeups;
}

bool trial_is_good(struct trial *trial) {
    return trial->state == REFUSED ||
           (trial->early == 0 && trial->drift_ns == 0 && trial->lost == 0 && trial_saw_all(trial));
}

void trial_free(struct trial *trial) {
    tw_runtime_free(trial->rt);
    trial->rt = NULL;
}
