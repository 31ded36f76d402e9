/* Shared by the tests of workers: a runtime with one pool, and runs that a gate holds. */
#ifndef TICKWHEEL_TESTS_WORKERS_TEST_H
#define TICKWHEEL_TESTS_WORKERS_TEST_H

#include "support/gate.h"
#include "support/runtime_test.h"

#include <pthread.h>
#include <stdbool.h>

#include <tickwheel/workers.h>

/* The runtime and the pool of a test. */
static UNUSED struct tw_runtime *rt;
static UNUSED struct tw_workers *pool;
static UNUSED struct gate gate;
static UNUSED atomic_int runs, faults; /* counted by callbacks, which cannot assert */

static const struct tw_runtime_options by_hand = {.driver = "manual"};

static inline struct tw_workers *new_pool(struct tw_runtime *of, struct tw_workers_options options) {
    struct tw_workers *made = NULL;
    assert_ok(tw_workers_new(&made, of, &options));
    return made;
}

static inline void init_item(struct tw_work *item, struct tw_workers *of, tw_callback *fn, void *arg) {
    assert_ok(tw_work_init(item, of, fn, arg, 0));
}

static inline void count(UNUSED struct tw_node *node, UNUSED void *arg) { atomic_fetch_add(&runs, 1); }

/* Fires a work item on a runtime without a thread. */
static inline void fire(struct tw_work *item) {
    assert_ok(tw_runtime_after(rt, &item->node, 0));
    assert_ok(tw_runtime_advance(rt, 0));
}

static inline struct tw_worker_stats stats_of(struct tw_workers *of) {
    struct tw_worker_stats stats;
    assert_ok(tw_workers_stats(of, &stats));
    return stats;
}

/* Starts a work item that runs until its gate is opened. */
static inline void hold_a_worker(struct tw_work *item, struct gate *at) {
    const int inside = atomic_load(&at->inside);
    init_item(item, pool, wait_in_gate, at);
    fire(item);
    wait_for(atomic_load(&at->inside) == inside + 1);
}

#endif
