/* tickwheel/workers.h - threads that run callbacks, so that slow callbacks delay no other timer.
 *
 *     struct tw_workers *disk;
 *     struct tw_work flush;
 *     tw_workers_new(&disk, rt, &(struct tw_workers_options){.threads = 4});
 *     tw_work_init(&flush, disk, on_flush, &file, 0);
 *     tw_runtime_every(rt, &flush.node, TW_SECOND, TW_COALESCE);
 *
 * A work item is a timer whose callback runs on a worker. Arm, move and cancel its node with the functions
 * of runtime.h. Timers of timers.h and keyed.h can have workers too.
 *
 * Conventions are those of runtime.h, and:
 *   Arguments  `workers` is the pool. `options` may be null.
 *   Order      Runs begin in the order of the fires. The runs of one item follow each other: the next
 *              begins when the last has returned, unless the item is TW_CONCURRENT. Meanwhile runs
 *              of other items may overtake the waiting fire, which keeps its place.
 *   Periods    With TW_COALESCE and TW_DELAY a period may be shorter than a run: while a fire of the item
 *              waits, further fires join it and are counted by tw_runtime_overruns. With TW_BURST
 *              each fire is a run of its own; an item that never catches up eventually fills the
 *              queue, and then, except with TW_FULL_REJECT, delays every timer.
 *   Cancelling Cancelling the node also prevents a fire that waits for a worker or is on its way to
 *              one, and then returns 1. tw_runtime_cancel_wait and tw_runtime_retire wait for a run
 *              as for a callback. Called from a run of the same item they do not wait; called from
 *              other callbacks they do, and two that wait for each other deadlock.
 *   Items      Belong to the caller, like nodes. An item may be freed after tw_runtime_cancel_wait or
 *              tw_runtime_retire. It may also be freed in its own callback, provided that it is
 *              not pending, has no further fire that waits (tw_runtime_cancel ensures both) and, if
 *              it is concurrent, no other run. Arm and cancel it only on the runtime of its workers.
 *   Callbacks  May call anything, as callbacks on the runtime's thread may. tw_runtime_due and
 *              tw_runtime_overruns refer to the fire that is being run. Signals are blocked.
 *   Stopping   tw_runtime_stop, called outside callbacks, returns when the queue is empty and nothing
 *              runs. Called from a run it returns at once, and the queue is run or discarded
 *              afterwards. tw_runtime_free called from a run frees the runtime when that run has
 *              returned. If a tw_runtime_dispatch or tw_runtime_advance is in progress on another
 *              thread, that call frees the runtime when it ends, and no call may follow. Items that
 *              run, or wait and are not discarded, are in use until then.
 */
#ifndef TICKWHEEL_WORKERS_H
#define TICKWHEEL_WORKERS_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/must_check.h>
#include <tickwheel/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_WORKERS_MAX 256 /* highest number of threads in one pool */

/* A pool of threads for one runtime, and a queue of fires that wait for them. */
struct tw_workers;

/* The treatment of a fire that finds the queue full. */
enum tw_when_full {
    TW_FULL_INLINE, /* the runtime's thread runs the fire that has waited longest; if all waiting
                       fires belong to work items that are running, it waits for one of these runs */
    TW_FULL_REJECT, /* the fire is not run, and counted in `rejected` */
    TW_FULL_BLOCK   /* the runtime's thread waits for room; all timers are late meanwhile */
};

/* The treatment of the queue when the runtime is stopped or the pool is freed. */
enum tw_at_stop {
    TW_STOP_DRAIN,  /* all waiting fires are run */
    TW_STOP_DISCARD /* waiting fires are not run, and counted in `discarded` */
};

/* Options. All zeroes, or a null pointer instead of this struct, gives the defaults. */
struct tw_workers_options {
    unsigned threads;            /* number of threads, at most TW_WORKERS_MAX; 0: 4 */
    uint32_t queue;              /* fires that may wait for a worker, at most 2^24; 0: 1024 */
    enum tw_when_full when_full; /* 0: TW_FULL_INLINE */
    enum tw_at_stop at_stop;     /* 0: TW_STOP_DRAIN */
    const char *thread_name;     /* name of the threads, at most 15 characters; NULL: "tickwheel-work" */
};

/* Makes a pool on the runtime, starts its threads, and stores it in *workers. Freeing the runtime frees
 * the pool as well. Everything is allocated here; running work items allocates nothing. Returns 0.
 *   -EINVAL  also: an option is out of range
 *   -ENOMEM, -EAGAIN  from the system */
TW_MUST_CHECK int tw_workers_new(struct tw_workers **workers, struct tw_runtime *rt,
                                 const struct tw_workers_options *options);

/* Stops the pool as its `at_stop` says and frees it; `workers` may be null. None of its work items may be
 * armed, and no other thread may be in a call on the pool. Returns 0.
 *   -EBUSY  called from a callback of the runtime, or a set or table of timers uses the pool */
int tw_workers_free(struct tw_workers *workers);

/* Waits until the queue is empty and no run is in progress. Fires that arrive meanwhile prolong the wait.
 * Returns 0.
 *   -EBUSY  called from a callback of the runtime */
int tw_workers_wait(struct tw_workers *workers);

/* Counts since the pool was made, and its present state. */
struct tw_worker_stats {
    uint64_t runs;      /* runs that have ended, on workers or inline */
    uint64_t inlined;   /* of these, runs on the runtime's thread because the queue was full */
    uint64_t rejected;  /* fires that were not run because the queue was full */
    uint64_t discarded; /* fires that were not run because of a stop */
    uint64_t blocked;   /* times that the runtime's thread waited for room */
    uint32_t waiting;   /* fires in the queue now, including one for which the runtime's thread
                           seeks room */
    uint32_t running;   /* runs in progress now */
    uint32_t longest;   /* highest number of fires ever in the queue */
};

/* Fills in *stats and returns 0. */
int tw_workers_stats(struct tw_workers *workers, struct tw_worker_stats *stats);

/* Anything that a pool can run: a work item, or a timer of timers.h or keyed.h. The fields belong to the
 * library.
 */
struct tw_runnable {
    struct tw_waiting_fire *last; /* last of the ring of waiting fires; NULL: none waits */
    const struct tw_runnable_hooks *hooks;
    struct tw_workers *workers;
    uint32_t waiting; /* number of fires in the ring */
    uint32_t place;   /* position among the runnables that a worker may take; 0: it is not one of
                         them */
    uint32_t runner;  /* the thread that ran it last; 0: none yet */
    uint32_t flags;
};

/* tw_work_init flags. */
enum {
    TW_CONCURRENT = 1 /* several runs of this work item may overlap */
};

/* A timer in the caller's storage whose callback runs on workers. */
struct tw_work {
    struct tw_node node; /* arm, move and cancel this node */
    struct tw_runnable runnable;
    tw_callback *fn;
};

/* Initialises an idle work item for which a worker will call fn(&work->node, arg), and returns 0. `flags` is
 * 0 or TW_CONCURRENT. The work item must not be pending, waiting or running. Arm its node on the pool's
 * runtime only.
 *   -EINVAL  also: a flag is unknown */
int tw_work_init(struct tw_work *work, struct tw_workers *workers, tw_callback *fn, void *arg,
                 unsigned flags);

#ifdef __cplusplus
}
#endif

#endif
