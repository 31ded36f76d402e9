/* tickwheel/driver.h - what turns time into calls: the thread's way to sleep.
 *
 * A runtime's thread fires what is due, asks the wheel what is next, and has its
 * driver wait for that. A driver is a table of functions. Four are built in, found
 * by name; bring your own through tw_runtime_options.own_driver, also one that wraps
 * a built-in one (tw_driver_named). It knows nothing of wheels or nodes.
 *
 * Who calls: `open` and `close` come from one thread, with nothing else running.
 * `wait_until` and `program` come from one thread at a time, the one that fires.
 * `wake` comes from any thread at any time in between, also from several at once. In the
 * child of a fork, `close` is called whatever other threads were doing: it takes no lock.
 * The calling thread cannot be cancelled meanwhile (pthread_cancel).
 * `wait_until`, `watch`, `descriptor` and `program` may be null, the others not. None of
 * them calls the runtime.
 */
#ifndef TICKWHEEL_DRIVER_H
#define TICKWHEEL_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Readings are nanoseconds, as clock_gettime gives them. */
enum tw_clock {
    TW_CLOCK_DEFAULT,   /* monotonic; virtual with the manual driver */
    TW_CLOCK_MONOTONIC, /* time that the system was awake */
    TW_CLOCK_BOOT,      /* time since the system started, suspended or not */
    TW_CLOCK_WALL,      /* the time of day for absolute deadlines; monotonic for delays */
    TW_CLOCK_VIRTUAL    /* starts at 0, moves when it is told to */
};
#define TW_CLOCK_BIT(clock) (1u << (clock))

#define TW_NO_DEADLINE INT64_MAX

/* What a wait ends at: the earlier of the two. 0, like any that has passed: at once. */
struct tw_deadlines {
    int64_t steady_ns; /* of the monotonic clock, or of boot time */
    int64_t wall_ns;   /* of the wall clock; TW_NO_DEADLINE but for TW_CLOCK_WALL */
};

/* A descriptor that is ready. `events`: EPOLLIN and so on, of <sys/epoll.h>. */
typedef void tw_watch_callback(int fd, uint32_t events, void *arg);

enum tw_watch_change { TW_WATCH_ADD, TW_WATCH_MODIFY, TW_WATCH_REMOVE };

struct tw_driver {
    const char *name;

    unsigned clocks; /* TW_CLOCK_BIT of each clock that it can wait on; virtual time, and
                        a wall clock that is virtual, if nobody waits with it: see below */

    size_t state_size; /* bytes of state that each runtime gives it, zeroed */

    /* Makes the state, which is zeroed and aligned for anything. Returns 0, or a
     * negative errno; then nothing is left open. */
    int (*open)(void *state, enum tw_clock clock);

    /* Gives back what `open` took. */
    void (*close)(void *state);

    /* Returns at a deadline or soon after, or because of `wake`, or for no reason; a
     * deadline that has passed is no cause to sleep. A wake that came since the last
     * wait counts. A wall deadline is a reading: it is kept however the clock may be
     * set meanwhile. Returns 1 if it may have slept, 0 if not, or a negative errno if it
     * cannot wait; it is then called again a millisecond later.
     * NULL: no thread is started. Without a descriptor as well, time is virtual. */
    int (*wait_until)(void *state, const struct tw_deadlines *until);

    /* Ends the wait that runs, or else the next one. From any thread, inside calls that
     * arm: it does not block, and leaves errno alone. */
    void (*wake)(void *state);

    /* Has fn(fd, events, arg) called in wait_until, at most one call for each wait.
     * After TW_WATCH_REMOVE it is called no more, and no call of it is left running,
     * but one that removes itself. From any thread, callbacks included. Returns 0 or a
     * negative errno. NULL: it watches no descriptors. */
    int (*watch)(void *state, enum tw_watch_change change, int fd, uint32_t events, tw_watch_callback *fn,
                 void *arg);

    /* For loops of others: a descriptor that becomes readable at the deadlines given
     * to `program`, and on `wake`. `program` with a null pointer says that it is being
     * attended to: what made it readable is over. Returns 0 or a negative errno.
     * Both NULL: there is none. */
    int (*descriptor)(void *state);
    int (*program)(void *state, const struct tw_deadlines *until);
};

/* "sleep", "epoll", "timerfd" or "manual"; NULL for any other name. */
const struct tw_driver *tw_driver_named(const char *name);

#ifdef __cplusplus
}
#endif

#endif
