/* Tries every sequence of operations up to a depth, on wheels whose levels have 2 or 4 slots, where
 * everything a wheel does happens within a few ticks: blocks, the block after, rounds. Wheel, timers, oracle
 * and the memory of records are copied before each step and restored after it, as far as they are in use.
 * They stay at their addresses, so that links stay valid.
 *
 * A step that changes nothing (a refused postpone, an idle call on an idle wheel) ends its
 * branch, because the steps after it are also tried without it. */
#include "model.h"
#include "modes.h"
#include "run.h"
#include "shapes/shapes.h"

enum { DEPTH_MAX = 12, TIMERS = 3 };

/* Ticks below count from the wheel's now. */
static const struct op steps[] = {
    {.kind = OP_ARM_AT, .timer = 0, .tick = 0},
    {.kind = OP_ARM_AT, .timer = 0, .tick = 1},
    {.kind = OP_ARM_AT, .timer = 0, .tick = 2},
    {.kind = OP_ARM_AT, .timer = 0, .tick = 3},
    {.kind = OP_ARM_AT, .timer = 0, .tick = 5},
    {.kind = OP_ARM_AT, .timer = 0, .tick = 9},
    {.kind = OP_ARM_AT, .timer = 1, .tick = 1},
    {.kind = OP_ARM_AT, .timer = 1, .tick = 5},
    {.kind = OP_ARM_AT, .timer = 1, .tick = 18},
    {.kind = OP_ARM_EVERY, .timer = 1, .tick = 2, .span = 3, .missed = TW_BURST},
    {.kind = OP_ARM_EVERY, .timer = 2, .tick = 1, .span = 4, .missed = TW_COALESCE, .count = 2},
    {.kind = OP_ARM_EVERY, .timer = 2, .tick = 3, .span = 2, .missed = TW_DELAY},
    {.kind = OP_ARM_AT, .timer = 2, .tick = (uint64_t)-2}, /* the past; at first the last tick of all */
    {.kind = OP_ARM_WITHIN, .timer = 0, .tick = 3, .span = 6},
    {.kind = OP_MOVE, .timer = 1, .tick = 5},
    {.kind = OP_POSTPONE, .timer = 0, .tick = 2},
    {.kind = OP_POSTPONE, .timer = 0, .tick = 9},
    {.kind = OP_POSTPONE, .timer = 1, .tick = 4},
    {.kind = OP_CANCEL, .timer = 0},
    {.kind = OP_CANCEL, .timer = 1},
    {.kind = OP_ADVANCE, .tick = 1, .count = TW_UNBOUNDED},
    {.kind = OP_ADVANCE, .tick = 9, .count = TW_UNBOUNDED},
    {.kind = OP_ADVANCE, .tick = 0, .count = 1},
    {.kind = OP_ADVANCE, .tick = 4, .count = 1},
    {.kind = OP_IDLE, .count = 1},
    {.kind = OP_CANCEL_ALL},
#if TW_RUNTIME
    {.kind = OP_SHIFT, .tick = 3},
#endif
};

enum { STEPS = sizeof steps / sizeof *steps };

static struct model m;
static struct model saved[DEPTH_MAX];
static uint64_t sequences;

static void copy_records(struct model *to, const struct model *from) {
    if (m.record_bytes[0] != 0)
        memcpy(to->record_memory[0], from->record_memory[0], m.record_bytes[0]);
}

static void reserve_for_records(void) {
    for (unsigned i = 0; i < DEPTH_MAX; ++i) {
        free(saved[i].record_memory[0]);
        saved[i].record_memory[0] = malloc(m.record_bytes[0] + 1);
    }
}

static void copy(struct model *to, const struct model *from) {
    const size_t begin = offsetof(struct model, operations);
    const size_t end = offsetof(struct model, oracle.timers) + TIMERS * sizeof *from->oracle.timers;
    memcpy((char *)to + begin, (const char *)from + begin, end - begin);
    memcpy(to->bodies, from->bodies, TIMERS * sizeof *from->bodies);
    memcpy(to->wheels, from->wheels, shape->wheel_size);
    copy_records(to, from);
}

/* Timer 1 arms timer 2 on its own tick, if that is free; timer 2 cancels timer 0. */
static void on_fire(struct model *model, unsigned wheel, unsigned timer) {
    const struct oracle_wheel *w = &model->oracle.wheels[wheel];
    if (timer == 1 && !model->oracle.timers[2].pending)
        model_apply(model, &(struct op){.kind = OP_ARM_AT, .timer = 2, .tick = w->lo});
    if (timer == 2)
        model_apply(model, &(struct op){.kind = OP_CANCEL, .timer = 0});
}

static struct op from_now(const struct op *step) {
    struct op op = *step;
    if (step->kind != OP_SHIFT)
        op.tick += step->kind == OP_POSTPONE ? m.oracle.timers[step->timer].expiry : m.oracle.wheels[0].now;
    return op;
}

static bool changed(const struct model *before) {
    return memcmp(m.wheels, before->wheels, shape->wheel_size) != 0 ||
           memcmp(m.bodies, before->bodies, TIMERS * sizeof *m.bodies) != 0 ||
           (m.record_bytes[0] != 0 &&
            memcmp(m.record_memory[0], before->record_memory[0], m.record_bytes[0]) != 0);
}

static void explore(unsigned depth) {
    struct model *before = &saved[depth];
    copy(before, &m);
    for (unsigned i = 0; i < STEPS; ++i) {
        struct op op = from_now(&steps[i]);
        model_apply(&m, &op);
        ++sequences;
        if (depth > 1 && changed(before))
            explore(depth - 1);
        copy(&m, before);
    }
}

static void explore_from(uint64_t start, unsigned records, unsigned depth) {
    m.on_fire = on_fire;
    m.records = records;
    model_open(&m, 1, TIMERS, start);
    reserve_for_records();
    explore(depth);
    model_close(&m);
}

int exhaustive_main(int argc, char **argv) {
    /* Starts near boundaries of blocks and rounds, away from them, and where 32-bit ticks
     * wrap. */
    static const uint64_t begin = TW_TICK_BITS == 32 ? UINT32_MAX - UINT64_C(7) : 0;
    /* As bits, which of the three timers are records. */
    static const unsigned records[] = {0, 2, 5};
    const unsigned depth = read_depth(argc, argv, 5, DEPTH_MAX - 1);
    for (unsigned i = 0; use_shape(i); ++i) {
        if (shape->bits > 2) /* on larger wheels there is no rare case within a few steps */
            continue;
        /* One step more takes 25 times as long: we go deepest on the wheel that is most like the library's,
         * and without records, because copying their memory slows each step. */
        const bool is_main = shape->bits == 1 && shape->ahead;
        for (unsigned j = 0; j < sizeof records / sizeof *records && (j == 0 || TW_RUNTIME); ++j) {
            const bool is_deepest = is_main && j == 0;
            const unsigned steps_deep = depth > 1 && !is_deepest && !TW_TREE ? depth - 1 : depth;
            sequences = 0;
            explore_from(begin, records[j], steps_deep);
            explore_from(begin + 6, records[j], steps_deep);
            printf("%s, records %u: %" PRIu64 " sequences of up to %u out of %d operations\n", shape->name,
                   records[j], sequences, steps_deep, STEPS);
        }
    }
    return EXIT_SUCCESS;
}
