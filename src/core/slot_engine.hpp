// The engine of levels and slots: where nodes stand, how they come down as time advances, what is next.
//
// Every member moves at most one node, or as many as it is told, so that callers can release their lock
// between two steps (P8).
#pragma once

#include "bounds.hpp"
#include "errors.hpp"
#include "placement.hpp"
#include "search.hpp"

namespace tickwheel::core {
namespace {

struct test_access;  // defined by unit tests, which break invariants to see them reported

template <class Shape> class slot_checker;
template <class Shape> class walk;

template <class Shape> class slot_engine : public placement<Shape> {
    using base = placement<Shape>;
    using digits = typename Shape::digits;
    using base::asked_for, base::cursor, base::distance_to, base::here, base::lead, base::lead_into,
        base::leaving, base::next_far, base::open_level, base::origin, base::quiet_until,
        base::slot_opened_by, base::slots, base::ticks_passed, base::under_way;
#if TW_RUNTIME
    using base::marked, base::shift_by, base::shifting, base::times_emptied;
#endif

  public:
    using shape = Shape;
    using base::count, base::markers, base::now, base::running;

    std::size_t nodes() const { return count - markers(); }

    // To be called on memory that is all zero.
    void init() {
        make_empty(leaving);
        slots.init();
#if TW_RUNTIME
        make_empty(shifting);
#endif
    }

    // Takes everything to this tick, with nothing to do on the way.
    void go_to(tick t) { now = cursor = origin = t; }

    // --- placing -----------------------------------------------------------------------------

    // Puts a node into the slot of its expiry, last among those of its tick. The quiet ends with
    // it: at its tick if that is on level 0, and now if look-ahead may have to begin for it.
    void place(tw_node &node) {
        const tick t = cursor + distance_to(node.expiry);
        const unsigned slot = Shape::slot_from(origin, t);
        if (slot >= Shape::width(0))
            end_quiet();
        else if (t < quiet_until)
            quiet_until = t;
        slots.put(node, slot);
    }

    void take(tw_node &node) { slots.take(node); }

    // To be called before a walk takes off the node that it has come to. To compare the links has the next
    // node come from memory, where the walk goes next.
    static void check_in_walk(const tw_node &node) {
        stop_if_not_pending(node);
        stop_if_broken(node.link);
    }

    // --- clearing: all nodes are taken off their slots at once, and leave one by one --------

    void begin_clear(clearing &own) {
        if (has_threads)
            under_way.add(own);
        slots.empty_into(leaving);
        note_emptied();
    }

    // The next node that leaves. Null if there is none left.
    tw_node *next_leaving() {
        while (!is_empty(leaving)) {
            tw_node &node = node_of(behind(leaving));
            if (!drop_marker(node))
                return &node;
        }
        return nullptr;
    }

    void end_clear(const clearing &own) {
        if (has_threads)
            under_way.remove(own);
    }

    const clearing *first_clearing() const { return under_way.first(); }

    // Forgets the clears of all threads but this one, which is the only one in the child of a fork. If none
    // is left, the nodes that have not left go back to their slots, ahead of what was armed since (P3).
    void abandon_clears(std::uintptr_t thread) {
        under_way.keep(thread);
        if (under_way.first() != nullptr || is_empty(leaving))
            return;
        slots.empty_into(leaving);
        note_emptied();
        while (!is_empty(leaving)) {
            tw_node &node = node_of(behind(leaving));
            take_in_walk(node);
            place(node);
        }
    }

#if TW_RUNTIME
    // --- walking: see walk.hpp --------------------------------------------------------

    // Takes the markers of all walks out.
    void drop_markers() {
        if (marked == 0)
            return;
        note_emptied();
        for (unsigned slot = 0; slot < Shape::slots; ++slot)
            drop_markers_in(slots.rings[slot]);
        drop_markers_in(leaving);
        drop_markers_in(shifting);
    }
#endif

    // --- shifting: time was set back, and everything becomes due later ----------------------

#if TW_RUNTIME
    // Makes everything that is pending due `by` ticks later, one node with each shift_one. The nodes are
    // pending all the while. Those that a clear has not handed out yet were armed before all others, and
    // so come first.
    // REQUIRES: no shift is under way
    void begin_shift(tick by) {
        TW_ASSERT(!is_shifting());
        append_all(shifting, leaving);
        slots.empty_into(shifting);
        note_emptied();
        shift_by = by;
        end_quiet();
    }
#endif

    // Shifts one node. False if there was none left.
    bool shift_one() {
#if TW_RUNTIME
        if (!is_empty(shifting)) {
            tw_node &node = node_of(behind(shifting));
            if (drop_marker(node))
                return true;
            TW_CHECKS(kept(&node));
            take_in_walk(node);
            node.expiry = later(node.expiry, shift_by);
            place(node);
            TW_CHECKS(pending(&node));
            return true;
        }
#endif
        return false;
    }

    // --- advancing -------------------------------------------------------------------

    // True if the wheel can be told of this tick. Time never runs backwards.
    bool can_go_to(tick t) const { return t >= now; }

    // The common case, a tick with nothing to do (W7): lets the time pass and returns true.
    // While the wheel is being advanced it is never quiet.
    TW_INLINE_IF_SMALL bool pass_quietly(tick t) {
        if (t >= quiet_until)
            return false;
        go_to(t);
        return true;
    }

    // Ends the quiet, and takes the present to t. REQUIRES: can_go_to(t)
    void begin_advance(tick t) {
        TW_ASSERT(can_go_to(t));
        ticks_passed = static_cast<std::uint32_t>(smaller(t - now, most_shares));
        now = quiet_until = t;
    }

    // Says what is left to do until `now`. What a shift or an opened slot has started comes first: only
    // when those are finished do the slots hold what they should (W2, W4). An empty wheel skips all slots
    // on the way; but not while a callback runs, because what that arms at its own tick is due before what it
    // arms later than that.
    TW_ONE_COPY next_step look() {
        if (count == 0 && running == nullptr) {
            cursor = origin = now;
            open_level = 0;
            return next_step::none;
        }
        if (is_shifting() || open_level != 0)
            return next_step::move;
        if (!is_empty(cursor_slot())) {
            const tw_node &first = due_node();
            return is_marker(first) || distance_to(first.expiry) != 0 ? next_step::move : next_step::fire;
        }
        return cursor == now ? next_step::none : next_step::move;
    }

    // Goes on by one slot or some moves, at most `most` steps. Returns their number. REQUIRES: look() said so
    std::uint32_t move_some(std::uint32_t most) {
        if (shift_one())
            return 1;
        if (open_level != 0)
            return lower(most);
        if (is_empty(cursor_slot()))
            open_next(next_stop());
        else
            leave_cursor(due_node());
        return 1;
    }

    // The node that is due. REQUIRES: look() said so
    tw_node &due_node() { return node_of(behind(cursor_slot())); }

    // --- look-ahead ----------------------------------------------------------------------------

    // How many nodes may be lowered ahead of time once an advance has caught up. Sets the lead, which is how
    // many ticks before a block opens look-ahead begins: it grows with the number of ticks that have
    // passed, so that a caller who comes every tenth tick begins ten times as early. A caller who comes
    // again at the same tick, and not for nothing, has time to spare: one share, and the lead is a whole
    // round.
    std::uint32_t begin_share() {
        if (!Shape::ahead)
            return 1;  // to find that there is nothing to do
        lead = ticks_passed == 0 ? Shape::round : lead_of_a_tick() * ticks_passed;
        return ahead_per_tick *
               static_cast<std::uint32_t>(shares_of<digits>(ticks_passed, Shape::low(now) - asked_for));
    }

    // For a caller who has nothing else to do: as much as there is.
    void begin_idle() { lead = Shape::round; }

    // Lowers nodes of slots that open soon by one level, at most `most` of one slot: of near ones within
    // the lead, and for far ones see lead_into. Returns the number of steps; 0 if there was nothing to do.
    std::uint32_t look_ahead(std::uint32_t most) { return Shape::ahead && open_level == 0 ? lower(most) : 0; }

    // When all is done, look-ahead included: finds how long the wheel is quiet (W7). Busy slots of level 0
    // end the quiet; so do the blocks that open next if they hold anything, early enough for look-ahead to go
    // on. All was done before look-ahead; this is asked again, because look-ahead may have released the lock
    // and others armed what is due at once.
    TW_ONE_COPY void end_share() {
        if (look() != next_step::none)
            return;
        const digits at = here();
        digits quiet = Shape::until_next(1, at);
        if (const unsigned busy = slots.next_busy(0, at, 0, static_cast<unsigned>(quiet - 1)); busy != 0)
            quiet = busy;
        for (unsigned level = Shape::ahead ? Shape::far : 0; level != 0; --level) {
            const digits until = Shape::until_next(level, at);
            if (!is_empty(slots.rings[slot_opened_by(level, cursor + until)]))
                quiet = smaller(quiet, until - smaller(until, lead_into(level, lead)));
        }
        quiet_until = cursor + quiet;
    }

    // --- what is next ----------------------------------------------------------------

    // The earliest tick that needs attention; `now` if there is something to do at once, never
    // if nothing is pending.
    tick next() {
        tick distance = 0;
        if (look() == next_step::none)
            distance = next_attention();
        if (nodes() == 0 || distance == never)
            return never;
        const tick t = now + distance;
        asked_for = Shape::low(t);
        return t;
    }

    // Finds the tick of the earliest fire; see tw_first_due.
    int first_due(std::uint32_t looks, tick *at) const {
        if (nodes() == 0)
            return -enoent;
        *at = now;
        if (is_shifting() || open_level != 0 || cursor != now)
            return 0;
        search<Shape> fires(*this, looks, 0);
        fires.look_into(Shape::slot(0, here()), 0);
        *at += fires.run();
        return fires.is_exact() ? 1 : 0;
    }

    // The tick in [first, last] to arm a node for that may fire at any of them: one in the running block at
    // which nodes fire anyway, unless slots are being emptied; else the one that comes down through the
    // fewest levels. REQUIRES: first is in the future
    tick cheapest(tick first, tick last) const {
        if (open_level == 0 && Shape::is_below(1, first ^ cursor)) {
            const unsigned begin = Shape::slot(0, Shape::low(first));
            const unsigned end = (begin | (Shape::span(1) - 1)) + 1;
            const unsigned found = slots.busy.find(begin, end);
            const tick busy = first + (found - begin);
            if (found != end && busy <= last)
                return busy;
        }
        return roundest(first, last);
    }

  private:
    friend class slot_checker<Shape>;
    friend class walk<Shape>;
    friend struct test_access;

    void take_in_walk(tw_node &node) {
        check_in_walk(node);
        take(node);
    }

    // Nodes that next() looks at to tell a tick exactly; see search.
    static constexpr unsigned nodes_worth_a_look = 32;

    // Lowers nodes of one slot by one level, at most `most`: from the slots that have opened; or, when these
    // are empty, from those that open within their lead. Returns the number of steps.
    //
    // The levels are taken from the top down, so that a node from a high level goes through the
    // slots below ahead of nodes armed later (W3). When the last opened slot is empty the origin
    // follows the cursor.
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

    // As late as possible, because most timers are cancelled before they would have to move; but early enough
    // that all nodes there are can come down at a quarter of each tick's share.
    digits lead_of_a_tick() const { return static_cast<digits>(count / (ahead_per_tick / 4)) + 1; }

    void end_quiet() { quiet_until = 0; }  // which is never in the future

    // The nodes that are due, and postponed ones that would have been.
    const tw_link &cursor_slot() const { return slots.rings[Shape::slot(0, here())]; }

    bool is_shifting() const {
#if TW_RUNTIME
        return !is_empty(shifting);
#else
        return false;
#endif
    }

    // A marker goes no further than the front of its ring: the walk finds it gone, and goes on there.
    bool drop_marker(tw_node &node) {
        if (unlikely(is_marker(node))) {
            take_marker(node);
            return true;
        }
        return false;
    }

    void take_marker(tw_node &node) {
        take_in_walk(node);
        node.state = TW_IDLE;
        --count;
#if TW_RUNTIME
        --marked;
#endif
        TW_CHECKS(idle(&node));
    }

#if TW_RUNTIME
    void drop_markers_in(const tw_link &ring) {
        for (tw_link *link = &behind(ring); link != &ring;) {
            tw_node &node = node_of(*link);
            link = &behind(*link);
            drop_marker(node);
        }
    }
#endif

    // All slots were emptied at once, and markers with them.
    void note_emptied() {
#if TW_RUNTIME
        ++times_emptied;
#endif
    }

    // A node of the cursor's slot that is not due: it was postponed, and is placed anew.
    void leave_cursor(tw_node &node) {
        if (drop_marker(node))
            return;
        take_in_walk(node);
        place(node);
    }

    // Takes the first nodes, at most `most`, of the slot that opens `until` ticks after the cursor to the
    // slots that they belong to once that has opened. Returns their number: 0 if the slot is empty.
    [[gnu::noinline]] std::uint32_t lower_from(unsigned level, digits until, std::uint32_t most) {
        const tick opening = cursor + until;
        const unsigned slot = slot_opened_by(level, opening);
        const tw_link &ring = slots.rings[slot];
        back_walk ahead(ring);
        std::uint32_t moved = 0;
        while (!is_empty(ring)) {
            tw_node &node = node_of(behind(ring));
            ahead.touch_next(node.link);
            if (!drop_marker(node))
                lower_node(node, level, slot, opening);
            if (++moved == most || !has_room)
                break;
        }
        return moved;
    }

    // Takes one of these nodes there. Three cases. A node goes one level down if it belongs to the slot's
    // stretch. From a far slot, one of a later round goes to a lower far slot, that of the highest bit in
    // which the two rounds differ (W5). Any other node was postponed, and is placed as if armed now.
    void lower_node(tw_node &node, unsigned level, unsigned slot, tick opening) {
        TW_CHECKS(kept(&node));
        const tick t = cursor + distance_to(node.expiry);
        const unsigned differs_on = Shape::level_of(t ^ opening);
        take_in_walk(node);
        if (differs_on < level)
            slots.put(node, Shape::slot(level - 1, Shape::low(t)));
        else if (differs_on == Shape::far && Shape::far_slot(t ^ opening) < slot)
            slots.put(node, Shape::far_slot(t ^ opening));
        else
            place(node);
    }

    // The distance to the next tick that asks for attention; never if there is none.
    tick next_attention() const {
        search<Shape> attention(*this, nodes_worth_a_look, Shape::ahead ? lead_of_a_tick() : 0);
        return attention.run();
    }

    // The distance to the next tick to go to, at most that to `now`. Where there is room, a few nodes are
    // looked at, to go straight to the tick that they are due at.
    TW_ONE_COPY tick next_stop() const {
        search<Shape> stop(*this, has_room ? nodes_worth_a_look : 0, 0, now - cursor);
        stop.for_opening();
        return stop.run();
    }

    // Moves the cursor by this distance to the next busy slot or to `now`, and opens the slots there.
    //
    // With look-ahead it must not jump over a round whose far nodes are still to be sorted. Those
    // that look-ahead has sorted stand where the number of the coming round has them, the others
    // where that of the present round has them; only at the border between the two rounds do both
    // agree. So if there is anything to sort the cursor stops at the border, and if not the origin
    // crosses it at once.
    TW_ONE_COPY void open_next(tick distance) {
        if (Shape::ahead) {
            const digits border = Shape::until_next(Shape::far, here());
            const bool is_round_between = distance >= tick{border} + Shape::round;
            if (is_round_between && is_empty(slots.rings[next_far()]))
                origin = cursor + border;
            else if (is_round_between)
                distance = border;
        }
        cursor += distance;
        open_level = Shape::level_of(cursor ^ origin);
        if (open_level == 0)
            origin = cursor;
    }
};

}  // namespace
}  // namespace tickwheel::core
