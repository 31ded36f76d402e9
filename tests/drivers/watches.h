/* Shared by the tests of watched descriptors, which run on each driver that watches: one runtime, and
 * callbacks that record their arguments. */
#ifndef TICKWHEEL_TESTS_WATCHES_H
#define TICKWHEEL_TESTS_WATCHES_H

#include "support/faults.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

extern const char *watching_driver;
extern bool batches_are_seen; /* true if largest_batch can count this driver's events */
extern struct tw_runtime *rt;
int new_watching_runtime(void **state);
int free_watching_runtime(void **state);

FIXTURE(new_watching_runtime, free_watching_runtime);

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

/* Waits until the callback of `note` has been called so many times in total. */
static inline void assert_comes(const struct note *note, unsigned calls) { wait_for(note->calls >= calls); }

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
