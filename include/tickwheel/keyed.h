/* tickwheel/keyed.h - timers that the library keeps, under names of yours.
 *
 *     struct tw_keyed *orders;
 *     struct tw_task cancel_order = {.fn = on_unpaid, .arg = order};
 *     struct tw_when in_three_minutes = {.due_ns = 180 * TW_SECOND};
 *     tw_keyed_new(&orders, rt, NULL);
 *     tw_keyed_set(orders, tw_key_number(order->id), &in_three_minutes, &cancel_order);
 *     ...
 *     tw_keyed_remove(orders, tw_key_number(order->id));    // paid
 *
 * One timer a key. Finding it takes the same time at ten keys and at a million; keys are
 * hashed with a secret of each table's own, so that nobody can choose keys that collide.
 *
 * Conventions are those of runtime.h, and:
 *   Keys       Strings of bytes, of any length up to TW_KEY_MAX and with any bytes in them;
 *              or numbers. A number never equals a string. The table copies keys.
 *   Timers     A timer lives from its setting until its last callback and `next` have
 *              returned, or it was removed, replaced or drained. After that:
 *   -ENOENT      there is no timer under this key
 *   Allocates  tw_keyed_new. With a capacity nothing else does, but for strings longer
 *              than 16 bytes; without one, tw_keyed_set as the number of timers grows.
 *   Memory     grows with the most timers that there were at a time, by 144 to 160 bytes and the
 *              storage for each (64 more with workers), and is given back when the table is
 *              freed; that of strings longer than 16 bytes when their timers go.
 *   Threads    Any call from any thread, callbacks included, except as noted.
 */
#ifndef TICKWHEEL_KEYED_H
#define TICKWHEEL_KEYED_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/runtime.h>
#include <tickwheel/task.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_KEY_MAX 4096 /* bytes of the longest string */

/* A key: make it by the functions below. */
struct tw_key {
    const void *bytes; /* of the string; NULL only with a size of 0 */
    size_t size;
    uint64_t number;
    int is_number;
};

static inline struct tw_key tw_key_bytes(const void *bytes, size_t size) {
    struct tw_key key;
    key.bytes = bytes;
    key.size = size;
    key.number = 0;
    key.is_number = 0;
    return key;
}

/* A string that ends with a zero byte, which is not part of the key. NULL is no key. */
static inline struct tw_key tw_key_string(const char *string) {
    size_t size = 0;
    if (string == NULL)
        return tw_key_bytes(NULL, 1);
    while (string[size] != 0)
        ++size;
    return tw_key_bytes(string, size);
}

static inline struct tw_key tw_key_number(uint64_t number) {
    struct tw_key key = tw_key_bytes(NULL, 0);
    key.number = number;
    key.is_number = 1;
    return key;
}

/* A table of timers on one runtime. */
struct tw_keyed;
struct tw_workers;

/* All zero, or a null pointer to it, stands for the defaults. */
struct tw_keyed_options {
    uint32_t capacity;          /* at most this many timers at a time, allocated at once; 0: as many as
                                   there is memory for, up to TW_HANDLES_MAX of handle.h. One that was
                                   removed or replaced counts, all but one, until its callback and `drop`
                                   have returned */
    size_t storage;             /* bytes in each timer for a copy of its argument; at most 4096. See task.h */
    struct tw_workers *workers; /* who runs the callbacks; NULL: the runtime's thread. See workers.h */
    int concurrent;             /* if not 0, workers may run one timer's fires at the same time */
};

/* Makes an empty table. It is freed with its runtime, if not before.
 *   -EINVAL  also: an option out of range; workers of another runtime
 *   -ENOMEM
 *   others   the system has no random bytes to give (getrandom) */
int tw_keyed_new(struct tw_keyed **keyed, struct tw_runtime *rt, const struct tw_keyed_options *options);

