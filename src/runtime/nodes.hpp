// What others need of the calls on nodes.
#pragma once

#include "runtime.hpp"

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

inline int refuse_delay() { return refuse(-EINVAL, "the delay is negative"); }

// For what tw_runtime_arm would not take it; null if it would.
const char *what_is_wrong(const tw_runtime &rt, const tw_when &when);

// tw_runtime_cancel of a node that is no job, on a runtime that may be used.
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
