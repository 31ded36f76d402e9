/* tickwheel/observe.h - the pending timers, the slow callbacks, and why timers were late (Linux).
 *
 *     tw_runtime_label(rt, &session->timeout, "idle timeout");
 *     ...
 *     tw_runtime_dump(rt, 100, print, stderr);
 *
 * A runtime measures every fire: how long its callback ran, how late it began, and why. This is always
 * on. Callbacks of less than a microsecond or so that follow each other at once are timed together, and count
 * as equally long. So the measured time of a callback may be off by half a microsecond, and its
 * lateness by two. If one of them is slow, the others, 31 at most, count as late by that much, too. On
 * virtual time callbacks are counted but not timed.
 *
 * Conventions are those of runtime.h, and:
 *   Labels     Texts that name kinds of timers, such as "idle timeout". The library keeps the pointer,
 *              so a text must outlive the runtime; string literals do. A runtime distinguishes 62
 *              labels, and counts the timers of all further labels together, as "(other labels)".
 *   Counters   Count from when the runtime was made and never go down. Each counter is exact, but
 *              timers fire while counters are read, so counters that are read together may differ
 *              by the fires of that moment.
 *   Threads    Every function may be called from any thread, callbacks included, unless it says
 *              otherwise.
 */
#ifndef TICKWHEEL_OBSERVE_H
#define TICKWHEEL_OBSERVE_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/runtime.h>
#include <tickwheel/task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- labels ------------------------------------------------------------------------ */

/* Gives an idle node a label, which stays with it until tw_node_init. A null `label` removes it. (A
 * timer of timers.h or keyed.h has the label of its task, or else of its set's options.) Returns 0.
 *   -EBUSY   the node is pending */
int tw_runtime_label(struct tw_runtime *rt, struct tw_node *node, const char *label);

/* What the timers of one label have done. */
struct tw_label_counts {
    const char *label;       /* null: timers without a label */
    uint64_t fires;          /* fires that have begun, or were passed on to workers */
    uint64_t cancels;        /* fires that calls have prevented */
    uint64_t overruns;       /* further fires that were missed, as in tw_runtime_overruns */
    int64_t callback_sum_ns; /* how long their callbacks ran in total */
    int64_t callback_max_ns; /* how long the longest of them ran */
};

/* Fills in counts[0] for timers without a label and one more element for each label, at most `room`
 * in all. Returns how many there are, which may be more than `room`; `counts` may be null if `room`
 * is 0. */
TW_MUST_CHECK int tw_runtime_labels(struct tw_runtime *rt, struct tw_label_counts *counts, size_t room);

/* --- how long, how late -------------------------------------------------------------- */

#define TW_BUCKETS 56

/* Counts of durations by length. Bucket 0 counts those below 512 ns; each further limit is 1.5 or
 * 1.33 times the one before: 768 ns, 1024 ns, 1.5 us ... 69 s. The last bucket has no limit. */
struct tw_histogram {
    uint64_t counts[TW_BUCKETS];
    int64_t sum_ns, max_ns;
};

/* Returns the limit of a bucket in nanoseconds, the least duration that the bucket does not count;
 * INT64_MAX for the last bucket, and for a `bucket` that does not exist. */
TW_MUST_CHECK int64_t tw_bucket_limit(unsigned bucket);

/* Returns a percentile: the duration that the fraction `share` of the durations in the histogram does
 * not exceed, 0.99 for the 99th percentile. The result is the limit of a bucket, or the longest duration
 * if that is less; 0 if the histogram is empty. A share below 0 counts as 0, one above
 * 1 as 1. */
TW_MUST_CHECK int64_t tw_histogram_quantile(const struct tw_histogram *histogram, double share);

/* Why a fire was late. If there were several causes, this is the one that took longest, except that
 * TW_LATE_BUDGET takes precedence. */
enum tw_late_cause {
    TW_LATE_WAKING,    /* the system woke the thread late; or the program did not drive the runtime */
    TW_LATE_CALLBACKS, /* earlier callbacks took that long */
    TW_LATE_BUDGET     /* a turn used up its budget while the fire was due */
};
#define TW_LATE_CAUSES 3

/* Counts since the runtime was made. With tw_runtime_dispatch, "the thread" is the thread that calls it.
 * On virtual time only `wakes`, `clock_sets`, `late` and, for workers, `callbacks` are counted. */
struct tw_stats {
    uint64_t wakeups; /* times that the thread woke up after it may have slept, or dispatched */
    uint64_t wakes;   /* times that a call woke the thread, for an earlier deadline or to stop;
                         calls that found it already awake do not count */

