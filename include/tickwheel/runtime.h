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
 *              (P1). What no clock reaches never comes: a deadline after the last tick of
 *              292 years from 0 pends until it is cancelled.
 *   Results    Negative: an errno value, negated; then nothing has changed.
 *              tw_explain puts it in words. Zero or positive: success, or a count or
 *              truth as documented. Everywhere:
 *   -EINVAL      a null pointer, a node that is all zeroes, a negative time, an option
 *                out of range. Queries answer 0 or TW_NO_DEADLINE instead.
 *   -ECHILD      this process was forked from the one that made the runtime, and
 *                tw_runtime_after_fork was not called. Queries answer as above.
 *   -ESHUTDOWN   from calls that arm, move, start, make or watch something: the runtime is
 *                being freed, by tw_runtime_free inside a function of yours that still
 *                runs, or in `drop` of task.h
 *   Nodes      are those of tw.h: yours, initialised by tw_node_init, not copied or
 *              freed while pending. A node is used with one runtime at a time
 *              (-EBUSY finds mistakes, it does not settle races).
 *   Threads    Any call from any thread, callbacks included, except as noted. No call is a
 *              cancellation point: pthread_cancel takes effect after it, also where it runs
 *              callbacks. The library's own threads are never cancelled. (Nor does a thread
 *              make a call while it may be cancelled asynchronously.)
 *   Order      is that of tw.h. A runtime on the wall clock has two timelines, one for
 *              absolute deadlines and one for delays, each with an order of its own.
 *   Callbacks  run on the runtime's thread, with no lock held, and may call anything
 *              here, stop and free the runtime included. No longjmp leaves them. Where the
 *              program drives the runtime (dispatch, advance, leap) an exception may: it
 *              passes through that call, which ends with it, and counts as the callback's
 *              return. On the library's threads it ends the program (std::terminate).
 *              tw_runtime_due says what the node was due at.
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
     * of one tick share a wake-up. 0: 1 ms. At most 1 hour. However short, timers cost
     * nothing while they are far away. */
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

/* What a runtime has seen so far. With tw_runtime_dispatch, its thread is the one that
 * calls this. Nothing but `wakes` and `clock_sets` is counted where time is virtual. */
struct tw_stats {
    uint64_t wakeups; /* times that its thread may have slept and woke up, or dispatched */
    uint64_t wakes;   /* times that a call woke it for an earlier deadline, or to stop */

    /* Wake-ups at a deadline that was still to come when the thread went to sleep, and how
     * much later than that it was running: what the system takes; with tw_runtime_dispatch,
     * what your loop takes as well. */
    uint64_t timed;
    int64_t late_sum_ns, late_max_ns;

    uint64_t clock_sets;  /* times that the wall clock was found to be set back */
    uint64_t wait_errors; /* times that the driver could not wait; see wait_until */

