// What the bytes of a struct tw are: the wheel of the geometry that the library is
// built for, and what the functions around it keep beside it.
#pragma once

#include <new>

#include "wheel.hpp"

namespace tickwheel::core {

using shape = geometry<TW_BITS, TW_LEVELS, TW_LOOKAHEAD != 0>;

enum class kind : std::uint8_t { locked, unlocked };

struct beside {
    tw *self;                 // set by tw_init; differs in memory never initialised, or copied
    std::uintptr_t advancer;  // while advancing: the thread that does it
    std::uint32_t lock;       // the port's
    std::uint32_t returned;   // callbacks that have returned; tw_wait sleeps on it
    std::uint32_t awaiting;   // tw_wait calls that sleep
    kind is;                  // never changes after tw_init
    bool advancing;
    bool interrupted;  // atomic: the one field that is set without the lock
};

struct stored : beside, wheel<shape> {};

static_assert(sizeof(stored) <= sizeof(tw) && sizeof(tw) - sizeof(stored) <= 6 * sizeof(std::size_t),
              "TW_STORAGE in tw.h does not fit the wheel");
static_assert(alignof(stored) <= alignof(tw));
static_assert(sizeof(tw_node) <= (sizeof(void *) == 8 ? 64 : TW_TICK_BITS == 32 ? 28 : 40));
static_assert(TW_BITS != 8 || TW_LEVELS != 3 || sizeof(tw) <= (sizeof(void *) == 8 ? 21000 : 10752));

inline stored &stored_in(tw *w) { return *std::launder(reinterpret_cast<stored *>(w->storage.bytes)); }

}  // namespace tickwheel::core
