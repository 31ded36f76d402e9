/* tickwheel/runtime.h - timers on a clock, with a thread (Linux): a wheel, a clock and a driver.
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
 * Conventions for every function here
 *   Arguments  `rt` is the runtime, and `node` the node that the call is about. `arg` is passed to
 *              the function that is given with it.
 *   Time       Nanoseconds in an int64_t. A delay counts from the clock's reading at the call. A
 *              deadline rounds up to the next tick, and no callback runs before it (P1). A
 *              deadline after the last tick, 292 years from 0, is never reached: its timer stays
 *              pending until it is cancelled.
 *   Results    A negative result is a negated errno value, and nothing has changed; tw_explain
 *              puts it in words. Zero or a positive result is success, or a count or truth value
 *              as documented. Every function can return:
 *   -EINVAL      a null pointer, arming a node that is all zeroes, a negative time, an option out of
 *                range. Queries return 0 or TW_NO_DEADLINE instead.
 *   -ECHILD      this process was forked from the one that made the runtime, and
 *                tw_runtime_after_fork was not called. Queries return the same as above.
 *   -ESHUTDOWN   from calls that arm, move, start, make or watch something: the runtime is being
 *                freed, because a callback or another function of yours called tw_runtime_free
 *                and still runs, or because `drop` of task.h is running
 *   Nodes      Those of tw.h: they live in your storage, are initialised by tw_node_init, and must
 *              not be copied or freed while pending. Use a node with one runtime at a time. -EBUSY
 *              catches mistakes; it does not make a race between two runtimes safe.
 *   Threads    Every function may be called from any thread, callbacks included, unless it says
 *              otherwise. No function is a cancellation point: pthread_cancel takes effect after
 *              the call, even if the call runs callbacks. The library's own threads are never
 *              cancelled. A thread must not call the library while its cancellation type is
 *              asynchronous.
 *   Order      As in tw.h. A runtime on the wall clock has two timelines, one for absolute
 *              deadlines and one for delays; each has its own order.
 *   Callbacks  Run on the runtime's thread with no lock held. They may call anything here,
 *              including tw_runtime_stop and tw_runtime_free. A longjmp must not leave them. An
 *              exception may leave them where the program drives the runtime (run, dispatch, advance,
 *              leap): it passes through that call and ends it, and the callback counts as
 *              returned. On the library's own threads an exception ends the program
 *              (std::terminate). tw_runtime_due returns the deadline of the fire. Threads and
 *              programs that a callback starts inherit blocked signals, and the CPUs and priority
 *              from the options.
 *   Allocates  tw_runtime_new, tw_runtime_start, tw_runtime_after_fork, and tw_runtime_watch for
 *              a descriptor higher than any before (P10). Nothing else here allocates.
 */
#ifndef TICKWHEEL_RUNTIME_H
#define TICKWHEEL_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/driver.h>
#include <tickwheel/must_check.h>
#include <tickwheel/tw.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_MICROSECOND INT64_C(1000)
#define TW_MILLISECOND INT64_C(1000000)
#define TW_SECOND INT64_C(1000000000)
#define TW_MINUTE (60 * TW_SECOND)
#define TW_HOUR (60 * TW_MINUTE)

struct tw_runtime;

/* Options of tw_runtime_new, which copies them. All zeroes, or a null pointer instead of this
 * struct, gives the defaults. */
struct tw_runtime_options {
    /* Length of a tick in nanoseconds, at most 1 hour. 0: 1 ms. Deadlines round up to a multiple
     * of it, and timers of one tick share a wake-up. Short ticks do not make distant timers more
     * expensive. */
    int64_t tick_ns;

    /* The clock; see driver.h. 0: the driver's default. tw_runtime_new returns -EOPNOTSUPP if the
     * driver cannot wait on this clock. The drivers support:
     *            monotonic  boot  wall  virtual
     *   sleep        yes
     *   epoll        yes     yes   yes
     *   uring        yes     yes   yes
     *   timerfd      yes     yes   yes
     *   manual                     yes*   yes     * virtual; set by tw_runtime_set_wall
     * Absolute deadlines are readings of this clock. */
    enum tw_clock clock;

