// How much work both engines do at a time (P8).
#pragma once

#include "tick.hpp"

namespace tickwheel::core {

// The most steps in one hold of the lock. A step moves a timer or opens a slot; to find the slot to open, a
// search looks at no more than a few dozen timers. Small parts, where the lock is cheap and masks interrupts,
// hold it for one step; so does a tree, where a timer passes all levels in one step.
inline constexpr unsigned steps_per_hold = !TW_TREE && (has_room || TW_RUNTIME != 0) ? 64 : 1;

// True if nodes move after they were placed: down the levels of slots, and to a later slot if they were
// postponed. In a tree a node always stands at its tick.
inline constexpr bool nodes_move = !TW_TREE;

#if !TW_TREE
// The number of look-ahead moves per tick. Small processors hold few timers.
inline constexpr unsigned ahead_per_tick = sizeof(void *) == 8 ? 256 : 16;

// The most ticks that count for the look-ahead of one advance.
inline constexpr tick most_shares = 64;

// The number of shares of look-ahead to spend when `ticks` have passed: one per tick, but none for the ticks
// before the one that next() last returned, because the caller was right to sleep until then; at least one in
// all. `late`: the number of ticks since the one that next() returned.
template <class Tick> constexpr Tick shares_of(Tick ticks, Tick late) {
    return ticks > late ? late + 1 : larger<Tick>(ticks, 1);
}
#endif

}  // namespace tickwheel::core
