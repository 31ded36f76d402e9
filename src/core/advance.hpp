// Advances a wheel: calls callbacks with the lock released, moves timers with the lock held for a bounded
// number of steps, and spends the rest of the budget on look-ahead.
#pragma once

#include "api_guard.hpp"
#include "bounds.hpp"
#include "callback_wait.hpp"
#include "periodic.hpp"

namespace tickwheel::core {
namespace {

// The number of steps that a call may still spend, and for how many of them it may still hold the lock.
class work_budget {
  public:
    work_budget(wheel_state &wheel, std::uint32_t steps) : left(steps), wheel_(wheel) {}

    std::uint32_t left;

    // The most steps to take before spend(): without a lock all that are left, unless steps_per_hold is 1.
    std::uint32_t at_once() const {
        if (steps_per_hold == 1)
            return 1;
        return wheel_.how == locking::unlocked ? left : smaller(left, held_);
    }

    // Counts steps, and releases the lock for a moment after every steps_per_hold of them.
    // REQUIRES: steps <= at_once()
    TW_INLINE_IF_SMALL void spend(std::uint32_t steps = 1) TW_YIELDS(wheels_lock) {
        count(steps);
        held_ -= smaller(steps, held_);
        if (steps_per_hold == 1 || held_ == 0) {
            call_unlocked(wheel_, nullptr, nullptr, nullptr);
            held_ = steps_per_hold;
        }
    }

    void count(std::uint32_t steps) {
        if (!is_small || nodes_move)  // a small tree has no budgets, and no look-ahead to limit
            left -= steps;
    }

  private:
    wheel_state &wheel_;
    std::uint32_t held_ = steps_per_hold;
};

// Calls the callback of a due node. P7: holds no lock, and does not touch the node once the callback has
// begun, because the callback may free it.
TW_INLINE_IF_SMALL inline void fire(wheel_state &wheel, tw_node &node, tw_callback *fn, void *arg)
    TW_YIELDS(wheels_lock) {
#if TW_RUNTIME
    if (tw_core_caller *const caller = wheel.caller; caller != nullptr) {
        const tw_fire made = {&node, fn, arg, wheel.due, wheel.overruns};
        const unsigned label = label_of(node);
        unlock(wheel);
        caller(&made, label, wheel.caller_arg);
        lock(wheel);
        return;
    }
#endif
    call_unlocked(wheel, &node, fn, arg);
}

// Tells the caller of fires that no other fire follows at once.
inline void announce_pause([[maybe_unused]] wheel_state &wheel) TW_REQUIRES(wheels_lock) {
#if TW_RUNTIME
    if (tw_core_caller *const caller = wheel.caller; caller != nullptr)
        caller(nullptr, 0, wheel.caller_arg);
#endif
}

#if TW_RUNTIME
// True if tw_core_interrupt or a fork has interrupted the wheel since the last call.
inline bool take_interruption(wheel_state &wheel) {
    if (!__atomic_load_n(&wheel.interrupted, __ATOMIC_ACQUIRE))
        return false;
    __atomic_store_n(&wheel.interrupted, false, __ATOMIC_RELAXED);
    return true;
}

// Forgets an interruption that has stopped no advance. Uses an exchange, so that the caller then reads
// nothing older than the interruption.
inline void forget_interruption(wheel_state &wheel) {
    if (__atomic_load_n(&wheel.interrupted, __ATOMIC_RELAXED))
        static_cast<void>(__atomic_exchange_n(&wheel.interrupted, false, __ATOMIC_ACQUIRE));
}
#endif

struct part_end;

#if TW_RUNTIME
// Where a part of an advance ends: before the first timer that comes after `place` in the order of fires, or
// once another lane has been touched. Then `next` is the place of the first timer left, or a lower bound of
// it.
struct part_end {
    tw_core_place place;
    const std::uint64_t *touched;  // atomic
    tw_core_place next;
    bool is_reached;

    // True if another lane was touched. Call this after a fire, because look() may move the cursor to a tick
    // after those of timers that have come to that lane.
    template <class Wheel> bool comes_now(const Wheel &wheel) {
        next = wheel.place_of_cursor();
        return is_reached = __atomic_load_n(touched, __ATOMIC_ACQUIRE) != 0;
    }

