/* tickwheel/keyed.h - timers that the library keeps, known by your own keys.
 *
 *     struct tw_keyed *orders;
 *     struct tw_task cancel_order = {.fn = on_unpaid, .arg = order};
 *     struct tw_when in_three_minutes = {.due_ns = 180 * TW_SECOND};
 *     tw_keyed_new(&orders, rt, NULL);
 *     tw_keyed_set(orders, tw_key_number(order->id), &in_three_minutes, &cancel_order);
 *     ...
 *     tw_keyed_cancel(orders, tw_key_number(order->id));    // paid
 *
 * There is one timer for each key. Finding the timer takes as long with a million keys as with ten. Each
 * table hashes keys with a secret of its own, so that an attacker cannot choose keys that collide.
 *
 * Conventions are those of runtime.h, and:
 *   Arguments  `keyed` is the table, and `key` the key of the timer that the call is about.
 *              `options` may be null.
 *   Keys       Strings of up to TW_KEY_MAX bytes, which may have any value; or numbers. A number
 *              never equals a string. The table copies keys.
 *   Timers     A timer exists from when it is set until it is cancelled or replaced, or its last
 *              callback and `next` have returned. After that functions return:
 *   -ENOENT      there is no timer under this key
 *   Allocates  tw_keyed_new. With a capacity nothing else allocates, except for strings longer than
 *              16 bytes; without one, tw_keyed_set, tw_keyed_after and tw_keyed_every do as the
 *              number of timers grows.
 *   Memory     Grows with the highest number of timers at any time, by 180 to 200 bytes (64 more with
 *              workers) and the `storage` for each. The memory of a freed table is used for later
 *              tables in the same lanes (see `lanes` in runtime.h), and released with the runtime; the
 *              memory of strings longer than 16 bytes is released when their timers end.
 *   Threads    Every function may be called from any thread, callbacks included, unless it says
 *              otherwise.
 */
#ifndef TICKWHEEL_KEYED_H
#define TICKWHEEL_KEYED_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/must_check.h>
#include <tickwheel/runtime.h>
#include <tickwheel/task.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_KEY_MAX 4096 /* length of the longest string, in bytes */

/* A key. Make it with the functions below. */
struct tw_key {
    const void *bytes; /* the string; NULL only if `size` is 0 */
    size_t size;
    uint64_t number;
    int is_number;
};

/* Returns a key from the string of `size` bytes at `bytes`, which may have any value. The bytes
 * must stay valid until the call that gets the key has returned. */
TW_MUST_CHECK static inline struct tw_key tw_key_bytes(const void *bytes, size_t size) {
    struct tw_key key;
    key.bytes = bytes;
    key.size = size;
    key.number = 0;
    key.is_number = 0;
    return key;
}

/* Returns a key from a string that ends with a zero byte, which is not part of the key. NULL gives an
 * invalid key. */
TW_MUST_CHECK static inline struct tw_key tw_key_string(const char *string) {
    size_t size = 0;
    if (string == NULL)
        return tw_key_bytes(NULL, 1);
    while (string[size] != 0)
        ++size;
    return tw_key_bytes(string, size);
}

/* Returns a key from a number. */
TW_MUST_CHECK static inline struct tw_key tw_key_number(uint64_t number) {
    struct tw_key key = tw_key_bytes(NULL, 0);
    key.number = number;
    key.is_number = 1;
    return key;
}

/* A table of timers on one runtime. The library owns the timers; the caller owns the table. */
struct tw_keyed;

/* Makes an empty table on the runtime and stores it in *keyed. Freeing the runtime frees the table as
 * well. Returns 0.
 *   -EINVAL  also: an option is out of range, or `workers` belongs to another runtime
 *   -ENOMEM  no memory
 *   -EMFILE  see tw_timers_new
 *   others   the system has no random bytes (getrandom) */
TW_MUST_CHECK int tw_keyed_new(struct tw_keyed **keyed, struct tw_runtime *rt,
                               const struct tw_set_options *options);

/* Cancels all timers of the table, waits for running callbacks, drops the arguments and frees the
 * table; `keyed` may be null. No other thread may be in a call on the table. Returns 0.
 *   -EBUSY   called from a callback, `next`, `drop` or `copy` of one of its timers, or from a visit
 *   -ECHILD  also: a `drop` has forked and this is the child, where the table is not freed yet */
int tw_keyed_free(struct tw_keyed *keyed);

/* Sets a timer under a key: it does `task` at the times that `when` says. A timer that is already
 * there is cancelled, as by tw_keyed_cancel. A callback of that timer that is running on a worker
 * goes on, and may overlap with the new timer's; call tw_keyed_cancel_wait first to prevent that.
 * On error the former timer stays. Returns 0.
 *   -EINVAL  also: an invalid key (a null string, or longer than TW_KEY_MAX); `when` is out of range
 *            (see tw_runtime_arm); the task has no function; arg_size exceeds the storage; both
 *            `next` and a period; neither `when` nor `next`
 *   -ENOMEM  no memory to grow, or for the key
 *   -ENOSPC  the table has as many timers as its capacity, or TW_TIMERS_MAX
 *   -EMFILE  as tw_timers_new, for one more timer
 *   -ENOENT  `next` returned no first deadline
 *   -EPERM   the table is being freed */
TW_MUST_CHECK int tw_keyed_set(struct tw_keyed *keyed, struct tw_key key, const struct tw_when *when,
                               const struct tw_task *task);