    /* Wake-ups at a deadline that was still in the future when the thread went to sleep, and how
     * late the thread was running again: the system's latency, and with tw_runtime_dispatch that
     * of your loop as well. */
    uint64_t timed;
    int64_t late_sum_ns, late_max_ns;

    uint64_t clock_sets;  /* times that the wall clock was found set back */
    uint64_t wait_errors; /* times that the driver could not wait; see wait_until in driver.h */

    /* Deadlines that had already passed when the thread was ready to sleep until them, and how late
     * the thread was: callbacks held it up, or the system ran other threads. */
    uint64_t held_up;
    int64_t held_up_sum_ns, held_up_max_ns;

    struct tw_histogram callbacks;            /* how long callbacks ran, on workers too; on virtual
                                                 time, on workers alone */
    struct tw_histogram late[TW_LATE_CAUSES]; /* how late fires began, by cause, counted from the tick
                                                 that their deadline rounds up to. Every fire counts
                                                 in exactly one */
};

/* Fills in *stats and returns 0. */
int tw_runtime_stats(struct tw_runtime *rt, struct tw_stats *stats);

/* --- pending timers ------------------------------------------------------------------ */

/* Calls visit(entry, arg) for the timers that are pending, in no particular order, until `visit`
 * returns something other than 0. Each hold of a lock is bounded and copies at most one timer, and nothing
 * is allocated. A timer that is pending throughout, and that no call arms or moves, is visited once.
 * There are two exceptions for nodes: a node is visited twice if the wheel lowers it during the
 * walk, and may be missed if it is periodic and fires during the walk, or if an earlier
 * tw_runtime_postpone takes effect during the walk, or the wall clock is set back. A node may have been
 * cancelled and freed when its visit begins: unless your program prevents that, entry->node is an address to
 * compare. `visit` may free the runtime, which ends the walk. Returns 0, or the result with which `visit`
 * ended the walk.
 *   -EINVAL  also: visit is null
 *   -ECHILD  also: `visit` has forked and this is the child, where it is not called again */
int tw_runtime_each(struct tw_runtime *rt, tw_visitor *visit, void *arg);

/* Receives a piece of text, which does not end with a null byte. */
typedef void tw_text(const char *text, size_t size, void *arg);

/* Writes a description of a runtime for people to read, by calls of write(text, size, arg): its
 * clock and driver, counters, labels, histograms, and up to `timers` pending timers, in no
 * particular order. The format may change. Returns 0. */
int tw_runtime_dump(struct tw_runtime *rt, size_t timers, tw_text *write, void *arg);

/* Writes all counters in the text format of Prometheus, for the program's own endpoint, by calls of
 * write(text, size, arg). `name`, unless null, is the value of the label "runtime", for programs
 * with several runtimes. Returns 0. */
int tw_runtime_metrics(struct tw_runtime *rt, const char *name, tw_text *write, void *arg);

/* --- what is slow -------------------------------------------------------------------- */

/* A callback that has been running for longer than the limit, and may still be running. */
struct tw_slow_callback {
    const char *label;          /* null: none */
    const struct tw_node *node; /* an address to compare; null for a timer of timers.h or keyed.h */
    tw_handle handle;           /* TW_NO_HANDLE for a node or a timer of keyed.h */
    const void *function;       /* address of the callback */
    int64_t running_ns;         /* for how long it has been running */
    int on_worker;              /* not 0: on a worker; else on the thread that fires, where the
                                   callback holds up all other timers */
};

typedef void tw_slow_report(const struct tw_slow_callback *slow, void *arg);

/* Calls report(slow, arg) once for each callback that runs for longer than limit_ns, while that
 * callback is still running. The calls come from a separate thread, about a quarter of the limit
 * late; that thread sleeps while the runtime does. `report` must not call functions that start or
 * end anything on this runtime, or wait for callbacks. A call replaces the earlier one; with a
 * null `report` it ends the reports. The call waits for an earlier report that is running. Freeing the
 * runtime ends the reports, too. Returns 0.
 *   -EINVAL  also: limit_ns is less than TW_MILLISECOND, unless `report` is null
 *   -EBUSY   called from a callback of the runtime, or from `report`
 *   -ENOMEM, -EAGAIN  from the system: no thread. The earlier reports have ended all the same */
TW_MUST_CHECK int tw_runtime_report_slow(struct tw_runtime *rt, int64_t limit_ns, tw_slow_report *report,
                                         void *arg);

#ifdef __cplusplus
}
#endif

#endif
