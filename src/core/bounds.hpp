// How much is done at a time, by wheels of either kind (P8).
#pragma once

#include "tick.hpp"

namespace tickwheel::core {

// The most steps for which a lock is held at a time. A step moves a timer or opens a slot; to find the slot
// to open, a search looks at no more than a few dozen timers. Small parts, where the lock costs little and
// masks interrupts, hold it for one; so does a tree, where a timer passes all levels in one step.
inline constexpr unsigned steps_per_hold = !TW_TREE && (has_room || TW_RUNTIME != 0) ? 64 : 1;

// Whether nodes move after they were placed: down the levels of slots, and on if they were postponed. In a
// tree a node always stands at its tick.
inline constexpr bool nodes_move = !TW_TREE;

#if !TW_TREE
// The share of look-ahead moves for one tick. Small processors hold few timers.
inline constexpr unsigned ahead_per_tick = sizeof(void *) == 8 ? 256 : 16;

// The most ticks that have a share in one advance.
inline constexpr tick most_shares = 64;

// How many shares of look-ahead there are to spend when `ticks` have passed: one for each tick, but none for
// those before the tick at which the caller was asked to come, as the caller has rightly slept through them.
// `late` is how many ticks ago that was.
template <class Tick> constexpr Tick shares_of(Tick ticks, Tick late) {
    return ticks > late ? late + 1 : larger<Tick>(ticks, 1);
}
#endif

}  // namespace tickwheel::core
