/* A gate that holds callbacks until it is opened: while others look, or call. */
#ifndef TICKWHEEL_TESTS_SUPPORT_GATE_H
#define TICKWHEEL_TESTS_SUPPORT_GATE_H

#include "support/runtime_test.h"

#include <stdbool.h>

/* All zero it is shut, and nobody has come. */
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

/* Anew, with nobody inside. */
static inline void shut(struct gate *gate) {
    atomic_store(&gate->inside, 0);
    atomic_store(&gate->passed, 0);
    atomic_store(&gate->open, false);
}

/* A node's callback. */
static inline void wait_in_gate(UNUSED struct tw_node *node, void *gate) { pass(gate); }

#endif
