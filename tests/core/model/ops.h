/* Shared by model.c and ops.c. */
#ifndef TICKWHEEL_TESTS_OPS_H
#define TICKWHEEL_TESTS_OPS_H

#include "model.h"

#define require(m, condition, ...) \
    do { \
        if (!(condition)) \
            model_fail(m, __VA_ARGS__); \
    } while (0)

/* Makes the call, compares its result and informs the oracle. Returns the result. */
typedef int op_function(struct model *m, const struct op *op);

extern op_function *const op_functions[OP_KINDS];

/* Returns the operation as the library can make it: with what it has of policies and budgets. */
struct op model_fit(const struct op *op);

/* model.c */
tw_callback model_on_fire, model_on_clear;
void model_check(struct model *m);
void model_bury(struct model *m, unsigned timer);

#endif
