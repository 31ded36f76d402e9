/* core/door.h - the functions of a wheel, in addition to tw.h, for the layers above the core. The library
 * hides them from programs. A library without the runtime has none of them. src/timers uses records.hpp
 * instead.
 *
 * Conventions are those of tw.h. This header is C because the tests of the core are written in C.
 */
#ifndef TICKWHEEL_CORE_DOOR_H
#define TICKWHEEL_CORE_DOOR_H

#include <tickwheel/tw.h>

struct tw_walk; /* only libraries with the runtime define this */

#ifdef __cplusplus
extern "C" {
#endif

/* --- nodes ------------------------------------------------------------------------------- */

/* tw_arm_at, tw_arm_every and tw_move for a wheel known to be valid and to take its lock. `moment`: see
 * tw_core_join_lanes. */
int tw_core_arm_at(struct tw *w, struct tw_node *node, tw_tick due, uint64_t moment);
int tw_core_arm_every(struct tw *w, struct tw_node *node, tw_tick first, tw_tick period,
                      enum tw_missed missed, uint32_t fires, uint64_t moment);
int tw_core_move(struct tw *w, struct tw_node *node, tw_tick due, uint64_t moment);

/* A value of the field `part` of a node: the node is one-shot, and its `period` is 1 more than the delay that
 * it was last armed with, or 0 if it was last armed without a delay. */
#define TW_CORE_ONCE UINT32_MAX

/* tw_core_arm_at, and the node remembers its delay, in the caller's unit, for tw_core_again. */
int tw_core_arm_with_delay(struct tw *w, struct tw_node *node, tw_tick due, tw_tick delay, uint64_t moment);

/* Returns the tick that a node is due at next, by its delay or period. The wheel is locked. */
typedef tw_tick tw_core_due(const struct tw_node *node, void *arg);

/* Arms a node again for due_of(node, arg), by the delay that it remembers; or moves it there, if it has a
 * period and is pending. Returns 0.
 *   -EINVAL  also: the node has neither a delay nor a period
 *   -ENOENT  the node has a period, and is not pending
 *   -EBUSY   the node is pending on another wheel
 *   -EPERM   the node is retired */
int tw_core_again(struct tw *w, struct tw_node *node, tw_core_due *due_of, void *arg, uint64_t moment);

/* A grid whose period need not be a whole number of ticks. Deadlines are counted in parts of a tick, and each
 * rounds up to a tick independently. */
struct tw_core_grid {
    tw_tick first;         /* tick that the first deadline rounds up to */
    uint32_t early;        /* parts by which the first deadline lies before that tick; less than `parts` */
    uint32_t parts;        /* parts in a tick, 1 to 2^32 - 2; the same for the whole life of a wheel */
    tw_tick period;        /* in parts; at least one tick */
    enum tw_missed missed; /* as in tw_arm_every */
    uint32_t fires;        /* as in tw_arm_every */
    uint64_t moment;       /* see tw_core_join_lanes */
};

/* Arms a periodic node on the grid `grid`. The n-th fire, counted from 0, is due n * period parts after the
 * first deadline, rounded up to a tick. TW_DELAY, tw_move and tw_postpone start a new grid whose deadline is
 * a whole tick. The wheel counts at most 2^64 - 1 parts of lateness. Errors and result are those of
 * tw_arm_every.
 *   -EINVAL  also: a field is out of range, or `parts` differs from the wheel's earlier grids */
int tw_core_arm_grid(struct tw *w, struct tw_node *node, const struct tw_core_grid *grid);

/* Returns the tick in [tick, tick + slack] that tw_arm_within would choose now, or TW_NEVER if it would
 * return an error. */
TW_MUST_CHECK tw_tick tw_core_choose(struct tw *w, tw_tick tick, tw_tick slack);

/* Gives an idle node a label, a number below TW_LABELS that it keeps until tw_node_init. A wheel uses
 * labels only to count. Returns 0.
 *   -EINVAL  also: the label is TW_LABELS or more
 *   -EBUSY   the node is pending */
int tw_core_label(struct tw_node *node, unsigned label);

/* Returns the number of fires with this label that calls have prevented on this wheel: tw_cancel and
 * tw_retire those of nodes, and the owner of records those that it reports (count_cancelled). 0 on a wheel
 * with TW_UNLOCKED, which does not count them. */
TW_MUST_CHECK uint64_t tw_core_cancelled(struct tw *w, unsigned label);

/* --- lanes: wheels of one runtime that fire in one order ---------------------------------- */

/* A place in the order of fires: that of a timer that stands at a tick, and has an order of arming. Order 0
 * comes before all timers of the tick. */
struct tw_core_place {
    tw_tick tick;
    uint64_t order;
};

/* What the lanes of a runtime have in common. */
struct tw_core_lanes {
    tw_tick cursor;                                        /* the tick that all lanes have come to; atomic */
    uint64_t (*moment)(const struct tw_core_lanes *lanes); /* the present moment; see below */
};

/* Makes a wheel a lane. Call it right after tw_init.
 *
 * Calls that arm in a lane take a `moment`, a reading of one clock for all lanes, from before the call took
 * the lane's lock. A timer comes after all that any lane armed before that moment. 0: in no order with other
 * lanes. */
void tw_core_join_lanes(struct tw *w, struct tw_core_lanes *lanes);

/* 0 if no thread has the wheel's lock just now, or waits for it: if the lock's word is 0. */
int tw_core_is_busy(struct tw *w);

/* Counts the timers that were placed above level 0, and so may need look-ahead. Takes no lock. */
uint32_t tw_core_placed(struct tw *w);

/* tw_next, and stores the result in *published, which is atomic, with the wheel locked. */
tw_tick tw_core_publish_next(struct tw *w, tw_tick *published);

/* A lane that takes part in an advance of all lanes. */
struct tw_core_part {
    struct tw_core_place next; /* of the first timer left, or an earlier place with order 0; the tick is
                                  TW_NEVER if no timer is due */
    tw_tick *published;        /* atomic: no later than the next tick that needs attention */
};

/* Advances a lane to `now` or, if that is earlier, up to the place `last`: fires the timers that are due and
 * come no later than that, within *budget, which shrinks by what is spent. Stops early once *touched, which
 * is atomic, is not 0: then a timer may have come to another lane before those that are left here. Sets the
 * fields of `part` with the lane locked. Returns 0, or 1 if the budget is used up or the wheel was
 * interrupted.
 *
 * To fire the due timers of all lanes, call it for the lane with the first place, up to the first place of
 * the others, until no lane has a place; then for each lane, up to {now, UINT64_MAX}. */
int tw_core_advance_part(struct tw *w, tw_tick now, const struct tw_core_place *last, const uint64_t *touched,
                         uint32_t *budget, struct tw_core_part *part);

/* --- fires ------------------------------------------------------------------------------- */

/* Makes a fire of a node with this label: calls fire->fn(fire->node, fire->arg), and may do anything before
 * and after that. The callback may free the node. If `fire` is null, there is no fire to make: the call says
 * that no other fire follows the last one at once, because the wheel does other work first or no timer is
 * due. The wheel is locked during such a call, and the function must not call the wheel. */
typedef void tw_core_caller(const struct tw_fire *fire, unsigned label, void *arg);

/* From now on caller(fire, label, arg) makes the fires of a wheel, to measure or trace them; if `caller` is
 * null, the wheel makes them itself. Call it before other threads use the wheel. */
void tw_core_set_caller(struct tw *w, tw_core_caller *caller, void *arg);

/* Makes the running tw_advance return 1 before it calls another callback. If no tw_advance is running, or the
 * running one has no other callback to call, the next tw_advance that has one returns 1 instead. May be
 * called from anywhere, signal handlers included. */
void tw_core_interrupt(struct tw *w);

/* Ends this thread's tw_advance after an exception or a longjmp has left a callback. The callback counts as
 * returned; the next tw_advance calls the other callbacks that are due. Call it before the wheel is advanced
 * again. Does nothing if this thread is in no tw_advance of the wheel. */
void tw_core_abandon(struct tw *w);

/* True while a callback of a node or a record runs. For the thread that advances; takes no lock. */
int tw_core_is_in_callback(struct tw *w);

/* Forgets a tw_core_interrupt that has not interrupted an advance. For the thread that advances; takes no
 * lock. */
void tw_core_forget_interruption(struct tw *w);

/* --- the wheel ---------------------------------------------------------------------------- */

/* Makes a wheel use the lock of another one. Call it right after tw_init. */
void tw_core_share_lock(struct tw *w, struct tw *with);

/* Makes all timers due `by` ticks later, for time that was set back or stood still: every node and record
 * that is pending now, the later fires of periodic ones, and the result of tw_due in a running callback. Caps
 * the ticks of nodes at TW_NEVER - 1. The timers stay pending throughout, and timers of one tick keep their
 * order; a timer that another thread arms for the same tick before this returns may fire before them. Nodes
 * that a concurrent tw_cancel_all has not yet handed out are shifted, too: they stay pending, and fire behind
 * the other nodes of their ticks. Holds the lock once for as many steps as the wheel has slots, then in
 * short stretches as tw_advance does. */
void tw_core_shift(struct tw *w, tw_tick by);

/* tw_walk_next in one hold of the lock: stores the next node, or null if this hold has not reached one.
 * Returns 0 once the walk is over, else 1. */
int tw_core_walk_some(struct tw *w, struct tw_walk *walk, struct tw_node **node);

/* The three moments at which pthread_atfork calls its handlers. */
enum tw_core_fork_moment {
    TW_CORE_FORK_PREPARE, /* take the wheel's lock, so that the child gets a consistent copy */
    TW_CORE_FORK_PARENT,  /* release the lock */
    TW_CORE_FORK_CHILD /* release the lock and forget the other threads' calls; a tw_advance that this thread
                          is in returns once its callback has returned */
};

/* For the handlers of pthread_atfork, on a wheel that other threads use. The child then owns a copy of the
 * wheel and of its nodes, all still pending. */
void tw_core_fork(struct tw *w, enum tw_core_fork_moment moment);

#ifdef __cplusplus
}
#endif

#endif
