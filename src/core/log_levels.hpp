// The slots of a wheel of records: a log and a bit each, on as many levels as a tick has digits.
#pragma once

#include <bit>
#include <cstdint>

#include "bitmap.hpp"
#include "log.hpp"
#include "next_busy.hpp"

namespace tickwheel::core {

// Read a tick as a number with digits of Bits bits; the slots of level l stand for the values of digit l.
// The levels cover all of a tick, so there is no round, and nothing is too far away: a level of empty
// logs costs next to nothing.
//
// A level below the top has room for two blocks of the level above: the one that runs, and the next one, into
// which look-ahead lowers entries before it opens.
template <unsigned Bits> struct log_shape {
    static constexpr unsigned levels = (8 * sizeof(tick) + Bits - 1) / Bits;
    static constexpr unsigned top = levels - 1;
    static_assert(Bits >= 1 && levels >= 2);

    static constexpr unsigned shift(unsigned level) { return Bits * level; }
    static constexpr tick span(unsigned level) { return tick{1} << shift(level); }
    static constexpr unsigned width(unsigned level) { return 1u << (level < top ? Bits + 1 : Bits); }
    static constexpr unsigned first_slot(unsigned level) { return level * width(0); }
    static constexpr unsigned slots = first_slot(top) + width(top);

    static constexpr unsigned index(unsigned level, tick t) {
        return static_cast<unsigned>(t >> shift(level)) & (width(level) - 1);
    }
    static constexpr unsigned slot(unsigned level, tick t) { return first_slot(level) + index(level, t); }

    // The ticks from t to the opening of the next slot of this level.
    static constexpr tick until_next(unsigned level, tick t) { return span(level) - (t & (span(level) - 1)); }

    // The level of the highest digit in which two ticks differ, given their xor.
    static constexpr unsigned level_of(tick difference) {
        return (static_cast<unsigned>(std::bit_width(difference | 1)) - 1) / Bits;
    }
};

// Invariants
//   L1  A slot has its bit set if and only if its log holds entries, or, on level 0, its late log. The bit of
//       the slot at the cursor is set as long as entries of it are being sorted, and may be set without any.
template <class Shape> struct log_levels {
    bitmap<Shape::slots> busy;
    log slots[Shape::slots];
    log late[Shape::width(0)];  // of the slots of level 0: entries that are not in the order of arming

    // See next_busy.hpp.
    unsigned next_busy(unsigned level, tick t, unsigned after, unsigned last) const {
        return core::next_busy<Shape>(busy, level, t, after, last);
    }
};

// The distance from t to the next busy tick of its block on level 0, with first <= distance <= last and 0 <
// first; 0 if there is none.
template <class Shape, class Levels, class Digits>
inline unsigned next_in_block(const Levels &levels, Digits t, tick first, tick last) {
    const Digits block = Shape::until_next(1, t);
    if (first >= block)
        return 0;
    const tick end = smaller<tick>(last, block - 1);
    return levels.next_busy(0, t, static_cast<unsigned>(first) - 1, static_cast<unsigned>(end));
}

}  // namespace tickwheel::core
