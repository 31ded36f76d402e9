/* core/door.h - what the rooms above the core use of a wheel beside tw.h. Programs do not see these
 * functions: the library hides them. For src/timers there is records.hpp as well.
 *
 * Conventions are those of tw.h. In C, because the tests of the core are written in C.
 */
#ifndef TICKWHEEL_CORE_DOOR_H
#define TICKWHEEL_CORE_DOOR_H

#include <tickwheel/tw.h>

#if TW_RUNTIME

#ifdef __cplusplus
extern "C" {
#endif

/* --- nodes ------------------------------------------------------------------------------- */

/* tw_arm_at, for a wheel that is known to be valid and to take its lock. */
int tw_core_arm_at(struct tw *w, struct tw_node *node, tw_tick due);

/* A grid whose period need not be a whole number of ticks. Its deadlines are counted in parts of a tick, and
 * each deadline rounds up to a tick by itself. */
struct tw_core_grid {
    tw_tick first;         /* tick that the first deadline rounds up to */
    uint32_t early;        /* parts by which the first deadline lies before that tick; less than `parts` */
    uint32_t parts;        /* parts in a tick, 1 to 2^32 - 2; the same for the whole life of a wheel */
    tw_tick period;        /* in parts; at least one tick */
    enum tw_missed missed; /* as in tw_arm_every */
    uint32_t fires;        /* as in tw_arm_every */
};

/* Arms a periodic node on the grid `grid`. The n-th fire, counted from 0, is due n * period parts after the
 * first deadline, rounded up to a tick. TW_DELAY, tw_move and tw_postpone start a new grid whose deadline is
 * a whole tick. Lateness is counted up to 2^64 - 1 parts. Errors and result are those of tw_arm_every.
 *   -EINVAL  also: a field is out of range, or `parts` differs from the wheel's earlier grids */
int tw_core_arm_grid(struct tw *w, struct tw_node *node, const struct tw_core_grid *grid);

/* Gives an idle node a label, a number below TW_LABELS that stays with it until tw_node_init. A wheel counts
 * by label and means nothing else by it. Returns 0.
 *   -EINVAL  also: the label is TW_LABELS or more
 *   -EBUSY   the node is pending */
int tw_core_label(struct tw_node *node, unsigned label);

/* Returns how many fires of nodes with this label tw_cancel and tw_node_shutdown have prevented on this
 * wheel. A wheel with TW_UNLOCKED does not count them: 0. */
TW_MUST_CHECK uint64_t tw_core_cancelled(struct tw *w, unsigned label);

/* --- fires ------------------------------------------------------------------------------- */

/* A fire, as the wheel is about to make it. */
struct tw_core_fire {
    struct tw_node *node;
    tw_callback *fn;
    void *arg;
    tw_tick due;      /* the tick that the node was due at */
    tw_tick overruns; /* as tw_overruns returns it */
    unsigned label;   /* as tw_core_label has set it */
};

/* Makes a fire: calls fire->fn(fire->node, fire->arg), and may do anything before and after that. The
 * callback may free the node. If `fire` is null, there is none: no fire follows the last one at once, because
 * the wheel does other things first. The wheel is locked at that moment, and must not be called. */
typedef void tw_core_caller(const struct tw_core_fire *fire, void *arg);

/* Has caller(fire, arg) make the fires of a wheel from now on, to measure or trace them; null: the wheel
 * makes them itself. Call it before the wheel is used. Returns 0. */
int tw_core_set_caller(struct tw *w, tw_core_caller *caller, void *arg);

/* True while a callback of a node or a record runs. For the thread that advances; takes no lock. */
int tw_core_is_in_callback(struct tw *w);

/* Forgets a tw_interrupt that has not interrupted anything. For the thread that advances; takes no lock. */
void tw_core_forget_interruption(struct tw *w);

/* --- the wheel ---------------------------------------------------------------------------- */

/* Makes a wheel use the lock of another one. Call it right after tw_init. */
void tw_core_share_lock(struct tw *w, struct tw *with);

/* Shifts everything by `by` ticks, for time that was set back or stood still: every node that is pending now,
 * the further fires of periodic nodes, and the result of tw_due in a callback that is running. Ticks are
 * capped at TW_NEVER - 1. The nodes stay pending throughout, and nodes of one tick keep their order; a node
 * that another thread arms for the same tick before this returns may fire before them. Nodes that a
 * concurrent tw_clear has not yet handed out are shifted too, stay pending, and fire behind the others of
 * their ticks. Holds the lock once for as many steps as the wheel has slots, then in short stretches as
 * tw_advance does. Returns 0. */
int tw_core_shift(struct tw *w, tw_tick by);

#ifdef __cplusplus
}
#endif

#endif

#endif
