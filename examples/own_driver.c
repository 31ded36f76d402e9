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
static const int64_t spin_ns = 200 * TW_MICROSECOND, in_time_ns = 20 * TW_MICROSECOND;

static int64_t now(void) {
    struct timespec reading;
    clock_gettime(CLOCK_MONOTONIC, &reading);
    return reading.tv_sec * TW_SECOND + reading.tv_nsec;
}

static const struct tw_driver *sleeper; /* the built-in one */

struct state {
    atomic_int woken; /* 1: somebody called wake since the last wait. A word: RISC-V exchanges no less */
    _Alignas(max_align_t) unsigned char sleepers[]; /* the state of the built-in one */
};

static int open_both(void *memory, enum tw_clock clock) {
    return sleeper->open(((struct state *)memory)->sleepers, clock); /* zeroed already */
}

static void close_both(void *memory) { sleeper->close(((struct state *)memory)->sleepers); }

static void wake(void *memory) {
    struct state *state = memory;
    atomic_store(&state->woken, 1);
    sleeper->wake(state->sleepers);
}

/* A sleeper may return for no reason, and so may this: far from the deadline it leaves it
 * to its caller to come again, rather than spin for long. */
static int wait_until(void *memory, const struct tw_deadlines *until) {
    struct state *state = memory;
    struct tw_deadlines nearly = *until;
    if (until->steady_ns != TW_NO_DEADLINE)
        nearly.steady_ns = until->steady_ns - spin_ns;
    int slept = nearly.steady_ns > now() ? sleeper->wait_until(state->sleepers, &nearly) : 0;
    while (!atomic_load(&state->woken) && nearly.steady_ns <= now() && until->steady_ns > now())
        ;
    atomic_exchange(&state->woken, 0); /* not a store: it sees what the waker did before */
    return slept;
}

static struct tw_driver spinner = {.name = "spinner",
                                   .clocks = TW_CLOCK_BIT(TW_CLOCK_MONOTONIC),
                                   .open = open_both,
                                   .close = close_both,
                                   .wait_until = wait_until,
                                   .wake = wake};

static struct tw_runtime *rt;
static sem_t over;
static unsigned fires, early, in_time;

static void on_fire(struct tw_node *node, void *arg) {
    (void)arg;
    int64_t late = now() - tw_runtime_due(rt);
    early += late < 0;
    in_time += late < in_time_ns;
    if (++fires == FIRES)
        sem_post(&over);
    else
        tw_runtime_after(rt, node, (1 + fires % 5) * TW_MILLISECOND);
}

/* Whether all went well. How late it was is for the reader to judge. */
static bool measure(const struct tw_driver *driver) {
    struct tw_runtime_options options = {.own_driver = driver, .tick_ns = TW_MICROSECOND};
    struct tw_node node;
    fires = early = in_time = 0;
    sem_init(&over, 0, 0);
    tw_node_init(&node, on_fire, NULL);
    if (tw_runtime_new(&rt, &options) != 0 || tw_runtime_start(rt) != 0)
        return false;
    tw_runtime_after(rt, &node, TW_MILLISECOND); /* wakes the thread, which had no deadline */
    while (sem_wait(&over) != 0)
        ;
    tw_runtime_free(rt);
    printf("%-8s %u fires, %u early, %u less than 20 us late\n", driver->name, fires, early, in_time);
    return early == 0;
}

int main(void) {
    sleeper = tw_driver_named("sleep");
    spinner.state_size = sizeof(struct state) + sleeper->state_size;
    return measure(sleeper) && measure(&spinner) ? 0 : 1;
}
