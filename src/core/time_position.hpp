// Where a wheel is in time, and which slot a tick has as seen from there. Arithmetic on ticks
// only: nothing here knows a node or what a slot holds.
#pragma once

#include "tick.hpp"

namespace tickwheel::core {

// A wheel lives between three ticks, origin <= cursor <= now.
//
// `now` is what the wheel was told; the cursor follows it from one busy slot to the next. Slots
// are not counted from the cursor but from `origin`: the slot of a tick is given by the highest
// digit in which the two differ. Most of the time origin and cursor are equal. They part while
// slots that the cursor has opened are being emptied, one node at a time: if the origin moved
// first, the nodes still waiting in those slots would stand where, counted from the new origin,
// nodes of a much later time belong. The origin therefore follows when they are empty.
template <class G> struct time_position {
    using digits = typename G::digits;

    tick cursor;
    tick origin;
    tick now;

    // How far t is ahead of the cursor; 0 if it is not in the future. Ticks that wrap are
    // compared as seen from `now`, because the cursor may be far behind it.
    TW_ONE_COPY tick distance_to(tick t) const {
        if constexpr (wraps)
            return t - cursor <= now - cursor + farthest ? t - cursor : 0;
        else
            return distance(cursor, t);
    }

    digits here() const { return G::low(cursor); }

    // The slot that a node due at t is placed in. t is not before the cursor.
    //
    // With ticks that wrap, one bit of difference has two meanings: t may be in the next half of
    // all ticks, or in the half after that. The second kind waits in the slot `beyond`.
    unsigned slot_of(tick t) const {
        const tick difference = t ^ origin;
        if (wraps && difference <= farthest && t - origin > farthest)
            return G::beyond;
        const unsigned level = G::level_of(difference);
        return level == G::far ? G::far_slot(difference) : G::slot(level, G::low(t));
    }

    // The slot of a level that opens when the cursor reaches t.
    unsigned slot_opened_by(unsigned level, tick t) const {
        return level == G::far ? G::far_slot(t ^ origin) : G::slot(level, G::low(t));
    }

    // True if two ticks, given their xor, belong to the same stretch of time that a slot of this
    // level stands for. If not, a node found in that slot was postponed out of it.
    TW_ONE_COPY static bool is_same_stretch(tick difference, unsigned level, unsigned slot) {
        return difference >> (level == G::far ? G::far_shift(slot) : G::shift(level)) == 0;
    }

    // The first tick of the next round, and the far slot that opens with it.
    tick next_round() const { return (cursor | (G::round - 1)) + 1; }
    unsigned next_far() const { return G::far_slot(next_round() ^ origin); }

    // How far ahead of the cursor a far slot opens. REQUIRES: origin == cursor.
    //
    // Far slot b opens at the next tick that has bit b set and no lower bit. If the cursor has
    // bit b itself, the next such tick lies beyond a carry out of that bit: the slot then holds
    // what far look-ahead has sorted for the round after the carry (W5). The highest bit of
    // ticks that wrap is the exception, as there is no bit that it could carry into.
    tick opening_of_far(unsigned slot) const {
        const tick bit = tick{1} << G::far_shift(slot);
        const tick next = (cursor | (bit - 1)) + 1;
        const bool is_after_carry = (next & bit) == 0 && !(wraps && slot == G::far_end - 1);
        return (is_after_carry ? next + bit : next) - cursor;
    }
};

}  // namespace tickwheel::core
