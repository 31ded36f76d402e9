/* Shared by the tests of workers: a runtime with one pool, and runs that a gate holds. */
#ifndef TICKWHEEL_TESTS_WORKERS_TEST_H
#define TICKWHEEL_TESTS_WORKERS_TEST_H

#include "support/gate.h"
#include "support/runtime_test.h"

#include <pthread.h>
#include <stdbool.h>

#include <tickwheel/workers.h>

static const struct tw_runtime_options by_hand = {.driver = "manual"};

static inline struct tw_workers *new_pool(struct tw_runtime *rt, struct tw_workers_options options) {
    struct tw_workers *pool = NULL;
    assert_ok(tw_workers_new(&pool, rt, &options));
    return pool;
}

static inline void init_job(struct tw_job *job, struct tw_workers *pool, tw_callback *fn, void *arg) {
    assert_ok(tw_job_init(job, pool, fn, arg, 0));
}

/* Fires a job on a runtime without a thread. */
static inline void fire(struct tw_runtime *rt, struct tw_job *job) {
    assert_ok(tw_runtime_after(rt, &job->node, 0));
    assert_ok(tw_runtime_advance(rt, 0));
}

static inline struct tw_worker_stats stats_of(struct tw_workers *pool) {
    struct tw_worker_stats stats;
    assert_ok(tw_workers_stats(pool, &stats));
    return stats;
}

/* Starts a job that runs until its gate is opened. */
static inline void hold_a_worker(struct tw_runtime *rt, struct tw_workers *pool, struct tw_job *job,
                                 struct gate *gate) {
    const int inside = atomic_load(&gate->inside);
    init_job(job, pool, wait_in_gate, gate);
    fire(rt, job);
    wait_for(atomic_load(&gate->inside) == inside + 1);
}

#endif
