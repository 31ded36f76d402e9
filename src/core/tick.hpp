// Ticks and how a geometry cuts them into digits: which level, which slot.
#pragma once

#include <tickwheel/tw.h>

#include <cstdint>
#include <type_traits>

namespace tickwheel::core {

using tick = tw_tick;

// 32-bit ticks go round: all that is compared lies less than half of their range apart.
inline constexpr bool wraps = sizeof(tick) == sizeof(std::uint32_t);

inline constexpr tick never = TW_NEVER;
inline constexpr tick last_tick = never - 1;
inline constexpr tick farthest = wraps ? never >> 1 : last_tick;  // the longest way to a tick

constexpr bool is_tick(tick t) { return wraps || t != never; }

constexpr bool before(tick a, tick b) {
    if constexpr (wraps)
        return static_cast<std::int32_t>(a - b) < 0;
    else
        return a < b;
}

// Of two ticks that lie half of the range apart, each is before the other and none after it.
constexpr bool after(tick a, tick b) {
    if constexpr (wraps)
        return static_cast<std::int32_t>(a - b) > 0;
    else
        return a > b;
}

// Which of two ticks is earlier, as seen from `now`: each may lie as far from it as can be.
constexpr bool before(tick now, tick a, tick b) {
    if constexpr (wraps)
        return static_cast<std::int32_t>(a - now) < static_cast<std::int32_t>(b - now);
    else
        return a < b;
}

// The way from one tick to another; 0 if that is not in the future.
constexpr tick distance(tick from, tick to) { return before(from, to) ? to - from : 0; }

// Whether `further` ticks from `from`, which is seen at `now`, is a tick still.
constexpr bool in_range(tick now, tick from, tick further) {
    if constexpr (wraps)
        return further <= farthest - distance(now, from);
    else
        return further <= last_tick - from;
}

// A wheel of Levels levels. A slot of level l lasts one block of 2^(Bits * l)
// ticks. With look-ahead each level but the top one has slots for two blocks of
// the level above: the one that runs and the next.
template <unsigned Bits, unsigned Levels, bool LookAhead> struct geometry {
    static_assert(Bits >= 1 && Levels >= 1 && Bits * Levels <= (wraps ? 30 : 48),
                  "TW_BITS and TW_LEVELS are at least 1, their product at most 48, or 30 with 32-bit ticks");

    static constexpr unsigned top = Levels - 1;
    static constexpr bool ahead = LookAhead && Levels > 1;
    static constexpr unsigned slots = (Levels + (ahead ? top : 0)) << Bits;

    // Ticks modulo one round of the wheel or more: all that a place in it depends on, in
    // one word of a small processor where that is enough.
    using digits = std::conditional_t<Bits * Levels <= 31, std::uint32_t, tick>;

    static constexpr unsigned shift(unsigned level) { return Bits * level; }
    static constexpr unsigned width(unsigned level) { return 1u << (ahead && level < top ? Bits + 1 : Bits); }
    static constexpr unsigned first_slot(unsigned level) { return level * width(0); }

    // The ticks of one slot of this level, and of one whole turn of the wheel.
    static constexpr digits span(unsigned level) { return digits{1} << shift(level); }
    static constexpr digits round = digits{1} << (Bits * Levels);

    static constexpr digits low(tick t) { return static_cast<digits>(t); }
    static constexpr unsigned index(unsigned level, digits t) {
        return static_cast<unsigned>(t >> shift(level)) & (width(level) - 1);
    }
    static constexpr unsigned slot(unsigned level, digits t) { return first_slot(level) + index(level, t); }

    // The ticks from t to the opening of the next slot of this level.
    static constexpr digits until_next(unsigned level, digits t) {
        return span(level) - (t & (span(level) - 1));
    }

    // The level of the highest digit in which two ticks differ, given their xor.
    template <unsigned Level = 0> static constexpr unsigned level_of(tick difference) {
        if constexpr (Level == top)
            return top;
        else
            return difference >> shift(Level + 1) == 0 ? Level : level_of<Level + 1>(difference);
    }
};

template <class Number> constexpr Number smaller(Number a, Number b) { return a < b ? a : b; }

// The tick in [first, last] with the most trailing zero bits: those of `last` go one after
// the other, the lowest first.
constexpr tick roundest(tick first, tick last) {
    tick best = last;
    for (tick t = last; t != 0 && last - (t & (t - 1)) <= last - first; best = t)
        t &= t - 1;
    return best;
}

}  // namespace tickwheel::core
