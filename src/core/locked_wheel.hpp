// What the bytes of a struct tw are: the wheel of the geometry that the library is
// built for, and what the functions around it keep beside it.
#pragma once

#include <new>

#include "wheel.hpp"

namespace tickwheel::core {

using shape = geometry<TW_BITS, TW_LEVELS, TW_LOOKAHEAD != 0>;

// `observed` is locked, and a tool is told of it: see tw_port_is_observed.
enum class locking : std::uint8_t { unlocked, locked, observed };

// A tw_clear that is under way, on its caller's stack.
struct clearing {
    clearing *next;
    std::uintptr_t thread;
    const tw_node *at;  // the node that it hands out just now; compared, never followed
};

struct control {
    tw *self;                  // set by tw_init; differs in memory never initialised, or copied
    std::uintptr_t advancer;   // while advancing: the thread that does it
    clearing *clearings;       // that are under way: for a fork, where there are threads
    std::uint32_t lock;        // the port's
    std::uint32_t returned;    // callbacks that have returned; tw_wait sleeps on it
    std::uint32_t handed_out;  // nodes that tw_clear is done with; and on this
    std::uint32_t awaiting;    // tw_wait calls that sleep
#if TW_RUNTIME
    std::uint32_t parts;  // of a tick, that grids are counted in; 0: there was none so far
#endif
    locking how;  // never changes after tw_init
    bool advancing;
    bool interrupted;  // atomic: the one field that is set without the lock
};

struct locked_wheel : control, wheel<shape> {};

static_assert(sizeof(locked_wheel) <= sizeof(tw) &&
                  sizeof(tw) - sizeof(locked_wheel) <= 6 * sizeof(std::size_t),
              "TW_STORAGE in tw.h does not fit the wheel");
static_assert(alignof(locked_wheel) <= alignof(tw));
static_assert(sizeof(tw_node) <= (sizeof(void *) == 8 ? 64 : TW_TICK_BITS == 32 ? 28 : 40 + 8 * TW_RUNTIME));
static_assert(TW_BITS != 8 || TW_LEVELS != 3 || sizeof(tw) <= (sizeof(void *) == 8 ? 21600 : 10880));

inline locked_wheel &wheel_in(tw *w) {
    return *std::launder(reinterpret_cast<locked_wheel *>(w->storage.bytes));
}

}  // namespace tickwheel::core
