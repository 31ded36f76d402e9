// Lowers timers through the levels as time advances, and shifts all of them to later ticks.
#pragma once

#include "record_placement.hpp"

namespace tickwheel::core {
namespace {

template <class Shape> class lowering : public record_placement<Shape> {
    using base = record_placement<Shape>;
    using digits = typename Shape::digits;

  protected:
    using base::count, base::cursor, base::distance_to, base::end_quiet, base::here, base::lead,
        base::lead_into, base::leaving, base::open_level, base::origin, base::slot_opened_by,
        base::slot_to_join, base::slots;
#if TW_RUNTIME
    using base::places, base::shift_by, base::shifting, base::times_emptied;
#endif

  public:
    using base::place, base::take;
#if TW_RUNTIME
    using base::logs;
#endif

    // A walk calls this before it takes off the node that it has reached. Comparing the links also fetches
    // the next node, which the walk needs next.
    static void check_in_walk(const tw_node &node) {
        stop_if_not_pending(node);
        stop_if_broken(node.link);
    }

    // --- shifting: time was set back, and all timers become due later -----------------------

#if TW_RUNTIME
    // Makes all pending timers due `by` ticks later, one timer per shift_one. The timers stay pending
    // throughout. Nodes that a cancel_all has not handed out yet go behind all other nodes of their ticks. A
    // timer that is armed or moved before the shift is over may overtake others of its tick; in a runtime the
    // call that arms or moves waits for the shift. REQUIRES: no shift is under way; if there are records, no
    // node is postponed: a shift would place such a node by its tick, and not by its order
    void begin_shift(tick by) {
        TW_ASSERT(!is_shifting());
        for (unsigned slot = 0; slot < Shape::slots; ++slot) {
            if (slots.records.exist())
                logs().shifting.append_all(logs().plain[slot]);
            append_all(shifting, slots.rings[slot]);
        }
        append_all(shifting, leaving);
        if (slots.records.exist()) {
            for (log &late : logs().late)
                logs().shifting.append_all(late);
            logs().queue.empty_into(logs().shifting);
            logs().sweeping.end();  // a shift looks at all entries
            logs().offset += by;
        }
        slots.busy = {};
        note_emptied();
        shift_by = by;
        end_quiet();
    }
#endif

    // Shifts one timer. Returns false if none was left.
    bool shift_one() {
#if TW_RUNTIME
        if (slots.records.exist() && !logs().shifting.is_empty())
            return shift_front_of_log();
        if (!is_empty(shifting)) {
            shift_node();
            return true;
        }
#endif
        return false;
    }

  protected:
    bool is_shifting() const {
#if TW_RUNTIME
        return !is_empty(shifting) || (slots.records.exist() && !logs().shifting.is_empty());
#else
        return false;
#endif
    }

    void take_in_walk(tw_node &node) {
        check_in_walk(node);
        take(node);
    }

    // Places a node as if it were armed now.
    void place_last(tw_node &node) {
        this->set_order(node);
        place(node);
    }

    // Lowers at most `most` timers of one slot by one level: from a slot that has opened, or, if none has,
    // from a slot that opens within the lead into its level. Returns the number of steps.
    //
    // Goes through the levels from the top down, so that a timer from a high level passes the slots below
    // ahead of timers armed later (W3). When the last opened slot is empty, the origin follows the cursor.
    [[gnu::noinline]] std::uint32_t lower(std::uint32_t most) {
        for (unsigned level = open_level != 0 ? open_level : Shape::far; level != 0; --level) {
            const digits until = open_level != 0 ? 0 : Shape::until_next(level, here());
            if (until > lead_into(level, lead))
                continue;
            if (const std::uint32_t moved = lower_from(level, until, most); moved != 0)
                return moved;
        }
        if (open_level == 0)
            return 0;
        origin = cursor;
        open_level = 0;
        return 1;
    }

    // --- places in rings -----------------------------------------------------------------------

    // Drops a place that has reached the front of its ring: the walk finds it gone, and continues at the
    // front.
    bool drop_place(tw_node &node) {
        if (unlikely(is_place(node))) {
            take_place(node);
            return true;
        }
        return false;
    }

    void take_place(tw_node &node) {
        stop_if_broken(node.link);
        take(node);
        node.state = TW_IDLE;
        --count;
#if TW_RUNTIME
        --places;
#endif
    }

    // Call when all rings were emptied at once, and places with them.
    void note_emptied() {
#if TW_RUNTIME
        ++times_emptied;
#endif
    }

  private:
    // Moves the first timers, at most `most`, of the slot that opens `until` ticks after the cursor to the
    // slots where they belong once it has opened. Returns the number of steps: 0 if the slot is empty.
    [[gnu::noinline]] std::uint32_t lower_from(unsigned level, digits until, std::uint32_t most) {
        const tick opening = cursor + until;
        const unsigned slot = slot_opened_by(level, opening);
        const tw_link &ring = slots.rings[slot];
#if TW_RUNTIME
        if (slots.records.exist() && !logs().plain[slot].is_empty())
            return lower_log(level, slot, opening, most);
#endif
        std::uint32_t moved = 0;
        back_walk ahead(ring);
        while (!is_empty(ring)) {
            tw_node &node = node_of(behind(ring));
            ahead.touch_next(node.link);
            if (!drop_place(node))
                lower_node(node, level, slot, opening);
            if (++moved == most || !has_room)
                break;
        }
        return moved;
    }

    // Moves one node of that slot. A node in the slot's stretch goes one level down. In a far slot, a node of
    // a later round goes to a lower far slot, that of the highest bit in which the two rounds differ (W5).
    // Any other node was postponed, and is placed as if armed now.
    void lower_node(tw_node &node, unsigned level, unsigned slot, tick opening) {
        TW_CHECKS(kept(&node));
        const tick t = this->tick_for(node);
        const unsigned differs_on = Shape::level_of(t ^ opening);
        take_in_walk(node);
        if (differs_on < level)
            slots.put(node, Shape::slot(level - 1, Shape::low(t)));
        else if (differs_on == Shape::far && Shape::far_slot(t ^ opening) < slot)
            slots.put(node, Shape::far_slot(t ^ opening));
        else
            place_last(node);
    }

#if TW_RUNTIME
    // --- logs ----------------------------------------------------------------------------------

    std::uint32_t lower_log(unsigned level, unsigned slot, tick opening, std::uint32_t most) {
        log &from = logs().plain[slot];
        std::uint32_t moved = 0;
        for (; moved != most && !from.is_empty(); ++moved) {
            const entry e = from.front();
            fetch_lines_behind(from);
            logs().pop(from);
            if (level != Shape::far)
                this->put_entry(e, Shape::slot(level - 1, static_cast<digits>(e.low)));
            else
                lower_from_far(e, slot, opening);
        }
        slots.clear_if_empty(slot);
        slots.pay_for_moves(moved);
        return moved;
    }

    // In a far slot only the record knows the whole tick of an entry. Drops a stale entry.
    void lower_from_far(entry e, unsigned slot, tick opening) {
        if (!e.is_current()) {
            --logs().entries;
            return;
        }
        const tick t = tick_of(*e.record);
        e.low = static_cast<std::uint32_t>(t);
        if (Shape::level_of(t ^ opening) != Shape::far)
            this->put_entry(e, Shape::slot(Shape::top, Shape::low(t)));
        else if (Shape::far_slot(t ^ opening) < slot)
            this->put_entry(e, Shape::far_slot(t ^ opening));
        else
            this->put_entry(e, slot_to_join(t));
    }

    // The tick at which the entry of an armed record belongs.
    tick tick_of(const timing &record) const { return larger(logs().due_of(record) - record.lag, cursor); }

    // --- shifting ------------------------------------------------------------------------------

    bool shift_front_of_log() {
        log &from = logs().shifting;
        const entry e = from.front();
        logs().pop(from);
        if (e.is_current())
            this->place_entry(e, tick_of(*e.record));
        else
            --logs().entries;
        slots.pay_for_moves(1);
        return true;
    }

    void shift_node() {
        tw_node &node = node_of(behind(shifting));
        if (drop_place(node))
            return;
        TW_CHECKS(kept(&node));
        take_in_walk(node);
        node.expiry = later(node.expiry, shift_by);
        place(node);
        TW_CHECKS(pending(&node));
    }
#endif
};

}  // namespace
}  // namespace tickwheel::core
