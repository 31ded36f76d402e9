/* tickwheel/runtime.h - a wheel, a clock and a thread under one roof (Linux).
 *
 *     struct tw_runtime *rt;
 *     struct tw_node node;
 *     tw_runtime_new(&rt, NULL);
 *     tw_runtime_start(rt);
 *     tw_node_init(&node, on_timeout, &session);
 *     tw_runtime_after(rt, &node, 30 * TW_SECOND);  // any thread, no allocation
 *     ...
 *     tw_runtime_free(rt);
 *
 * Conventions, for every function here
 *   Time       Nanoseconds, int64_t. A delay counts from the clock's reading at the
 *              call. A deadline rounds up to the next tick and nothing runs before it
 *              (P1). Times too large are due at the end of time, 292 years from 0.
 *   Results    Negative: an errno value, negated; then nothing has changed.
 *              tw_strerror puts it in words. Zero or positive: success, or a count or
 *              truth as documented. Everywhere:
 *   -EINVAL      a null pointer, a node that is all zeroes, a negative time, an option
 *                out of range. Queries answer 0 or TW_NO_DEADLINE instead.
 *   -ECHILD      this process was forked from the one that made the runtime, and
 *                tw_runtime_after_fork was not called. Queries answer as above.
 *   Nodes      are those of tw.h: yours, initialised by tw_node_init, not copied or
 *              freed while pending. A node is used with one runtime at a time
 *              (-EBUSY finds mistakes, it does not settle races).
 *   Threads    Any call from any thread, callbacks included, except as noted.
 *   Order      is that of tw.h. A runtime on the wall clock has two timelines, one for
 *              absolute deadlines and one for delays, each with an order of its own.
 *   Callbacks  run on the runtime's thread, with no lock held, and may call anything
 *              here, stop and free the runtime included. They return: no exception and
 *              no longjmp leaves them. tw_runtime_due says what the node was due at.
 *              What they start, threads or programs, inherits blocked signals, and
 *              the CPUs and priority of the options.
 *   Allocates  tw_runtime_new, tw_runtime_start, tw_runtime_after_fork and
 *              tw_runtime_watch, for a descriptor higher than any so far (P10).
 */
#ifndef TICKWHEEL_RUNTIME_H
#define TICKWHEEL_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/driver.h>
#include <tickwheel/tw.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_MICROSECOND INT64_C(1000)
#define TW_MILLISECOND INT64_C(1000000)
#define TW_SECOND INT64_C(1000000000)

struct tw_runtime;

/* All zero, or a null pointer to it, stands for the defaults. tw_runtime_new copies it. */
struct tw_runtime_options {
    /* The unit that deadlines round up to; ticks lie on whole multiples of it. Timers
     * of one tick share a wake-up. 0: 1 ms. At most 1 hour. Many timers more than one
     * round (2^24 ticks) away cost up to 256 wake-ups a round: none to speak of with
     * ticks of 1 ms, 15 a second with 1 us, thousands with 1 ns. */
    int64_t tick_ns;

    /* Which clock; see driver.h. -EOPNOTSUPP for one that the driver cannot wait on:
     *            monotonic  boot  wall  virtual
     *   sleep        yes
     *   epoll        yes     yes   yes
     *   timerfd      yes     yes   yes
     *   manual                     yes*   yes     * a virtual one, set by hand
     * An absolute deadline on the monotonic clock or boot time is a reading of that. */
    enum tw_clock clock;

    /* "sleep", "epoll", "timerfd" or "manual"; NULL: "sleep". -ENOENT for others. */
    const char *driver;

    /* A driver of your own, instead of a name. It outlives the runtime. */
    const struct tw_driver *own_driver;

    /* How late the kernel may wake the thread, so that wake-ups can be shared and the
     * processor sleep longer. 0: 1 ns, precise. Threads of Linux otherwise have 50 us. */
    int64_t slack_ns;

    /* What one turn may do at most (tw_advance in tw.h) before descriptors are looked
     * at and the clock is read again. 0: 1024. */
    uint32_t budget;

    /* The thread: its name, at most 15 characters (NULL: "tickwheel"); the CPUs it
     * may run on, bit n for CPU n (0: as the thread that starts it); and its priority
     * under SCHED_FIFO, 1 to 99 (0: as the thread that starts it). */
    const char *thread_name;
    uint64_t cpus;
    int priority;
};

/* What a runtime has seen so far. */
struct tw_stats {
    uint64_t wakeups;     /* times that its thread may have slept and woke up */
    uint64_t wakes;       /* times that a call woke it for an earlier deadline, or to stop */
    uint64_t timed;       /* the thread's wake-ups at a deadline; the next two speak of them: */
    int64_t late_sum_ns;  /* how much later than the tick it slept for it was running, in sum */
    int64_t late_max_ns;  /* and at most */
    uint64_t clock_sets;  /* times that the wall clock was found to be set back */
    uint64_t wait_errors; /* times that the driver could not wait; see wait_until */
};

/* --- a runtime's life ------------------------------------------------------------ */

