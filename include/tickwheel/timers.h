/* tickwheel/timers.h - timers that the library keeps, known by numbers that go stale.
 *
 *     struct tw_timers *timers;
 *     tw_handle id;
 *     tw_timers_new(&timers, rt, NULL);
 *     tw_timer_after(timers, &id, 5 * TW_SECOND, on_timeout, request);
 *     ...
 *     tw_timer_cancel(timers, id);    // any thread, any time: -ESTALE if the timer is gone
 *
 * For programs that do not want to keep a struct tw_node in a struct of their own. A handle is a
 * number. It can be copied, stored, sent to another thread, and used safely after its timer is gone
 * (P11). A handle repeats only after 2^32 timers have used its memory; docs/PROMISES.md says how
 * freed sets count.
 *
 * Timers of one tick fire in the order in which they were last started, moved or restarted, across all
 * sets of a runtime, and in one order with the nodes of that tick (P3).
 *
 * Cancelling a timer ends it: the library reuses its memory for another timer.
 *
 * Conventions are those of runtime.h, and:
 *   Arguments  `timers` is the set, and `handle` the timer that the call is about. `options` may be
 *              null.
 *   Handles    A timer exists from its start until it is cancelled, or until its last callback and
 *              `next` have returned. After that every function returns:
 *   -ESTALE      the handle belonged to a timer of this set that is gone
 *   -ENOENT      the handle never belonged to this set: it is another set's, 0, or made up
 *   Allocates  tw_timers_new. With a capacity nothing else allocates; without one,
 *              tw_timer_start, tw_timer_after and tw_timer_every do as the number of timers
 *              grows.
 *   Memory     Grows with the highest number of timers at any time, by some 100 bytes and the
 *              `storage` for each. A timer with a period, a schedule or `drop` takes 64 more. So does
 *              every timer of a set with a capacity; in a set with workers every timer takes 128
 *              more. The memory of a freed set is used for later sets in the same lanes (see
 *              `lanes` in runtime.h), and released with the runtime.
 *   Threads    Every function may be called from any thread, callbacks included, unless it says
 *              otherwise.
 */
#ifndef TICKWHEEL_TIMERS_H
#define TICKWHEEL_TIMERS_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/must_check.h>
#include <tickwheel/runtime.h>
#include <tickwheel/task.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_TIMERS_MAX (UINT32_C(4094) << 20) /* highest number of timers in one set */

/* A set of timers on one runtime. The library owns the timers; the caller owns the set. */
struct tw_timers;

/* Makes an empty set on the runtime and stores it in *timers. Freeing the runtime frees the set as
 * well. Returns 0.
 *   -EINVAL  also: an option is out of range, or `workers` belongs to another runtime
 *   -ENOMEM  no memory
 *   -EMFILE  the sets of this process have as many timers as handles can distinguish: 2^32. Each
 *            set counts as a multiple of 1,024, even after it was freed, until its runtime is
 *            freed */
TW_MUST_CHECK int tw_timers_new(struct tw_timers **timers, struct tw_runtime *rt,
                                const struct tw_set_options *options);

/* Cancels all timers of the set, waits for running callbacks, drops the arguments and frees the set;
 * `timers` may be null. No other thread may be in a call on the set. Returns 0.
 *   -EBUSY   called from a callback, `next`, `drop` or `copy` of one of its timers, or from a visit
 *   -ECHILD  also: a `drop` has forked and this is the child, where the set is not freed yet */
int tw_timers_free(struct tw_timers *timers);

/* Starts a timer that does `task` at the times that `when` says, and stores its handle in *handle
 * before its callback can run. The task is copied. Returns 0.
 *   -EINVAL  also: `when` is out of range (see tw_runtime_arm); the task has no function; arg_size
 *            exceeds the storage; both `next` and a period; neither `when` nor `next`
 *   -ENOMEM  no memory to grow
 *   -ENOSPC  the set has as many timers as its capacity, or TW_TIMERS_MAX
 *   -EMFILE  as tw_timers_new, for one more timer
 *   -ENOENT  `next` returned no first deadline
 *   -EPERM   the set is being freed */
TW_MUST_CHECK int tw_timer_start(struct tw_timers *timers, tw_handle *handle, const struct tw_when *when,
                                 const struct tw_task *task);

/* Starts a timer for the usual case: calls fn(event, arg) once, `delay_ns` from now. Stores the
 * timer's handle in *handle before its callback can run. Returns 0.
 *   -ENOMEM  no memory to grow
 *   -ENOSPC  the set has as many timers as its capacity, or TW_TIMERS_MAX
 *   -EMFILE  as tw_timers_new, for one more timer
 *   -EPERM   the set is being freed */
TW_MUST_CHECK int tw_timer_after(struct tw_timers *timers, tw_handle *handle, int64_t delay_ns,
                                 tw_task_callback *fn, void *arg);

