/* tickwheel/handle.h - timers that the library keeps, behind numbers that go stale.
 *
 *     struct tw_handles *timers;
 *     tw_handle id;
 *     tw_handles_new(&timers, rt, NULL);
 *     tw_handle_after(timers, &id, 5 * TW_SECOND, on_timeout, request);
 *     ...
 *     tw_handle_stop(timers, id);    // any thread, any time: -ESTALE if it is gone
 *
 * For programs that would rather not keep a struct tw_node in a struct of their own. A
 * handle is a number: copied, stored, sent to another thread, and used after its timer is
 * gone without harm (P11). A slot's handles do not repeat within 2^32 reuses.
 *
 * To stop a timer is what tw_runtime_cancel does to a node, and ends it for good: its slot
 * becomes another's. tw_runtime_stop ends no timer; it stops the thread.
 *
 * Conventions are those of runtime.h, and:
 *   Handles    A timer lives from its start until its last callback and `next` have
 *              returned, or it was stopped. After that, every call answers
 *   -ESTALE      it was a timer of this set, and is gone
 *   -ENOENT      it never was one of this set: another's, 0, or made up
 *   Allocates  tw_handles_new. With a capacity nothing else does; without one,
 *              tw_handle_start and its like as the number of timers grows.
 *   Memory     grows with the most timers that there were at a time, by 128 bytes and the storage
 *              for each (192 with workers), and is given back when the set is freed.
 *   Threads    Any call from any thread, callbacks included, except as noted.
 */
#ifndef TICKWHEEL_HANDLE_H
#define TICKWHEEL_HANDLE_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/runtime.h>
#include <tickwheel/task.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_NO_HANDLE UINT64_C(0)
#define TW_HANDLES_MAX (UINT32_C(1) << 24) /* most timers of one set */

/* A set of timers on one runtime. */
struct tw_handles;
struct tw_workers;

/* All zero, or a null pointer to it, stands for the defaults. */
struct tw_handles_options {
    uint32_t capacity;          /* at most this many timers at a time, allocated at once; 0: as many as
                                   there is memory for, up to TW_HANDLES_MAX */
    size_t storage;             /* bytes in each timer for a copy of its argument; at most 4096. See task.h */
    struct tw_workers *workers; /* who runs the callbacks; NULL: the runtime's thread. See workers.h */
    int concurrent;             /* if not 0, workers may run one timer's fires at the same time */
};

/* Makes an empty set. It is freed with its runtime, if not before.
 *   -EINVAL  also: an option out of range; workers of another runtime
 *   -ENOMEM
 *   -EMFILE  the sets of this process have as many timers as handles can tell apart: 65,535 times
 *            65,536, where each set counts for whole multiples of that */
int tw_handles_new(struct tw_handles **handles, struct tw_runtime *rt,
                   const struct tw_handles_options *options);

/* Stops all its timers, waits for their callbacks that run, drops their arguments, and
 * frees the set; a null pointer is allowed. Nobody else is in a call to it. Returns 0.
 *   -EBUSY   called from a callback, `next`, `drop` or `copy` of one of its timers, or
 *            from `each`
 *   -ECHILD  also: a `drop` has forked, and this is the child, where it is not freed yet */
int tw_handles_free(struct tw_handles *handles);

/* Starts a timer and stores its handle in *handle, before its callback can run. Returns 0.
 *   -EINVAL  also: `when` is out of range (tw_runtime_arm); a task without a function; an
 *            arg_size beyond the storage; a `next` and a period; neither `when` nor `next`
 *   -ENOMEM  no memory to grow
 *   -ENOSPC  as many timers as the capacity, or as TW_HANDLES_MAX, are there
 *   -EMFILE  as tw_handles_new, for one timer more
 *   -ENOENT  `next` has said that there is no first deadline
 *   -EPERM   the set is being freed */
int tw_handle_start(struct tw_handles *handles, tw_handle *handle, const struct tw_when *when,
                    const struct tw_task *task);

/* The same for the usual cases: once, `delay_ns` from now; and every `period_ns`. */
int tw_handle_after(struct tw_handles *handles, tw_handle *handle, int64_t delay_ns, tw_task_callback *fn,
                    void *arg);
int tw_handle_every(struct tw_handles *handles, tw_handle *handle, int64_t period_ns, enum tw_missed missed,
                    tw_task_callback *fn, void *arg);

/* Ends a timer. Returns 1 if this prevented a fire: no callback of it begins from now on.
 * 0: its last callback is running. Waits for nobody's callback; the argument is dropped
 * when the one that runs, if any, has returned. */
int tw_handle_stop(struct tw_handles *handles, tw_handle handle);

/* The same; and once it has returned, no callback of the timer is running on another
 * thread, nor will be, and its argument has been dropped. Also for a timer that was
 * stopped already while its callback ran (-ESTALE, after having waited). From inside that
 * callback it does not wait. Do not hold a lock that the callback or `drop` takes. */
int tw_handle_stop_wait(struct tw_handles *handles, tw_handle handle);

/* Moves a timer: due `delay_ns` from now, earlier or later than it was; a period moves
 * along. Returns 0.
 *   -EBUSY   its last fire has begun, or waits for a worker: it cannot be moved any more;
 *            or `next` is still to be asked */
int tw_handle_move(struct tw_handles *handles, tw_handle handle, int64_t delay_ns);

/* Time until it is due; 0 if that has passed, or its last fire has begun or waits for a
 * worker; TW_NO_DEADLINE if it is gone. */
int64_t tw_handle_remaining(struct tw_handles *handles, tw_handle handle);

/* How many timers there are, those included whose callback still runs or whose argument is
 * still to be dropped. */
size_t tw_handles_count(struct tw_handles *handles);

/* Stops every timer, and calls each(handle, arg, drain_arg) on those that had still to
 * fire, on this thread, with no lock held, before their argument is dropped; `each` may be
 * null, and the handle is good no more. Of the timers that are there when this is called
 * none fires from then on, and when it returns each of them has been dealt with and no
 * callback of theirs is running on another thread. What is started meanwhile stays. Returns
 * how many there were that had still to fire. Called from inside a callback of one of them,
 * it does not wait for that one; two callbacks that drain wait for each other for ever. Takes
 * time for the most timers that there were at a time since there was none.
 *   -EBUSY   called from inside a callback of the set's, while a drain still goes on that
 *            63 others have followed
 *   -ECHILD  also: `each` or a `drop` has forked, and this is the child: the rest is not stopped */
typedef void tw_handles_each(tw_handle handle, void *arg, void *drain_arg);
int64_t tw_handles_drain(struct tw_handles *handles, tw_handles_each *each, void *drain_arg);

#ifdef __cplusplus
}
#endif

#endif
