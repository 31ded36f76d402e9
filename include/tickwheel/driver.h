/* tickwheel/driver.h - how a runtime's thread sleeps and is woken.
 *
 * A runtime's thread fires the timers that are due, asks the wheel for its next tick, and calls its driver to
 * wait until then. A driver is a table of functions, and knows nothing of wheels or nodes. Five drivers are
 * built in and found by name. You can supply your own in tw_runtime_options.own_driver; it may wrap a
 * built-in one (tw_driver_named).
 *
 * Threads: `open` and `close` are called by one thread while no other function runs. `wait_until`
 * and `program` are called by one thread at a time, the one that fires. `wake` is called by any
 * thread at any time between `open` and `close`, also by several at once. In the child of a fork
 * `close` is called whatever other threads were doing at the fork, so `close` must take no lock. Thread
 * cancellation (pthread_cancel) is disabled during all these calls.
 *
 * `wait_until`, `watch`, `descriptor` and `program` may be null, the others must not. No function of a
 * driver may call the runtime.
 */
#ifndef TICKWHEEL_DRIVER_H
#define TICKWHEEL_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/must_check.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The clocks. Readings are nanoseconds, as clock_gettime returns them. */
enum tw_clock {
    TW_CLOCK_DEFAULT,   /* monotonic; virtual with the manual driver */
    TW_CLOCK_MONOTONIC, /* does not advance while the system is suspended */
    TW_CLOCK_BOOT,      /* time since the system started, including suspend */
    TW_CLOCK_WALL,      /* the time of day for absolute deadlines; monotonic for delays */
    TW_CLOCK_VIRTUAL    /* starts at 0, and moves only when the program moves it */
};
#define TW_CLOCK_BIT(clock) (1u << (clock))

#define TW_NO_DEADLINE INT64_MAX

/* The deadlines of a wait, which ends at the earlier of the two. A deadline that has passed, such as
 * 0, ends the wait at once. */
struct tw_deadlines {
    int64_t steady_ns; /* a reading of the monotonic clock, or of boot time */
    int64_t wall_ns;   /* a reading of the wall clock; TW_NO_DEADLINE except with TW_CLOCK_WALL */
};

/* Called when a descriptor is ready. `events`: EPOLLIN and so on, from <sys/epoll.h>. */
typedef void tw_watch_callback(int fd, uint32_t events, void *arg);

enum tw_watch_change { TW_WATCH_ADD, TW_WATCH_MODIFY, TW_WATCH_REMOVE };

struct tw_driver {
    const char *name;

    unsigned clocks; /* TW_CLOCK_BIT of each clock that the driver can wait on. A driver without
                        `wait_until` and `descriptor` has virtual time, with or without a
                        virtual wall clock */

    size_t state_size; /* bytes of zeroed state that each runtime allocates for the driver */

    /* Initialises the state, which is zeroed and aligned for any type. Returns 0, or a negative
     * errno after releasing everything that it took. */
    int (*open)(void *state, enum tw_clock clock);

    /* Releases all that `open` took. */
    void (*close)(void *state);

    /* Waits until a deadline, or until `wake` is called; a `wake` since the last wait counts. The
     * function may return spuriously, and does not sleep if a deadline has passed. If the wall clock is
     * set during the wait, the wait must follow that clock. Returns 1 if it may have slept, 0 if not, or a
     * negative errno if it cannot wait; the runtime then calls it again a millisecond later. NULL:
     * the runtime has no thread; if `descriptor` is null too, time is virtual. */
    int (*wait_until)(void *state, const struct tw_deadlines *until);

    /* Ends the running wait, or the next one if none is running. Called by any thread, from within
     * functions that arm, so it must not block and must preserve errno. Several calls during one
     * wait count as one. The runtime calls `wake` once for a sleep, and more often only if several
     * threads arm at the same moment, or one arms while the firing thread enters or leaves its
     * sleep. */
    void (*wake)(void *state);

    /* Adds, changes or removes a watched descriptor. `wait_until` calls fn(fd, events, arg) when the
     * descriptor is ready, at most one such call for each wait. When TW_WATCH_REMOVE returns, fn is not
     * running and is not called again, except that fn itself may remove its descriptor. Called by any
     * thread, callbacks included. Returns 0 or a negative errno. NULL: the driver watches no descriptors. */
    int (*watch)(void *state, enum tw_watch_change change, int fd, uint32_t events, tw_watch_callback *fn,
                 void *arg);

    /* For event loops of the program. `descriptor` returns a descriptor that becomes readable at the
     * deadlines given to `program`, and on `wake`. A wake keeps the descriptor readable, whatever
     * deadlines are programmed after it, until `program` is called with a null `until`. The null
     * says that the runtime is being dispatched, which settles all wakes so far; the runtime
     * programs the descriptor again after that. Both return a negative errno on error; `program`
     * returns 0 on success. Both NULL: there is no descriptor. */
    int (*descriptor)(void *state);
    int (*program)(void *state, const struct tw_deadlines *until);
};

/* Returns the built-in driver "sleep", "epoll", "uring", "timerfd" or "manual"; NULL for any other name. */
TW_MUST_CHECK const struct tw_driver *tw_driver_named(const char *name);

#ifdef __cplusplus
}
#endif

#endif
