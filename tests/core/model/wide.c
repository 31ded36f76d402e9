/* Gives a library of 32-bit ticks the 64-bit interface of the model; see wide.h. */
#define WIDE_C
#include "wide.h"

#if TW_TICK_BITS == 32
#include "report.h"

#include <errno.h>

enum { REACH = INT32_MAX };

static bool is_open(const struct wide_tw *w) { return w != NULL && w->is_open; }

static void require_reach(uint64_t ticks) {
    if (ticks <= REACH)
        return;
    report("wide: this is out of the reach of 32-bit ticks\n");
    report_ends();
}

/* If the call will be refused for its wheel or node, any tick will do. */
static tw_tick narrowed(const struct wide_tw *w, const struct tw_node *node, uint64_t tick) {
    if (is_open(w) && node != NULL && node->fn != NULL)
        require_reach(tick > w->now ? tick - w->now : w->now - tick);
    return (tw_tick)tick;
}

static tw_tick narrowed_length(uint64_t ticks) {
    require_reach(ticks);
    return (tw_tick)ticks;
}

static uint64_t widened(const struct wide_tw *w, tw_tick tick) {
    return w->now + (uint64_t)(int64_t)(int32_t)(tick - (tw_tick)w->now);
}

int wide_init(struct wide_tw *w, uint64_t now, unsigned flags) {
    if (now == UINT64_MAX)
        return -EINVAL;
    const int result = tw_init(wide_narrow(w), (tw_tick)now, flags);
    if (result == 0) {
        w->now = now;
        w->is_open = true;
    }
    return result;
}

int wide_arm_after(struct wide_tw *w, struct tw_node *node, uint64_t delay) {
    return tw_arm_after(wide_narrow(w), node, narrowed_length(delay));
}

int wide_arm_at(struct wide_tw *w, struct tw_node *node, uint64_t tick) {
    return tick == UINT64_MAX ? -ERANGE : tw_arm_at(wide_narrow(w), node, narrowed(w, node, tick));
}

int wide_arm_within(struct wide_tw *w, struct tw_node *node, uint64_t tick, uint64_t slack) {
    if (tick == UINT64_MAX)
        return -ERANGE;
    (void)narrowed(w, node, tick + slack);
    return tw_arm_within(wide_narrow(w), node, narrowed(w, node, tick), narrowed_length(slack));
}

int wide_arm_every(struct wide_tw *w, struct tw_node *node, uint64_t first, uint64_t period,
                   enum tw_missed missed, uint32_t fires) {
    if (first == UINT64_MAX)
        return -ERANGE;
    return tw_arm_every(wide_narrow(w), node, narrowed(w, node, first), narrowed_length(period), missed,
                        fires);
}

int wide_move(struct wide_tw *w, struct tw_node *node, uint64_t tick) {
    return tick == UINT64_MAX ? -ERANGE : tw_move(wide_narrow(w), node, narrowed(w, node, tick));
}

/* A node that is not pending has no tick to be near to. */
int wide_postpone(struct wide_tw *w, struct tw_node *node, uint64_t tick) {
    if (tick == UINT64_MAX)
        return -ERANGE;
    const bool is_pending = tw_pending(wide_narrow(w), node) == 1;
    return tw_postpone(wide_narrow(w), node, is_pending ? narrowed(w, node, tick) : (tw_tick)tick);
}

/* Callbacks read the new time, so it is set before the call. A refused call has no callbacks. */
int wide_advance(struct wide_tw *w, uint64_t now, uint32_t budget) {
    if (now == UINT64_MAX)
        return -EINVAL;
    if (!is_open(w))
        return tw_advance(wide_narrow(w), (tw_tick)now, budget);
    const uint64_t before = w->now;
    require_reach(now > before ? now - before : before - now);
    w->now = now;
    const int result = tw_advance(&w->narrow, (tw_tick)now, budget);
    if (result < 0)
        w->now = before;
    return result;
}

int wide_update(struct wide_tw *w) {
    if (!is_open(w))
        return tw_update(wide_narrow(w));
    ++w->now;
    const int result = tw_update(&w->narrow);
    if (result < 0)
        --w->now;
    return result;
}

/* UINT32_MAX means "no answer", but may also be the answer. */
static uint64_t answer(bool is_one, tw_tick narrow, uint64_t wide) {
    if (is_one)
        return wide;
    return narrow == UINT32_MAX ? UINT64_MAX : narrow;
}

uint64_t wide_expiry(struct wide_tw *w, const struct tw_node *node) {
    const tw_tick tick = tw_expiry(wide_narrow(w), node);
    const bool is_one = tw_pending(wide_narrow(w), node) == 1;
    return answer(is_one, tick, is_one ? widened(w, tick) : 0);
}

uint64_t wide_now(struct wide_tw *w) {
    const tw_tick tick = tw_now(wide_narrow(w));
    return answer(is_open(w), tick, is_open(w) ? widened(w, tick) : 0);
}

uint64_t wide_next(struct wide_tw *w) {
    const tw_tick tick = tw_next(wide_narrow(w));
    const bool is_one = is_open(w) && tick != UINT32_MAX;
    return answer(is_one, tick, is_one ? widened(w, tick) : 0);
}

uint64_t wide_due(struct wide_tw *w) {
    const tw_tick tick = tw_due(wide_narrow(w));
    const bool is_one = tw_running(wide_narrow(w)) != NULL;
    return answer(is_one, tick, is_one ? widened(w, tick) : 0);
}
#else
typedef int wide_is_tw; /* an empty translation unit is not valid C */
#endif
