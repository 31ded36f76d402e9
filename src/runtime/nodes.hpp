// The parts of the calls on nodes that other files build on. Any thread.
#pragma once

#include "components.hpp"
#include "core/door.h"

namespace tickwheel::runtime {

// The schedule of tw_runtime_every. Copies `missed` as bytes, because it is not validated yet; see is_one_of.
inline tw_when every(std::int64_t period, const tw_missed &missed) {
    tw_when when = {};
    when.due_ns = period;
    when.period_ns = period;
    std::memcpy(&when.missed, &missed, sizeof missed);
    return when;
}

// The two parts of `missed_and_label`; see tw_node. Atomic, because another thread may be arming the node and
// writing the byte.
inline unsigned missed_of(const tw_node &node) {
    return __atomic_load_n(&node.missed_and_label, __ATOMIC_RELAXED) & ((1U << TW_MISSED_BITS) - 1);
}
inline unsigned label_of(const tw_node &node) {
    return __atomic_load_n(&node.missed_and_label, __ATOMIC_RELAXED) >> TW_MISSED_BITS;
}

// One step of a walk over the nodes of a timeline; see tw_core_walk_some.
inline bool walk_some(timeline &line, tw_walk &at, tw_node *&node) {
    return tw_core_walk_some(&line.wheel, &at, &node) != 0;
}

// The period of a node in nanoseconds; 0 for a one-shot node.
inline std::int64_t period_of(const tw_node &node, const tick_unit &unit) {
    if (node.part == TW_CORE_ONCE)
        return 0;
    return static_cast<std::int64_t>(node.period * (node.part != 0 ? unit.part : unit.ns));
}

// Begins another sequence of jitter, unless time is virtual. Call this when the runtime is made, and when it
// is revived in the child of a fork, so that processes differ.
void seed_jitter(tw_runtime &rt);

// The schedule of a one-shot timer; a negative deadline has passed, and counts as 0.
inline tw_when at(std::int64_t deadline) {
    tw_when when = {};
    when.due_ns = deadline > 0 ? deadline : 0;
    when.absolute = 1;
    return when;
}

// Returns when no other thread is in the node's callback. Asks every timeline, because a callback from one
// may still run after the node was armed again on the other.
inline void wait_for_callback(tw_runtime &rt, const tw_node *node) {
    for_each_timeline(rt, [node](timeline &line) { tw_wait(&line.wheel, node); });
}

// True for the callback of work items, which passes their fires on.
inline bool is_passed_on(const tw_runtime &rt, tw_callback *fn) {
    const fire_relay *const relay = rt.work_relay.load(std::memory_order_relaxed);
    return relay != nullptr && fn == relay->callback;
}

// Null for a node whose callback runs on the firing thread, as most do.
inline const fire_relay *relay_of(const tw_runtime &rt, const tw_node *node) {
    return is_passed_on(rt, node->fn) ? rt.work_relay.load(std::memory_order_relaxed) : nullptr;
}

// Takes back the fires of a node that is off its wheel, if they were passed on and still wait. The firing
// thread may be passing one on right now, which takes a moment, so this first waits for that. Afterwards only
// runs already in progress still use the work item. Returns how many fires were taken back.
inline std::uint32_t withdraw_fires(tw_runtime &rt, tw_node &node) {
    const fire_relay *const relay = relay_of(rt, &node);
    if (relay == nullptr)
        return 0;
    wait_for_callback(rt, &node);
    return relay->withdraw(node);
}

inline int refuse_delay() { return refuse(-EINVAL, "the delay is negative"); }

// Returns null if tw_runtime_arm takes this schedule, else why not.
const char *what_is_wrong(const tw_runtime &rt, const tw_when &when);

// tw_runtime_cancel for a node that is not a work item, on a usable runtime.
int cancel(tw_runtime &rt, tw_node *node);

// The range of ticks for a timer's first fire.
struct window {
    timeline &line;
    tick first, last;       // different only with slack
    std::int64_t deadline;  // rounds up to `first`, unless that is the present
    std::uint64_t moment;   // see moment_at
};
// REQUIRES: for an absolute deadline on the wall clock, follow_wall was called
window window_of(tw_runtime &rt, const tw_when &when) TW_REQUIRES(rt.wall_mutex);

}  // namespace tickwheel::runtime