/* Makes a runtime. Nothing runs yet; nodes may be armed. `options` may be null.
 *   -EINVAL      also: both a driver's name and an own driver
 *   -ENOENT      no driver of that name
 *   -EOPNOTSUPP  the driver cannot wait on this clock
 *   -ENOMEM, -EMFILE, -ENFILE  from the system */
int tw_runtime_new(struct tw_runtime **rt, const struct tw_runtime_options *options);

/* Starts the thread, which blocks all signals. What has become due while the runtime
 * was stopped fires now, periodic nodes by their policy.
 *   -EALREADY    it runs
 *   -EBUSY       called from a callback; it is dispatched by another thread; its
 *                descriptor was asked for (tw_runtime_fd)
 *   -EOPNOTSUPP  the driver has no thread (manual)
 *   -EAGAIN, -ENOMEM, -EPERM  from the system: no thread, or not with this priority
 *   -EINVAL      also: no CPU of `cpus` is there */
int tw_runtime_start(struct tw_runtime *rt);

/* Stops the thread: no callback begins after this has returned, and none is left
 * running. Nodes stay pending, and time goes on; tw_runtime_start resumes. From inside
 * a callback it returns at once, and that callback is the last. A tw_runtime_dispatch or
 * tw_runtime_advance that runs returns early, which this does not wait for; the next one
 * fires again. 0 also if it was stopped already. Two callbacks that stop each other's
 * runtimes wait for ever. */
int tw_runtime_stop(struct tw_runtime *rt);

/* Stops and frees it; a null pointer is allowed. Pending nodes become idle, as if
 * cancelled, and may be armed elsewhere or freed: after this, not before. From
 * inside a callback of it: frees it once that callback has returned, and the callback
 * makes no further call to it. Nobody else is in a call to it. Returns 0. */
int tw_runtime_free(struct tw_runtime *rt);

/* In the child of a fork: makes the runtime usable there, stopped, with the same
 * options. No node is pending (those that were may be armed again), nothing is watched,
 * and a descriptor that was handed out is gone. Returns 0; also outside such a child, having done nothing.
 *   -EBUSY  called from inside a callback of it
 *   -ENOMEM, -EMFILE, -ENFILE  from the system; call it again, or free the runtime
 * A callback that forks must not return in the child: exec or _exit there. If it does
 * return all the same, nothing more is called. */
int tw_runtime_after_fork(struct tw_runtime *rt);

/* --- arming ---------------------------------------------------------------------- */

/* Each returns 1 if the node was pending (it is moved: its former time and period are
 * forgotten), else 0.
 *   -EBUSY  the node is pending on another runtime or wheel
 *   -EPERM  the node was shut down */

/* Once, `delay_ns` from now; 0: at once. */
int tw_runtime_after(struct tw_runtime *rt, struct tw_node *node, int64_t delay_ns);

/* Once, when the clock reads `deadline_ns`; at once if that has passed. On the wall
 * clock: when that reads so, however it may be set meanwhile; what is due in a reading
 * that is withdrawn before the callback runs may still run. */
int tw_runtime_at(struct tw_runtime *rt, struct tw_node *node, int64_t deadline_ns);

/* Every `period_ns`, first one period from now, without drift, until cancelled.
 *   -EINVAL  also: the period is 0 or no multiple of the tick, which is the grid that
 *            a period can keep to without drifting; an unknown `missed` */
int tw_runtime_every(struct tw_runtime *rt, struct tw_node *node, int64_t period_ns, enum tw_missed missed);

/* Everything that the three above can say, and more. All zero: once, at once. */
struct tw_when {
    int64_t due_ns;        /* the first fire: a delay from now, or */
    int absolute;          /*   if not 0, a reading of the clock */
    int64_t slack_ns;      /* it may be this much later, so that timers share wake-ups */
    int64_t period_ns;     /* 0: once; else a multiple of the tick */
    enum tw_missed missed; /* what becomes of fires that were missed */
    uint32_t fires;        /* how many, of a periodic one; 0: no limit */
};

/*   -EINVAL  also: fires > TW_FIRES_MAX, or a period or `missed` as above */
int tw_runtime_arm(struct tw_runtime *rt, struct tw_node *node, const struct tw_when *when);

/* Moves a pending node: due `delay_ns` from now, earlier or later than it was; its
 * period moves along. An absolute deadline on the wall clock stays one, and goes on to
 * follow it. Returns 0.
 *   -ENOENT  the node is not pending
 *   -EBUSY   the node is pending on another runtime or wheel */
int tw_runtime_move(struct tw_runtime *rt, struct tw_node *node, int64_t delay_ns);

/* The same for a node that is put off over and over, as a timeout is with each packet:
 * cheaper, and its place among the nodes of one tick is unspecified. If it is due later
 * than that already, it stays as it is. Returns 0, or as tw_runtime_move.
 * For nodes armed by delay only: -EINVAL for an absolute deadline on the wall clock. */
int tw_runtime_postpone(struct tw_runtime *rt, struct tw_node *node, int64_t delay_ns);

/* Returns 1 if this prevented a fire, else 0; waits for nobody. See tw_cancel.
 *   -EBUSY  the node is pending on another runtime or wheel */
