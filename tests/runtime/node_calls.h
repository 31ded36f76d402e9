/* The calls of a runtime on one of its nodes, with good arguments, for tests of when they are refused. */
#ifndef TICKWHEEL_TESTS_RUNTIME_NODE_CALLS_H
#define TICKWHEEL_TESTS_RUNTIME_NODE_CALLS_H

#include "support/runtime_test.h"

static inline int call_after(struct tw_runtime *rt, struct tw_node *node) {
    return tw_runtime_after(rt, node, 1);
}
static inline int call_at(struct tw_runtime *rt, struct tw_node *node) {
    return tw_runtime_at(rt, node, 3600 * TW_SECOND);
}
static inline int call_every(struct tw_runtime *rt, struct tw_node *node) {
    return tw_runtime_every(rt, node, TW_SECOND, TW_COALESCE);
}
static inline int call_arm(struct tw_runtime *rt, struct tw_node *node) {
    return tw_runtime_arm(rt, node, &(struct tw_when){.due_ns = 1});
}
static inline int call_move(struct tw_runtime *rt, struct tw_node *node) {
    return tw_runtime_move(rt, node, 1);
}
static inline int call_postpone(struct tw_runtime *rt, struct tw_node *node) {
    return tw_runtime_postpone(rt, node, 1);
}

struct node_call {
    const char *name;
    int (*call)(struct tw_runtime *rt, struct tw_node *node);
};

enum { ARMING_CALLS = 4, TIMING_CALLS = 6, NODE_CALLS = 9 }; /* the first of these arm, or choose a time */

static const struct node_call node_calls[NODE_CALLS] = {
    {"after", call_after},         {"at", call_at},
    {"every", call_every},         {"arm", call_arm},
    {"move", call_move},           {"postpone", call_postpone},
    {"cancel", tw_runtime_cancel}, {"cancel_wait", tw_runtime_cancel_wait},
    {"retire", tw_runtime_retire},
};

#endif
