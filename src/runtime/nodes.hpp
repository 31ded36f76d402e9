// The calls on nodes, for src/timers and clear.cpp, which build on these calls. Any thread.
#pragma once

#include "components.hpp"

namespace tickwheel::runtime {

// The schedule of tw_runtime_every. Copies `missed` as bytes: it is not validated yet; see is_one_of.
inline tw_when every(std::int64_t period, const tw_missed &missed) {
    tw_when when = {};
    when.due_ns = period;
    when.period_ns = period;
    std::memcpy(&when.missed, &missed, sizeof missed);
    return when;
}

// What a node's byte says, see tw_node. Atomic, because a thread that arms the node meanwhile may write it.
inline unsigned missed_of(const tw_node &node) {
    return __atomic_load_n(&node.missed_and_label, __ATOMIC_RELAXED) & ((1U << TW_MISSED_BITS) - 1);
}
inline unsigned label_of(const tw_node &node) {
    return __atomic_load_n(&node.missed_and_label, __ATOMIC_RELAXED) >> TW_MISSED_BITS;
}

// A oneshot deadline; one that is negative has passed.
inline tw_when at(std::int64_t deadline) {
    tw_when when = {};
    when.due_ns = deadline > 0 ? deadline : 0;
    when.absolute = 1;
    return when;
}

// Returns when no other thread is in the node's callback. Asks every timeline: a callback may still run
// for the one, while the node was armed anew on the other.
inline void wait_for_callback(tw_runtime &rt, const tw_node *node) {
    for_each_timeline(rt, [node](timeline &line) { tw_wait(&line.wheel, node); });
}

// True for the callback of jobs, which passes their fires on.
inline bool is_passed_on(const tw_runtime &rt, tw_callback *fn) {
    const fire_relay *const relay = rt.job_relay.load(std::memory_order_relaxed);
    return relay != nullptr && fn == relay->callback;
}

// Null for a node whose callback runs on the firing thread, as most do.
inline const fire_relay *relay_of(const tw_runtime &rt, const tw_node *node) {
    return is_passed_on(rt, node->fn) ? rt.job_relay.load(std::memory_order_relaxed) : nullptr;
}

// Takes back the fires of a node that is off its wheel, if they were passed on and still wait. The
// firing thread may just be passing one on, which takes a moment, and is waited for first. So
// afterwards only runs already in progress still use the job. Returns how many were taken back.
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

// tw_runtime_cancel of a node that no relay passes on, on a runtime that may be used.
int cancel(tw_runtime &rt, tw_node *node);

// The ticks in which a timer may be due first.
struct window {
    timeline &line;
    tick first, last;       // apart if there is slack
    std::int64_t deadline;  // rounds up to `first`, unless that is the present
};
// REQUIRES: for an absolute deadline on the wall clock, follow_wall was called
window window_of(tw_runtime &rt, const tw_when &when) TW_REQUIRES(rt.wall_mutex);

}  // namespace tickwheel::runtime
