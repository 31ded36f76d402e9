// The API boundary: validates the arguments of a call and holds the wheel's lock during it. Code behind the
// boundary only asserts its preconditions.
#pragma once

#include <tickwheel/port.h>

#include "assert.hpp"
#include "errors.hpp"
#include "inlining.hpp"
#include "wheel_state.hpp"

namespace tickwheel::core {
namespace {

#ifdef TW_PORT_CAN_BE_OBSERVED
inline constexpr bool can_be_observed = true;
#else
inline constexpr bool can_be_observed = false;
#endif

// The word of the lock that the wheel uses.
inline std::uint32_t *guard_of(wheel_state &wheel) {
#if TW_RUNTIME
    return wheel.guard;
#else
    return &wheel.lock;
#endif
}

#if TW_RUNTIME
inline void share_lock(tw *w, tw *with) { state_in(w).guard = guard_of(state_in(with)); }
#endif

// Tests for an unlocked wheel first, so that such a wheel pays for one comparison only; a second one would
// delay the memory accesses of the call that follows, which miss the cache. Both unchecked: clang does not
// understand ports, and a wheel without a lock counts as locked.
TW_INLINE_IF_SMALL inline void lock(wheel_state &wheel) TW_ACQUIRE(wheels_lock) TW_UNCHECKED_LOCKING {
    if (!is_small && wheel.how == locking::unlocked)
        return;
    if (unlikely(can_be_observed && wheel.how == locking::observed))
        tw_port_lock_observed(guard_of(wheel));
    else
        tw_port_lock(guard_of(wheel));
}

TW_INLINE_IF_SMALL inline void unlock(wheel_state &wheel) TW_RELEASE(wheels_lock) TW_UNCHECKED_LOCKING {
    if (!is_small && wheel.how == locking::unlocked)
        return;
    if (unlikely(can_be_observed && wheel.how == locking::observed))
        tw_port_unlock_observed(guard_of(wheel));
    else
        tw_port_unlock(guard_of(wheel));
}

// Releases the lock for a moment, and meanwhile calls `fn` if it is not null (P7).
TW_ONE_COPY inline void call_unlocked(wheel_state &wheel, tw_node *node, tw_callback *fn, void *arg)
    TW_YIELDS(wheels_lock) {
    unlock(wheel);
    if (fn != nullptr)
        fn(node, arg);
    lock(wheel);
}

// If a race detector observes the process, makes it follow this wheel's lock. Hides wheel_sharing from the
// detector, because some of its words are atomic, and the kernel reads others.
inline void be_observed(wheel_state &wheel) {
    if (!can_be_observed || wheel.how != locking::locked || tw_port_is_observed() == 0)
        return;
    wheel.how = locking::observed;
    tw_port_hide(static_cast<wheel_sharing *>(&wheel), sizeof(wheel_sharing));
}

TW_INLINE_IF_SMALL inline bool usable(tw *w) {
    return !has_validation || (w != nullptr && state_in(w).self - self_of(w) <= tag_if_locked);
}

// True if w is valid and takes no lock. Always false without has_room. REQUIRES: w is not null
inline bool takes_no_lock(tw *w) { return has_room && state_in(w).self == self_of(w); }

TW_INLINE_IF_SMALL inline bool usable(const tw_node *node) { return !has_validation || node != nullptr; }

// A node that is all zeroes, for which tw_node_init was forgotten, is idle; only arming refuses it.
TW_INLINE_IF_SMALL inline int check_armable(const tw_node &node) {
    if (has_validation && node.fn == nullptr)
        return -einval;
    return node.state > TW_PENDING ? -eperm : 0;
}

inline void set_wheel([[maybe_unused]] tw_node &node, [[maybe_unused]] const wheel_state &wheel) {
#if TW_TICK_BITS != 32
    if (has_owner_check)  // atomic, because tw_wheel_of reads it without the lock
        __atomic_store_n(&node.wheel, reinterpret_cast<std::uintptr_t>(&wheel) + mark_of(node),
                         __ATOMIC_RELAXED);
#endif
}

// Validates and locks w. On error returns a negative errno without the lock. The body, like some below, is
// unchecked, because clang cannot follow that the result, or `locks`, says whether the lock is held.
TW_ONE_COPY inline int enter(tw *w) TW_TRY_ACQUIRE(false, wheels_lock) TW_UNCHECKED_LOCKING {
    if (w != nullptr && takes_no_lock(w))
        return 0;
    if (!usable(w))
        return -einval;
    lock(state_in(w));
    return 0;
}

TW_ONE_COPY inline int leave(tw *w, int result) TW_RELEASE(wheels_lock) {
    unlock(state_in(w));
    return result;
}

// `enter` for calls that only read. On one core without other threads, reading a word is atomic and needs no
// lock. A tick of one word needs none either.
inline constexpr bool locks_for_a_word = has_threads;
inline constexpr bool locks_for_a_tick = has_threads || sizeof(tick) > sizeof(std::size_t);

inline int enter_to_read(tw *w, bool locks) TW_TRY_ACQUIRE(false, wheels_lock) {
    if (locks)
        return enter(w);
    return usable(w) ? 0 : -einval;
}
inline void end_read(tw *w, bool locks) TW_RELEASE(wheels_lock) TW_UNCHECKED_LOCKING {
    if (locks)
        leave(w, 0);
}

// 0, or -EBUSY for a node that is pending on another wheel. REQUIRES: usable(&node)
inline int check_owner(tw *w, const tw_node &node) TW_REQUIRES(wheels_lock) {
    TW_CHECKS(used(w, &node));
    if (unlikely(is_pending(node) && !names(node, w)))
        return -ebusy;
    TW_ASSERT_OF(node, node.state <= TW_RETIRED);
    return 0;
}

// `enter` for a call on a node. REQUIRES: usable(node)
inline int enter_usable(tw *w, const tw_node *node) TW_TRY_ACQUIRE(false, wheels_lock) TW_UNCHECKED_LOCKING {
    if (const int error = enter(w); error != 0) {
        TW_CHECKS(used(nullptr, node));
        return error;
    }
    const int error = check_owner(w, *node);
    return error == 0 ? 0 : leave(w, error);
}
TW_ONE_COPY inline int enter(tw *w, const tw_node *node) TW_TRY_ACQUIRE(false, wheels_lock) {
    return usable(node) ? enter_usable(w, node) : -einval;
}

// Reads a tick of a wheel. Returns `none` if the wheel is invalid, or if the tick is that of the running
// callback and no callback runs.
TW_ONE_COPY inline tick read(tw *w, tick wheel_state::*what, tick none) {
    if (enter_to_read(w, locks_for_a_tick) != 0)
        return none;
    const wheel_state &wheel = state_in(w);
    const tick value = what == &wheel_state::now || wheel.is_in_callback() ? wheel.*what : none;
    end_read(w, locks_for_a_tick);
    return value;
}

}  // namespace
}  // namespace tickwheel::core
