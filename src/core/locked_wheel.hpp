// The contents of a struct tw: the wheel, in the geometry that the library is built for, and beside it
// what calls need to share it between threads.
#pragma once

#include <new>

#include "wheel.hpp"

namespace tickwheel::core {

using shape = geometry<TW_BITS, TW_LEVELS, TW_LOOKAHEAD != 0>;

// An observed wheel is locked, and a tool that looks for races hears of it; see tw_port_is_observed.
enum class locking : std::uint8_t { unlocked, locked, observed };

// A tw_clear that is under way; lives on its caller's stack.
struct clearing {
    clearing *next;
    std::uintptr_t thread;
    const tw_node *handed_out;  // the node that is with `each`; compared, never followed
};

// Guarded by the wheel's lock, except as noted.
struct wheel_sharing {
    std::uintptr_t self;      // tells a wheel from memory never initialised, or copied; see self_of
    std::uintptr_t advancer;  // the thread that advances, while `advancing`
    clearing *clearings;      // every tw_clear that is under way
#if TW_RUNTIME
    tw_caller *caller;  // makes the fires; null: the wheel itself does
    void *caller_arg;
#endif
    std::uint32_t lock;         // the port's
    std::uint32_t returned;     // callbacks that have returned; tw_wait sleeps on it
    std::uint32_t handed_back;  // nodes that an `each` has returned from; tw_wait sleeps on it
    std::uint32_t waiters;      // tw_wait calls that sleep
    locking how;                // never changes after tw_init, so read without the lock
    bool advancing;
    bool interrupted;  // atomic: set without the lock, from signal handlers too
};

struct locked_wheel : wheel_sharing, wheel<shape> {};

static_assert(sizeof(locked_wheel) <= sizeof(tw) &&
                  sizeof(tw) - sizeof(locked_wheel) <= 6 * sizeof(std::size_t),
              "TW_STORAGE in tw.h does not fit the wheel");
static_assert(alignof(locked_wheel) <= alignof(tw));
static_assert(sizeof(tw_node) <= (sizeof(void *) == 8 ? 64 : TW_TICK_BITS == 32 ? 28 : 40 + 8 * TW_RUNTIME));
static_assert(TW_BITS != 8 || TW_LEVELS != 3 || sizeof(tw) <= (sizeof(void *) == 8 ? 22200 : 11500));

// `self` is the wheel's address; where there is room, one more if calls take the lock. One comparison then
// finds that a wheel is valid and has no lock.
inline constexpr std::uintptr_t tag_if_locked = has_room ? 1 : 0;
inline std::uintptr_t self_of(const tw *w) { return reinterpret_cast<std::uintptr_t>(w); }

inline locked_wheel &wheel_in(tw *w) {
    return *std::launder(reinterpret_cast<locked_wheel *>(w->storage.bytes));
}

}  // namespace tickwheel::core
