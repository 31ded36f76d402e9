/* tickwheel/workers.h - threads that run callbacks, so that a slow one delays nobody.
 *
 *     struct tw_workers *disk;
 *     struct tw_job flush;
 *     tw_workers_new(&disk, rt, &(struct tw_workers_options){.threads = 4});
 *     tw_job_init(&flush, disk, on_flush, &file, 0);
 *     tw_runtime_every(rt, &flush.node, TW_SECOND, TW_SKIP);
 *
 * A job is a node whose callback runs on a worker. Arm, move and cancel its node by the
 * calls of runtime.h. Timers of handle.h and keyed.h can have workers too.
 *
 * Conventions are those of runtime.h, and:
 *   Order      Runs begin in the order of the fires. The runs of one job follow each
 *              other: the next begins when the last has returned, unless the job is
 *              TW_CONCURRENT. Meanwhile those of others pass it; then it is next in its
 *              turn, as the fire that it is.
 *   Periods    may be shorter than the runs with TW_SKIP and TW_DELAY: while a fire of the
 *              job waits, further ones join it, counted by tw_runtime_overruns. With
 *              TW_BURST each is a run of its own: what a slow job does not catch up with
 *              fills the queue in the end, and then, but for TW_FULL_REJECT, every timer
 *              waits with it.
 *   Cancelling A fire that waits for a worker is prevented by cancelling its node, which
 *              then returns 1; so is one on its way there. tw_runtime_cancel_wait and
 *              tw_runtime_shutdown wait for a run as for a callback; from inside a run of
 *              that job they do not. From inside other callbacks they do; two that wait
 *              for each other do so for ever.
 *   Jobs       are yours, like nodes. A job may be freed once cancel_wait or shutdown has
 *              returned; or inside its own callback, if it is neither pending nor has a
 *              further fire that waits (tw_runtime_cancel sees to both) or, of a concurrent
 *              one, another run. Arm and cancel it on the runtime of its workers only.
 *   Callbacks  may call anything, as those on the runtime's thread. tw_runtime_due and
 *              tw_runtime_overruns speak of the fire that is run. Signals are blocked.
 *   Ends       tw_runtime_stop, from outside callbacks, returns when the queue is empty and
 *              nothing runs. From inside a run it returns at once, and what waits is run or
 *              thrown away after that. tw_runtime_free inside a run frees the runtime once
 *              that has returned; or, if a tw_runtime_dispatch or tw_runtime_advance is
 *              under way on another thread, at the end of that, the last call there may be.
 *              Jobs that still run, or wait and are not thrown away, are in use until then.
 */
#ifndef TICKWHEEL_WORKERS_H
#define TICKWHEEL_WORKERS_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_WORKERS_MAX 256 /* most threads of one pool */

/* A pool of threads for one runtime, and a queue of fires that wait for them. */
struct tw_workers;

/* What becomes of a fire when the queue is full. */
enum tw_when_full {
    TW_FULL_INLINE, /* the runtime's thread itself runs what has waited longest; if all that
                       waits belongs to jobs that run, it waits for one of them to return */
    TW_FULL_REJECT, /* the fire is left out, and counted */
    TW_FULL_BLOCK   /* the runtime's thread waits for room; timers are late meanwhile */
};

/* What becomes of the queue when the runtime is stopped or the pool is freed. */
enum tw_at_stop {
    TW_STOP_DRAIN,  /* it is run to the end */
    TW_STOP_DISCARD /* it is thrown away, and counted; what runs is waited for */
};

/* All zero, or a null pointer to it, stands for the defaults. */
struct tw_workers_options {
    unsigned threads;            /* 0: 4; at most TW_WORKERS_MAX */
    uint32_t queue;              /* fires that may wait while no worker is free to take them;
                                    0: 1024; at most 2^24 */
    enum tw_when_full when_full; /* 0: TW_FULL_INLINE */
    enum tw_at_stop at_stop;     /* 0: TW_STOP_DRAIN */
    const char *thread_name;     /* at most 15 characters; NULL: "tickwheel-work" */
};

/* Makes a pool and starts its threads. It is freed with its runtime, if not before. All
 * that it needs is allocated here; running jobs allocates nothing.
 *   -EINVAL  also: an option out of range
 *   -ENOMEM, -EAGAIN  from the system */
int tw_workers_new(struct tw_workers **workers, struct tw_runtime *rt,
                   const struct tw_workers_options *options);

/* Ends it by its rule for stopping, and frees it; a null pointer is allowed. Its jobs are
 * not armed any more, and nobody else is in a call to it. Returns 0.
 *   -EBUSY  called from a callback of the runtime; or timers of handle.h or keyed.h use it */
int tw_workers_free(struct tw_workers *workers);

/* Returns once nothing waits and nothing runs; what fires meanwhile is waited for too.
 *   -EBUSY  called from a callback of the runtime */
int tw_workers_wait(struct tw_workers *workers);

struct tw_worker_stats {
    uint64_t runs;      /* that have ended, on workers or inline */
    uint64_t inlined;   /* of these, on the runtime's thread, as the queue was full */
    uint64_t rejected;  /* fires that were left out as the queue was full */
    uint64_t discarded; /* fires that were thrown away by stopping */
    uint64_t blocked;   /* times that the runtime's thread waited for room */
    uint32_t waiting;   /* fires in the queue, now; and one that the runtime's thread seeks room for */
    uint32_t running;   /* now */
    uint32_t longest;   /* the most that ever were in the queue */
};

/* Fills in what it has seen so far; returns 0. */
int tw_workers_stats(struct tw_workers *workers, struct tw_worker_stats *stats);

/* Something to be run by workers. The fields are the library's. */
struct tw_runnable {
    struct tw_run *last; /* of a ring of fires that wait; NULL: none */
    const struct tw_runnable_kind *kind;
    struct tw_workers *workers;
    uint32_t waiting; /* fires in the ring */
    uint32_t place;   /* among those that a worker may take; 0: not one of them */
    uint32_t runner;  /* who ran it last; 0: nobody yet */
    uint32_t flags;
};

/* tw_job_init flags. */
enum {
    TW_CONCURRENT = 1 /* runs of this job need not wait for each other */
};

/* A timer, in the caller's storage, whose callback runs on workers. */
struct tw_job {
    struct tw_node node; /* arm this one */
    struct tw_runnable runnable;
    tw_callback *fn;
};

/* Makes an idle job that will have a worker call fn(&job->node, arg); returns 0. Not for a
 * job that is pending, waits or runs. Its node is armed on the pool's runtime only.
 *   -EINVAL  also: unknown flags */
int tw_job_init(struct tw_job *job, struct tw_workers *workers, tw_callback *fn, void *arg, unsigned flags);

#ifdef __cplusplus
}
#endif

#endif
