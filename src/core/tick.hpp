// Ticks and their comparison. Only this file and the tree distinguish ticks that wrap from ticks that do not.
#pragma once

#include <tickwheel/tw.h>

#include <cstdint>

#include "base/numbers.hpp"
#include "inlining.hpp"

namespace tickwheel::core {

using tick = tw_tick;

// Ticks of 32 bits, which only a tree has, wrap around. Compared ticks lie less than half of the range apart.
inline constexpr bool wraps = sizeof(tick) == sizeof(std::uint32_t);

inline constexpr tick never = TW_NEVER;
inline constexpr tick last_tick = never - 1;
inline constexpr tick farthest = wraps ? never >> 1 : last_tick;  // the greatest distance to a tick

// `never` has all bits set. If a tick is wider than a register, testing both halves at once takes less code
// than a comparison.
constexpr bool is_tick(tick t) {
    if (wraps || has_room)
        return wraps || t != never;
    return static_cast<std::uint32_t>(t & t >> 4 * sizeof(tick)) != UINT32_MAX;
}

#if TW_RUNTIME
// t + by, capped at the last tick.
constexpr tick later(tick t, tick by) { return by > last_tick - t ? last_tick : t + by; }
#endif

// A tick as a result, where `never` means that there is none: a tick that wraps may have that value, and then
// the result is one less.
constexpr tick as_answer(tick t) { return wraps && t == never ? t - 1 : t; }

// True if any two ticks compare, however far apart. If ticks wrap, one may be too far back.
inline constexpr bool all_compare = !wraps;

constexpr bool before(tick a, tick b) {
    if constexpr (wraps)
        return static_cast<std::int32_t>(a - b) < 0;
    else
        return a < b;
}

// True if a is earlier than b as seen from `now`. Both may be as far from `now` as a tick can be.
constexpr bool before_seen_from(tick now, tick a, tick b) {
    if constexpr (wraps)
        return static_cast<std::int32_t>(a - now) < static_cast<std::int32_t>(b - now);
    else
        return a < b;
}

// The distance from `from` to a later tick; 0 if `to` is not later.
constexpr tick distance(tick from, tick to) { return before(from, to) ? to - from : 0; }

// True if a period or a delay of `ticks` is distinguishable from one that leads to the past.
constexpr bool is_distance(tick ticks) { return !wraps || ticks <= farthest; }

// True if `further` ticks after t is still a tick. A tick that wraps has no last one.
constexpr bool has_tick_after(tick t, tick further) { return wraps || further < never - t; }

// False if t is certainly in the future. A tick that wraps may be late by half of all ticks.
constexpr bool may_have_passed(tick now, tick t) { return wraps || t <= now; }

// True if from + further is still a tick and distinguishable from the past at `now`. False if `from` is no
// tick.
constexpr bool in_range(tick now, tick from, tick further) {
    if constexpr (wraps)
        return further <= farthest && (before(from, now) || from - now + further <= farthest);
    else
        return further < never - from;
}

using base::larger;
using base::smaller;

// The tick in [first, last] with the most trailing zero bits: clears the lowest set bits of `last`, one after
// the other, while the result is in the range.
constexpr tick roundest(tick first, tick last) {
    tick best = last;
    for (tick t = last; t != 0; best = t) {
        t &= t - 1;
        if (before(t, first))
            break;
    }
    return best;
}

}  // namespace tickwheel::core