    /* "sleep", "epoll", "uring", "timerfd" or "manual". NULL: "sleep".
     *
     * "uring" is io_uring, from Linux 6.1 on. Where that is missing or forbidden, as in many sandboxes,
     * tw_runtime_new fails and does not fall back to another driver. "epoll" does the same with
     * other system calls:
     *     int error = tw_runtime_new(&rt, &options);
     *     if (error == -ENOSYS || error == -EPERM)
     *         options.driver = "epoll", error = tw_runtime_new(&rt, &options); */
    const char *driver;

    /* A driver of your own, instead of a name. It must outlive the runtime. NULL: none. */
    const struct tw_driver *own_driver;

    /* Timer slack of the thread in nanoseconds: how late the kernel may wake it, to share wake-ups
     * and let the processor sleep longer. 0: 1 ns. (Linux's own default is 50 us.) */
    int64_t slack_ns;

    /* Budget of one turn, in callbacks, node moves and opened slots (see tw_advance in tw.h).
     * When it is spent, the thread looks at descriptors and reads the clock again. 0: 1024. */
    uint32_t budget;

    /* The thread's name, at most 15 characters (NULL: "tickwheel"); the CPUs that it may run on,
     * bit n for CPU n (0: those of the thread that starts it); and its priority under SCHED_FIFO,
     * 1 to 99 (0: policy and priority of the thread that starts it). */
    const char *thread_name;
    uint64_t cpus;
    int priority;

    /* The most lanes, up to 64: wheels with a lock each, so that threads seldom wait for each other. A
     * timer of timers.h goes to the lane of the thread that starts it; one of keyed.h to a lane that its
     * key's hash chooses, of at most four for each processor; one of a set with a capacity to the lane of
     * the thread that makes the set; a node to lane 0. Lanes keep the order of timers (P3). A lane takes
     * 60 KB once it is used. 0: 64, or one with "manual". With TW_CLOCK_WALL there is always one. */
    unsigned lanes;
};

/* --- lifetime -------------------------------------------------------------------- */

/* Makes a runtime and stores it in *rt. The runtime is stopped; you may arm nodes before you start it.
 * `options` may be null. Returns 0. The caller owns the runtime and frees it with tw_runtime_free.
 *   -EINVAL      also: both a driver name and a driver of your own
 *   -ENOENT      no driver has that name
 *   -EOPNOTSUPP  the driver cannot wait on this clock; "uring" cannot wait on any clock in a time
 *                namespace, whose offsets io_uring ignores, or where /proc does not show whether
 *                the process is in one
 *   -ENOSYS      the kernel lacks what the driver needs (uring)
 *   -EPERM       the system forbids what the driver needs (uring): a sandbox, or the setting
 *                kernel.io_uring_disabled
 *   -ENOMEM, -EMFILE, -ENFILE  from the system */
TW_MUST_CHECK int tw_runtime_new(struct tw_runtime **rt, const struct tw_runtime_options *options);

/* Starts the thread, which blocks all signals. Timers that became due while the runtime was stopped
 * fire now, periodic ones by their policy. Returns 0.
 *   -EALREADY    the thread runs already
 *   -EBUSY       called from a callback; another thread drives the runtime; or tw_runtime_fd has
 *                handed out its descriptor
 *   -EOPNOTSUPP  the driver has no thread (manual)
 *   -EAGAIN, -ENOMEM, -EPERM  from the system: no thread, or not with this priority
 *   -EINVAL      also: the machine has none of `cpus` */
TW_MUST_CHECK int tw_runtime_start(struct tw_runtime *rt);

/* Fires timers on this thread, instead of one of the library's, until tw_runtime_stop: for a program that
 * does nothing but run its timers. Unlike the library's thread, the calling thread keeps its signals,
 * name, CPUs and priority; it has the slack of the options during the call. A stop before the call has no
 * effect on it. A callback's exception passes through and ends the call. Returns 0.
 *   -EBUSY       the runtime's thread runs; another thread drives the runtime; called from a
 *                callback; or tw_runtime_fd has handed out its descriptor
 *   -EOPNOTSUPP  the driver does not wait (manual)
 *   -ECHILD      also: a callback has forked and returned, and this is the child */
int tw_runtime_run(struct tw_runtime *rt);

