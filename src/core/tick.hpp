// Ticks and how a geometry cuts them into digits: which level, which slot.
#pragma once

#include <tickwheel/tw.h>

#include <bit>

namespace tickwheel::core {

using tick = tw_tick;

inline constexpr tick never = ~tick{0};
inline constexpr tick last_tick = never - 1;

// A wheel of Levels levels. A slot of level l lasts one block of 2^(Bits * l)
// ticks. With look-ahead each level but the top one has slots for two blocks of
// the level above: the one that runs and the next.
template <unsigned Bits, unsigned Levels, bool LookAhead> struct geometry {
    static_assert(Bits >= 1 && Levels >= 1 && Bits * Levels <= 48,
                  "TW_BITS and TW_LEVELS are at least 1, their product at most 48");

    static constexpr unsigned top = Levels - 1;
    static constexpr bool ahead = LookAhead && Levels > 1;
    static constexpr unsigned slots = (Levels + (ahead ? top : 0)) << Bits;

    static constexpr unsigned shift(unsigned level) { return Bits * level; }
    static constexpr unsigned width(unsigned level) { return 1u << (ahead && level < top ? Bits + 1 : Bits); }
    static constexpr unsigned first_slot(unsigned level) { return level * width(0); }

    // The ticks of one slot of this level, and of one whole turn of the wheel.
    static constexpr tick span(unsigned level) { return tick{1} << shift(level); }
    static constexpr tick round = tick{1} << (Bits * Levels);

    static constexpr tick block(unsigned level, tick t) { return t >> shift(level); }
    static constexpr unsigned index(unsigned level, tick t) {
        return static_cast<unsigned>(block(level, t)) & (width(level) - 1);
    }
    static constexpr unsigned slot(unsigned level, tick t) { return first_slot(level) + index(level, t); }

    // The level of the highest digit in which two ticks differ, given their xor.
    static constexpr unsigned level_of(tick difference) {
        for (unsigned level = 0; level < top; ++level)
            if (block(level + 1, difference) == 0)
                return level;
        return top;
    }
};

template <class Number> constexpr Number smaller(Number a, Number b) { return a < b ? a : b; }

// The tick in [first, last] with the most trailing zero bits.
constexpr tick roundest(tick first, tick last) {
    if (first == 0)
        return 0;
    const unsigned varying = static_cast<unsigned>(std::bit_width((first - 1) ^ last)) - 1;
    return last >> varying << varying;
}

}  // namespace tickwheel::core
