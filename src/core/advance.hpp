// Bringing a wheel to the present: calls callbacks with the lock released, moves nodes with it held
// for a bounded number of steps, and spends what is left of a budget on look-ahead.
#pragma once

#include "api_guard.hpp"
#include "bounds.hpp"
#include "callback_wait.hpp"

namespace tickwheel::core {

// How many ticks before a block opens look-ahead begins. As late as possible: most timers are
// cancelled before they would have to move. But early enough that all nodes there are can come down
// at a quarter of each tick's share.
inline shape::digits near_lead_of(const locked_wheel &wheel) {
    return static_cast<shape::digits>(wheel.count() / (ahead_per_tick / 4)) + 1;
}

// The steps that a call may still spend; and those for which the lock may still be held.
class work_budget {
  public:
    work_budget(locked_wheel &wheel, std::uint32_t steps) : left(steps), wheel_(wheel) {}

    std::uint32_t left;

    // The most steps that may be taken in one go: without a lock, all that are left.
    std::uint32_t at_once() const {
        if (!has_room)
            return 1;
        return wheel_.how == locking::unlocked ? left : smaller(left, static_cast<std::uint32_t>(held_));
    }

    // REQUIRES: steps <= at_once(). RELEASES AND REACQUIRES: wheel lock, every steps_per_hold steps
    TW_ONE_COPY void spend(std::uint32_t steps = 1) {
        if (!has_room)
            steps = 1;  // as at_once has it, which the compiler does not know
        if (left != TW_UNBOUNDED)
            left -= steps;
        held_ -= static_cast<std::int32_t>(steps);
        if (held_ <= 0) {
            unlock(wheel_);
            lock(wheel_);
            held_ = steps_per_hold;
        }
    }

  private:
    locked_wheel &wheel_;
    std::int32_t held_ = steps_per_hold;
};

// Calls the callback of the node that is due. P7: no lock is held, and the node is not touched once
// its callback has begun, as that may free it. RELEASES AND REACQUIRES: wheel lock
inline void fire(locked_wheel &wheel) {
    tw_node &node = wheel.take_due();
    tw_callback *const fn = node.fn;
    void *const arg = node.arg;
#if TW_RUNTIME
    if (tw_caller *const caller = wheel.caller; caller != nullptr) {
        const tw_fire it = {&node, fn, arg, wheel.due_at(), wheel.overruns(), label_of(node)};
        unlock(wheel);
        caller(&it, wheel.caller_arg);
        lock(wheel);
        end_callback(wheel);
        return;
    }
#endif
    unlock(wheel);
    fn(&node, arg);
    lock(wheel);
    end_callback(wheel);
}

// The caller's fires are not followed by another at once. REQUIRES: wheel lock held
inline void tell_of_pause([[maybe_unused]] locked_wheel &wheel) {
#if TW_RUNTIME
    if (tw_caller *const caller = wheel.caller; caller != nullptr)
        caller(nullptr, wheel.caller_arg);
#endif
}

// True if tw_interrupt was called since this was asked last.
inline bool take_interruption(locked_wheel &wheel) {
    if (!__atomic_load_n(&wheel.interrupted, __ATOMIC_ACQUIRE))
        return false;
    __atomic_store_n(&wheel.interrupted, false, __ATOMIC_RELAXED);
    return true;
}

// Fires and moves until the wheel has caught up with its now. Returns false if the budget ran out
// first, or it was interrupted. An interruption counts only where a callback would run, so that
// tw_interrupt before an advance with nothing due is not lost.
// RELEASES AND REACQUIRES: wheel lock
inline bool catch_up(locked_wheel &wheel, work_budget &budget) {
    bool has_fired = false;
    for (std::uint32_t steps = 0; budget.left != 0; budget.spend(steps)) {
        const step_result result = wheel.step(budget.at_once(), &steps);
        if (has_fired && result != step_result::due)
            tell_of_pause(wheel);
        has_fired = result == step_result::due;
        if (result == step_result::done)
            return true;
        if (result == step_result::due) {
            if (take_interruption(wheel))
                return false;
            fire(wheel);
        }
    }
    wheel.skip_if_empty();
    return wheel.has_caught_up();
}

// Lowers nodes ahead of time, out of near slots that open within `near_lead` ticks and far ones that
// open within theirs. Returns false if the budget ran out before it was known that none is left.
// RELEASES AND REACQUIRES: wheel lock
inline bool look_ahead(locked_wheel &wheel, work_budget &budget, shape::digits near_lead) {
    while (budget.left != 0) {
        const std::uint32_t steps = wheel.lower(near_lead, budget.at_once());
        if (steps == 0)
            return true;
        budget.spend(steps);
    }
    return false;
}

// Look-ahead after an advance over `elapsed` ticks, with their shares of moves to spend. The lead grows with
// the number of ticks, so that a caller who comes every tenth tick begins ten times as early. A caller who
// comes again at the same tick has time to spare: one share, and the lead is a whole round. RELEASES AND
// REACQUIRES: wheel lock
inline void take_share(locked_wheel &wheel, work_budget &budget, tick elapsed) {
    shape::digits near_lead = 0;
    if constexpr (shape::ahead) {
        const auto ticks = static_cast<unsigned>(smaller(elapsed, most_shares));
        const auto shares = static_cast<unsigned>(shares_of<shape::digits>(ticks, wheel.ticks_after_asked()));
        near_lead = ticks == 0 ? shape::round : near_lead_of(wheel) * ticks;
        budget.left = smaller<std::uint32_t>(budget.left, ahead_per_tick * shares);
        if (!look_ahead(wheel, budget, near_lead))
            return;
    }
    wheel.set_quiet(near_lead);
}

// The whole of tw_advance, once the wheel is known not to be quiet. Only one thread advances at a
// time. While it does, other threads arm and cancel in the gaps between two holds of the lock.
// REQUIRES: wheel lock held. RELEASES: wheel lock
TW_ONE_COPY inline int advance(tw *w, tick now, std::uint32_t budget) {
    locked_wheel &wheel = wheel_in(w);
    if (wheel.advancing)
        return leave(w, -ebusy);
    if (!wheel.can_go_to(now))
        return leave(w, -einval);
    const tick elapsed = wheel.begin_advance(now);
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
