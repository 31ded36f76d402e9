// Divides a tick into digits that select a level and a slot.
#pragma once

#include <type_traits>

#include "tick.hpp"

namespace tickwheel::core {

// A geometry: Levels levels of 2^Bits slots, and a far level beyond them.
//
// Read a tick as a number with digits of Bits bits. A slot of level l holds one value of digit l, so it lasts
// a block of 2^(Bits * l) ticks.
//
// With look-ahead a level below the top needs room for two blocks of the level above: the running block, and
// the next one, into which the wheel lowers nodes before it opens. So the level has twice the slots and uses
// one more bit of the tick. The top level has no more slots than without look-ahead; they serve two rounds,
// so its round is half as long.
//
// Beyond the running round, slots double in length, one for each bit of the round's number: far slot b lasts
// 2^b rounds, and holds the ticks whose round's number differs from the origin's in bit b, and in no higher
// bit. So no distance is too far, at the price of one slot per bit.
//
// The library has one shape (library_shape). Tests use shapes with few slots, where a few ticks reach every
// state.
template <unsigned Bits, unsigned Levels, bool LookAhead> struct geometry {
    static_assert(!wraps, "ticks of 32 bits are for the tree");
    static_assert(Bits >= 1 && Levels >= 1 && Bits * Levels <= 48);

    static constexpr unsigned top = Levels - 1;
    static constexpr unsigned far = Levels;
    static constexpr bool ahead = LookAhead && Levels > 1;
    static constexpr unsigned round_bits = Bits * Levels - (ahead ? 1 : 0);
    static constexpr unsigned near_slots = (Levels + (ahead ? top : 0)) << Bits;
    static constexpr unsigned slots = near_slots + 8 * sizeof(tick) - round_bits;

    // The low digits of a tick, at least two rounds: enough to find a slot of the levels. Fits one machine
    // word on a small processor if possible.
    using digits = std::conditional_t<Bits * Levels <= 31, std::uint32_t, tick>;

    static constexpr unsigned shift(unsigned level) { return level == far ? round_bits : Bits * level; }
    static constexpr unsigned width(unsigned level) { return 1u << (ahead && level < top ? Bits + 1 : Bits); }
    static constexpr unsigned first_slot(unsigned level) { return level * width(0); }

    // The level of a slot.
    static constexpr unsigned level_of_slot(unsigned slot) {
        return slot < near_slots ? slot / width(0) : far;
    }

    // The length in ticks of a slot of this level, and of a round.
    static constexpr digits span(unsigned level) { return digits{1} << shift(level); }
    static constexpr digits round = digits{1} << round_bits;

    static constexpr digits low(tick t) { return static_cast<digits>(t); }
    static constexpr unsigned index(unsigned level, digits t) {
        return static_cast<unsigned>(t >> shift(level)) & (width(level) - 1);
    }
    static constexpr unsigned slot(unsigned level, digits t) { return first_slot(level) + index(level, t); }

    // The ticks from t to the opening of the next slot of this level; for far, to the next round.
    static constexpr digits until_next(unsigned level, digits t) {
        return span(level) - (t & (span(level) - 1));
    }

    // True if a difference is less than the length of a slot of this level. Where a tick is wider than a
    // register, shifting it takes less code than comparing it.
    template <class Tick> static constexpr bool is_below(unsigned level, Tick difference) {
        return has_room ? difference < span(level) : difference >> shift(level) == 0;
    }

    // The level of the highest digit in which two ticks differ, given their xor.
    TW_ONE_COPY static constexpr unsigned level_of(tick difference) {
        if (!is_below(far, difference))
            return far;
        unsigned level = 0;
        while (level != top && !is_below(level + 1, low(difference)))
            ++level;
        return level;
    }

    // The far slot of the highest bit in which two ticks of different rounds differ.
    TW_ONE_COPY static constexpr unsigned far_slot(tick difference) {
        return near_slots + 63 - static_cast<unsigned>(__builtin_clzll(difference)) - round_bits;
    }
    static constexpr unsigned far_shift(unsigned slot) { return slot - near_slots + round_bits; }

    // The slot of a tick, counted from `from`. REQUIRES: `from` is not after t
    TW_ONE_COPY static constexpr unsigned slot_from(tick from, tick t) {
        const tick difference = t ^ from;
        const unsigned level = level_of(difference);
        return level == far ? far_slot(difference) : slot(level, low(t));
    }

    // True if two ticks, given their xor, lie in the same stretch of this slot of this level. A node whose
    // tick lies in another stretch than the next opening of its slot was postponed.
    static constexpr bool is_same_stretch(tick difference, unsigned level, unsigned slot) {
        return difference >> (level == far ? far_shift(slot) : shift(level)) == 0;
    }
};

using library_shape = geometry<8, 3, true>;

}  // namespace tickwheel::core
