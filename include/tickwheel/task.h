/* tickwheel/task.h - tasks: what the timers of timers.h and keyed.h do when they fire.
 *
 *     struct tw_task task = {.fn = on_retry, .arg = request, .drop = free};
 *
 * A task is copied when its timer is started. Its functions run with no lock held and may call
 * anything that a callback of runtime.h may, including tw_runtime_free, on any thread. They must
 * return: a longjmp must not leave them, and an exception may leave only `fn`, as runtime.h says.
 */
#ifndef TICKWHEEL_TASK_H
#define TICKWHEEL_TASK_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A number that stands for one timer of timers.h. */
typedef uint64_t tw_handle;
#define TW_NO_HANDLE UINT64_C(0) /* no timer */

struct tw_key;

/* One fire, as its callback sees it. Valid until the callback returns. */
struct tw_event {
    tw_handle handle;         /* the timer's handle; 0 for a timer of keyed.h */
    const struct tw_key *key; /* the timer's key; null for a timer of timers.h */
    int64_t due_ns;           /* the deadline of this fire, as tw_runtime_due returns it */
    uint64_t overruns;        /* further fires that were missed, as tw_runtime_overruns returns them */
};

/* A description of a timer. All pointers are valid until the visitor returns. */
struct tw_entry {
    struct tw_node *node;     /* null for a timer of timers.h or keyed.h */
    tw_handle handle;         /* TW_NO_HANDLE unless it is a timer of timers.h */
    const struct tw_key *key; /* null unless it is a timer of keyed.h; null from tw_keyed_get, too */
    void *arg;                /* the callback's argument; null for a node */
    const char *label;        /* see observe.h; null: none */
    int64_t due_ns;           /* its deadline, rounded up to a tick, a reading of its clock */
    int64_t remaining_ns;     /* the time from now until then; TW_NO_DEADLINE if no clock ever reads
                                 that; negative if the timer is overdue; 0 if its last fire has
                                 begun or waits for a worker */
    int64_t period_ns;        /* 0: one-shot, or on the program's own schedule */
    int on_wall;              /* not 0: its clock is the wall clock; else the steady one */
};

/* Receives timers one by one. It is called with no lock held and may do anything that a callback may,
 * but must return: no exception may leave it. A result that is not 0 ends the walk. A callback of the timer
 * may run on another thread meanwhile, so if both use the argument, they must lock. */
typedef int tw_visitor(const struct tw_entry *entry, void *arg);

/* A timer's callback. `arg` is the task's argument, or the timer's copy of it. */
typedef void tw_task_callback(const struct tw_event *event, void *arg);

/* A schedule of your own, such as a calendar, a back-off or a list of intervals. Called after each
 * fire, on the thread that ran the callback, with the deadline of that fire, rounded up to a tick. A
 * schedule that counts from `due_ns` does not drift if its steps are multiples of the tick; for other
 * steps keep the exact deadlines in `arg`. Returns the next deadline, a reading of the runtime's clock, or
 * TW_NO_DEADLINE to end the timer. If the reading has passed (a negative one always has), the timer fires
 * at once; so a schedule that always returns such readings keeps its thread busy forever. */
typedef int64_t tw_next_deadline(int64_t due_ns, void *arg);

/* The work of a timer. The library copies this struct, but not what it points to, unless arg_size says
 * so. */
struct tw_task {
    tw_task_callback *fn; /* the callback; must not be null */
    void *arg;            /* its argument */

    /* NULL: the timer is one-shot or periodic, as struct tw_when says. Otherwise when->period_ns
     * must be 0; if `when` is null, `next` is called for the first deadline too, with the present
     * reading. */
    tw_next_deadline *next;

    /* Releases `arg`; null: nothing to release. Called exactly once, when nothing uses `arg` any
     * more: the timer has fired for the last time, or was cancelled or replaced, or its
     * runtime was freed; and if a callback is running, after that has returned. Called on the thread
     * that ended the timer. Not called on your argument if starting the timer fails.
     *
     * While the runtime is being freed, `drop` may use every set, table and pool of the runtime, in
     * whatever order they were made: it may cancel timers and nodes. Functions that arm, move, start or make
     * something return -ESHUTDOWN. */
    void (*drop)(void *arg);

    /* Not 0: the arg_size bytes that `arg` points to are copied into the timer, and the callback,
     * `next` and `drop` get the copy, which is aligned to 16 bytes. At most as many bytes as the
     * `storage` option. `copy` makes the copy; null: memcpy. The call that starts the
     * timer calls `copy` after all checks; if it fails after that, it calls `drop` on the copy. */
    size_t arg_size;
    void (*copy)(void *to, void *from);

    const char *label; /* names the kind of timer; see observe.h. NULL: the label of the set's options */
};

struct tw_workers;

/* Options of a set of timers.h or a table of keyed.h. All zeroes, or a null pointer instead of this struct,
 * gives the defaults. */
struct tw_set_options {
    uint32_t capacity;          /* highest number of timers at a time, all allocated when the set is made,
                                   in the lane of this thread (see `lanes` in runtime.h); 0:
                                   limited only by memory and TW_TIMERS_MAX of timers.h. A timer
                                   that was cancelled or replaced, or fires for the last time,
                                   counts until its callback and `drop` have returned. A table has
                                   room for one timer more, so that a full one can replace a timer */
    size_t storage;             /* bytes in each timer for a copy of its argument, 0 to 4096; see tw_task */
    struct tw_workers *workers; /* pool that runs the callbacks; NULL: the runtime's thread does */
    int concurrent;             /* not 0: workers may run several fires of one timer at the same time */
    const char *label;          /* label of timers whose task has none, see observe.h; NULL: none */
};

#ifdef __cplusplus
}
#endif

#endif
