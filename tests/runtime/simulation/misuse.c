/* P14: errors change nothing; world_check compares the state. */
#include "world.h"

#include <errno.h>
#include <string.h>

static void misuse_arm(struct world *w, struct tw_node *n) {
    const struct tw_when bad[] = {
        {.due_ns = -1},
        {.slack_ns = -1},
        {.period_ns = -w->ref.unit},
        {.period_ns = w->ref.unit, .missed = (enum tw_missed)3},
        {.period_ns = w->ref.unit, .fires = TW_FIRES_MAX + 1u},
        {.period_ns = w->ref.unit - 1},
    };
    const unsigned count = w->ref.unit == 1 ? 5 : 6; /* with a unit of 1 the last one is oneshot, and valid */
    for (unsigned i = 0; i < count; ++i)
        require(w, tw_runtime_arm(w->rt, n, &bad[i]) == -EINVAL, "P14: bad options %u", i);
    require(w, tw_runtime_arm(w->rt, n, NULL) == -EINVAL, "P14: arm");
    require(w, tw_runtime_after(w->rt, n, -1) == -EINVAL, "P14: after");
    require(w, tw_runtime_at(w->rt, n, -1) == -EINVAL, "P14: at");
    require(w, tw_runtime_every(w->rt, n, 0, TW_BURST) == -EINVAL, "P14: every");
    require(w, tw_runtime_move(w->rt, n, -1) == -EINVAL, "P14: move");
    require(w, tw_runtime_postpone(w->rt, n, -1) == -EINVAL, "P14: postpone");
}

static void misuse_node(struct world *w, struct tw_node *n, int error) {
    const struct tw_when when = {.absolute = 1};
    require(w, tw_runtime_after(w->rt, n, 1) == error, "P14: after");
    require(w, tw_runtime_arm(w->rt, n, &when) == error, "P14: arm");
    require(w, tw_runtime_every(w->rt, n, w->ref.unit, TW_SKIP) == error, "P14: every");
    require(w, tw_runtime_move(w->rt, n, 1) == error, "P14: move");
    require(w, tw_runtime_postpone(w->rt, n, 1) == error, "P14: postpone");
    require(w, tw_runtime_cancel(w->rt, n) == error, "P14: cancel");
    require(w, tw_runtime_cancel_wait(w->rt, n) == error, "P14: cancel_wait");
    require(w, tw_runtime_shutdown(w->rt, n) == error, "P14: shutdown");
    require(w, tw_runtime_remaining(w->rt, n) == TW_NO_DEADLINE, "P14: remaining");
}

static void misuse_runtime(struct world *w) {
    require(w, tw_runtime_start(w->rt) == -EOPNOTSUPP, "P14: start");
    require(w, tw_runtime_fd(w->rt) == -EOPNOTSUPP, "P14: fd");
    require(w, tw_runtime_dispatch(w->rt) == -EOPNOTSUPP, "P14: dispatch");
    require(w, tw_runtime_advance(w->rt, -1) == -EINVAL, "P14: advance");
    require(w, tw_runtime_leap(w->rt, -1) == -EINVAL, "P14: leap");
    require(w, tw_runtime_set_wall(w->rt, -1) == (w->ref.has_wall ? -EINVAL : -EOPNOTSUPP), "P14: set_wall");
    if (!w->ref.has_wall)
        require(w, tw_runtime_set_wall(w->rt, 1) == -EOPNOTSUPP, "P14: set_wall");
    if (w->inside) {
        require(w, tw_runtime_advance(w->rt, 0) == -EBUSY, "P14: advance inside");
        require(w, tw_runtime_leap(w->rt, 0) == -EBUSY, "P14: leap inside");
    }
}

void world_misuse(struct world *w, unsigned timer) {
    world_count_operation(w);
    tell(w, "misuse");
    struct tw_node zeroed;
    memset(&zeroed, 0, sizeof zeroed);
    misuse_arm(w, node_of(w, timer));
    misuse_node(w, &zeroed, -EINVAL);
    misuse_node(w, NULL, -EINVAL);
    misuse_node(w, &w->stranger, -EBUSY);
    misuse_runtime(w);
    world_follow_wall(w, false); /* the stranger's call read the clock before it was refused */
    world_check(w);
}
