// Where a wheel of slots is in time, and which slot a tick has as seen from there. Arithmetic on ticks
// only: nothing here looks at a node or at what a slot holds.
#pragma once

#include "geometry.hpp"
#include "wheel_state.hpp"

#if !TW_TREE
namespace tickwheel::core {
namespace {

// A wheel lives between three ticks, origin <= cursor <= now.
//
// `now` is what the wheel was told; the cursor follows it from one busy slot to the next. Slots
// are not counted from the cursor but from `origin`: the slot of a tick is given by the highest
// digit in which the two differ. Most of the time origin and cursor are equal. They part while
// slots that the cursor has opened are being emptied, one node at a time: if the origin moved
// first, the nodes still waiting in those slots would stand where, counted from the new origin,
// nodes of a much later time belong. The origin therefore follows when they are empty.
struct time_position : wheel_state {
    tick cursor;
    tick origin;

    // How far t is ahead of the cursor; 0 if it is not in the future. Ticks that wrap are
    // compared as seen from `now`, because the cursor may be far behind it.
    TW_ONE_COPY tick distance_to(tick t) const {
        if constexpr (wraps)
            return t - cursor <= now - cursor + farthest ? t - cursor : 0;
        else
            return distance(cursor, t);
    }

    digits here() const { return shape::low(cursor); }

    // The slot of a tick, counted from another one. t is not before the cursor.
    //
    // With ticks that wrap, one bit of difference has two meanings: t may be in the next half of
    // all ticks, or in the half after that. The second kind waits in the slot `beyond`.
    TW_ONE_COPY static unsigned slot_from(tick from, tick t) {
        const tick difference = t ^ from;
        if (wraps && difference <= farthest && t - from > farthest)
            return shape::beyond;
        const unsigned level = shape::level_of(difference);
        return level == shape::far ? shape::far_slot(difference) : shape::slot(level, shape::low(t));
    }

    // The slot of a level that opens when the cursor reaches t.
    unsigned slot_opened_by(unsigned level, tick t) const {
        return level == shape::far ? shape::far_slot(t ^ origin) : shape::slot(level, shape::low(t));
    }

    // True if two ticks, given their xor, belong to the same stretch of time that a slot of this
    // level stands for. If not, a node found in that slot was postponed out of it.
    static bool is_same_stretch(tick difference, unsigned level, unsigned slot) {
        return difference >> (level == shape::far ? shape::far_shift(slot) : shape::shift(level)) == 0;
    }

    // The first tick of the next round, and the far slot that opens with it.
    tick next_round() const { return (cursor | (shape::round - 1)) + 1; }
    unsigned next_far() const { return shape::far_slot(next_round() ^ origin); }

    // How far ahead of the cursor a far slot opens. REQUIRES: origin == cursor.
    //
    // Far slot b opens at the next tick that has bit b set and no lower bit. If the cursor has
    // bit b itself, the next such tick lies beyond a carry out of that bit: the slot then holds
    // what far look-ahead has sorted for the round after the carry (W5). The highest bit of
    // ticks that wrap is the exception, as there is no bit that it could carry into.
    tick opening_of_far(unsigned slot) const {
        const tick bit = tick{1} << shape::far_shift(slot);
        const tick next = (cursor | (bit - 1)) + 1;
        const bool is_after_carry = (next & bit) == 0 && !(wraps && slot == shape::far_end - 1);
        return (is_after_carry ? next + bit : next) - cursor;
    }
};

}  // namespace
}  // namespace tickwheel::core
#endif
