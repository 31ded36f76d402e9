/* Shared by model.c, ops.c and records.c. */
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

/* Returns the operation with the policies and budgets that the library has. */
struct op model_fit(const struct model *m, const struct op *op);

/* model.c */
tw_callback model_on_fire, model_on_cancel_all;
void model_check(struct model *m);
void model_bury(struct model *m, unsigned timer);
int model_find(struct model *m, const struct tw_node *node); /* -1: there is no such timer */

/* Called around what a callback does. The first tells the oracle and compares. */
void model_fire_begins(struct model *m, unsigned timer);
void model_fire_ends(struct model *m, unsigned wheel);

/* records.c, for builds that have records. */
#if TW_RUNTIME
extern op_function *const record_functions[OP_SHIFT]; /* the operations on a timer */
void model_open_records(struct model *m);
void model_disarm_records(struct model *m);
void model_free_records(struct model *m); /* when the wheels are used no more */
void model_check_record(struct model *m, unsigned timer);
void model_check_records(struct model *m, unsigned wheel);
#else
static inline void model_open_records(struct model *m) { (void)m; }
static inline void model_disarm_records(struct model *m) { (void)m; }
static inline void model_free_records(struct model *m) { (void)m; }
static inline void model_check_record(struct model *m, unsigned timer) { (void)m, (void)timer; }
static inline void model_check_records(struct model *m, unsigned wheel) { (void)m, (void)wheel; }
#endif

#endif
