/* tickwheel/task.h - what a timer of the library's own does: those of handle.h and keyed.h.
 *
 *     struct tw_task task = {.fn = on_retry, .arg = request, .drop = free};
 *
 * A task is copied when its timer is started. Its functions run with no lock held and may
 * call anything, as callbacks of runtime.h may: also free the runtime, on whatever thread
 * they run (tw_runtime_free). They return: no longjmp leaves them, and no exception but, of
 * `fn`, as runtime.h says.
 */
#ifndef TICKWHEEL_TASK_H
#define TICKWHEEL_TASK_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A timer of the library's own; 0: none. See handle.h. */
typedef uint64_t tw_handle;

struct tw_key;

/* One fire, as its callback sees it; gone when the callback returns. */
struct tw_event {
    tw_handle handle;         /* whose fire this is; 0 for a timer of keyed.h */
    const struct tw_key *key; /* the same for a timer of keyed.h, else null */
    int64_t due_ns;           /* what it was due at, as tw_runtime_due says */
    uint64_t overruns;        /* further fires that were missed, as tw_runtime_overruns says */
};

typedef void tw_task_callback(const struct tw_event *event, void *arg);

/* A schedule of your own: a calendar, a back-off, a list of intervals. Asked for the
 * timer's next deadline after each fire, with what that was due at, on the thread that
 * ran the callback: counting from `due_ns` does not drift. Returns a reading of the
 * runtime's clock, at once if that has passed; or TW_NO_DEADLINE, and the timer ends. */
typedef int64_t tw_next_deadline(int64_t due_ns, void *arg);

struct tw_task {
    tw_task_callback *fn;
    void *arg;

    /* NULL: the timer is oneshot or periodic, as struct tw_when says. Else when->period_ns
     * is 0, and a null `when` asks for the first deadline too, with the present reading. */
    tw_next_deadline *next;

    /* Called exactly once, when nothing will use `arg` any more: the timer has fired for
     * the last time, was stopped, replaced or drained, or its runtime was freed; after the
     * callback has returned, if one runs. On the thread that found it so. May be null. Not
     * called when starting the timer fails.
     * When its runtime is freed, every set, table and pool of that is still there while
     * arguments are dropped, in whatever order they were made; timers are stopped, keys
     * removed and nodes cancelled as ever, while what arms, moves, starts or makes something
     * answers -ESHUTDOWN. */
    void (*drop)(void *arg);

    /* Not 0: what `arg` points to, of this many bytes, is copied into the timer itself, at
     * most as many as the `storage` option says; callbacks, `next` and `drop` then get the
     * copy, which lies on a multiple of 16. `copy` puts it there in another way than memcpy
     * (null). It is called while the timer is started, once all that can be refused was
     * checked: should the start fail after it all the same, `drop` is called on the copy. */
    size_t arg_size;
    void (*copy)(void *to, void *from);
};

#ifdef __cplusplus
}
#endif

#endif