/* Starts a periodic timer: calls fn(event, arg) every `period_ns`, first one period from now. `missed`
 * is the policy for fires that are late by more than a period. Stores the timer's handle in *handle
 * before its callback can run. Returns 0.
 *   -EINVAL  also: the period or `missed` as in tw_runtime_every
 *   -ENOMEM  no memory to grow
 *   -ENOSPC  the set has as many timers as its capacity, or TW_TIMERS_MAX
 *   -EMFILE  as tw_timers_new, for one more timer
 *   -EPERM   the set is being freed */
TW_MUST_CHECK int tw_timer_every(struct tw_timers *timers, tw_handle *handle, int64_t period_ns,
                                 enum tw_missed missed, tw_task_callback *fn, void *arg);

/* Cancels a timer: no callback of it begins from now on. Returns 1 if this prevented a fire, or 0 if
 * its last callback is running. It does not wait for a running callback; the argument is dropped
 * after that callback has returned.
 *   -ESTALE, -ENOENT  see Conventions */
int tw_timer_cancel(struct tw_timers *timers, tw_handle handle);

/* Cancels a timer and waits until no callback of it is running on another thread and its argument has
 * been dropped. It also waits, and then returns -ESTALE, if the timer was already cancelled while its
 * callback ran. Called from that callback it does not wait. Do not hold a lock that the callback or
 * `drop` takes. Returns 1 if this prevented a fire, else 0.
 *   -ESTALE, -ENOENT  see Conventions */
int tw_timer_cancel_wait(struct tw_timers *timers, tw_handle handle);

/* Moves a timer: it is now due `delay_ns` from now, which may be earlier or later than before. The
 * grid of a periodic timer shifts with it. A timer with an absolute deadline on the wall clock
 * keeps following that clock. Returns 0.
 *   -EBUSY   its last fire has begun or waits for a worker, so it cannot be moved any more; or
 *            `next` has not yet returned the next deadline. So a one-shot timer cannot be moved
 *            inside its own callback: start another timer, or give the first one a period and
 *            cancel it when it is no longer needed */
int tw_timer_move(struct tw_timers *timers, tw_handle handle, int64_t delay_ns);

/* Restarts a timer's delay: moves the timer by the delay that it was started with, without slack
 * and jitter; a periodic timer is now due one period from now. To keep an idle timeout from firing,
 * call this at each sign of activity. Returns 0.
 *   -EINVAL  also: the timer has no delay: it was started with an absolute deadline, or `next` has
 *            returned its deadline
 *   -EBUSY   its last fire has begun or waits for a worker, so it cannot be moved any more; or
 *            `next` has not yet returned the next deadline */
int tw_timer_again(struct tw_timers *timers, tw_handle handle);

/* Describes a timer in *entry, which may be null, and returns 0. Another thread may end the timer
 * at any time, so entry->arg is valid only during a visit of tw_timers_each, or if the program
 * keeps it valid.
 *   -ESTALE, -ENOENT  see Conventions */
TW_MUST_CHECK int tw_timer_get(struct tw_timers *timers, tw_handle handle, struct tw_entry *entry);

/* Returns the number of timers, including cancelled ones whose callback is still running or whose
 * argument is not yet dropped. */
TW_MUST_CHECK size_t tw_timers_count(struct tw_timers *timers);

/* Walks the set: calls visit(entry, arg) on every timer that exists when the walk comes to it, in any
 * order, until `visit` returns something other than 0. A timer may fire, be moved or be cancelled during its
 * visit, by `visit` or by another thread; its argument is not dropped before `visit` has returned. If `visit`
 * frees the runtime, the walk ends. Timers that are started meanwhile may be visited or not; the
 * walk ends once it has passed the timers that existed when it began. Returns 0, or the result with
 * which `visit` ended the walk.
 *
 * tw_timer_cancel_wait also waits for a visit of its timer on another thread. The time that a walk
 * takes is proportional to the highest number of timers since the set was last empty.
 *   -EINVAL  also: visit is null
 *   -ECHILD  also: `visit` has forked and this is the child */
int tw_timers_each(struct tw_timers *timers, tw_visitor *visit, void *arg);

/* Cancels every timer that exists now, and calls visit(entry, arg) on those that still had to fire, before
 * their argument is dropped. `visit` may be null; what it returns is ignored, and the handle that it gets is
 * already stale. None of these timers fires any more; on return all of them have ended, and none of their
 * callbacks is running on another thread. Timers that are started meanwhile stay. Returns the number of
 * timers that still had to fire.
 *
 * Called from a callback of one of these timers, it does not wait for that callback. Two callbacks
 * that cancel all timers of one set deadlock. The time it takes is proportional to the highest number of
 * timers since the set was last empty.
 *   -EBUSY   called from a callback of the set, while the 64th call before this one still runs
 *   -ECHILD  also: `visit` or a `drop` has forked and this is the child; the rest is not cancelled */
int64_t tw_timers_cancel_all(struct tw_timers *timers, tw_visitor *visit, void *arg);

#ifdef __cplusplus
}
#endif

#endif
