// The API boundary: validates the arguments of a call and holds the wheel's lock for it. Behind it
// preconditions are asserted, not checked.
#pragma once

#include <tickwheel/port.h>

#include <type_traits>

#include "errors.hpp"
#include "inlining.hpp"
#include "locked_wheel.hpp"

namespace tickwheel::core {

#ifdef TW_PORT_ONE_THREAD
inline constexpr bool has_threads = false;
#else
inline constexpr bool has_threads = true;
#endif

#ifdef TW_PORT_CAN_BE_OBSERVED
inline constexpr bool can_be_observed = true;
#else
inline constexpr bool can_be_observed = false;
#endif

// The unlocked wheel is asked for first: it then pays for one comparison, where a second one would
// compete with the cache misses of the call that follows.
TW_INLINE_IF_SMALL inline void lock(locked_wheel &wheel) {
    if (wheel.how == locking::unlocked)
        return;
    if (can_be_observed && wheel.how == locking::observed) [[unlikely]]
        tw_port_lock_observed(&wheel.lock);
    else
        tw_port_lock(&wheel.lock);
}

TW_INLINE_IF_SMALL inline void unlock(locked_wheel &wheel) {
    if (wheel.how == locking::unlocked)
        return;
    if (can_be_observed && wheel.how == locking::observed) [[unlikely]]
        tw_port_unlock_observed(&wheel.lock);
    else
        tw_port_unlock(&wheel.lock);
}

// Has a tool that looks for races follow this wheel's lock, if one watches the process. The words
// beside the wheel are hidden from it: they are atomic, or compared by the kernel.
inline void be_observed(locked_wheel &wheel) {
    if (!can_be_observed || wheel.how != locking::locked || tw_port_is_observed() == 0)
        return;
    wheel.how = locking::observed;
    tw_port_hide(static_cast<wheel_sharing *>(&wheel), sizeof(wheel_sharing));
}

TW_INLINE_IF_SMALL inline bool usable(tw *w) {
    return w != nullptr && wheel_in(w).self - self_of(w) <= tag_if_locked;
}

// True if w, which is not null, is valid and takes no lock. Always false where there is no room.
inline bool takes_no_lock(tw *w) { return has_room && wheel_in(w).self == self_of(w); }

TW_INLINE_IF_SMALL inline bool usable(const tw_node *node) { return node != nullptr && node->fn != nullptr; }

// Small nodes have no room to name their wheel: a program with such nodes has one wheel.
inline void set_wheel([[maybe_unused]] tw_node &node, [[maybe_unused]] tw *w) {
#if TW_TICK_BITS != 32
    node.wheel = w;
#endif
}
inline bool names([[maybe_unused]] const tw_node &node, [[maybe_unused]] const tw *w) {
#if TW_TICK_BITS != 32
    return node.wheel == w;
#else
    return true;
#endif
}

// True if an enumerator from a caller in C is one of 0 .. last. Copied as bytes, because loading an
// enumerator outside of its range is undefined.
template <class Enum> bool is_at_most(const Enum &value, Enum last) {
    std::underlying_type_t<Enum> number;
    __builtin_memcpy(&number, &value, sizeof number);
    return static_cast<unsigned>(number) <= static_cast<unsigned>(last);
}

// Validates and locks w. On error returns a negative errno with the lock not held.
TW_ONE_COPY inline int enter(tw *w) {
    if (w != nullptr && takes_no_lock(w))
        return 0;
    if (!usable(w))
        return -einval;
    lock(wheel_in(w));
    return 0;
}

// `enter` for a call that changes a node, which must not be pending on another wheel.
// REQUIRES: usable(node)
inline int enter_usable(tw *w, const tw_node *node) {
    const int error = enter(w);
    TW_CHECKS(used(error == 0 ? w : nullptr, node));
    if (error != 0 || !is_pending(*node) || names(*node, w)) {
        TW_ASSERT_OF(*node, node->state <= TW_SHUT);
        return error;
    }
    unlock(wheel_in(w));
    return -ebusy;
}
TW_ONE_COPY inline int enter(tw *w, const tw_node *node) {
    return usable(node) ? enter_usable(w, node) : -einval;
}

// RELEASES: wheel lock. Returns the result of the call.
TW_ONE_COPY inline int leave(tw *w, int result) {
    unlock(wheel_in(w));
    return result;
}

template <auto Call, class... Rest>
TW_APART_IF_FAST int with_node_locked(tw *w, tw_node *node, Rest... rest) {
    const int error = has_room ? enter_usable(w, node) : enter(w, node);
    return error != 0 ? error : leave(w, Call(w, node, rest...));
}

// Makes a call that changes a node: validates, locks, and releases the lock again. `Usual` is the state in
// which the node mostly is.
//
// Where there is room, a wheel without a lock has a copy of the code to itself. Nothing in that copy calls
// another function and returns, so it needs no registers to be saved.
template <tw_state Usual, auto Call, class... Rest>
[[gnu::always_inline]] inline int with_node(tw *w, tw_node *node, Rest... rest) {
    if constexpr (has_room) {
        if (w == nullptr || !usable(node))
            return -einval;
        if (takes_no_lock(w)) {
            TW_CHECKS(used(w, node));
            const bool is_idle = Usual == TW_IDLE && node->state == TW_IDLE;
            if (!is_idle && is_pending(*node) && !names(*node, w)) [[unlikely]]
                return -ebusy;
            TW_ASSERT_OF(*node, node->state <= TW_SHUT);
            return Call(w, node, rest...);
        }
    }
    return with_node_locked<Call>(w, node, rest...);
}

// `enter` for a call after which the node is pending at tick `due`.
TW_ONE_COPY inline int enter_to_move(tw *w, const tw_node *node, tick due) {
    if (!is_tick(due))
        return -erange;
    const int error = enter(w, node);
    if (error != 0 || is_pending(*node))
        return error;
    unlock(wheel_in(w));
    return -enoent;
}

// Returns true, with the lock held, if the node is pending on this wheel.
TW_ONE_COPY inline bool enter_pending(tw *w, const tw_node *node) {
    if (!usable(node) || enter(w) != 0)
        return false;
    TW_CHECKS(used(w, node));
    if (is_pending(*node) && names(*node, w))
        return true;
    unlock(wheel_in(w));
    return false;
}

TW_ONE_COPY inline tick leave_with(tw *w, tick result) {
    unlock(wheel_in(w));
    return result;
}

}  // namespace tickwheel::core
