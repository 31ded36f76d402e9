// The functions of door.h, for any kind of wheel; the header documents them. Most trust their caller: the
// runtime knows that its wheels are valid and take their lock.
#pragma once

#include "api.hpp"

#if TW_RUNTIME

namespace tickwheel::core {
namespace {

inline int give_label(tw_node *node, unsigned label) {
    if (node == nullptr || node->fn == nullptr || label >= TW_LABELS)
        return -einval;
    if (is_pending(*node))
        return -ebusy;
    node->missed_and_label = missed_and_label(missed_in(node->missed_and_label), label);
    return 0;
}

inline bool is_valid(const tw_core_grid &grid) {
    return grid.early < grid.parts && grid.parts != UINT32_MAX && grid.period >= grid.parts &&
           grid.fires <= TW_FIRES_MAX && is_policy(grid.missed);
}

// P13, in the child of a fork: only the calling thread exists.
//
// The advances, walks and tw_cancel_all calls of other threads never continue. The child forgets them, and if
// no cancel_all remains, the nodes still leaving go back to their slots, behind the other timers of their
// ticks. Another thread's advance is over, callback included. This thread's own advance is interrupted: it
// calls no further callback, because the parent fires those timers. We initialise the lock again, because its
// word may count waiters that do not exist here.
template <class Wheel> void become_child(Wheel &wheel) TW_REQUIRES(wheels_lock) {
    wheel.drop_places();
    wheel.abandon_cancel_alls(tw_port_self());
    wheel.waiters = 0;
    if (wheel.advancing && wheel.advancer != tw_port_self()) {
        wheel.advancing = false;
        wheel.running = nullptr;
        wheel.fires_record = false;
    }
    if (!wheel.advancing)
        wheel.limit = wheel.now;
    wheel.interrupted = wheel.advancing;
    tw_port_lock_init(&wheel.lock);
}

template <class Wheel> struct door_api {
    static Wheel &wheel_of(tw *w) TW_REQUIRES(wheels_lock) { return wheel_in<Wheel>(w); }

    // --- nodes ---------------------------------------------------------------------------

    // Calls make(wheel, known node) for a call that arms at this moment.
    template <class Make>
    TW_INLINE_ALWAYS static int arm_on_known(tw *w, tw_node *node, std::uint64_t moment, Make make) {
        TW_CHECKS(to_arm(node));
        return call_on_known<Wheel>(w, node,
                                    [moment, make](Wheel &wheel, tw_node &known) TW_REQUIRES(wheels_lock) {
                                        wheel.begin_order(moment);
                                        return make(wheel, known);
                                    });
    }

    static int arm_at(tw *w, tw_node *node, tick due, std::uint64_t moment) {
        return arm_on_known(w, node, moment, [due](Wheel &wheel, tw_node &known) TW_REQUIRES(wheels_lock) {
            return change<Wheel>::arm_node_at(wheel, known, due);
        });
    }

    static int arm_with_delay(tw *w, tw_node *node, tick due, tick delay, std::uint64_t moment) {
        return arm_on_known(w, node, moment,
                            [due, delay](Wheel &wheel, tw_node &known) TW_REQUIRES(wheels_lock) {
                                return change<Wheel>::arm_node_with_delay(wheel, known, due, delay);
                            });
    }

    static int move(tw *w, tw_node *node, tick due, std::uint64_t moment) {
        return arm_on_known(w, node, moment, [due](Wheel &wheel, tw_node &known) TW_REQUIRES(wheels_lock) {
            return change<Wheel>::move_node(wheel, known, due);
        });
    }

    static int again(tw *w, tw_node *node, tw_core_due *due_of, void *arg, std::uint64_t moment) {
        return arm_on_known(
            w, node, moment, [due_of, arg](Wheel &wheel, tw_node &known) TW_REQUIRES(wheels_lock) {
                if (const int error = check_armable(known); error != 0)
                    return error;
                if (known.period == 0)
                    return -einval;
                if (is_periodic(known))
                    return change<Wheel>::move_node(wheel, known, due_of(&known, arg));
                const tick delay = known.period - 1;
                return change<Wheel>::arm_node_with_delay(wheel, known, due_of(&known, arg), delay);
            });
    }

    static int arm_every(tw *w, tw_node *node, tick first, const series &next, std::uint64_t moment) {
        return arm_on_known(w, node, moment, [=](Wheel &wheel, tw_node &known) TW_REQUIRES(wheels_lock) {
            const int error = change<Wheel>::begin_to_arm(wheel, known, first);
            if (error == 0)
                wheel.arm_every(known, first, next);
            return error;
        });
    }

    static int arm_grid(tw *w, tw_node *node, const tw_core_grid *grid) {
        TW_CHECKS(to_arm(node));
        if (grid == nullptr || !is_valid(*grid))
            return -einval;
        if (!is_tick(grid->first))
            return -erange;
        if (const int error = enter(w, node); error != 0)
            return error;
        Wheel &wheel = wheel_of(w);
        if (!wheel.accepts_parts(grid->parts))
            return leave(w, -einval);
        if (const int error = check_armable(*node); error != 0)
            return leave(w, error);
        set_wheel(*node, wheel_of(w));
        const series next = {grid->period, grid->missed, grid->fires};
        wheel.begin_order(grid->moment);
        wheel.arm_grid(*node, grid->first, next, grid->early, grid->parts);
        return leave(w, 0);
    }

    static tick choose(tw *w, tick first, tick slack) {
        if (enter(w) != 0)
            return never;
        const bool is_chosen = wheel_of(w).choose(&first, slack);
        leave(w, 0);
        return is_chosen ? first : never;
    }

    static std::uint64_t cancelled(tw *w, unsigned label) {
        if (label >= TW_LABELS || enter(w) != 0)
            return 0;
        const std::uint64_t cancelled = wheel_of(w).cancelled(label);
        unlock(wheel_of(w));
        return cancelled;
    }

    // --- lanes ---------------------------------------------------------------------------

    static void join_lanes(tw *w, tw_core_lanes *lanes) { state_in(w).lanes = lanes; }

    static tick publish_next(tw *w, tick *published) {
        Wheel &wheel = wheel_in<Wheel>(w);
        lock(wheel);
        const tick next = wheel.next();
        __atomic_store_n(published, next, __ATOMIC_SEQ_CST);
        unlock(wheel);
        return next;
    }

    static int advance_part(tw *w, tick now, const tw_core_place &last, const std::uint64_t &touched,
                            std::uint32_t &budget, tw_core_part &part) {
        Wheel &wheel = wheel_in<Wheel>(w);
        lock(wheel);
        const int left = core::advance_part(wheel, now, last, touched, budget, part);
        unlock(wheel);
        return left;
    }

    // --- fires ---------------------------------------------------------------------------

    static void set_caller(tw *w, tw_core_caller *caller, void *arg) {
        state_in(w).caller = caller;
        state_in(w).caller_arg = arg;
    }

    static void interrupt(tw *w) { __atomic_store_n(&state_in(w).interrupted, true, __ATOMIC_RELEASE); }

    // A callback runs between two steps of an advance, so the rest of the wheel is valid.
    static void abandon(tw *w) {
        Wheel &wheel = wheel_in<Wheel>(w);
        lock(wheel);
        if (wheel.advancing && (!has_threads || wheel.advancer == tw_port_self())) {
            wheel.advancing = false;
            wheel.limit = wheel.now;
            if (wheel.fires_record)
                wheel.call_owner(nullptr);
            end_callback(wheel);
        }
        unlock(wheel);
    }

    // --- the wheel -----------------------------------------------------------------------

    static void shift(tw *w, tick by) {
        Wheel &wheel = wheel_in<Wheel>(w);
        lock(wheel);
        finish_shift(wheel);  // another thread may have begun one
        wheel.begin_shift(by);
        finish_shift(wheel);
        unlock(wheel);
    }

    // Unchecked: one call takes the lock, and a later call releases it.
    static void fork(tw *w, tw_core_fork_moment moment) TW_UNCHECKED_LOCKING {
        if constexpr (has_threads) {
            Wheel &wheel = wheel_of(w);
            if (moment == TW_CORE_FORK_CHILD)
                become_child(wheel);
            else if (guard_of(wheel) != &wheel.lock)
                return;  // the call for the wheel that has the lock takes and releases it
            else if (moment == TW_CORE_FORK_PREPARE)
                lock(wheel);
            else
                unlock(wheel);
        }
    }
};

}  // namespace
}  // namespace tickwheel::core

#endif
