// Places nodes and records in the slots of the wheel's levels, by their ticks.
#pragma once

#include "cancel_all_calls.hpp"
#include "slots.hpp"
#include "wheel_state.hpp"

namespace tickwheel::core {
namespace {

// A wheel has three ticks, origin <= cursor <= now.
//
// `now` is the tick of the latest advance; the cursor follows it from one busy slot to the next. Slots are
// counted from `origin`, not from the cursor: the highest digit in which a tick differs from the origin
// selects its slot. Most of the time origin and cursor are equal. They differ while the wheel empties the
// slots that the cursor has opened, one timer at a time: if the origin moved first, the timers still in those
// slots would stand where, counted from the new origin, much later timers belong. So the origin follows when
// the slots are empty.
//
// Invariants. slot_checker.hpp checks what a snapshot can show; the model test checks W3. A timer is a node
// or the entry of a record (record_logs.hpp).
//
//   W1  origin <= cursor <= limit <= now; limit == now, except within an advance
//   W2  A timer stands in the slot of the highest digit in which its tick differs from the origin.
//       It may stand in the slot of a lower digit if look-ahead or the opening of its slot moved it
//       down, and, if postponed, in a slot that opens earlier. So no slot opens after a timer in it
//       is due (P4).
//   W3  Timers of one tick that were not postponed go through the same slots, and only join a slot
//       at its end. So they stay in the order of arming (P3).
//   W4  open_level == 0: origin == cursor, and of all opened slots only the cursor's slot on level
//       0 may hold timers: they are due, except those that were postponed.
//       open_level > 0: the wheel is emptying the cursor's slots into the level below, from level
//       open_level down. Timers armed meanwhile join the first of these slots.
//   W5  Far look-ahead, which works on a round before it begins, moves timers to two places only:
//       the top level's slots for the next round, and far slots below the one that opens with it.
//       These far slots were empty: they belong to the lowest bits of the round's number, which are
//       all ones just before the carry.
//   W6  `count` is the number of nodes in slots, `leaving` and `shifting`: pending ones, and
//       `places` places of walks.
//   W7  No slot opens, and no look-ahead is due, before the tick `quiet_until` if that is in the
//       future.
template <class Shape> struct placement : wheel_state {
    using digits = typename Shape::digits;

    tick cursor;
    tick origin;
    tick quiet_until;            // see W7
    digits asked_for;            // the last result of next()
    digits lead;                 // see begin_share
    std::uint32_t ticks_passed;  // in this advance, at most most_shares
    unsigned open_level;         // see W4
    cancel_all_calls under_way;  // unused without threads
    tw_link leaving;             // nodes that a cancel_all has not handed out yet
#if TW_RUNTIME
    tw_link shifting;  // nodes to place `shift_by` ticks later
    tick shift_by;
    std::uint32_t times_emptied;  // how often all slots were emptied at once; see walk.hpp
    std::uint32_t places;         // of walks, among the nodes of `count`
#endif
    slots_of<Shape> slots;  // last because large: small parts reach low offsets with shorter instructions

    std::size_t nodes() const {
#if TW_RUNTIME
        return count - places;
#else
        return count;
#endif
    }

    // The number of nodes and entries, all of which may have to move.
    std::size_t population() const { return count + slots.records.entries(); }

    // The distance from the cursor to t; 0 if t is not in the future.
    TW_ONE_COPY tick distance_to(tick t) const { return distance(cursor, t); }

    // The earliest tick for a timer to stand at: that of an overdue one. A lane's cursor may lag behind the
    // others.
#if TW_RUNTIME
    tick earliest() const {
        return lanes == nullptr ? cursor : larger(cursor, __atomic_load_n(&lanes->cursor, __ATOMIC_RELAXED));
    }
#endif

    // The common cursor never goes back: a lane that lags behind may move step by step.
    void move_cursor(tick to) {
        cursor = to;
#if TW_RUNTIME
        if (lanes != nullptr && to > __atomic_load_n(&lanes->cursor, __ATOMIC_RELAXED))
            __atomic_store_n(&lanes->cursor, to, __ATOMIC_RELAXED);
#endif
    }

    // What the wheel does with the first node at the cursor.
    next_step look_at_node(const tw_node &first) const {
        return is_place(first) || distance_to(first.expiry) != 0 ? next_step::move : next_step::fire;
    }

    digits here() const { return Shape::low(cursor); }
    unsigned cursor_slot() const { return Shape::slot(0, here()); }

    // The due nodes, and postponed nodes that would have been due.
    TW_ONE_COPY const tw_link &cursor_ring() const { return slots.rings[cursor_slot()]; }

    // The slot for a timer to place at t. Also ends the quiet for it: at t if the slot is on level 0,
    // otherwise now, because look-ahead may have to begin. REQUIRES: t is not before the cursor
    TW_INLINE_ALWAYS unsigned slot_to_join(tick t) {
        const unsigned slot = Shape::slot_from(origin, t);
        if (slot >= Shape::width(0)) {
            end_quiet();
            count_placed();
        } else if (t < quiet_until) {
            quiet_until = t;
        }
        return slot;
    }
    void end_quiet() { quiet_until = 0; }  // 0 is never in the future

    // The tick at which a node belongs.
    tick tick_for(const tw_node &node) const {
#if TW_RUNTIME
        return larger(earliest(), node.expiry);
#else
        return cursor + distance_to(node.expiry);
#endif
    }

    // Puts a node into the slot of its tick, last among the nodes of that tick.
    void place(tw_node &node) { slots.put(node, slot_to_join(tick_for(node))); }
    TW_INLINE_IF_FAST void take(tw_node &node) { slots.take(node); }

    // The slot of a level that opens when the cursor reaches t.
    unsigned slot_opened_by(unsigned level, tick t) const {
        return level == Shape::far ? Shape::far_slot(t ^ origin) : Shape::slot(level, Shape::low(t));
    }

    // The first tick of the next round, and the far slot that opens with it.
    tick next_round() const { return (cursor | (Shape::round - 1)) + 1; }
    unsigned next_far() const { return Shape::far_slot(next_round() ^ origin); }

    // How far ahead of the cursor a far slot opens. REQUIRES: origin == cursor.
    //
    // Far slot b opens with the next round whose number has bit b set and no lower bit. If the number of the
    // cursor's round has bit b set, the next such round lies beyond a carry out of that bit: the slot then
    // holds timers that far look-ahead has sorted for the round after the carry (W5).
    tick opening_of_far(unsigned slot) const {
        const tick bit = tick{1} << Shape::far_shift(slot);
        const tick next = (cursor | (bit - 1)) + 1;
        const bool is_after_carry = (next & bit) == 0;
        return (is_after_carry ? next + bit : next) - cursor;
    }

    // The lead into a level: look-ahead may begin to empty a slot of the level this many ticks before the
    // slot opens. The lead is `near_lead` for every level but the far one, and 0 without look-ahead.
    //
    // A far slot may hold all timers of the wheel, and ticks may pass faster than look-ahead can move timers.
    // So the lead into a far slot is at least 16 ticks for each node and each entry, up to half a round.
    TW_ONE_COPY digits lead_into(unsigned level, digits near_lead) const {
        if (level != Shape::far || near_lead == 0)
            return near_lead;
        const auto half = static_cast<digits>(Shape::round / 2);
        return larger(near_lead, population() < half / 16 ? static_cast<digits>(population()) * 16 : half);
    }
};

}  // namespace
}  // namespace tickwheel::core
