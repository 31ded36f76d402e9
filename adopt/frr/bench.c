/* Measures the timers of FRR's event loop, in nanoseconds of processor time per timer. */
#include <zebra.h>

#include "thread.h"

static struct thread_master *master;
static long fired;

static void fire(struct thread *thread) {
    (void)thread;
    fired++;
}

static double cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void report(const char *what, long timers, double ns) {
    printf("%s, %ld timers\t%.1f\tns\n", what, timers, ns);
}

static void schedule(struct thread **thread, long from_ms, long range_ms) {
    thread_add_timer_msec(master, fire, NULL, from_ms + random() % range_ms, thread);
}

static void turn(void) {
    struct thread thread;
    if (thread_fetch(master, &thread) != NULL)
        thread_call(&thread);
}

/* Lets all timers become due, then measures how long it takes to fire them. */
static double fire_all(struct thread **all, long timers) {
    const struct timespec wait = {.tv_nsec = 12000000};
    double begin;
    long i;
    for (i = 0; i < timers; i++)
        schedule(&all[i], 1, 10);
    nanosleep(&wait, NULL);
    begin = cpu_ns();
    for (fired = 0; fired < timers;)
        turn();
    return cpu_ns() - begin;
}

static void measure(long timers) {
    const long rounds = 1000000 / timers, changes = 1000000, turns = 20000;
    struct thread **all = calloc(timers, sizeof *all), *other = NULL;
    double begin, scheduling = 0, cancelling = 0, firing = 0;
    long i, round;
    master = thread_master_create(NULL);
    for (round = 0; round < rounds; round++) {
        begin = cpu_ns();
        for (i = 0; i < timers; i++)
            schedule(&all[i], 1000, 3600000);
        scheduling += cpu_ns() - begin;
        begin = cpu_ns();
        for (i = 0; i < timers; i++)
            thread_cancel(&all[i]);
        cancelling += cpu_ns() - begin;
    }
    report("schedule", timers, scheduling / rounds / timers);
    report("cancel", timers, cancelling / rounds / timers);
    for (i = 0; i < timers; i++)
        schedule(&all[i], 1000000, 3600000);
    begin = cpu_ns();
    for (i = 0; i < changes; i++) {
        struct thread **thread = &all[random() % timers];
        thread_cancel(thread);
        schedule(thread, 1000000, 3600000);
    }
    report("cancel and schedule again", timers, (cpu_ns() - begin) / changes);
    begin = cpu_ns();
    for (i = 0; i < turns; i++) {
        schedule(&other, 0, 1);
        for (fired = 0; fired == 0;)
            turn();
    }
    report("schedule and fire another", timers, (cpu_ns() - begin) / turns);
    for (i = 0; i < timers; i++)
        thread_cancel(&all[i]);
    for (round = 0; round < (rounds < 100 ? rounds : 100); round++)
        firing += fire_all(all, timers);
    report("fire", timers, firing / round / timers);
    thread_master_free(master);
    free(all);
}

int main(void) {
    measure(10);
    measure(10000);
    measure(200000);
    return 0;
}