    // True if the timer that look() has found does not belong to this part. Looks at `touched` again: the
    // timer may have come after the one for which that was set.
    template <class Wheel> bool comes_before(Wheel &wheel, next_step found) {
        if (found == next_step::move)
            return false;
        if (comes_now(wheel))
            return true;
        next = wheel.place_of_next(found == next_step::fire_record);
        return is_reached = next.tick > place.tick || (next.tick == place.tick && next.order > place.order);
    }
};
#endif

// Fires and moves timers until the wheel has caught up with `now`, or up to `end` if that is not null.
// Returns false if the budget runs out first or an interruption stops it. An interruption takes effect only
// where a callback would run, so that an advance with nothing due does not consume it.
template <class Wheel>
TW_INLINE_IF_SMALL inline bool catch_up(Wheel &wheel, work_budget &budget,
                                        [[maybe_unused]] part_end *end = nullptr) TW_YIELDS(wheels_lock) {
    bool has_fired = false;
    for (;;) {
#if TW_RUNTIME
        if (end != nullptr && has_fired && end->comes_now(wheel))
            break;
#endif
        const next_step next = wheel.look();
        if (next == next_step::none)
            break;
#if TW_RUNTIME
        if (end != nullptr && end->comes_before(wheel, next))
            break;
#endif
        if (has_fired && next == next_step::move)
            announce_pause(wheel);
        has_fired = false;
        if (!is_small && budget.left == 0)
            return false;
        if (next == next_step::move) {
            budget.spend(wheel.move_some(budget.at_once()));
#if TW_RUNTIME
        } else if (take_interruption(wheel)) {
            return false;
        } else if (next == next_step::fire_record) {
            wheel.call_owner(&wheel.take_due_record());
            has_fired = true;
            budget.count(1);
#endif
        } else {
            tw_node &node = wheel.take_due();
            fire(wheel, node, node.fn, node.arg);
            end_callback(wheel);
            has_fired = true;
            budget.count(1);
        }
    }
    if (has_fired)
        announce_pause(wheel);
    return true;
}

// Lowers timers ahead of time, in at most `steps` steps. Returns false if the steps ran out before look-ahead
// found nothing more to do.
template <class Wheel> bool look_ahead(Wheel &wheel, std::uint32_t steps) TW_YIELDS(wheels_lock) {
    for (work_budget budget(wheel, steps); budget.left != 0;) {
        const std::uint32_t moved = wheel.look_ahead(budget.at_once());
        if (moved == 0)
            return true;
        budget.spend(moved);
    }
    return false;
}

// Look-ahead at the end of an advance, within its share.
template <class Wheel>
TW_INLINE_IF_SMALL inline void take_share(Wheel &wheel, std::uint32_t left) TW_YIELDS(wheels_lock) {
    if (look_ahead(wheel, smaller(left, wheel.begin_share())))
        wheel.end_share();
}

// Begins to advance a wheel to a tick for which it is not quiet. Only one thread advances at a time;
// meanwhile other threads arm and cancel whenever it releases the lock. Returns 0 or the error of the call.
template <class Wheel>
TW_INLINE_ALWAYS inline int begin_advance(Wheel &wheel, tick now) TW_REQUIRES(wheels_lock) {
    if (wheel.advancing)
        return -ebusy;
    if (has_validation && !wheel.can_go_to(now))
        return -einval;
    wheel.begin_advance(now);
    wheel.advancing = true;
    if constexpr (has_threads)
        wheel.advancer = tw_port_self();
    return 0;
}

template <class Wheel>
TW_ONE_COPY int advance_with_work(tw *w, std::uint32_t budget, tick now) TW_RELEASE(wheels_lock) {
    Wheel &wheel = wheel_in<Wheel>(w);
    if (const int error = begin_advance(wheel, now); error != 0)
        return leave(w, error);
    work_budget left(wheel, budget);
    const bool all_done = catch_up(wheel, left);
    if (all_done)
        take_share(wheel, left.left);
    wheel.advancing = false;
    return leave(w, all_done ? 0 : 1);
}

#if TW_RUNTIME
// The same for tw_core_advance_part. Takes the wheel's share of look-ahead in the last part of an advance.
template <class Wheel>
int advance_part(Wheel &wheel, tick now, const tw_core_place &last, const std::uint64_t &touched,
                 std::uint32_t &budget, tw_core_part &part) TW_YIELDS(wheels_lock) {
    const bool is_whole = last.tick >= now && last.order == UINT64_MAX;
    part.next = {never, 0};
    bool is_done = true;
    if (!(is_whole ? wheel.pass_quietly(now) : wheel.is_quiet_at(now))) {
        wheel.begin_part(now, last.tick);
        wheel.advancing = true;
        wheel.advancer = tw_port_self();
        work_budget left(wheel, budget);
        part_end end = {last, &touched, {}, false};
        is_done = catch_up(wheel, left, &end);
        if (!is_done)
            part.next = wheel.place_of_cursor();
        else if (end.is_reached)
            part.next = end.next;
        else if (!is_whole)
            part.next = wheel.place_of_opening();
        else
            take_share(wheel, left.left);
        budget = left.left;
        wheel.limit = now;
        wheel.advancing = false;
        is_done = !take_interruption(wheel) && is_done;  // an interruption is for the other lanes, too
    }
    const tick after = is_whole ? wheel.next() : now + 1;
    __atomic_store_n(part.published, part.next.tick != never ? part.next.tick : after, __ATOMIC_SEQ_CST);
    return is_done ? 0 : 1;
}
#endif

// The same for tw_take: stops at the first fire, which the caller makes. The wheel counts the node's callback
// as returned at once.
template <class Wheel>
TW_ONE_COPY int take_with_work(tw *w, tick now, tw_fire &taken) TW_RELEASE(wheels_lock) {
    Wheel &wheel = wheel_in<Wheel>(w);
    if (const int error = begin_advance(wheel, now); error != 0)
        return leave(w, error);
    next_step next = next_step::none;
    for (work_budget moves(wheel, TW_UNBOUNDED); (next = wheel.look()) == next_step::move;)
        moves.spend(wheel.move_some(moves.at_once()));
    if (next == next_step::none) {
        take_share(wheel, TW_UNBOUNDED);
    } else {
        tw_node &node = wheel.take_due();
        taken = {&node, node.fn, node.arg, wheel.due, wheel.overruns};
        end_callback(wheel);
    }
    wheel.advancing = false;
    return leave(w, next == next_step::none ? 0 : 1);
}

}  // namespace
}  // namespace tickwheel::core
