// What the bytes of a struct tw are: the wheel of the geometry that the library is
// built for, and what the functions around it keep beside it.
#pragma once

#include <new>

#include "wheel.hpp"

namespace tickwheel::core {

using shape = geometry<TW_BITS, TW_LEVELS, TW_LOOKAHEAD != 0>;

enum class kind : std::uint8_t { locked, unlocked };

struct edge {
    const tw *self = nullptr;     // set by tw_init; differs in memory never initialised, or copied
    tick overruns = 0;            // of the running callback's node
    tick due_at = never;          // the tick that the running callback's node was due at
    tick asked_for = 0;           // what tw_next last answered
    tw_node *running = nullptr;   // compared, never followed: it may be gone
    std::uintptr_t advancer = 0;  // while advancing: the thread that does it
    std::uint32_t lock = 0;       // the port's
    std::uint32_t returned = 0;   // callbacks that have returned; tw_wait sleeps on it
    std::uint32_t awaiting = 0;   // tw_wait calls that sleep
    kind is = kind::locked;       // never changes after tw_init
    bool advancing = false;
    bool interrupted = false;  // atomic: the one field that is set without the lock
};

struct stored : edge, wheel<shape> {
    stored(const tw *self_address, tick start, kind k) : edge{.self = self_address, .is = k}, wheel(start) {}
};

static_assert(sizeof(stored) <= sizeof(tw) && sizeof(tw) - sizeof(stored) <= 6 * sizeof(std::size_t),
              "TW_STORAGE in tw.h does not fit the wheel");
static_assert(alignof(stored) <= alignof(tw));
static_assert(sizeof(void *) == 8 ? sizeof(tw_node) <= 64 : sizeof(tw_node) <= 40);
static_assert(TW_BITS != 8 || TW_LEVELS != 3 || sizeof(tw) <= (sizeof(void *) == 8 ? 21000 : 10752));

inline stored &stored_in(tw *w) { return *std::launder(reinterpret_cast<stored *>(w->storage.bytes)); }

}  // namespace tickwheel::core
