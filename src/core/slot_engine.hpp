// The engine of levels and slots: places timers, lowers them as time advances, and finds the next one.
//
// A step moves at most one timer, or as many as its argument permits, so that callers can release their lock
// between two steps (P8). Exceptions: a cancel_all and a shift first take one step for each slot, and a
// forked child takes all of its steps at once.
#pragma once

#include "bounds.hpp"
#include "errors.hpp"
#include "lowering.hpp"
#include "search.hpp"

namespace tickwheel::core {
namespace {

struct test_access;  // defined by unit tests, which break invariants to see them reported

template <class Shape> class slot_checker;
template <class Shape> class walk;

template <class Shape> class slot_engine : public lowering<Shape> {
    using base = lowering<Shape>;
    using digits = typename Shape::digits;
    using base::asked_for, base::cursor, base::cursor_ring, base::cursor_slot, base::distance_to,
        base::drop_place, base::here, base::is_shifting, base::lead, base::lead_into, base::leaving,
        base::lower, base::next_far, base::note_emptied, base::open_level, base::origin, base::population,
        base::quiet_until, base::slot_opened_by, base::slots, base::place_last, base::take_in_walk,
        base::ticks_passed, base::under_way;

  public:
    using shape = Shape;
    using base::count, base::nodes, base::now, base::place, base::shift_one, base::take;

    // REQUIRES: zeroed memory
    void init() {
        make_empty(leaving);
        slots.init();
#if TW_RUNTIME
        make_empty(this->shifting);
#endif
    }

    // Moves all three ticks to t. REQUIRES: there is nothing to do up to t
    void go_to(tick t) {
        now = cursor = origin = t;
#if TW_RUNTIME
        this->limit = t;
#endif
    }

#if TW_RUNTIME
    // Moves to an earlier tick. A cursor that lags behind that tick stays, so that timers between the two
    // fire in the order of their ticks (P3). REQUIRES: all slots are empty
    void go_back_to(tick t) {
        now = this->limit = t;
        cursor = origin = smaller(cursor, t);
        open_level = 0;
    }
#endif

    std::size_t timers() const { return nodes() + slots.records.armed(); }

    // --- cancel_all: all nodes leave their slots at once, and the wheel one by one ---------

    void begin_cancel_all(cancel_all_call &own) {
        if (has_threads)
            under_way.add(own);
        slots.empty_rings_into(leaving);
        note_emptied();
    }

    // The next node to leave, or null. REQUIRES: drop_leaving() has just returned false
    tw_node *next_leaving() { return is_empty(leaving) ? nullptr : &node_of(behind(leaving)); }

#if TW_RUNTIME
    // Drops a place that would leave next. Returns false if a node is next, or nothing is left.
    bool drop_leaving() { return !is_empty(leaving) && drop_place(node_of(behind(leaving))); }
#endif

    void end_cancel_all(const cancel_all_call &own) {
        if (has_threads)
            under_way.remove(own);
    }

    const cancel_all_call *first_cancel_all() const { return under_way.first(); }

#if TW_RUNTIME
    // Forgets the calls of all threads but this one, the only thread in a forked child. If no call remains,
    // the nodes that have not left go back to their slots, behind all others of their ticks (P3). REQUIRES:
    // there are no places of walks (drop_places)
    void abandon_cancel_alls(std::uintptr_t thread) {
        under_way.keep(thread);
        if (under_way.first() != nullptr)
            return;
        while (!is_empty(leaving)) {
            tw_node &node = *next_leaving();
            take_in_walk(node);
            place_last(node);
        }
    }

    // --- walking: see walk.hpp --------------------------------------------------------

    // Takes out the places of all walks.
    void drop_places() {
        if (this->places == 0)
            return;
        ++this->times_emptied;
        for (unsigned slot = 0; slot < Shape::slots; ++slot)
            drop_places_in(slots.rings[slot]);
        drop_places_in(leaving);
        drop_places_in(this->shifting);
    }
#endif

    // --- advancing -------------------------------------------------------------------

    // True if the wheel can advance to this tick. Time never runs backwards.
    bool can_go_to(tick t) const { return t >= now; }

    // The common case, a tick with nothing to do (W7): moves to t and returns true. The wheel is never quiet
    // during an advance.
    TW_INLINE_IF_SMALL bool pass_quietly(tick t) {
        if (!is_quiet_at(t))
            return false;
        go_to(t);
        return true;
    }

    bool is_quiet_at(tick t) const { return t < quiet_until; }

    // Ends the quiet, and sets `now` to t. REQUIRES: can_go_to(t)
    void begin_advance(tick t) {
        TW_ASSERT(can_go_to(t));
        ticks_passed = static_cast<std::uint32_t>(smaller(t - now, most_shares));
        now = quiet_until = t;
#if TW_RUNTIME
        this->limit = t;
#endif
    }

#if TW_RUNTIME
    // The same for one of several parts of an advance: stops at a tick, or at the cursor if that is later.
    void begin_part(tick t, tick stop) {
        if (t != now)
            begin_advance(t);
        quiet_until = t;
        this->limit = smaller(t, larger(stop, cursor));
    }

    // A place before those of all timers left.
    tw_core_place place_of_cursor() const { return {cursor, 0}; }

    // The place in the order of fires of the timer that look() has just found.
    tw_core_place place_of_next(bool is_record) {
        return {cursor, is_record ? this->logs().due_log->front().record->order : due_node().order};
    }

    // The same when look() has found nothing up to `limit`. If a slot opens by `now`, its tick with order 0:
    // no timer comes before that; else `never`.
    tw_core_place place_of_opening() const {
        const tick distance = next_stop_within(now - cursor + 1);
        return {distance > now - cursor ? never : cursor + distance, 0};
    }
#endif

    // Returns the next step towards `now`. Shifts and opened slots come first: the slots satisfy W2 and W4
    // only when these are finished. An empty wheel skips all slots on the way, but not while a callback runs,
    // because a timer that the callback arms for its own tick must fire before a timer for a later tick.
    TW_ONE_COPY next_step look() {
        if (count == 0 && !slots.records.are_busy() && !this->is_in_callback() && may_skip_all()) {
            this->move_cursor(this->end_of_advance());
            origin = cursor;
            open_level = 0;
            return next_step::none;
        }
        if (is_shifting() || open_level != 0)
            return next_step::move;
        if (!is_cursor_busy())
            return cursor == this->end_of_advance() ? next_step::none : next_step::move;
#if TW_RUNTIME
        if (slots.records.exist())
            return this->look_at_cursor();
#endif
        return this->look_at_node(due_node());
    }

    // Goes to the next slot or moves some timers, in at most `most` steps. Returns their number.
    // REQUIRES: look() has just returned next_step::move
    TW_INLINE_IF_SMALL std::uint32_t move_some(std::uint32_t most) {
        if (shift_one())
            return 1;
        if (open_level != 0)
            return lower(most);
        if (!is_cursor_busy())
            open_next(next_stop());
        else if (const std::uint32_t moved = this->clean_cursor(most); moved != 0)
            return moved;
        else
            place_again(due_node());
        return 1;
    }

    // The due node. REQUIRES: look() has just found it
    tw_node &due_node() { return node_of(behind(cursor_ring())); }

    // --- look-ahead ----------------------------------------------------------------------------

    // Returns how many timers look-ahead may lower after an advance has caught up. Also sets the lead: how
    // many ticks before a block opens look-ahead begins. The lead grows with the number of ticks that have
    // passed, so a caller who advances every tenth tick begins ten times as early. A caller who advances to
    // the same tick again while the wheel is not quiet has time to spare, and gets one share and a lead of a
    // whole round.
    std::uint32_t begin_share() {
        if (!Shape::ahead)
            return 1;  // one step, which finds nothing to do
        lead = ticks_passed == 0 ? Shape::round : lead_of_a_tick() * ticks_passed;
        return ahead_per_tick *
               static_cast<std::uint32_t>(shares_of<digits>(ticks_passed, Shape::low(now) - asked_for));
    }

    // For an idle caller: sets the longest lead, a whole round.
    void begin_idle() { lead = Shape::round; }

    // Lowers at most `most` timers by one level, from one slot that opens within the lead into its level (see
    // lead_into). Returns the number of steps; 0 if there was nothing to do.
    std::uint32_t look_ahead(std::uint32_t most) { return Shape::ahead && open_level == 0 ? lower(most) : 0; }

    // Call when all work is done, look-ahead included: computes how long the wheel is quiet (W7). The quiet
    // ends with the running block, or before that: at the next busy slot of level 0, or when look-ahead must
    // begin to empty the slot that opens next on a higher level. Calls look() again, because look-ahead may
    // have released the lock, and other threads may have armed due timers.
    TW_ONE_COPY void end_share() {
        if (look() != next_step::none)
            return;
        const digits at = here();
        digits quiet = Shape::until_next(1, at);
        if (const unsigned busy = slots.next_busy(0, at, 0, static_cast<unsigned>(quiet - 1)); busy != 0)
            quiet = busy;
        for (unsigned level = Shape::ahead ? Shape::far : 0; level != 0; --level) {
            const digits until = Shape::until_next(level, at);
            if (slots.is_busy(slot_opened_by(level, cursor + until)))
                quiet = smaller(quiet, until - smaller(until, lead_into(level, lead)));
        }
        quiet_until = cursor + quiet;
    }

    // --- the next tick ---------------------------------------------------------------

    // The earliest tick that needs attention; `now` if there is work to do at once, `never` if nothing is
    // pending.
    tick next() {
        tick distance = 0;
        if (look() == next_step::none)
            distance = next_attention();
        if (timers() == 0 || distance == never)
            return never;
        const tick t = now + distance;
        asked_for = Shape::low(t);
        return t;
    }

#if TW_RUNTIME
    // A node that fires first. Null if nothing is pending, if the search for it needs more looks, or if an
    // advance has left opened slots or a shift.
    tw_node *first(std::uint32_t looks) const {
        if (is_shifting() || open_level != 0)
            return nullptr;
        search<Shape> fires(*this, looks, 0);
        fires.look_into(Shape::slot(0, here()), 0);
        fires.run();
        return fires.first();
    }
#endif

    // The cheapest tick in [first, last] for a timer that may fire at any of them: a tick in the running
    // block at which timers fire anyway, unless the wheel is emptying slots; otherwise the tick whose timers
    // pass the fewest levels. REQUIRES: first is in the future
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
    // False for a lane that is not advancing: other lanes may not have come so far.
#if TW_RUNTIME
    bool may_skip_all() const { return this->lanes == nullptr || this->advancing; }
#else
    static constexpr bool may_skip_all() { return true; }
#endif

    friend class slot_checker<Shape>;
    friend class walk<Shape>;
    friend struct test_access;

    // How many timers next() looks at to find an exact tick; see search.
    static constexpr unsigned nodes_worth_a_look = 32;

    bool is_cursor_busy() const { return slots.is_busy(cursor_slot(), cursor_ring()); }

    // As late as possible, because most timers are cancelled before they have to move, but early enough that
    // all timers of the wheel can come down with a quarter of each tick's share.
    digits lead_of_a_tick() const { return static_cast<digits>(population() / (ahead_per_tick / 4)) + 1; }

#if TW_RUNTIME
    void drop_places_in(const tw_link &ring) {
        for (tw_link *link = &behind(ring); link != &ring;) {
            tw_node &node = node_of(*link);
            link = &behind(*link);
            drop_place(node);
        }
    }
#endif

    // Places again the first node of the cursor's slot, which was postponed; or drops a place of a walk.
    void place_again(tw_node &node) {
        if (drop_place(node))
            return;
        take_in_walk(node);
        place_last(node);
    }

    // The distance to the next tick that needs attention; `never` if there is none.
    tick next_attention() const {
        search<Shape> attention(*this, nodes_worth_a_look, Shape::ahead ? lead_of_a_tick() : 0);
        return attention.run();
    }

    // The distance to the next tick to go to, at most `most`. With has_room, the search looks at a few nodes,
    // to go straight to the tick at which they are due.
    tick next_stop_within(tick most) const {
        search<Shape> stop(*this, has_room ? nodes_worth_a_look : 0, 0, most);
        stop.for_opening();
        return stop.run();
    }
    TW_ONE_COPY tick next_stop() const { return next_stop_within(this->end_of_advance() - cursor); }

    // Moves the cursor by this distance to the next busy slot or to `now`, and opens the slots there.
    //
    // With look-ahead the cursor must not jump over a round whose far timers are not sorted yet. Timers that
    // look-ahead has sorted stand where the number of the coming round puts them, the others where the number
    // of the present round does; the two agree only at the border between the rounds. So if there are timers
    // to sort, the cursor stops at the border; if not, the origin crosses it at once.
    TW_ONE_COPY void open_next(tick distance) {
        if (Shape::ahead) {
            const digits border = Shape::until_next(Shape::far, here());
            const bool is_round_between = distance >= tick{border} + Shape::round;
            if (is_round_between && !slots.is_busy(next_far()))
                origin = cursor + border;
            else if (is_round_between)
                distance = border;
        }
        this->move_cursor(cursor + distance);
        open_level = Shape::level_of(cursor ^ origin);
        if (open_level == 0)
            origin = cursor;
    }
};

}  // namespace
}  // namespace tickwheel::core
