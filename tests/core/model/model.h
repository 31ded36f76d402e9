/* model.h - performs each operation on real wheels, with nodes and records, and on the oracle. After each
 * operation the model compares the wheel's result with the expected one, then everything that wheels and
 * timers can be asked for, and runs tw_check. The first difference ends the program, which prints the last
 * operations in readable form.
 *
 * Random, exhaustive and fuzzing tests differ only in how they choose the operations.
 * `on_fire` and `on_cancel_all` let them choose some inside callbacks as well. */
#ifndef TICKWHEEL_TESTS_MODEL_H
#define TICKWHEEL_TESTS_MODEL_H

#include "core/door.h"
#include "oracle.h"
#include "shapes/records.h"
#include "wide.h"

enum op_kind {
    OP_ARM_AFTER,
    OP_ARM_AT,
    OP_ARM_WITHIN,
    OP_ARM_EVERY,
    OP_MOVE,
    OP_POSTPONE,
    OP_CANCEL,
    OP_RETIRE,
    OP_RENEW, /* cancels, then tw_node_init */
    OP_FREE,  /* cancels, then frees the storage; a later arming allocates new storage */
    OP_SHIFT, /* tw_core_shift; `tick` is by how much. From here on, operations on a wheel */
    OP_ADVANCE,
    OP_DRAIN, /* advances until no work is left */
    OP_UPDATE,
    OP_IDLE,
    OP_NEXT, /* does all look-ahead; then tw_next is exact */
    OP_CANCEL_ALL,
    OP_EACH,
    OP_INTERRUPT, /* tw_core_interrupt; with a count of 1, where there are records, forget_interruption */
    OP_MISUSE,    /* null and zeroed arguments to every function */
    OP_KINDS
};

struct op {
    enum op_kind kind;
    unsigned wheel, timer;
    uint64_t tick; /* or the delay */
    uint64_t span; /* slack or period */
    enum tw_missed missed;
    uint32_t count; /* fires or budget */
};

/* One line of the history: an operation, or the fire of a timer. */
struct event {
    struct op op;
    unsigned depth; /* of callbacks */
    bool is_fire, is_record, is_done;
    int result;
    uint64_t now;
};

enum { HISTORY = 24 };

struct model;

/* A timer's storage. A timer that is a record has no node. */
struct body {
    struct model *model;
    struct tw_node *node;
    struct tw_node in_place;
    bool buried; /* freed; without a sanitizer it is kept, to detect writes to it */
#if TW_RUNTIME
    struct test_record record;
#endif
};

/* The bits of model.records when all timers are records. */
enum { MODEL_ALL_RECORDS = 7 };

struct model {
    void *(*allocate)(size_t size); /* NULL: nodes are in_place */
    void (*release)(void *memory);
    void (*on_fire)(struct model *m, unsigned wheel, unsigned timer);
    void (*on_cancel_all)(struct model *m, unsigned wheel, unsigned timer);
    void (*on_visit)(struct model *m, unsigned wheel); /* of a walk */
    void (*on_failure)(struct model *m);               /* may print how to reproduce the failure */
    void *user;
    unsigned records;       /* timer i is a record if bit i % 3 is set here, and the build has records */
    bool shares;            /* the wheels have one lock and one memory of records */
    uint64_t record_offset; /* at first; at most what model_open is given as `now` */
    void *record_memory[MODEL_WHEELS]; /* zeroed by model_open, and freed by model_close */
    size_t record_bytes[MODEL_WHEELS];
    unsigned wheel_count, timer_count; /* as given to model_open */
    struct event history[HISTORY];
    uint64_t operations, nested, fires; /* from here on: what exhaustive.c saves and restores */
    unsigned depth;
    uint64_t events;
#if TW_RUNTIME
    struct test_records on[MODEL_WHEELS];
#endif
    struct oracle oracle;
    struct body bodies[MODEL_TIMERS];
    struct tw wheels[MODEL_WHEELS];
};

/* Makes so many wheels and timers. `m` is zeroed or closed; its hooks are set. Wheel 0 has a lock; the others
 * share it, or are TW_UNLOCKED. */
void model_open(struct model *m, unsigned wheels, unsigned timers, uint64_t now);
void model_close(struct model *m);

int model_apply(struct model *m, const struct op *op);

/* With TW_RUNTIME off there are no records. */
static inline bool model_is_record(const struct model *m, unsigned timer) {
    return TW_RUNTIME && (m->records >> timer % 3 & 1) != 0;
}

/* Returns the wheel for an operation on a timer: for a node, `asked`. A record stays on its wheel while it is
 * pending, and always if the wheels do not share their memory. */
unsigned model_wheel_for(const struct model *m, unsigned timer, unsigned asked);

/* For the next two see history.c. */
struct event *model_record(struct model *m, const struct op *op);
void model_print_history(const struct model *m);

_Noreturn __attribute__((format(printf, 2, 3))) void model_fail(struct model *m, const char *format, ...);

#endif
