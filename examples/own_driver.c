/* A driver of your own: it sleeps until shortly before a deadline, and spins from there.
 *
 * A sleeping thread needs some tens of microseconds to run again. With a processor to spare, spinning
 * avoids that. This driver wraps the built-in "sleep" for the long part of a wait; the program compares
 * the two. */
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

static const struct tw_driver *sleeper; /* the built-in driver "sleep" */

struct state {
    atomic_int woken; /* 1: wake was called since the last wait. A word: RISC-V exchanges no less */
    _Alignas(max_align_t) unsigned char sleepers[]; /* the state of the built-in driver */
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

/* The sleeper may return early for no reason. If that is far from the deadline, this returns early, too,
 * instead of spinning for long; the runtime calls it again. */
static int wait_until(void *memory, const struct tw_deadlines *until) {
    struct state *state = memory;
    struct tw_deadlines nearly = *until;
    if (until->steady_ns != TW_NO_DEADLINE)
        nearly.steady_ns = until->steady_ns - spin_ns;
    int slept = nearly.steady_ns > now() ? sleeper->wait_until(state->sleepers, &nearly) : 0;
    while (!atomic_load(&state->woken) && nearly.steady_ns <= now() && until->steady_ns > now())
        ;
    atomic_exchange(&state->woken,
                    0); /* an exchange, not a store: it acquires what the waking thread did before */
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

/* Returns true if no fire was early. Lateness is printed, but not judged. */
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
