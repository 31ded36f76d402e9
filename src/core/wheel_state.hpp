// The members that a wheel has with either engine: what threads need to share it (wheel_sharing), and its
// time, its counts and the running callback (wheel_state).
#pragma once

#include <tickwheel/tw.h>

#include <cstddef>
#include <cstdint>
#include <new>

#include "door.h"
#include "features.hpp"
#include "tick.hpp"
#include "wheels_lock.hpp"

namespace tickwheel::core {
namespace {

inline bool is_pending(const tw_node &node) { return node.state == TW_PENDING; }

// `self` is the wheel's address; with has_room, one more if calls take the lock. Then a single comparison
// finds that a wheel is valid and has no lock.
inline constexpr std::uintptr_t tag_if_locked = has_room ? 1 : 0;
inline std::uintptr_t self_of(const tw *w) { return reinterpret_cast<std::uintptr_t>(w); }
inline std::uintptr_t address_in(std::uintptr_t self) { return self & ~tag_if_locked; }

// `node.wheel` is the wheel's address plus the node's own address with its halves swapped. A copy of a node
// lies elsewhere, so its sum names no wheel. Without the swap, the sum could name another wheel that lies at
// the matching distance from the copy. Small nodes have no room for this: a program with such nodes has one
// wheel. Code that cannot include this file repeats the formula: check/node_table.hpp, the tests and the gdb
// printers.
inline std::uintptr_t mark_of(const tw_node &node) {
    constexpr unsigned half = 4 * sizeof(std::uintptr_t);
    const auto address = reinterpret_cast<std::uintptr_t>(&node);
    return address << half | address >> half;
}
inline bool names([[maybe_unused]] const tw_node &node, [[maybe_unused]] std::uintptr_t wheel) {
#if TW_TICK_BITS != 32
    return !has_owner_check || node.wheel - mark_of(node) == wheel;
#else
    return true;
#endif
}
inline bool names(const tw_node &node, const tw *w) {
    return names(node, reinterpret_cast<std::uintptr_t>(w));
}

// The wheel that a node is, or was last, armed on; null if it never was. REQUIRES: has_owner_check
inline tw *wheel_of([[maybe_unused]] const tw_node &node) {
#if TW_TICK_BITS != 32
    const std::uintptr_t wheel = __atomic_load_n(&node.wheel, __ATOMIC_RELAXED);
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return wheel == 0 ? nullptr : reinterpret_cast<tw *>(wheel - mark_of(node));
#else
    return nullptr;
#endif
}

// An observed wheel is locked, and reports that to a race detector; see tw_port_is_observed.
enum class locking : std::uint8_t { unlocked, locked, observed };

// The wheel's lock guards the members, except as noted. TW_WHEEL in tw.h initialises the first ones.
struct wheel_sharing {
    std::uintptr_t self;  // distinguishes a wheel from uninitialised or copied memory; see self_of
    locking how;          // never changes after tw_init, so read without the lock
    bool advancing;
#if TW_RUNTIME
    bool interrupted;  // atomic: set without the lock, from signal handlers too
#endif
    std::uintptr_t advancer;  // the thread that advances, while `advancing`
#if TW_RUNTIME
    tw_core_caller *caller;  // makes the fires; null: the wheel itself does
    void *caller_arg;
    std::uint32_t *guard;  // the lock: its own or another wheel's; see share_lock
#endif
    std::uint32_t lock;         // the port's
    std::uint32_t returned;     // callbacks that have returned; tw_wait sleeps on it
    std::uint32_t handed_back;  // calls of an `each` that have returned; tw_wait sleeps on it
    std::uint32_t waiters;      // tw_wait calls that sleep
};

struct wheel_state;

// The next step of an engine towards `now`: nothing, fire a node or a record, or move some timers.
enum class next_step { none, fire, fire_record, move };

// Sets a firing periodic node to its next tick; false if this fire is its last.
using rearm_rule = bool(wheel_state &, tw_node &);

// Guarded by the lock.
struct wheel_state : wheel_sharing {
    tw_node *running;   // the node whose callback runs, or null. Never followed: it may have been freed
    std::size_t count;  // of pending nodes, and of places of walks (W6)
    rearm_rule *rearm;  // null until the first periodic node is armed
    tick now;           // the tick of the latest advance
    tick due;           // the tick at which the running node or record was due
    tick overruns;      // the number of due ticks that the running node missed
#if TW_RUNTIME
    std::uint64_t order;   // of the timer armed last: it fires after the others of its tick (P3)
    tick limit;            // where an advance stops: at `now`, or before that so that another lane fires
    std::uint32_t placed;  // atomic: counts the timers placed above level 0
    tw_core_lanes *lanes;  // what all lanes of a runtime share; null: the wheel is no lane
    bool fires_record;     // true while a record's callback runs
    std::uint32_t parts;   // the parts in a tick, for grids; 0 until the first grid is armed
#endif

    // Makes a node the one armed last.
    void set_order([[maybe_unused]] tw_node &node) {
#if TW_RUNTIME
        node.order = ++order;
#endif
    }

#if TW_RUNTIME
    // The timers armed from now on come after all that any lane armed before this moment.
    void begin_order(std::uint64_t moment) { order = larger(order, moment); }
#endif

    // The same for a timer that a fire arms again.
    void begin_present_order() {
#if TW_RUNTIME
        if (lanes != nullptr)
            begin_order(lanes->moment(lanes));
#endif
    }

    void count_placed() {
#if TW_RUNTIME
        __atomic_store_n(&placed, placed + 1, __ATOMIC_RELAXED);
#endif
    }

    tick end_of_advance() const {
#if TW_RUNTIME
        return limit;
#else
        return now;
#endif
    }

    bool is_in_callback() const {
#if TW_RUNTIME
        return running != nullptr || fires_record;
#else
        return running != nullptr;
#endif
    }
};

// The wheel in a struct tw.
template <class Wheel> Wheel &wheel_in(tw *w) {
    static_assert(sizeof(Wheel) <= sizeof(tw), "TW_STORAGE in tw.h does not fit the wheel");
    static_assert(alignof(Wheel) <= alignof(tw));
    return *std::launder(reinterpret_cast<Wheel *>(w->storage.bytes));
}

// The state with which every wheel begins.
inline wheel_state &state_in(tw *w) { return wheel_in<wheel_state>(w); }

}  // namespace
}  // namespace tickwheel::core
