// Bringing a wheel forward: the lock taken and let go around moves and callbacks, and how
// much look-ahead a call pays for.
#pragma once

#include "api_guard.hpp"
#include "errors.hpp"

namespace tickwheel::core {

// P8: the most node moves, and slots opened, while the lock is held once. For each slot
// opened at most wheel::few further nodes are looked at.
inline constexpr unsigned moves_per_hold = 64;

// The share of look-ahead moves for one tick. Small parts hold few nodes.
inline constexpr unsigned ahead_per_tick = sizeof(void *) == 8 ? 256 : 16;

// A tw_advance over several ticks gets a share for each, up to this many; but a
// driver that comes when tw_next asked it to has missed nothing, and gets one.
inline constexpr tick most_shares = 64;

// Look-ahead begins late, for a node that is cancelled before need never be moved:
// so many ticks before a block opens that, at a quarter of its share each tick, all
// nodes there are could come down.
inline shape::digits lead_of(const locked_wheel &wheel) {
    return static_cast<shape::digits>(wheel.count / (ahead_per_tick / 4)) + 1;
}

// What is left of a budget, and of the moves for which the lock may still be held.
class work_budget {
  public:
    work_budget(locked_wheel &wheel, std::uint32_t budget) : left(budget), wheel_(wheel) {}

    std::uint32_t left;

    TW_ONE_COPY void spend_one() {
        if (left != TW_UNBOUNDED)
            --left;
        if (--held_ == 0) {
            unlock(wheel_);
            lock(wheel_);
            held_ = moves_per_hold;
        }
    }

  private:
    locked_wheel &wheel_;
    unsigned held_ = moves_per_hold;
};

// One more of what tw_wait may sleep for. With the lock, which this may let go meanwhile.
[[maybe_unused]] inline void count_one(locked_wheel &wheel, std::uint32_t &count) {
    __atomic_store_n(&count, count + 1, __ATOMIC_RELAXED);  // the kernel reads it
    if (wheel.awaiting != 0) {
        unlock(wheel);
        tw_port_wake_all(&count);
        lock(wheel);
    }
}

// With the lock, which this may let go meanwhile.
TW_ONE_COPY inline void end_callback(locked_wheel &wheel) {
    wheel.forget_running();
    if constexpr (has_threads)
        count_one(wheel, wheel.returned);
}

// P7: no lock held, and nothing of the node is touched once its callback began.
inline void fire(locked_wheel &wheel) {
    tw_node &node = wheel.take_due();
    tw_callback *const fn = node.fn;
    void *const arg = node.arg;
    unlock(wheel);
    fn(&node, arg);
    lock(wheel);
    end_callback(wheel);
}

// Whether tw_interrupt was called since this was last asked.
inline bool take_interruption(locked_wheel &wheel) {
    if (!__atomic_load_n(&wheel.interrupted, __ATOMIC_ACQUIRE))
        return false;
    __atomic_store_n(&wheel.interrupted, false, __ATOMIC_RELAXED);
    return true;
}

// Fires and moves until the wheel has caught up with its now; false if the budget ran
// out first, or it was interrupted.
inline bool catch_up(locked_wheel &wheel, work_budget &budget) {
    for (; budget.left != 0; budget.spend_one()) {
        const locked_wheel::step_result result = wheel.step();
        if (result == locked_wheel::step_result::done)
            return true;
        if (result == locked_wheel::step_result::due) {
            if (take_interruption(wheel))
                return false;
            fire(wheel);
        }
    }
    return wheel.has_caught_up();
}

// Look-ahead; false if the budget ran out before it was known that none is left.
inline bool look_ahead(locked_wheel &wheel, work_budget &budget, shape::digits horizon) {
    while (budget.left != 0) {
        if (!wheel.lower_one(horizon))
            return true;
        budget.spend_one();
    }
    return false;
}

// After a step over `elapsed` ticks: its share of look-ahead. If no time has passed there
// is time to spare, and any block will do.
inline void take_share(locked_wheel &wheel, work_budget &budget, tick elapsed) {
    shape::digits horizon = 0;
    if constexpr (shape::ahead) {
        const auto pace = static_cast<unsigned>(smaller(elapsed, most_shares));
        const auto late = shape::low(wheel.now) - wheel.answered;
        const unsigned shares = pace > late ? static_cast<unsigned>(late) + 1 : pace == 0 ? 1 : pace;
        horizon = pace == 0 ? shape::round : lead_of(wheel) * pace;
        budget.left = smaller<std::uint32_t>(budget.left, ahead_per_tick * shares);
        if (!look_ahead(wheel, budget, horizon))
            return;
    }
    wheel.set_quiet(horizon);
}

// What most ticks are: nothing to do. Never while the wheel is being advanced, which ends
// all quiet first.
TW_INLINE_IF_SMALL inline bool pass_quietly(locked_wheel &wheel, tick now) {
    if (!before(wheel.now, now, wheel.quiet_until))
        return false;
    wheel.now = wheel.cursor = wheel.origin = now;
    return true;
}

// With the lock held, which this lets go.
TW_ONE_COPY inline int advance(tw *w, tick now, std::uint32_t budget) {
    locked_wheel &wheel = wheel_in(w);
    if (wheel.advancing)
        return leave(w, -ebusy);
    if (before(now, wheel.now) || (wraps && now - wheel.origin > farthest))
        return leave(w, -einval);
    const tick elapsed = now - wheel.now;
    wheel.now = wheel.quiet_until = now;
    wheel.advancing = true;
    wheel.advancer = tw_port_self();
    work_budget left(wheel, budget);
    const bool all_done = catch_up(wheel, left);
    if (all_done)
        take_share(wheel, left, elapsed);
    wheel.advancing = false;
    return leave(w, all_done ? 0 : 1);
}

}  // namespace tickwheel::core
