/* wide.h - the wheel as the model sees it, with 64-bit time that has an end. With 64-bit ticks
 * this is tw.h. A library of 32-bit ticks, which wrap, gets the same calls through wide.c:
 * each wheel is paired with its true time; ticks are narrowed on the way in, and widened on
 * the way out to the ones nearest to that time.
 *
 * The chosen operations must stay within the reach of 32-bit ticks: a tick 2^31 or farther
 * from now ends the program, and so does a node that is pending on another wheel than the one
 * asked. */
#ifndef TICKWHEEL_TESTS_WIDE_H
#define TICKWHEEL_TESTS_WIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <tickwheel/tw.h>

/* Returns what an exact tw_next answers for `tick`: it cannot name the tick whose value is
 * TW_NEVER. */
static inline uint64_t wide_next_for(uint64_t tick) {
    const bool is_nameless = TW_TICK_BITS == 32 && (uint32_t)tick == UINT32_MAX && tick != UINT64_MAX;
    return is_nameless ? tick - 1 : tick;
}

enum { WIDE_NODES_NAME_WHEELS = TW_TICK_BITS != 32 && !TW_SMALL };

#if TW_TICK_BITS == 32
struct wide_tw {
    struct tw narrow;
    uint64_t now;
    bool is_open; /* tw_init was called */
};

int wide_init(struct wide_tw *w, uint64_t now, unsigned flags);
int wide_arm_after(struct wide_tw *w, struct tw_node *node, uint64_t delay);
int wide_arm_at(struct wide_tw *w, struct tw_node *node, uint64_t tick);
int wide_arm_within(struct wide_tw *w, struct tw_node *node, uint64_t tick, uint64_t slack);
int wide_arm_every(struct wide_tw *w, struct tw_node *node, uint64_t first, uint64_t period,
                   enum tw_missed missed, uint32_t fires);
int wide_move(struct wide_tw *w, struct tw_node *node, uint64_t tick);
int wide_postpone(struct wide_tw *w, struct tw_node *node, uint64_t tick);
int wide_advance(struct wide_tw *w, uint64_t now, uint32_t budget);
int wide_update(struct wide_tw *w);
uint64_t wide_expiry(struct wide_tw *w, const struct tw_node *node);
uint64_t wide_now(struct wide_tw *w);
uint64_t wide_next(struct wide_tw *w);
uint64_t wide_due(struct wide_tw *w);

/* Calls without ticks go straight to the wheel. */
static inline struct tw *wide_narrow(struct wide_tw *w) { return w == NULL ? NULL : &w->narrow; }

#ifndef WIDE_C
#undef TW_NEVER
#define TW_NEVER UINT64_MAX
#define tw_init wide_init
#define tw_arm_after wide_arm_after
#define tw_arm_at wide_arm_at
#define tw_arm_within wide_arm_within
#define tw_arm_every wide_arm_every
#define tw_move wide_move
#define tw_postpone wide_postpone
#define tw_advance wide_advance
#define tw_update wide_update
#define tw_expiry wide_expiry
#define tw_now wide_now
#define tw_next wide_next
#define tw_first(w, looks) tw_first(wide_narrow(w), looks)
#define tw_due wide_due
#define tw_overruns(w) ((uint64_t)tw_overruns(wide_narrow(w)))
#define tw_running(w) tw_running(wide_narrow(w))
#define tw_cancel(w, node) tw_cancel(wide_narrow(w), node)
#define tw_retire(w, node) tw_retire(wide_narrow(w), node)
#define tw_pending(w, node) tw_pending(wide_narrow(w), node)
#define tw_wait(w, node) tw_wait(wide_narrow(w), node)
#define tw_count(w) tw_count(wide_narrow(w))
#define tw_idle(w, budget) tw_idle(wide_narrow(w), budget)
#define tw_cancel_all(w, each, arg) tw_cancel_all(wide_narrow(w), each, arg)
#define tw_check(w, report, arg) tw_check(wide_narrow(w), report, arg)
#define tw wide_tw
#endif
#endif

#endif
