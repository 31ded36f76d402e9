// What others need of the calls on nodes.
#pragma once

#include "components.hpp"

namespace tickwheel::runtime {

// As tw_runtime_every has it.
inline tw_when every(std::int64_t period, tw_missed missed) {
    tw_when when = {};
    when.due_ns = period;
    when.period_ns = period;
    when.missed = missed;
    return when;
}

// See `timeline` for why no wake-up is lost.
inline bool must_wake_for(const timeline &line, tick due) {
    return due < line.asleep_until.load(std::memory_order_relaxed);
}
inline void wake_for(tw_runtime &rt, const timeline &line, tick due) {
    if (must_wake_for(line, due))
        wake(rt);
}

// A callback of the node may run on account of the other timeline, if it was armed anew.
inline void wait_for_callback(tw_runtime &rt, const tw_node *node) {
    for_each_timeline(rt, [node](timeline &line) { tw_wait(&line.wheel, node); });
}

// Null for a node whose callback runs in place, as most do.
inline const fire_relay *relay_of(const tw_runtime &rt, const tw_node *node) {
    const fire_relay *const relay = rt.relay.load(std::memory_order_relaxed);
    return relay != nullptr && node->fn == relay->callback ? relay : nullptr;
}

// Takes back the fires of a node that is off its wheel, if they were passed on and still wait. The
// firing thread may just be passing one on, which takes a moment, and is waited for first. So
// nothing touches what they would run afterwards but the runs that other threads are in. Returns how
// many were taken back.
inline std::uint32_t withdraw_fires(tw_runtime &rt, tw_node &node) {
    const fire_relay *const relay = relay_of(rt, &node);
    if (relay == nullptr)
        return 0;
    wait_for_callback(rt, &node);
    return relay->withdraw(node);
}

inline int refuse_delay() { return refuse(-EINVAL, "the delay is negative"); }

// For what tw_runtime_arm would not take it; null if it would.
const char *what_is_wrong(const tw_runtime &rt, const tw_when &when);

// tw_runtime_cancel of a node that no relay passes on, on a runtime that may be used.
int cancel(tw_runtime &rt, tw_node *node);

// A delay from now, for a node that is armed or moved while a lock is held: the clock is
// read before, when this is made; and the driver is woken after, when it goes. On a runtime
// that may be used.
class delayed_call {
  public:
    delayed_call(tw_runtime &rt, std::int64_t delay);  // not negative
    ~delayed_call() { tell(); }
    delayed_call(const delayed_call &) = delete;
    delayed_call &operator=(const delayed_call &) = delete;

    int arm(tw_node *node);   // as tw_runtime_after
    int move(tw_node *node);  // as tw_runtime_move

    // Wakes the driver now, if it has to be.
    void tell() {
        if (wakes_)
            wake(rt_);
        wakes_ = false;
    }

  private:
    int noted(int result);

    tw_runtime &rt_;
    std::int64_t delay_;
    tick due_ = 0;
    bool wakes_ = false;
};

}  // namespace tickwheel::runtime
