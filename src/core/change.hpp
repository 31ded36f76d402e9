// The calls that change one node: arm, move, postpone, cancel, retire.
//
// A *change* is the part of such a call that needs the locked wheel. `call` does the rest, which is the same
// for all changes: validate, lock, make the change, unlock.
#pragma once

#include "api_guard.hpp"
#include "periodic.hpp"

namespace tickwheel::core {
namespace {

// The changes. Each returns the result of its call.
template <class Wheel> struct change {
    // If the node may be armed for this tick, makes the node name the wheel and returns 0.
    TW_INLINE_ALWAYS static int begin_to_arm(Wheel &wheel, tw_node &node, tick due) TW_REQUIRES(wheels_lock) {
        if (const int error = check_armable(node); error != 0)
            return error;
        if (has_validation && !is_tick(due))
            return -erange;
        set_wheel(node, wheel);
        return 0;
    }

    TW_INLINE_IF_FAST static int arm_node_at(Wheel &wheel, tw_node &node, tick due) TW_REQUIRES(wheels_lock) {
        const int error = begin_to_arm(wheel, node, due);
        if (error == 0)
            wheel.arm_once(node, due);
        return error;
    }

#if TW_RUNTIME
    TW_INLINE_IF_FAST static int arm_node_with_delay(Wheel &wheel, tw_node &node, tick due, tick delay)
        TW_REQUIRES(wheels_lock) {
        const int error = begin_to_arm(wheel, node, due);
        if (error == 0)
            wheel.arm_once_with_delay(node, due, delay);
        return error;
    }
#endif

    TW_INLINE_ALWAYS static int arm_node_after(Wheel &wheel, tw_node &node, tick delay)
        TW_REQUIRES(wheels_lock) {
        const tick due = wheel.now + delay;
        if (has_validation && before(due, wheel.now))
            return -erange;
        return arm_node_at(wheel, node, due);
    }

    TW_INLINE_ALWAYS static int cancel_node(Wheel &wheel, tw_node &node, tick /*unused*/ = 0)
        TW_REQUIRES(wheels_lock) {
        const int prevented = wheel.disarm(node);
#if TW_RUNTIME
        if (wheel.how != locking::unlocked && prevented != 0)
            wheel.count_cancelled(label_of(node), 1);
#endif
        return prevented;
    }

    TW_INLINE_ALWAYS static int retire_node(Wheel &wheel, tw_node &node, tick /*unused*/ = 0)
        TW_REQUIRES(wheels_lock) {
        const int prevented = cancel_node(wheel, node);
        node.state = TW_RETIRED;
        return prevented;
    }

    TW_INLINE_ALWAYS static int postpone_node(Wheel &wheel, tw_node &node, tick due)
        TW_REQUIRES(wheels_lock) {
        if (!is_pending(node))
            return -enoent;
        if (has_validation && !is_tick(due))
            return -erange;
        wheel.postpone(node, due);
        return 0;
    }

    TW_INLINE_ALWAYS static int move_node(Wheel &wheel, tw_node &node, tick due) TW_REQUIRES(wheels_lock) {
        if (!is_pending(node))
            return -enoent;
        if (has_validation && !is_tick(due))
            return -erange;
        wheel.move(node, due);
        return 0;
    }
};

template <class Wheel> using change_of = int(Wheel &, tw_node &, tick);

template <class Wheel, change_of<Wheel> Make>
TW_APART_IF_FAST int call_locked(tw *w, tw_node *node, tick due) {
    int result = enter(w, node);
    if (result == 0)
        result = leave(w, Make(wheel_in<Wheel>(w), *node, due));
    return result;
}

#if TW_RUNTIME
// Calls make(wheel, *node) on a wheel known to be valid and to take its lock.
template <class Wheel, class Make>
TW_INLINE_ALWAYS inline int call_on_known(tw *w, tw_node *node, Make make) {
    if (!usable(node))
        return -einval;
    lock(state_in(w));
    const int error = check_owner(w, *node);
    return leave(w, error != 0 ? error : make(wheel_in<Wheel>(w), *node));
}
#endif

// A build for speed has a copy of this for each change; with has_room, each copy contains the change twice.
// The path for wheels without a lock makes only tail calls, so it saves no registers.
template <class Wheel, change_of<Wheel> Make>
TW_INLINE_ALWAYS inline int call(tw *w, tw_node *node, tick due = 0) {
    if (!has_room || w == nullptr || !usable(node) || !takes_no_lock(w))
        return call_locked<Wheel, Make>(w, node, due);
    assume_locked();
    if (const int error = check_owner(w, *node); error != 0)
        return error;
    return Make(wheel_in<Wheel>(w), *node, due);
}

}  // namespace
}  // namespace tickwheel::core
