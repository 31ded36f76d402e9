// How much is done at a time, by wheels of either kind (P8).
#pragma once

#include "tick.hpp"

namespace tickwheel::core {

// The most steps for which a lock is held at a time. A step moves a timer or opens a slot; to find the slot
// to open, a search looks at no more than a few dozen timers.
inline constexpr unsigned steps_per_hold = 64;

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

}  // namespace tickwheel::core
