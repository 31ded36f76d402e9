/* The cost of libevent's timers with many pending: adding a pending event again with another delay, deleting
 * it, and firing it, in nanoseconds of the thread's processor time per event. The events are touched in
 * random order, as connections are. */
#include <event2/event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { EVENTS = 200000, ROUNDS = 3 };

static struct event *events[EVENTS];
static size_t order[EVENTS];
static unsigned fired;
static uint64_t seed = 1;

static uint64_t random_below(uint64_t limit) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % limit;
}

static void on_fire(evutil_socket_t fd, short what, void *arg) {
    (void)fd, (void)what, (void)arg;
    fired++;
}

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void shuffle(void) {
    for (size_t i = EVENTS - 1; i > 0; i--) {
        size_t j = random_below(i + 1), other = order[j];
        order[j] = order[i];
        order[i] = other;
    }
}

/* Adds every event with a delay of `least` to `least + spread` microseconds. */
static void add_all(uint64_t least, uint64_t spread) {
    shuffle();
    for (size_t i = 0; i < EVENTS; i++) {
        uint64_t us = least + random_below(spread);
        struct timeval delay = {(time_t)(us / 1000000), (suseconds_t)(us % 1000000)};
        if (event_add(events[order[i]], &delay) != 0)
            abort();
    }
}

/* Extends each event by the same delay, the oldest first, as connections that take turns do. */
static double extend_all(void) {
    const struct timeval minute = {60, 0};
    double start = 0;
    for (int round = 0; round < 2; round++) {
        start = now_ns();
        for (size_t i = 0; i < EVENTS; i++)
            event_add(events[i], &minute);
    }
    return now_ns() - start;
}

int main(void) {
    struct event_base *base = event_base_new();
    double extend = 0, add = 0, delete = 0, fire = 0;
    if (base == NULL)
        return 1;
    for (size_t i = 0; i < EVENTS; i++) {
        events[i] = event_new(base, -1, 0, on_fire, NULL);
        order[i] = i;
        if (events[i] == NULL)
            return 1;
    }
    for (int round = 0; round < ROUNDS; round++) {
        double start;
        extend += extend_all();
        add_all(1000000, 60000000);
        start = now_ns();
        add_all(1000000, 60000000);
        add += now_ns() - start;

        shuffle();
        start = now_ns();
        for (size_t i = 0; i < EVENTS; i++)
            event_del(events[order[i]]);
        delete += now_ns() - start;

        add_all(300000, 500000);
        fired = 0;
        start = now_ns();
        event_base_dispatch(base);
        fire += now_ns() - start;
        if (fired != EVENTS)
            return 1;
    }
    printf("extend the oldest of 200,000 timers\t%.1f\tns\n", extend / ROUNDS / EVENTS);
    printf("move one of 200,000 timers\t%.1f\tns\n", add / ROUNDS / EVENTS);
    printf("delete one of 200,000 timers\t%.1f\tns\n", delete / ROUNDS / EVENTS);
    printf("fire one of 200,000 timers\t%.1f\tns\n", fire / ROUNDS / EVENTS);
    for (size_t i = 0; i < EVENTS; i++)
        event_free(events[i]);
    event_base_free(base);
    return 0;
}
