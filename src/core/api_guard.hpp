// What stands between a public function and the wheel: is it a wheel, is it a node, and
// the lock.
#pragma once

#include <tickwheel/port.h>

#include "code_size.hpp"
#include "errors.hpp"
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

// An unlocked wheel pays for one comparison.
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

// A tool that observes the wheel sees its order by the lock, and nothing of the words beside it.
inline void be_observed(locked_wheel &wheel) {
    if (!can_be_observed || wheel.how != locking::locked || tw_port_is_observed() == 0)
        return;
    wheel.how = locking::observed;
    tw_port_hide(static_cast<control *>(&wheel), sizeof(control));
}

TW_INLINE_IF_SMALL inline bool usable(tw *w) { return w != nullptr && wheel_in(w).self == w; }
TW_INLINE_IF_SMALL inline bool usable(const tw_node *node) { return node != nullptr && node->fn != nullptr; }
inline bool is_pending(const tw_node *node) { return node->state == TW_PENDING; }

// Small nodes do not know their wheel: where there is but one, nothing is lost.
template <class Node> void set_wheel(Node &node, tw *w) {
    if constexpr (requires { node.wheel; })
        node.wheel = w;
}
template <class Node> bool names(const Node &node, const tw *w) {
    if constexpr (requires { node.wheel; })
        return node.wheel == w;
    return true;
}

// Takes the lock of what is a wheel, and returns 0; else what to answer.
TW_ONE_COPY inline int enter(tw *w) {
    if (!usable(w))
        return -einval;
    lock(wheel_in(w));
    return 0;
}

// The same to change a node.
TW_ONE_COPY inline int enter(tw *w, const tw_node *node) {
    if (!usable(node))
        return -einval;
    const int refusal = enter(w);
    if (refusal != 0 || !is_pending(node) || names(*node, w)) {
        TW_ASSERT_OF(*node, node->state <= TW_SHUT);
        return refusal;
    }
    unlock(wheel_in(w));
    return -ebusy;
}

// The same for a node that is pending on this wheel: true with the lock taken.
TW_ONE_COPY inline bool enter_pending(tw *w, const tw_node *node) {
    if (!usable(node) || enter(w) != 0)
        return false;
    if (is_pending(node) && names(*node, w))
        return true;
    unlock(wheel_in(w));
    return false;
}

TW_ONE_COPY inline int leave(tw *w, int result) {
    unlock(wheel_in(w));
    return result;
}

TW_ONE_COPY inline tick leave_with(tw *w, tick result) {
    unlock(wheel_in(w));
    return result;
}

}  // namespace tickwheel::core
