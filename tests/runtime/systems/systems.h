/* Shared by the tests of the six systems: one runtime, and timers that record their fires. */
#ifndef TICKWHEEL_TESTS_SYSTEMS_H
#define TICKWHEEL_TESTS_SYSTEMS_H

#include "support/runtime_test.h"

#include <assert.h>
#include <pthread.h>

static struct tw_runtime *rt;

/* A test's setup and teardown: virtual time in ticks of a second, from 0. */
static inline int at_zero(UNUSED void **state) {
    rt = new_runtime((struct tw_runtime_options){.driver = "manual", .tick_ns = TW_SECOND});
    return 0;
}

static inline int freed(UNUSED void **state) {
    const int result = tw_runtime_free(rt);
    rt = NULL;
    return result;
}

static inline void let_pass(int64_t ns) { assert_int_equal(tw_runtime_advance(rt, ns), 0); }

/* A timer that records its fires. A test's timers are static, because `freed` runs after the
 * test, even a failed one, and must still find them. */
struct noted {
    struct tw_node node;
    atomic_uint fires;
    _Atomic int64_t last_ns; /* the deadline of its latest fire */
    _Atomic int64_t now_ns;  /* the clock's reading at that fire */
};

static inline void note(UNUSED struct tw_node *node, void *arg) {
    struct noted *it = arg;
    atomic_store(&it->last_ns, tw_runtime_due(rt));
    atomic_store(&it->now_ns, tw_runtime_now(rt));
    atomic_fetch_add(&it->fires, 1);
}

static inline void init(struct noted *it) {
    memset(it, 0, sizeof *it);
    assert_int_equal(tw_node_init(&it->node, note, it), 0);
}

static inline void start_after(struct noted *it, int64_t delay_ns) {
    init(it);
    assert_int_equal(tw_runtime_after(rt, &it->node, delay_ns), 0);
}

static inline void assert_fired(struct noted *it, unsigned times, int64_t at_ns) {
    assert_int_equal(it->fires, times);
    assert_int_equal(it->last_ns, at_ns);
    assert_int_equal(it->now_ns, at_ns);
}

/* Real time: returns when every timer due within `ns` from now has had its turn. */
static inline void outlast(int64_t ns) {
    static struct noted end;
    start_after(&end, ns);
    wait_for(end.fires == 1);
    tw_runtime_cancel_wait(rt, &end.node);
}

#endif
