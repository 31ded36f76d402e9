/* A gate that holds callbacks until the test opens it, so that other threads can look or call
 * meanwhile. */
#ifndef TICKWHEEL_TESTS_SUPPORT_GATE_H
#define TICKWHEEL_TESTS_SUPPORT_GATE_H

#include "support/runtime_test.h"

#include <stdbool.h>

/* A zeroed gate is shut and empty. An open gate lets callbacks pass. */
struct gate {
    atomic_int inside, passed;
    atomic_bool open;
};

static inline void pass(struct gate *gate) {
    atomic_fetch_add(&gate->inside, 1);
    while (!atomic_load(&gate->open))
        doze();
    atomic_fetch_sub(&gate->inside, 1);
    atomic_fetch_add(&gate->passed, 1);
}

/* Shuts a gate that is empty. */
static inline void shut(struct gate *gate) {
    atomic_store(&gate->inside, 0);
    atomic_store(&gate->passed, 0);
    atomic_store(&gate->open, false);
}

/* A node's callback that waits in the gate. */
static inline void wait_in_gate(UNUSED struct tw_node *node, void *gate) { pass(gate); }

#endif
