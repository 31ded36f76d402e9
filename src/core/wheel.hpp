// The wheel: where nodes stand, how they come down as time advances, what is next.
//
// No lock, no clock, no callback. The wheel owns its nodes' states while they are pending, and every
// member moves at most one node, or as many as it is told, so that callers can release their lock
// between two steps (P8).
#pragma once

#include <cstddef>
#include <cstdint>

#include "levels.hpp"
#include "periodic.hpp"
#include "search.hpp"
#include "time_position.hpp"

namespace tickwheel::core {

template <class G> class checker;
template <class G> class walk;
struct test_access;  // defined by unit tests, which break invariants to see them reported

inline bool is_pending(const tw_node &node) { return node.state == TW_PENDING; }

// The result of step(): it moved something, found a node that is due, or has nothing left to do.
enum class step_result { moved, due, done };

// Invariants. checker.hpp walks what a snapshot can show; the model test holds W3.
//
//   W1  origin <= cursor <= now, which is at most `farthest` ahead of the cursor
//   W2  A node stands in the slot of the highest digit in which its expiry differs from the
//       origin. It may stand in that of a lower digit, if look-ahead or the opening of its slot
//       moved it down; and, postponed, in a slot that opens earlier. So no slot opens after a
//       node in it is due (P4).
//   W3  Nodes of one tick that were not postponed go through the same slots, and only ever join
//       a slot at its end. So they stay in the order they were armed in (P3).
//   W4  open_level == 0: origin == cursor, and of all slots that have opened only the cursor's on
//       level 0 may hold nodes: those are due.
//       open_level > 0: the cursor's slots are being emptied into the level below, from level
//       open_level down. Nodes armed meanwhile join the first of them.
//   W5  Far look-ahead, which works on a round before it begins, moves nodes to two places only:
//       the slots that the top level has for the next round, and far slots below the one that
//       opens with it. These far slots were empty: they belong to the lowest bits of the round's
//       number, which are all ones just before the carry.
//   W6  `count` is the number of pending nodes: in slots, in `leaving` and in `shifting`. `markers` of
//       them mark the places of walks.
//   W7  No slot opens, and no look-ahead is due, before the tick `quiet_until` if that is in the
//       future.
template <class G> class wheel {
    using digits = typename G::digits;

  public:
    // To be called on memory that is all zero.
    void init(tick start) {
        at_ = {start, start, start};
        quiet_until_ = start;
        due_at_ = never;
        make_empty(leaving_);
        slots_.init();
#if TW_RUNTIME
        make_empty(shifting_);
#endif
    }

    // --- reading ---------------------------------------------------------------------

    tick now() const { return at_.now; }
    std::size_t count() const { return count_ - markers(); }
    tw_node *running() const { return running_; }
    tick due_at() const { return due_at_; }
    tick overruns() const { return overruns_; }

    // --- arming ----------------------------------------------------------------------

    // These arm a node, or move it if it is pending: last among those of its tick (P3). They
    // return 1 if it was pending, else 0.

    [[gnu::always_inline]] int arm_once(tw_node &node, tick due) {
        make_oneshot(node);
        return arm(node, due);
    }

    // Periodic nodes bring their rule along with the first call that arms one, so that a
    // program without periodic timers does not link it.
    TW_INLINE_IF_SMALL int arm_every(tw_node &node, tick first, const series &next) {
        if (rearm_ == nullptr)
            rearm_ = rearm_in_ticks;
        make_periodic(node, next);
        return arm(node, first);
    }

#if TW_RUNTIME
    // All grids of a wheel count in the same parts of a tick.
    bool accepts_parts(std::uint32_t parts) const { return parts_ == 0 || parts_ == parts; }

    // REQUIRES: accepts_parts(parts)
    int arm_grid(tw_node &node, tick first, const series &next, std::uint32_t early, std::uint32_t parts) {
        TW_ASSERT(accepts_parts(parts));
        parts_ = parts;
        rearm_ = rearm_in_parts;
        make_periodic(node, next);
        node.part = 1 + early;
        return arm(node, first);
    }
#endif

    // Takes a pending node to another tick; its period moves along.
    void move(tw_node &node, tick due) {
        TW_ASSERT_OF(node, is_pending(node));
        slots_.take(node);
        node.expiry = due;
        begin_grid(node);
        place(node);
        TW_CHECKS(pending(&node));
    }

    // False if that is earlier than the node is due. Otherwise the node stays where it is and
    // moves on when its slot opens: cheap for timeouts that are nearly always extended.
    bool postpone(tw_node &node, tick due) {
        TW_ASSERT_OF(node, is_pending(node));
        if (before_seen_from(at_.now, due, node.expiry))
            return false;
        node.expiry = due;
        begin_grid(node);
        TW_CHECKS(pending(&node));
        return true;
    }

    // Returns 1 if the node was pending, else 0.
    TW_ONE_COPY int disarm(tw_node &node) {
        if (!is_pending(node))
            return 0;
        TW_ASSERT_OF(node, count_ != 0);
        TW_CHECKS(kept(&node));
        slots_.take(node);
        node.state = TW_IDLE;
        --count_;
        TW_CHECKS(idle(&node));
        return 1;
    }

    // True if the whole of [first, first + slack] can be told apart from the past.
    bool can_choose(tick first, tick slack) const {
        return is_tick(first) && in_range(at_.now, first, slack);
    }

    // A tick in [first, first + slack] that costs little: one that level 0 is busy at anyway, else
    // the one that comes down through the fewest levels. REQUIRES: can_choose(first, slack)
    tick choose(tick first, tick slack) const {
        TW_ASSERT(can_choose(first, slack));
        const tick last = first + slack;
        if (slack == 0 || !before(at_.now, last))
            return last;
        if (!before(at_.now, first))
            first = at_.now + 1;
        if (open_level_ == 0) {
            const unsigned shared =
                next_in_block<G>(slots_, at_.here(), first - at_.cursor, last - at_.cursor);
            if (shared != 0)
                return at_.cursor + shared;
        }
        return roundest(first, last);
    }

    // --- clearing: all nodes are taken off their slots at once, and leave one by one --------

    void begin_clear() {
        slots_.empty_into(leaving_);
        note_emptied();
    }

    // Disarms the next node that leaves. Null if there is none left.
    TW_INLINE_IF_SMALL tw_node *take_leaving() {
        while (!is_empty(leaving_)) {
            tw_node &node = node_of(behind(leaving_));
            TW_ASSERT_OF(node, is_pending(node));
            if (drop_marker(node))
                continue;
            disarm(node);
            return &node;
        }
        return nullptr;
    }

    // Puts the nodes that have not left back to their slots.
    void abandon_clear() {
        while (!is_empty(leaving_)) {
            tw_node &node = node_of(behind(leaving_));
            slots_.take(node);
            place(node);
        }
    }

#if TW_RUNTIME
    // --- counting -------------------------------------------------------------------

    void count_cancelled(unsigned label) { ++cancelled_[label]; }
    std::uint64_t cancelled(unsigned label) const { return cancelled_[label]; }

    // --- walking: see walk.hpp --------------------------------------------------------

    // Takes the markers of all walks out.
    void drop_markers() {
        if (markers_ == 0)
            return;
        note_emptied();
        for (unsigned slot = 0; slot < G::slots; ++slot)
            drop_markers_in(slots_.rings[slot]);
        drop_markers_in(leaving_);
        drop_markers_in(shifting_);
    }
#endif

    // --- shifting: time was set back, and everything becomes due later ----------------------

#if TW_RUNTIME
    // Makes everything that is pending due `by` ticks later, one node with each shift_one; and
    // what the running callback was due at. The nodes are pending all the while. Those that a
    // clear has not handed out yet were armed before all others, and so come first.
    // REQUIRES: no shift is under way
    void begin_shift(tick by) {
        TW_ASSERT(!is_shifting());
        append_all(shifting_, leaving_);
        slots_.empty_into(shifting_);
        note_emptied();
        shift_by_ = by;
        end_quiet();
        if (running_ != nullptr)
            due_at_ = later(due_at_, by);
    }
#endif

    // Shifts one node. False if there was none left.
    bool shift_one() {
#if TW_RUNTIME
        if (!is_empty(shifting_)) {
            tw_node &node = node_of(behind(shifting_));
            if (drop_marker(node))
                return true;
            TW_CHECKS(kept(&node));
            slots_.take(node);
            node.expiry = later(node.expiry, shift_by_);
            place(node);
            TW_CHECKS(pending(&node));
            return true;
        }
#endif
        return false;
    }

    // --- advancing -------------------------------------------------------------------

    // True if the wheel can be told of this tick. Time never runs backwards, and of ticks that
    // wrap the oldest that is not dealt with must stay less than half of their range behind.
    bool can_go_to(tick t) const { return !before(t, at_.now) && !(wraps && t - at_.origin > farthest); }

    // The common case, a tick with nothing to do (W7): lets the time pass and returns true.
    // While the wheel is being advanced it is never quiet.
    TW_INLINE_IF_SMALL bool pass_quietly(tick t) {
        if (!before_seen_from(at_.now, t, quiet_until_))
            return false;
        at_ = {t, t, t};
        return true;
    }

    // Ends the quiet, and takes the present to t. Returns the ticks that have passed.
    // REQUIRES: can_go_to(t)
    tick begin_advance(tick t) {
        TW_ASSERT(can_go_to(t));
        const tick elapsed = t - at_.now;
        at_.now = quiet_until_ = t;
        return elapsed;
    }

    // Goes on towards `now` by one slot or some moves, *steps in all, at most `most`; or says that a
    // node is due, or that all is done. What a shift or an opened slot has started comes first: only
    // when those are finished do the slots hold what they should (W2, W4).
    step_result step(std::uint32_t most, std::uint32_t *steps) {
        *steps = 1;
        if (shift_one())
            return step_result::moved;
        if (open_level_ != 0) {
            *steps = lower(0, most);
            return step_result::moved;
        }
        const step_result first = look_at_first();
        if (first != step_result::done || at_.cursor == at_.now)
            return first;
        open_next();
        return step_result::moved;
    }

    // Takes the node that is due off its slot, as the running one. A periodic node is armed again
    // before its callback runs, so that the callback may cancel, move or free it (P7).
    // REQUIRES: step() has just said `due`
    tw_node &take_due() {
        tw_node &node = node_of(behind(cursor_slot()));
        TW_CHECKS(kept(&node));
        TW_ASSERT_OF(node, is_pending(node) && count_ != 0);
        slots_.take(node);
        running_ = &node;
        due_at_ = node.expiry;
        if (node.period != 0 && rearm_(*this, node)) {
            place(node);
            TW_CHECKS(pending(&node));
        } else {
            node.state = TW_IDLE;
            --count_;
            TW_CHECKS(idle(&node));
        }
        return node;
    }

    // The callback has returned, or is not coming back.
    void forget_running() {
        running_ = nullptr;
        due_at_ = never;
        overruns_ = 0;
    }

    // An empty wheel has nothing to do on its way to `now`, and skips all slots. Not while a
    // callback runs, because what that arms at its own tick must fire in this advance.
    TW_ONE_COPY void skip_if_empty() {
        if (count_ != 0 || running_ != nullptr)
            return;
        at_.cursor = at_.origin = at_.now;
        open_level_ = 0;
    }

    // True if nothing but look-ahead is left to do up to `now`.
    bool has_caught_up() const { return has_arrived() && is_empty(cursor_slot()); }

    // Lowers nodes of one slot by one level, at most `most`. From the slots that have opened; or, when
    // these are empty, from those that open soon, which is look-ahead: near ones within `near_lead`
    // ticks, and for far ones see lead_into. Returns the number of steps; 0 if there was nothing to do.
    //
    // The levels are taken from the top down, so that a node from a high level goes through the
    // slots below ahead of nodes armed later (W3). When the last opened slot is empty the origin
    // follows the cursor.
    [[gnu::noinline]] std::uint32_t lower(digits near_lead, std::uint32_t most) {
        if (open_level_ == 0 && !G::ahead)
            return 0;
        for (unsigned level = open_level_ != 0 ? open_level_ : G::far; level != 0; --level) {
            const digits until = open_level_ != 0 ? 0 : G::until_next(level, at_.here());
            if (until > lead_into(level, near_lead))
                continue;
            if (const std::uint32_t moved = lower_from(level, until, most); moved != 0)
                return moved;
        }
        if (open_level_ == 0)
            return 0;
        move_origin(at_.cursor);
        open_level_ = 0;
        return 1;
    }

    // When all is done, look-ahead with this lead included: finds how long the wheel is quiet
    // (W7). Busy slots of level 0 end the quiet; so do the blocks that open next if they hold
    // anything, early enough for look-ahead to go on. All was done before look-ahead; this is asked
    // again, because look-ahead may have released the lock and others armed what is due at once.
    void set_quiet(digits near_lead) {
        if (!has_caught_up())
            return;
        const digits here = at_.here();
        digits quiet = G::until_next(1, here);
        if (const unsigned busy = slots_.next_busy(0, here, 0, static_cast<unsigned>(quiet - 1)); busy != 0)
            quiet = busy;
        for (unsigned level = G::ahead ? G::far : 0; level != 0; --level) {
            const digits until = G::until_next(level, here);
            if (!is_empty(slots_.rings[at_.slot_opened_by(level, at_.cursor + until)]))
                quiet = smaller(quiet, until - lead_into(level, near_lead));
        }
        quiet_until_ = at_.cursor + quiet;
    }

    // --- what is next ----------------------------------------------------------------

    // The earliest tick that needs attention; `now` if there is something to do at once, never
    // if nothing is pending. Look-ahead into a crowded slot begins `near_lead` ticks
    // before it opens, which counts as attention.
    tick next(digits near_lead) {
        const bool has_nodes = count() != 0;
        tick distance = has_nodes ? 0 : never;
        skip_if_empty();
        if (has_nodes && has_caught_up()) {
            search<G> attention(*this, nodes_worth_a_look, never, near_lead);
            distance = attention.run();
        }
        const tick t = at_.now + distance;
        asked_for_ = G::low(t);
        if (distance == never)
            return never;
        return wraps && t == never ? t - 1 : t;  // a tick that wraps may have the value of never
    }

    // How far the present is past the tick that next() asked the caller to come at; negative
    // answers wrap to large ones, as the caller is early then.
    digits ticks_after_asked() const { return G::low(at_.now) - asked_for_; }

    // The distance from `now` to the earliest fire, never if there is none. With *is_exact false
    // it is not later than that, because `looks` nodes do not tell, or time is not caught up with.
    tick first_due(std::uint32_t looks, bool *is_exact) {
        skip_if_empty();
        *is_exact = has_arrived();
        if (!*is_exact)
            return count_ == 0 ? never : 0;
        search<G> fires(*this, looks);
        fires.look_for_fires();
        fires.look_into(0, G::slot(0, at_.here()), 0);
        const tick distance = fires.best() == 0 ? 0 : fires.run();
        *is_exact = fires.is_exact();
        return distance;
    }

  private:
    friend class checker<G>;
    friend class search<G>;
    friend class walk<G>;
    friend struct test_access;

    // Nodes that next() looks at to tell a tick exactly; see search.
    static constexpr unsigned nodes_worth_a_look = 32;

    // Sets a periodic node that fires to its next tick; false if this fire is its last.
    using rearm_rule = bool(wheel &, tw_node &);

    static bool rearm_in_ticks(wheel &w, tw_node &node) { return set_to_next(node, w.at_.now, &w.overruns_); }
#if TW_RUNTIME
    static bool rearm_in_parts(wheel &w, tw_node &node) {
        return set_to_next_on_grid(node, w.parts_, w.at_.now, &w.overruns_);
    }
    static tick later(tick t, tick by) { return by > last_tick - t ? last_tick : t + by; }
#endif

    // How the node fires on is set in it already.
    TW_INLINE_IF_FAST int arm(tw_node &node, tick due) {
        if (is_pending(node))
            return rearm(node, due);
        ++count_;
        node.expiry = due;
        node.state = TW_PENDING;
        place(node);
        TW_CHECKS(pending(&node));
        return 0;
    }

    // arm for a node that is pending.
    TW_APART_IF_FAST int rearm(tw_node &node, tick due) {
        slots_.take(node);
        node.expiry = due;
        place(node);
        TW_CHECKS(pending(&node));
        return 1;
    }

    // The lead into a level: how many ticks before one of its slots opens look-ahead may begin to empty
    // it. For every level but the far one that is `near_lead`.
    //
    // A far slot may hold every node there is, and ticks may pass faster than nodes can be moved. It
    // therefore gets at least 16 ticks for each pending node, up to half a round.
    TW_ONE_COPY digits lead_into(unsigned level, digits near_lead) const {
        if (level != G::far)
            return near_lead;
        const auto half = static_cast<digits>(G::round / 2);
        return larger(near_lead, count_ < half / 16 ? static_cast<digits>(count_) * 16 : half);
    }

    // Puts a node into the slot of its expiry, last among those of its tick. The quiet ends with
    // it: at its tick if that is on level 0, and now if look-ahead may have to begin for it.
    void place(tw_node &node) {
        const tick t = at_.cursor + at_.distance_to(node.expiry);
        const unsigned slot = at_.slot_of(t);
        if (slot >= G::width(0))
            end_quiet();
        else if (before_seen_from(at_.now, t, quiet_until_))
            quiet_until_ = t;
        slots_.put(node, slot);
    }

    // Where ticks do not wrap, 0 is never in the future and takes no load.
    void end_quiet() { quiet_until_ = wraps ? at_.now : 0; }

    // The nodes that are due, and postponed ones that would have been.
    const tw_link &cursor_slot() const { return slots_.rings[G::slot(0, at_.here())]; }

    // Time is caught up with, but for what is due at the cursor.
    bool has_arrived() const { return open_level_ == 0 && at_.cursor == at_.now && !is_shifting(); }

    std::uint32_t markers() const {
#if TW_RUNTIME
        return markers_;
#else
        return 0;
#endif
    }

    bool is_shifting() const {
#if TW_RUNTIME
        return !is_empty(shifting_);
#else
        return false;
#endif
    }

    // A marker goes no further than the front of its ring: the walk finds it gone, and goes on there.
    bool drop_marker(tw_node &node) {
        if (is_marker(node)) [[unlikely]] {
            take_marker(node);
            return true;
        }
        return false;
    }

    void take_marker(tw_node &node) {
        disarm(node);
#if TW_RUNTIME
        --markers_;
#endif
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
        ++times_emptied_;
#endif
    }

    // The first node of the cursor's slot is due. If not, it was postponed, and is placed anew.
    step_result look_at_first() {
        if (is_empty(cursor_slot()))
            return step_result::done;
        tw_node &node = node_of(behind(cursor_slot()));
        if (drop_marker(node))
            return step_result::moved;
        if (at_.distance_to(node.expiry) == 0)
            return step_result::due;
        slots_.take(node);
        place(node);
        return step_result::moved;
    }

    // Takes the first nodes, at most `most`, of the slot that opens `until` ticks after the cursor to the
    // slots that they belong to once that has opened. Returns their number: 0 if the slot is empty.
    [[gnu::noinline]] std::uint32_t lower_from(unsigned level, digits until, std::uint32_t most) {
        const tick opening = at_.cursor + until;
        const unsigned slot = at_.slot_opened_by(level, opening);
        const tw_link &ring = slots_.rings[slot];
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

    // Takes one of these nodes there. Three cases. A node that was postponed out of the slot's stretch
    // is placed as if armed now. From a far slot, a node of a later round goes to a lower far slot,
    // that of the highest bit in which the two rounds differ (W5). Every other node goes one level
    // down.
    void lower_node(tw_node &node, unsigned level, unsigned slot, tick opening) {
        TW_CHECKS(kept(&node));
        const tick t = at_.cursor + at_.distance_to(node.expiry), difference = t ^ opening;
        slots_.take(node);
        if (!at_.is_same_stretch(difference, level, slot))
            place(node);
        else if (level == G::far && difference >= G::round)
            slots_.put(node, G::far_slot(difference));
        else
            slots_.put(node, G::slot(level - 1, G::low(t)));
    }

    // Moves the cursor to the next busy slot, at most to `now`, and opens the slots there.
    //
    // With look-ahead it must not jump over a round whose far nodes are still to be sorted. Those
    // that look-ahead has sorted stand where the number of the coming round has them, the others
    // where that of the present round has them; only at the border between the two rounds do both
    // agree. So if there is anything to sort the cursor stops at the border, and if not the origin
    // crosses it at once.
    void open_next() {
        search<G> busy(*this, nodes_worth_a_look, at_.now - at_.cursor);
        tick distance = busy.run();
        if (const tick round = at_.next_round(); G::ahead && distance >= round - at_.cursor + G::round) {
            if (is_empty(slots_.rings[at_.next_far()]))
                move_origin(round);
            else
                distance = round - at_.cursor;
        }
        at_.cursor += distance;
        open_level_ = G::level_of(at_.cursor ^ at_.origin);
        if (open_level_ == 0)
            at_.origin = at_.cursor;
    }

    // From here on slots are counted from t. Of ticks that wrap, the nodes that were two halves of
    // the range away are in the next half now, and have a far slot.
    void move_origin(tick t) {
        if constexpr (wraps) {
            if ((t ^ at_.origin) > farthest && slots_.busy.test(G::beyond))
                slots_.move_all(G::beyond, G::far_end - 1);
        }
        at_.origin = t;
    }

    time_position<G> at_;
    tick quiet_until_;     // see W7
    tick due_at_;          // the tick that the running callback's node was due at; never: none runs
    tick overruns_;        // the due ticks that it missed
    tw_node *running_;     // compared, never followed: the callback may have freed it
    rearm_rule *rearm_;    // null until the first periodic node is armed
    tw_link leaving_;      // nodes that a clear has not handed out yet
    std::size_t count_;    // see W6
    digits asked_for_;     // what next() last answered
    unsigned open_level_;  // see W4
    levels<G> slots_;
#if TW_RUNTIME
    tw_link shifting_;  // nodes to be placed `shift_by_` ticks later
    tick shift_by_;
    std::uint32_t parts_;                 // of a tick, that grids are counted in; 0 until one is armed
    std::uint32_t times_emptied_;         // how often all slots were emptied at once; see walk.hpp
    std::uint32_t markers_;               // of walks, among the nodes of `count_`
    std::uint64_t cancelled_[TW_LABELS];  // by label
#endif
};

}  // namespace tickwheel::core