int tw_runtime_cancel(struct tw_runtime *rt, struct tw_node *node);

/* The same; and once it has returned, the node's callback is not running on another
 * thread. Inside a callback of the runtime there is nothing to wait for. Unless some
 * other thread or the callback arms the node again, it may be freed. Do not hold a
 * lock that the callback takes; and two callbacks, of two runtimes, that wait for each
 * other do so for ever. */
int tw_runtime_cancel_wait(struct tw_runtime *rt, struct tw_node *node);

/* The same, for good: nobody can arm the node again until tw_node_init, so that it may
 * be freed, whatever others do. */
int tw_runtime_shutdown(struct tw_runtime *rt, struct tw_node *node);

/* --- asking ---------------------------------------------------------------------- */

/* The clock's reading, now: what absolute deadlines are compared with. */
int64_t tw_runtime_now(struct tw_runtime *rt);

/* Time until the node is due, 0 if that has passed; TW_NO_DEADLINE if not pending. */
int64_t tw_runtime_remaining(struct tw_runtime *rt, const struct tw_node *node);

/* In a callback: what its node was due at, a reading of the clock that it was armed on
 * (on the wall clock: nodes armed by delay live on the monotonic clock). Outside:
 * TW_NO_DEADLINE. */
int64_t tw_runtime_due(struct tw_runtime *rt);

/* In a callback: how many further fires of this periodic node were missed. See
 * tw_overruns. */
uint64_t tw_runtime_overruns(struct tw_runtime *rt);

/* How many nodes are pending. */
size_t tw_runtime_count(struct tw_runtime *rt);

/* Fills in what it has seen so far; returns 0. */
int tw_runtime_stats(struct tw_runtime *rt, struct tw_stats *stats);

/* --- descriptors: drivers that watch, of the built-in ones epoll ------------------- */

/* Calls fn(fd, events, arg) on the runtime's thread when the descriptor is ready.
 * `events` are those of epoll_ctl (EPOLLIN, EPOLLOUT, EPOLLET ...), and so are the
 * rules: a descriptor that is closed is watched no more, but remove it first. Each of
 * the three returns 0.
 *   -EOPNOTSUPP  this driver watches no descriptors
 *   -EEXIST      it is watched already
 *   -ENOENT      it is not watched (modify, unwatch)
 *   -EBADF, -EPERM, -ENOSPC, -ENOMEM, -EINVAL  as epoll_ctl */
int tw_runtime_watch(struct tw_runtime *rt, int fd, uint32_t events, tw_watch_callback *fn, void *arg);

/* Other events for a watched descriptor. */
int tw_runtime_watch_modify(struct tw_runtime *rt, int fd, uint32_t events);

/* Watches it no more. Once this has returned its callback does not run on another
 * thread; from inside a callback it does not wait. Then close the descriptor. */
int tw_runtime_unwatch(struct tw_runtime *rt, int fd);

/* --- a loop of your own: drivers with a descriptor, of the built-in ones timerfd ---- */

/* A descriptor that is readable when tw_runtime_dispatch has something to do: add it to
 * a loop of yours instead of calling tw_runtime_start, which is refused from now on. It
 * is the runtime's; do not read or close it. Returns it.
 *   -EOPNOTSUPP  this driver has none
 *   -EBUSY       the runtime's thread runs, or another thread dispatches, or a callback
 *   others       the descriptor could not be programmed; ask again later */
int tw_runtime_fd(struct tw_runtime *rt);

/* Fires what is due, on this thread. At most the budget: what is left makes the
 * descriptor readable again. Returns 0.
 *   -EBUSY       the runtime's thread runs, or another thread dispatches, or a callback
 *   -EOPNOTSUPP  this driver has no descriptor
 *   others       the descriptor could not be programmed; dispatch again later */
int tw_runtime_dispatch(struct tw_runtime *rt);

/* --- virtual time: the manual driver ------------------------------------------------ */

/* Moves virtual time on by `ns`, from one deadline to the next, and fires on the way:
 * callbacks see the time that they are due at. Returns 0, also if a callback stopped it
 * half way. A callback that arms a node for at once, again and again, keeps it for ever.
 *   -EOPNOTSUPP  not the manual driver
 *   -EBUSY       called from a callback, or by another thread meanwhile
 *   -ERANGE      beyond the end of time */
int tw_runtime_advance(struct tw_runtime *rt, int64_t ns);

/* The same in one leap, as if the program had been stalled: what is due fires late. */
int tw_runtime_leap(struct tw_runtime *rt, int64_t ns);

/* Sets the virtual wall clock, forwards or back, as an administrator would. Fires
 * nothing; what is due by then fires in the next advance, also one of 0 ns. Returns 0.
 *   -EOPNOTSUPP  not the manual driver with TW_CLOCK_WALL */
int tw_runtime_set_wall(struct tw_runtime *rt, int64_t wall_ns);

/* --- errors -------------------------------------------------------------------------- */

/* A negative result of this library in words, such as "the node was shut down". For
 * numbers that mean nothing here: "unknown error". Never null, never changes. */
const char *tw_strerror(int error);

#ifdef __cplusplus
}
#endif

#endif
