/* A driver of one's own: it sleeps until shortly before a deadline, and spins from there.
 *
 * A thread that sleeps needs some tens of microseconds to be running again. Who has a
 * processor to spare can be there in time. This driver wraps the built-in "sleep" for
 * the long part of a wait; the program compares the two. */
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <tickwheel/runtime.h>
#include <time.h>

enum { FIRES = 200 };
static const int64_t spin_ns = 200 * TW_MICROSECOND;

static int64_t now(void) {
    struct timespec reading;
    clock_gettime(CLOCK_MONOTONIC, &reading);
    return reading.tv_sec * TW_SECOND + reading.tv_nsec;
}

/* --- the driver --------------------------------------------------------------------- */

static const struct tw_driver *sleeper; /* the built-in one */

struct state {
    atomic_bool woken;                              /* somebody called wake since the last wait */
    _Alignas(max_align_t) unsigned char sleepers[]; /* the state of the built-in one */
};

static int open_both(void *memory, enum tw_clock clock) {
    struct state *state = memory; /* zeroed */
    return sleeper->open(state->sleepers, clock);
}

static void close_both(void *memory) {
    struct state *state = memory;
    sleeper->close(state->sleepers);
}

static void wake(void *memory) {
    struct state *state = memory;
    atomic_store(&state->woken, true);
    sleeper->wake(state->sleepers);
}

/* A sleeper may return for no reason, and so may this: far from the deadline it leaves it
 * to its caller to come again, rather than spin for long. */
static int wait_until(void *memory, const struct tw_deadlines *until) {
    struct state *state = memory;
    struct tw_deadlines nearly = *until;
    int slept = 0;
    if (until->steady_ns != TW_NO_DEADLINE)
        nearly.steady_ns = until->steady_ns - spin_ns;
    if (nearly.steady_ns > now())
        slept = sleeper->wait_until(state->sleepers, &nearly);
    while (!atomic_load(&state->woken) && nearly.steady_ns <= now() && until->steady_ns > now())
        ;
    atomic_exchange(&state->woken, false); /* not a store: it sees what the waker did before */
    return slept;
}

static struct tw_driver spinner = {
    .name = "spinner",
    .clocks = TW_CLOCK_BIT(TW_CLOCK_MONOTONIC),
    .open = open_both,
    .close = close_both,
    .wait_until = wait_until,
    .wake = wake,
};

/* --- what it is good for -------------------------------------------------------------- */

struct trial {
    struct tw_runtime *rt;
    sem_t over;
    int64_t sum_ns, max_ns;
    unsigned fires, early;
};

static void on_fire(struct tw_node *node, void *arg) {
    struct trial *trial = arg;
    int64_t late = now() - tw_runtime_due(trial->rt);
    trial->early += late < 0;
    trial->sum_ns += late;
    trial->max_ns = late > trial->max_ns ? late : trial->max_ns;
    if (++trial->fires == FIRES)
        sem_post(&trial->over);
    else
        tw_runtime_after(trial->rt, node, (1 + trial->fires % 5) * TW_MILLISECOND);
}

/* Returns whether all was well; lateness is for the reader to judge. */
static int measure(const struct tw_driver *driver) {
    struct tw_runtime_options options = {.own_driver = driver, .tick_ns = TW_MICROSECOND};
    struct trial trial = {.fires = 0};
    struct tw_node node;
    sem_init(&trial.over, 0, 0);
    tw_node_init(&node, on_fire, &trial);
    if (tw_runtime_new(&trial.rt, &options) != 0 || tw_runtime_start(trial.rt) != 0)
        return 0;
    tw_runtime_after(trial.rt, &node, TW_MILLISECOND); /* wakes the thread: it had no deadline */
    while (sem_wait(&trial.over) != 0)
        ;
    tw_runtime_free(trial.rt);
    printf("%-8s %u fires, %u early; late by %6.1f us on average, %6.1f us at most\n", driver->name,
           trial.fires, trial.early, (double)trial.sum_ns / FIRES / 1000, (double)trial.max_ns / 1000);
    return trial.early == 0;
}

int main(void) {
    sleeper = tw_driver_named("sleep");
    spinner.state_size = sizeof(struct state) + sleeper->state_size;
    int good = measure(sleeper);
    good &= measure(&spinner);
    return good ? 0 : 1;
}
