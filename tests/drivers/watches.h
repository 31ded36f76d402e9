/* Shared by the tests of watched descriptors, which run on each driver that watches: one runtime, and
 * callbacks that record their arguments. */
#ifndef TICKWHEEL_TESTS_WATCHES_H
#define TICKWHEEL_TESTS_WATCHES_H

#include "support/faults.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

static const char *watching_driver;
static bool batches_are_seen; /* by largest_batch */
static struct tw_runtime *rt;

static inline int new_watching_runtime(UNUSED void **state) {
    const struct tw_runtime_options options = {.driver = watching_driver};
    return tw_runtime_new(&rt, &options);
}

/* Runs all tests of the program on each. "uring" twice: as it is, and as on a kernel whose ring cannot fetch
 * events (before Linux 6.15). */
static inline int on_each_watching_driver(void) {
    watching_driver = "epoll";
    batches_are_seen = true;
    int failed = run_registered_tests("on epoll", NULL);
    watching_driver = "uring";
    if (!has_uring())
        return failed;
    batches_are_seen = false;
    failed += run_registered_tests("on uring", NULL);
    batches_are_seen = true;
    hide_fetching(true);
    failed += run_registered_tests("on uring, where the ring cannot fetch events", NULL);
    hide_fetching(false);
    return failed;
}

static inline int free_runtime(UNUSED void **state) { return tw_runtime_free(rt); }

FIXTURE(new_watching_runtime, free_runtime);

static inline void start(void) { assert_int_equal(tw_runtime_start(rt), 0); }

struct note {
    atomic_uint calls;
    int fd, result;
    uint32_t events;
    pthread_t on;
};

static inline void note_event(int fd, uint32_t events, void *arg) {
    struct note *note = arg;
    note->fd = fd;
    note->events = events;
    note->on = pthread_self();
    atomic_fetch_add(&note->calls, 1);
}

static const struct note *awaited;
static unsigned awaited_calls;

static inline bool awaited_has_come(void) { return atomic_load(&awaited->calls) >= awaited_calls; }

/* Waits until it has been called so many times in total. */
static inline void assert_comes(const struct note *note, unsigned calls) {
    awaited = note;
    awaited_calls = calls;
    wait_for(awaited_has_come());
}

/* Returns a descriptor that is readable if `value` is not 0, and always writable. */
static inline int new_event(unsigned value) {
    const int fd = eventfd(value, EFD_CLOEXEC | EFD_NONBLOCK);
    assert_true(fd >= 0);
    return fd;
}

static inline void make_readable(int fd) { assert_int_equal(eventfd_write(fd, 1), 0); }

static inline void watch(int fd, uint32_t events, tw_watch_callback *fn, void *arg) {
    assert_int_equal(tw_runtime_watch(rt, fd, events, fn, arg), 0);
}

#endif
