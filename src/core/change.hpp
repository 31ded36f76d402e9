// What calls do to one node: arm it, move it, take it off.
#pragma once

#include "api_guard.hpp"

namespace tickwheel::core {
namespace {

enum class change : std::uint8_t { cancel, arm_at, arm_after, arm_within, shut_down, postpone, move };

// Disarms a node. Returns 1 if that prevented a fire, else 0.
template <class Wheel> int disarm(Wheel &wheel, tw_node &node) {
    const int prevented = wheel.disarm(node);
#if TW_RUNTIME
    if (wheel.how != locking::unlocked && prevented != 0)
        wheel.count_cancelled(label_of(node), 1);
#endif
    return prevented;
}

// Makes a change, or refuses to; returns the result of the call. REQUIRES: wheel lock held, or there is none
template <class Wheel>
TW_INLINE_ALWAYS inline int make(change what, tw *w, tw_node *node, tick due, tick slack = 0) {
    Wheel &wheel = wheel_in<Wheel>(w);
    if (what == change::cancel || what == change::shut_down) {
        const int prevented = disarm(wheel, *node);
        if (what == change::shut_down)
            node->state = TW_SHUT;
        return prevented;
    }
    const bool arms = what <= change::arm_within;  // since cancelling has returned
    // For arming: if it is shut. An idle node, the usual one, is let through by the first comparison.
    if (arms ? node->state != TW_IDLE && !is_pending(*node) : !is_pending(*node))
        return arms ? -eperm : -enoent;
    if (what == change::arm_after) {
        due += wheel.now;
        if (has_validation && before(due, wheel.now))
            return -erange;
    }
    if (has_room && what == change::arm_within && !wheel.choose(&due, slack))
        return -erange;
    if (has_validation && !is_tick(due))
        return -erange;
    if (what == change::postpone)
        return wheel.postpone(*node, due) ? 0 : -einval;
    if (what == change::move)
        return wheel.move(*node, due);
    set_wheel(*node, w);
    return wheel.arm_once(*node, due);
}

// The whole of such a call: validates, locks, changes the node, and releases the lock. A build for size has
// one copy of it. Others have one for each change, in which that is a constant.
template <class Wheel> TW_INLINE_ALWAYS inline int whole_call(tw *w, tw_node *node, tick due, change what) {
    const int error = enter(w, node);
    return error != 0 ? error : leave(w, make<Wheel>(what, w, node, due));
}
template <class Wheel> TW_ONE_COPY int call_in_one(tw *w, tw_node *node, tick due, change what) {
    TW_ASSERT_AND_ASSUME(what <= change::arm_after);  // see call
    return whole_call<Wheel>(w, node, due, what);
}

// The same for the rarer changes, so that a program that arms and cancels does not link them.
template <class Wheel> TW_ONE_COPY int call_rarely(tw *w, tw_node *node, tick due, change what) {
    TW_ASSERT_AND_ASSUME(what >= change::shut_down);  // see call
    return whole_call<Wheel>(w, node, due, what);
}

template <class Wheel, change What>
[[gnu::noinline]] int call_locked(tw *w, tw_node *node, tick due, tick slack) {
    const int error = enter_usable(w, node);
    return error != 0 ? error : leave(w, make<Wheel>(What, w, node, due, slack));
}

// Where there is room, a wheel without a lock has a copy of the code to itself. Nothing in that copy calls
// another function and returns, so it needs no registers to be saved.
template <class Wheel, change What>
TW_INLINE_ALWAYS inline int call(tw *w, tw_node *node, tick due, tick slack = 0) {
    if constexpr (has_room) {
        if (w == nullptr || !usable(node))
            return -einval;
        if (takes_no_lock(w)) {
            TW_CHECKS(used(w, node));
            constexpr bool arms = What >= change::arm_at && What <= change::arm_within;
            const bool is_idle = arms && node->state == TW_IDLE;
            if (unlikely(!is_idle && is_pending(*node) && !names(*node, w)))
                return -ebusy;
            TW_ASSERT_OF(*node, node->state <= TW_SHUT);
            return make<Wheel>(What, w, node, due, slack);
        }
        return call_locked<Wheel, What>(w, node, due, slack);
    }
    return What < change::shut_down ? call_in_one<Wheel>(w, node, due, What)
                                    : call_rarely<Wheel>(w, node, due, What);
}

}  // namespace
}  // namespace tickwheel::core