/* Stops the thread and waits for it: after the return no callback begins and none is running. Nodes
 * stay pending, and time goes on; tw_runtime_start resumes. Called from a callback it returns at
 * once, and that callback is the last. A tw_runtime_run, tw_runtime_dispatch, tw_runtime_advance or
 * tw_runtime_leap in progress returns early, but tw_runtime_stop does not wait for that; the next such
 * call fires again. Two callbacks that stop each other's runtimes deadlock. Returns 0, even if the runtime
 * was already stopped. */
int tw_runtime_stop(struct tw_runtime *rt);

/* Stops the runtime and frees it; `rt` may be null. Pending nodes become idle, as if cancelled:
 * after the return any thread may arm them elsewhere or free them. No other thread may be in a call
 * on the runtime. Returns 0.
 *
 * You may call tw_runtime_free from a callback of the runtime, and from the other functions that the
 * library calls (`next`, `copy`, `drop`, `each`). Nodes are idle when the call returns there too, but the
 * runtime itself is freed later: when that function has returned, by the thread that runs it or at the end of
 * your call that led to it. Until then calls on the runtime are safe, and those that would arm something
 * return -ESHUTDOWN. Callbacks that other threads are running go on; work items that wait in a queue still
 * run, except with TW_STOP_DISCARD (workers.h). */
int tw_runtime_free(struct tw_runtime *rt);

/* In the child of a fork: makes the runtime usable there, stopped, with the same options. No node
 * is pending (all may be armed again), sets and tables are empty, no descriptor is watched, and a
 * descriptor that tw_runtime_fd handed out is closed. The call drops (task.h) the arguments of the
 * child's timers in sets and tables; the parent drops its own. Returns 0. Outside such a child the
 * call does nothing and returns 0.
 *   -EBUSY  called from a callback of the runtime, or from another function that the library calls
 *   -ENOMEM, -EMFILE, -ENFILE  from the system; call it again, or free the runtime
 *   -ENOSYS, -EPERM, -EOPNOTSUPP  as tw_runtime_new, if the child may do less than the parent
 *
 * A callback that forks must not return in the child: call exec or _exit there. If it returns
 * anyway, the child calls no further callback. The other functions (`next`, `copy`, `drop`, `each`)
 * may return in the child, to your call that led to them; that call returns -ECHILD if it still had
 * functions to call or a timer to start.
 *
 * Do not call fork in a signal handler on a thread that uses the library: if the handler has
 * interrupted a call that holds a lock, the fork waits for that lock forever. (_Fork, which POSIX
 * allows there, takes no lock, but its child must not call the library.) */
TW_MUST_CHECK int tw_runtime_after_fork(struct tw_runtime *rt);

/* --- arming ---------------------------------------------------------------------- */

/* Arming a pending node moves it: its former deadline and period are forgotten. */

/* Fires the node once, `delay_ns` from now. 0 fires at once: armed in a callback, the node fires in the same
 * turn, before the thread looks at descriptors, unless the next tick has begun since or the turn's
 * budget is spent; then it fires in the next turn. 1 fires at the next tick, never in the same turn;
 * descriptors are served first, and tw_runtime_dispatch or tw_runtime_leap returns. Returns 0.
 *   -EBUSY  the node is pending on another runtime or wheel
 *   -EPERM  the node is retired */
int tw_runtime_after(struct tw_runtime *rt, struct tw_node *node, int64_t delay_ns);

/* Fires the node once, when the clock reads `deadline_ns`; at once if that has passed. A deadline on the wall
 * clock follows the clock when it is set. If the clock reaches the deadline and is set back before
 * the callback runs, the callback may still run. Returns 0.
 *   -EBUSY  the node is pending on another runtime or wheel
 *   -EPERM  the node is retired */
int tw_runtime_at(struct tw_runtime *rt, struct tw_node *node, int64_t deadline_ns);