/* Sets a timer for the usual case: calls fn(event, arg) once, `delay_ns` from now. Returns 0.
 *   -EINVAL  also: an invalid key
 *   -ENOMEM  no memory to grow, or for the key
 *   -ENOSPC  the table has as many timers as its capacity, or TW_TIMERS_MAX
 *   -EMFILE  as tw_timers_new, for one more timer
 *   -EPERM   the table is being freed */
TW_MUST_CHECK int tw_keyed_after(struct tw_keyed *keyed, struct tw_key key, int64_t delay_ns,
                                 tw_task_callback *fn, void *arg);

/* Sets a periodic timer: calls fn(event, arg) every `period_ns`, first one period from now. `missed` is
 * the policy for fires that are late by more than a period. Returns 0.
 *   -EINVAL  also: an invalid key; the period or `missed` as in tw_runtime_every
 *   -ENOMEM  no memory to grow, or for the key
 *   -ENOSPC  the table has as many timers as its capacity, or TW_TIMERS_MAX
 *   -EMFILE  as tw_timers_new, for one more timer
 *   -EPERM   the table is being freed */
TW_MUST_CHECK int tw_keyed_every(struct tw_keyed *keyed, struct tw_key key, int64_t period_ns,
                                 enum tw_missed missed, tw_task_callback *fn, void *arg);

/* Moves a timer: it is now due `delay_ns` from now, which may be earlier or later than before. The
 * grid of a periodic timer shifts with it. A timer with an absolute deadline on the wall clock
 * keeps following that clock. Returns 0.
 *   -ENOENT  see Conventions
 *   -EBUSY   its last fire has begun or waits for a worker, so it cannot be moved any more; or
 *            `next` has not yet returned the next deadline */
int tw_keyed_move(struct tw_keyed *keyed, struct tw_key key, int64_t delay_ns);

/* Restarts a timer's delay: moves the timer by the delay that it was last set with, without
 * slack and jitter; a periodic timer is now due one period from now. Returns 0.
 *   -EINVAL  also: the timer has no delay: it was set with an absolute deadline, or `next` has
 *            returned its deadline
 *   -ENOENT  see Conventions
 *   -EBUSY   its last fire has begun or waits for a worker, so it cannot be moved any more; or
 *            `next` has not yet returned the next deadline */
int tw_keyed_again(struct tw_keyed *keyed, struct tw_key key);

/* Cancels a timer: no callback of it begins from now on. Returns 1 if this prevented a fire, or 0 if
 * its last callback is running. It does not wait for a running callback; the argument is dropped
 * after that callback has returned.
 *   -ENOENT  see Conventions */
int tw_keyed_cancel(struct tw_keyed *keyed, struct tw_key key);

/* Cancels a timer and waits until no callback of it is running on another thread and its argument has
 * been dropped. It does not wait if called from that callback, nor for a timer that was already
 * cancelled or replaced. Do not hold a lock that the callback or `drop` takes. Returns 1 if this
 * prevented a fire, else 0.
 *   -ENOENT  see Conventions */
int tw_keyed_cancel_wait(struct tw_keyed *keyed, struct tw_key key);

/* Describes a timer in *entry, which may be null, and returns 0; entry->key is null. Another thread
 * may end the timer at any time, so entry->arg is valid only during a visit, or if the program
 * keeps it valid.
 *   -ENOENT  see Conventions */
TW_MUST_CHECK int tw_keyed_get(struct tw_keyed *keyed, struct tw_key key, struct tw_entry *entry);

/* Calls visit(entry, arg) on the timer under a key, to use or change the timer's argument. The
 * argument is not dropped before `visit` has returned, even if another thread ends the timer
 * meanwhile. Returns the result of `visit`, so choose results that are none of these errors.
 *   -EINVAL  also: visit is null
 *   -ENOENT  see Conventions
 *   -ECHILD  also: `visit` has forked and this is the child */
int tw_keyed_visit(struct tw_keyed *keyed, struct tw_key key, tw_visitor *visit, void *arg);

/* Returns the number of timers, including cancelled ones whose callback is still running or whose
 * argument is not yet dropped. */
TW_MUST_CHECK size_t tw_keyed_count(struct tw_keyed *keyed);

/* Walks the table: calls visit(entry, arg) on every timer that exists when the walk comes to it, in any
 * order, as tw_timers_each of timers.h does. To give every key a new deadline, use tw_keyed_move: a
 * timer that is set again may be visited again. Returns 0, or the result with which `visit` ended
 * the walk.
 *   -EINVAL  also: visit is null
 *   -ECHILD  also: `visit` has forked and this is the child */
int tw_keyed_each(struct tw_keyed *keyed, tw_visitor *visit, void *arg);

/* Cancels every timer that exists now, and calls visit(entry, arg) on those that still had to fire, before
 * their argument is dropped. `visit` may be null; what it returns is ignored. None of these timers fires any
 * more; on return all of them have ended, and none of their callbacks is running on another thread. Timers
 * that are set meanwhile stay. Returns the number of timers that still had to fire.
 *
 * Called from a callback of one of these timers, it does not wait for that callback. Two callbacks
 * that cancel all timers of one table deadlock. The time it takes is proportional to the highest number of
 * timers since the table was last empty.
 *   -EBUSY   called from a callback of the table, while the 64th call before this one still runs
 *   -ECHILD  also: `visit` or a `drop` has forked and this is the child; the rest is not cancelled */
int64_t tw_keyed_cancel_all(struct tw_keyed *keyed, tw_visitor *visit, void *arg);

#ifdef __cplusplus
}
#endif

#endif