/* Removes all its timers, waits for their callbacks that run, drops their arguments, and
 * frees the table; a null pointer is allowed. Nobody else is in a call to it. Returns 0.
 *   -EBUSY   called from a callback, `next`, `drop` or `copy` of one of its timers, or
 *            from `each`
 *   -ECHILD  also: a `drop` has forked, and this is the child, where it is not freed yet */
int tw_keyed_free(struct tw_keyed *keyed);

/* Sets a timer under a key. Returns 1 if that replaced one, which is removed as by
 * tw_keyed_remove, else 0. A callback of the replaced timer that runs on a worker goes on,
 * beside the new one's if that is due soon; tw_keyed_remove_wait first, if that matters.
 *   -EINVAL  also: a key that is none (a null string, a size beyond TW_KEY_MAX); otherwise
 *   -ENOMEM, -ENOSPC, -ENOENT, -EPERM  as tw_handle_start. The former timer stays. */
int tw_keyed_set(struct tw_keyed *keyed, struct tw_key key, const struct tw_when *when,
                 const struct tw_task *task);

/* The same for the usual cases: once, `delay_ns` from now; and every `period_ns`. */
int tw_keyed_after(struct tw_keyed *keyed, struct tw_key key, int64_t delay_ns, tw_task_callback *fn,
                   void *arg);
int tw_keyed_every(struct tw_keyed *keyed, struct tw_key key, int64_t period_ns, enum tw_missed missed,
                   tw_task_callback *fn, void *arg);

/* Moves a timer: due `delay_ns` from now, earlier or later than it was; a period moves
 * along. Returns 0.
 *   -EBUSY   its last fire has begun, or waits for a worker: it cannot be moved any more;
 *            or `next` is still to be asked */
int tw_keyed_move(struct tw_keyed *keyed, struct tw_key key, int64_t delay_ns);

/* Removes a timer. Returns 1 if this prevented a fire: no callback of it begins from now
 * on. 0: its last callback is running. Waits for nobody's callback; the argument is dropped
 * when the one that runs, if any, has returned. */
int tw_keyed_remove(struct tw_keyed *keyed, struct tw_key key);

/* The same; and once it has returned, no callback of the timer is running on another
 * thread, nor will be, and its argument has been dropped. From inside that callback it
 * does not wait. Nor for one that was removed or replaced already. Do not hold a lock that
 * the callback or `drop` takes. */
int tw_keyed_remove_wait(struct tw_keyed *keyed, struct tw_key key);

/* What is known of a timer. */
struct tw_keyed_timer {
    int64_t remaining_ns; /* time until it is due; 0 if that has passed, or its last fire has begun or
                             waits for a worker */
    void *arg;            /* what its callback gets: of use while you know that it is not dropped */
};

/* Fills in *timer, which may be null; returns 0. */
int tw_keyed_get(struct tw_keyed *keyed, struct tw_key key, struct tw_keyed_timer *timer);

/* How many timers there are, those included whose callback still runs or whose argument is
 * still to be dropped. */
size_t tw_keyed_count(struct tw_keyed *keyed);

/* Removes every timer, and calls each(key, arg, drain_arg) on those that had still to
 * fire, on this thread, with no lock held, before their argument is dropped; `each` may be
 * null. Of the timers that are there when this is called none fires from then on, and
 * when it returns each of them has been dealt with and no callback of theirs is running on
 * another thread. What is set meanwhile stays. Takes time for the most timers that there
 * were at a time since there was none. Returns how many there were that had still to fire.
 * Called from inside a callback of one of them, it does not wait for that one; two
 * callbacks that drain wait for each other for ever.
 *   -EBUSY   called from inside a callback of the table's, while a drain still goes on that
 *            63 others have followed
 *   -ECHILD  also: `each` or a `drop` has forked, and this is the child: the rest is not drained */
typedef void tw_keyed_each(const struct tw_key *key, void *arg, void *drain_arg);
int64_t tw_keyed_drain(struct tw_keyed *keyed, tw_keyed_each *each, void *drain_arg);

#ifdef __cplusplus
}
#endif

#endif