/* Fires the node every `period_ns` until it is cancelled, first one period from now, without drift: the n-th
 * deadline lies n periods after the first, to the nanosecond, and each deadline rounds up to a tick
 * separately (16666667 ns on ticks of 1 ms: after 17, 34, 51, 67 ms). `missed` is the policy for
 * fires that are late by more than a period. Returns 0.
 *   -EINVAL  also: the period is shorter than a tick; `missed` is unknown; or ticks are longer
 *            than 4 s, and the period is neither a multiple of the tick nor, like the tick, a
 *            whole number of microseconds
 *   -EBUSY   the node is pending on another runtime or wheel
 *   -EPERM   the node is retired */
int tw_runtime_every(struct tw_runtime *rt, struct tw_node *node, int64_t period_ns, enum tw_missed missed);

/* When a timer fires: all that the three functions above can express, and more. All zeroes: once,
 * at once. */
struct tw_when {
    int64_t due_ns;        /* the first fire: a delay from now, or a reading if `absolute`. 0: at once;
                              a periodic timer: at the next tick, as its period counts from now */
    int absolute;          /* not 0: `due_ns` is a reading of the clock */
    int64_t slack_ns;      /* how much later the first fire may be, to share wake-ups */
    int64_t jitter_ns;     /* delays the first fire by a random duration of at most this, so that
                              timers or processes that start together do not stay in step */
    int64_t period_ns;     /* 0: once; else at least a tick, as in tw_runtime_every */
    enum tw_missed missed; /* policy for missed fires of a periodic timer */
    uint32_t fires;        /* number of fires of a periodic timer; 0: no limit */
};

/* Arms the node as `when` says. Returns 0.
 *   -EINVAL  also: a field is negative; fires > TW_FIRES_MAX; `fires` or `missed` without a period;
 *            period or `missed` as in tw_runtime_every
 *   -EBUSY   the node is pending on another runtime or wheel
 *   -EPERM   the node is retired */
int tw_runtime_arm(struct tw_runtime *rt, struct tw_node *node, const struct tw_when *when);

/* Moves a pending node: it is now due `delay_ns` from now, which may be earlier or later than
 * before; with 0, at the next tick. The grid of a periodic node shifts with it. A node with an
 * absolute deadline on the wall clock keeps following that clock. Returns 0.
 *   -ENOENT  the node is not pending
 *   -EBUSY   the node is pending on another runtime or wheel */
int tw_runtime_move(struct tw_runtime *rt, struct tw_node *node, int64_t delay_ns);

/* Restarts a node's delay: the node fires after the delay that tw_runtime_after or tw_runtime_arm
 * was last given, counted from now, without slack and jitter. The node may be pending or idle; its
 * own callback may make this call. A pending node with a period is due one period from now, and its
 * grid shifts with it. Returns 0.
 *   -EINVAL  also: the node has no delay: it was last armed with an absolute deadline, or never
 *   -ENOENT  the node has a period, and is not pending
 *   -EBUSY   the node is pending on another runtime or wheel
 *   -EPERM   the node is retired */
int tw_runtime_again(struct tw_runtime *rt, struct tw_node *node);

/* Postpones a pending node to `delay_ns` from now. Cheaper than tw_runtime_move; meant for a timeout
 * that is extended over and over, for example with each packet. The node's place among the nodes of
 * one tick is unspecified. A node that is already due later than that stays as it is. Returns 0.
 *   -EINVAL  also: the node has an absolute deadline on the wall clock
 *   -ENOENT  the node is not pending
 *   -EBUSY   the node is pending on another runtime or wheel */
int tw_runtime_postpone(struct tw_runtime *rt, struct tw_node *node, int64_t delay_ns);

/* Cancels a node. Returns 1 if this prevented a fire, else 0. It does not wait for a callback that
 * is running; tw_runtime_cancel_wait does. See tw_cancel.
 *   -EBUSY  the node is pending on another runtime or wheel */
int tw_runtime_cancel(struct tw_runtime *rt, struct tw_node *node);

/* Cancels a node as tw_runtime_cancel does, and waits until no other thread is running the node's
 * callback, or the `each` of a tw_runtime_cancel_all with this node. Inside a callback of the runtime it
 * waits for such an `each` only. The node may then be freed, unless the callback or another thread
 * arms it again. Do not hold a lock that the callback or `each` takes. Two callbacks of two runtimes
 * that wait for each other deadlock, and so do a callback and an `each` that wait for each other's node.
 * Returns 1 if this prevented a fire, else 0.
 *   -EBUSY  the node is pending on another runtime or wheel */