    /* Deadlines that had passed before the thread could go to sleep for them, and how long
     * since: callbacks held it up, or the system gave others the processor. */
    uint64_t held_up;
    int64_t held_up_sum_ns, held_up_max_ns;
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
 * cancelled, and may be armed elsewhere or freed: once this has returned, by any thread,
 * wherever it is called. Nobody else is in a call to it. Returns 0.
 * From inside a callback of it, or of another function that it has called (`next`, `copy`,
 * `drop`, `each`), the rest is done once that has returned: by the thread that runs it, or,
 * if a call of yours has led to it, as that call returns. Until then calls do no harm, and
 * -ESHUTDOWN says that nothing is armed any more. Callbacks that other threads are in go on,
 * and jobs that wait are still run, but with TW_STOP_DISCARD (workers.h). */
int tw_runtime_free(struct tw_runtime *rt);

/* In the child of a fork: makes the runtime usable there, stopped, with the same
 * options. No node is pending (those that were may be armed again), nothing is watched,
 * and a descriptor that was handed out is gone. Returns 0; also outside such a child, having done nothing.
 *   -EBUSY  called from inside a callback of it, or of another function that it has called
 *   -ENOMEM, -EMFILE, -ENFILE  from the system; call it again, or free the runtime
 * A callback that forks must not return in the child: exec or _exit there. If it does
 * return all the same, nothing more is called. Other functions (`next`, `copy`, `drop`,
 * `each`) may return, to a call of yours that has led to them; that returns -ECHILD if it
 * would have had more to call or to start.
 * No signal handler calls fork on a thread that makes calls to the library: where it has
 * interrupted one, the fork may wait for ever for a lock that this holds. (_Fork, which
 * POSIX allows there, asks nobody: its child makes no call to the library.) */
int tw_runtime_after_fork(struct tw_runtime *rt);

/* --- arming ---------------------------------------------------------------------- */

/* Each returns 1 if the node was pending (it is moved: its former time and period are
 * forgotten), else 0.
 *   -EBUSY  the node is pending on another runtime or wheel
 *   -EPERM  the node was shut down */

/* Once, `delay_ns` from now; 0: at once, in a callback before the thread looks at anything
 * else. 1 is the next tick: never in the same turn, so that descriptors have theirs and
 * tw_runtime_dispatch or tw_runtime_leap returns. */
int tw_runtime_after(struct tw_runtime *rt, struct tw_node *node, int64_t delay_ns);

/* Once, when the clock reads `deadline_ns`; at once if that has passed. On the wall
 * clock: when that reads so, however it may be set meanwhile; what is due in a reading
 * that is withdrawn before the callback runs may still run. */
int tw_runtime_at(struct tw_runtime *rt, struct tw_node *node, int64_t deadline_ns);

/* Every `period_ns`, first one period from now, without drift, until cancelled: the n-th
 * deadline is n periods after the first, to the nanosecond, and rounds up to a tick by
 * itself (16666667 ns on ticks of 1 ms: after 17, 34, 51, 67 ms).
 *   -EINVAL  also: the period is shorter than a tick, or, with ticks longer than 4 s,
 *            counts neither in whole microseconds, as the tick does, nor in ticks; an
 *            unknown `missed` */
int tw_runtime_every(struct tw_runtime *rt, struct tw_node *node, int64_t period_ns, enum tw_missed missed);

/* Everything that the three above can say, and more. All zero: once, at once. */
struct tw_when {
    int64_t due_ns;        /* the first fire: a delay from now, or */
    int absolute;          /*   if not 0, a reading of the clock */
    int64_t slack_ns;      /* it may be this much later, so that timers share wake-ups */
    int64_t period_ns;     /* 0: once; else at least a tick, as in tw_runtime_every */
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
 * thread, nor the `each` of a tw_runtime_clear that has got the node. Inside a callback of
 * the runtime there is nothing to wait for but that. Unless some other thread or the callback
 * arms the node again, it may be freed. Do not hold a lock that the callback or `each` takes;
 * and two callbacks, of two runtimes, that wait for each other do so for ever. */
int tw_runtime_cancel_wait(struct tw_runtime *rt, struct tw_node *node);

/* The same, for good: nobody can arm the node again until tw_node_init, so that it may
 * be freed, whatever others do. */
int tw_runtime_shutdown(struct tw_runtime *rt, struct tw_node *node);

/* Cancels every node that is pending on either timeline, and takes back what jobs have
 * waiting for a worker: calls each(node, arg) on each node, of jobs too, on this thread, with
 * no lock held; `each` may be null. Those of one tick in their order. What is armed from here
 * on stays, and what `each` cancels is not passed to it. A callback that runs is not waited
 * for; a fire that is on its way to a worker just now may still be run. Also from callbacks.
 * Timers of handle.h and keyed.h stay, are late by what `each` takes, and may come after what
 * is armed meanwhile on the same tick: see tw_handles_drain and tw_keyed_drain. Returns 0.
 * All nodes are meant, whoever has armed them. Not for a runtime on which coroutines of the C++
 * face sleep or maps expire: they have nodes, too, and are not told. Such a coroutine never
 * wakes up, and the map's destructor waits for ever. There, cancel_all() spares them.
 * If the wall clock is set back meanwhile, nodes that are armed on it meanwhile go as well.
 *   -ECHILD  also: `each` has forked, and this is the child, where it is called no more */
int tw_runtime_clear(struct tw_runtime *rt, tw_callback *each, void *arg);

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

/* How many nodes are pending, with those of handle.h, keyed.h and the C++ face. */
size_t tw_runtime_count(struct tw_runtime *rt);

/* Fills in what it has seen so far; returns 0. */
int tw_runtime_stats(struct tw_runtime *rt, struct tw_stats *stats);

/* Walks its wheels with all that pends, and reports each broken invariant and the node where
 * it showed, if it is one's; returns how many there were, 0 of a healthy runtime. For tests
 * and for looking into a crash: others wait until it is done. `report` may be null; it must
 * not use the runtime. See tw_check. */
int tw_runtime_check(struct tw_runtime *rt, tw_report *report, void *arg);

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

/* A negative result of this library in words, all that it may mean. For numbers that mean
 * nothing here: "unknown error". Never null, never changes. */
const char *tw_strerror(int error);

/* The same, and more to the point if `error` is what this thread's last call of runtime.h,
 * handle.h, keyed.h or workers.h that failed has returned: which argument it was, or what was
 * in the way, such as "the period is 0". Otherwise as tw_strerror. For calls of tw.h that is
 * the one to ask. The text stays as long as the library does. */
const char *tw_explain(int error);

#ifdef __cplusplus
}
#endif

#endif
