// The wheel in a struct tw.
#pragma once

#include <new>

#include "wheel.hpp"

namespace tickwheel::core {
namespace {

static_assert(sizeof(wheel) <= sizeof(tw) &&
                  sizeof(tw) - sizeof(wheel) <= (TW_TREE ? sizeof(std::uint64_t) : 8 * sizeof(std::size_t)),
              "TW_STORAGE in tw.h does not fit the wheel");
static_assert(alignof(wheel) <= alignof(tw));
static_assert(TW_TREE || sizeof(tw_node) <= (sizeof(void *) == 8  ? 64
                                             : TW_TICK_BITS == 32 ? 28
                                                                  : 40 + 8 * TW_RUNTIME));
#if TW_TREE
static_assert(offsetof(wheel_sharing, how) == sizeof(void *), "TW_WHEEL in tw.h is not a fresh wheel");
#else
static_assert(TW_BITS != 8 || TW_LEVELS != 3 || sizeof(tw) <= (sizeof(void *) == 8 ? 22200 : 11500));
#endif

// `self` is the wheel's address; where there is room, one more if calls take the lock. One comparison then
// finds that a wheel is valid and has no lock.
inline constexpr std::uintptr_t tag_if_locked = has_room ? 1 : 0;
inline std::uintptr_t self_of(const tw *w) { return reinterpret_cast<std::uintptr_t>(w); }

inline wheel &wheel_in(tw *w) { return *std::launder(reinterpret_cast<wheel *>(w->storage.bytes)); }

}  // namespace
}  // namespace tickwheel::core