int tw_runtime_cancel_wait(struct tw_runtime *rt, struct tw_node *node);

/* Cancels and waits as tw_runtime_cancel_wait does, and retires the node: arming it returns -EPERM
 * until tw_node_init. The node may then be freed whatever other threads do. Returns 1 if this
 * prevented a fire, else 0.
 *   -EBUSY  the node is pending on another runtime or wheel */
int tw_runtime_retire(struct tw_runtime *rt, struct tw_node *node);

/* Cancels every pending node on all timelines, removes the fires of work items that wait for a worker, and
 * calls each(node, arg) on every such node, those of work items included. `each` runs on this thread with
 * no lock held and may be null; nodes of one tick are passed in their order. Nodes that are armed
 * from now on stay armed, and nodes that `each` cancels are not passed to it. The call does not wait for
 * callbacks that are running, and a fire that is just then being handed to a worker may still run.
 * May be called from callbacks. Returns 0.
 *
 * Timers of timers.h and keyed.h stay (see tw_timers_cancel_all and tw_keyed_cancel_all). If the
 * wall clock is set back during the call, nodes that are armed on that clock during the call are
 * cancelled too.
 *
 * This cancels all nodes, including those inside coroutines and C++ maps, which do not notice: such
 * a coroutine never wakes up, and the map's destructor waits forever. On a runtime that has either,
 * use cancel_all() of tickwheel.hpp, which spares them.
 *   -ECHILD  also: `each` has forked and this is the child; there `each` is not called again */
int tw_runtime_cancel_all(struct tw_runtime *rt, tw_callback *each, void *arg);

/* --- asking ---------------------------------------------------------------------- */

/* Returns the clock's present reading, with which absolute deadlines are compared. */
TW_MUST_CHECK int64_t tw_runtime_now(struct tw_runtime *rt);

/* Returns the nanoseconds until the node is due, at most TW_NO_DEADLINE - 1: 0 if it is overdue,
 * TW_NO_DEADLINE if it is not pending. The node of a one-shot work item whose fire waits for a worker is
 * no longer pending. */
TW_MUST_CHECK int64_t tw_runtime_remaining(struct tw_runtime *rt, const struct tw_node *node);

/* In a callback: returns the deadline of this fire, rounded up to a tick, a reading of the clock that
 * the node was armed on. (On a runtime on the wall clock, nodes armed by delay follow the monotonic clock.)
 * TW_NO_DEADLINE outside callbacks. */
TW_MUST_CHECK int64_t tw_runtime_due(struct tw_runtime *rt);

/* In a callback: returns how many further fires of this periodic node were missed; 0 outside
 * callbacks. See tw_overruns. */
TW_MUST_CHECK uint64_t tw_runtime_overruns(struct tw_runtime *rt);

/* Returns the number of pending nodes and of pending timers of timers.h, keyed.h and tickwheel.hpp. */
TW_MUST_CHECK size_t tw_runtime_count(struct tw_runtime *rt);

/* Checks the invariants of the runtime's wheels, of all pending nodes and of the timers that the
 * library keeps, calls report(invariant, node, arg) for each broken one, and returns how many there
 * were. `report` may be null; it must not use the runtime. For tests and for investigating a crash: it holds
 * the lock of what it checks throughout. */
TW_MUST_CHECK int tw_runtime_check(struct tw_runtime *rt, tw_report *report, void *arg);

/* --- descriptors: drivers that watch, of the built-in ones epoll and uring ---------- */

/* Watches a descriptor: the runtime's thread calls fn(fd, events, arg) when the descriptor is ready.
 * `events` has the values and the rules of epoll_ctl (EPOLLIN, EPOLLOUT, EPOLLET ...). Closing a
 * descriptor ends the watch, but call tw_runtime_unwatch before you close it. After a stop and a
 * start fn may be called once for what was ready before the stop, so read without blocking. Returns
 * 0.
 *   -EOPNOTSUPP  this driver watches no descriptors
 *   -EEXIST      the descriptor is watched already
 *   -EBADF, -EPERM, -ENOSPC, -ENOMEM, -EINVAL  as epoll_ctl */
TW_MUST_CHECK int tw_runtime_watch(struct tw_runtime *rt, int fd, uint32_t events, tw_watch_callback *fn,
                                   void *arg);

/* Changes the events of the watched descriptor `fd`. Returns 0.
 *   -EOPNOTSUPP  this driver watches no descriptors
 *   -ENOENT      the descriptor is not watched
 *   -EBADF, -ENOMEM, -EINVAL  as epoll_ctl */
TW_MUST_CHECK int tw_runtime_watch_modify(struct tw_runtime *rt, int fd, uint32_t events);

/* Stops watching the descriptor `fd`, and waits until its callback is not running on another thread;
 * called from a callback it does not wait. Close the descriptor afterwards. Returns 0.
 *   -EOPNOTSUPP  this driver watches no descriptors
 *   -ENOENT      the descriptor is not watched */
int tw_runtime_unwatch(struct tw_runtime *rt, int fd);

/* --- a loop of your own: drivers with a descriptor, of the built-in ones timerfd ---- */

/* Returns a descriptor that is readable when tw_runtime_dispatch has something to do. Add it to a
 * loop of your own instead of calling tw_runtime_start, which returns -EBUSY from now on. The
 * runtime owns the descriptor: do not read or close it. From now on the first call that arms a timer
 * due earlier than all others makes the descriptor readable, with one system call; further such
 * calls make none until you dispatch. The runtime cannot know whether your loop is about to sleep,
 * so it makes this system call on the loop's own thread, too, but not in callbacks.
 *   -EOPNOTSUPP  this driver has no descriptor
 *   -EBUSY       the runtime's thread runs, another thread dispatches, or called from a callback
 *   others       the descriptor could not be programmed; call again later */
TW_MUST_CHECK int tw_runtime_fd(struct tw_runtime *rt);

/* Calls the callbacks that are due, on this thread, within the budget of one turn. If work is left,
 * the descriptor becomes readable again. Returns 0.
 *   -EBUSY       the runtime's thread runs, another thread dispatches, or called from a callback
 *   -EOPNOTSUPP  this driver has no descriptor
 *   others       the descriptor could not be programmed; dispatch again later */
int tw_runtime_dispatch(struct tw_runtime *rt);

/* --- virtual time: the manual driver ------------------------------------------------ */

/* Moves virtual time on by `ns`, from one deadline to the next, and calls callbacks on the way, so
 * that each sees the time that it is due at. Returns 0, also if a callback stopped the runtime
 * before the end. It never returns if a callback keeps arming a node with a delay of 0, or a `next`
 * (task.h) keeps returning readings that have passed.
 *   -EOPNOTSUPP  not the manual driver
 *   -EBUSY       called from a callback, or while another thread advances the runtime
 *   -ERANGE      beyond the last tick of virtual time */
int tw_runtime_advance(struct tw_runtime *rt, int64_t ns);

/* Moves virtual time on by `ns` in one leap, as if the program had been stalled: callbacks run late.
 * Returns 0, also if a callback stopped the runtime.
 *   -EOPNOTSUPP  not the manual driver
 *   -EBUSY       called from a callback, or while another thread advances the runtime
 *   -ERANGE      beyond the last tick of virtual time */
int tw_runtime_leap(struct tw_runtime *rt, int64_t ns);

/* Sets the virtual wall clock to the reading `wall_ns`, forwards or back, as an administrator would.
 * Calls no callback: those that are due run in the next tw_runtime_advance, which may be one of
 * 0 ns. Returns 0.
 *   -EOPNOTSUPP  not the manual driver with TW_CLOCK_WALL */
int tw_runtime_set_wall(struct tw_runtime *rt, int64_t wall_ns);

/* --- errors -------------------------------------------------------------------------- */

/* Returns the cause of an error in words, such as "the period is 0", if `error` is the result of this
 * thread's last failed call of runtime.h, timers.h, keyed.h or workers.h. For other errors it returns
 * what the number means in this library; "unknown error" for other numbers. Calls of tw.h
 * note no cause: after one, the text may be about an earlier error. Never null; the text is static. */
TW_MUST_CHECK const char *tw_explain(int error);

#ifdef __cplusplus
}
#endif

#endif
