// The wheel: where nodes stand, how they come down as time advances, what is next.
// No lock, no clock, no callback; every member moves one node at most.
#pragma once

#include <cstddef>
#include <cstdint>

#include "levels.hpp"
#include "periodic.hpp"

namespace tickwheel::core {

// Invariants (check.hpp walks what a snapshot can show; W3 the model test holds)
//   W1  origin <= cursor <= now, which is at most `farthest` ahead of the cursor
//   W2  A node stands in the slot of the highest digit in which its expiry differs
//       from `origin`; or in that of a lower digit, if look-ahead or the opening of
//       its slots moved it down; or, postponed, in a slot that opens earlier. So no
//       slot opens too late (P4).
//   W3  All nodes of one tick, but postponed ones, go through the same slots and
//       only ever join a slot at its end. So they stay in arming order (P3).
//   W4  opened == 0: origin == cursor, and no slot that has opened holds a node, but
//       the cursor's of level 0: these are due.
//       opened > 0: the slots of the cursor are being emptied into the level below,
//       from level `opened` down; what is armed meanwhile joins the first of them.
//   W5  Within the round of `origin`, far look-ahead moves nodes of later rounds only to
//       the top level's slots of the next round, and to far slots below the one that opens
//       with it. Those were empty, as they belong to bits of the round that are all ones.
//   W6  count is the number of pending nodes: in slots, in `leaving` and in `shifting`.
//   W7  No slot opens, and no look-ahead is to be done, before the tick `quiet_until`,
//       if that is in the future.
template <class G> struct wheel {
    using digits = typename G::digits;

    static constexpr unsigned nodes_worth_a_look = 32;  // nodes worth a look to tell the next tick exactly

    enum class step_result { moved, due, done };

    tick cursor;        // the tick whose slots are open
    tick origin;        // the tick that slots are counted from
    tick now;           // the latest tick that the wheel was told of
    tick quiet_until;   // see W7
    tick due_at;        // the tick that the running callback's node was due at
    tick overruns;      // the due ticks that it missed
    tw_node *running;   // compared, never followed: it may be gone
    rearm_rule *rearm;  // set with the first periodic node: who has none need not link it
    tw_link leaving;    // nodes that tw_clear has yet to hand out
    std::size_t count;
    digits answered;      // what next() last answered
    unsigned open_level;  // see W4
    levels<G> slots;
#if TW_RUNTIME
    tw_link shifting;  // nodes that are to go back to the slots, this much later:
    tick shift_by;
#endif

    // All bytes are zero before.
    void open(tick start) {
        cursor = origin = now = quiet_until = start;
        due_at = never;
        make_empty(leaving);
        slots.open();
#if TW_RUNTIME
        make_empty(shifting);
#endif
    }

    // The way from the cursor to a tick; 0 if that is not in the future. Ticks that wrap are
    // seen from `now`, of which the cursor may be far behind.
    TW_ONE_COPY tick way_to(tick t) const {
        if constexpr (wraps)
            return t - cursor <= now - cursor + farthest ? t - cursor : 0;
        else
            return distance(cursor, t);
    }

    // Links a node by its expiry, last among those of its tick.
    void place(tw_node &node) {
        const tick t = cursor + way_to(node.expiry);
        const unsigned slot = slot_of(t);
        slots.put(node, slot);
        if (slot >= G::width(0))
            quiet_until = now;  // for the look-ahead may have to begin
        else if (before(now, t, quiet_until))
            quiet_until = t;
    }

    // A tick in [first, first + slack] that costs little: one that level 0 is busy at
    // anyway, else the one that comes down the fewest levels.
    tick choose(tick first, tick slack) {
        const tick last = first + slack;
        if (slack == 0 || !before(now, last))
            return last;
        if (!before(now, first))
            first = now + 1;
        const digits here = G::low(cursor);
        if (open_level == 0 && first - cursor < G::until_next(1, here)) {
            const tick end = smaller<tick>(last - cursor, G::until_next(1, here) - 1);
            const unsigned shared = slots.next_busy(0, here, static_cast<unsigned>(first - cursor) - 1,
                                                    static_cast<unsigned>(end));
            if (shared != 0)
                return cursor + shared;
        }
        return roundest(first, last);
    }

    // Whether all is done that there is to do up to `now`, but for look-ahead. With no node
    // there is nothing to do; but while a callback runs, its tick is what time has come to.
    bool has_caught_up() {
        if (count == 0 && running == nullptr) {
            cursor = origin = now;
            open_level = 0;
        }
        return has_arrived() && is_empty(at_cursor());
    }

    // The same but for what is due.
    bool has_arrived() const { return open_level == 0 && cursor == now && !is_shifting(); }

    // Goes on towards `now` by one move or one slot, or says that somebody is due, or
    // that all is done.
    step_result step() {
        if (shift_one())
            return step_result::moved;
        if (open_level != 0) {
            lower_one(0);
            return step_result::moved;
        }
        const step_result first = look_at_first();
        if (first != step_result::done || cursor == now)
            return first;
        open_next();
        return step_result::moved;
    }

#if TW_RUNTIME
    // Everything that pends, and what the running callback was due at, becomes due `by`
    // ticks later: the nodes one at a time, by shift_one. No earlier putting off is unfinished.
    // What a tw_clear has yet to hand out was armed before all else, and so comes first.
    void begin_shift(tick by) {
        append_all(shifting, leaving);
        slots.empty_into(shifting);
        shift_by = by;
        quiet_until = now;
        if (running != nullptr)
            due_at = later(due_at, by);
    }
#endif

    // False: there is none left.
    bool shift_one() {
#if TW_RUNTIME
        if (!is_empty(shifting)) {
            tw_node &node = node_of(behind(shifting));
            slots.take(node);
            node.expiry = later(node.expiry, shift_by);
            place(node);
            return true;
        }
#endif
        return false;
    }

    bool is_shifting() const {
#if TW_RUNTIME
        return !is_empty(shifting);
#else
        return false;
#endif
    }

    // Takes the node that is due off its slot; a periodic one is armed again, before
    // its callback, so that this may cancel or free it.
    tw_node &take_due() {
        tw_node &node = node_of(behind(at_cursor()));
        TW_ASSERT_OF(node, node.state == TW_PENDING && count != 0);
        slots.take(node);
        running = &node;
        due_at = node.expiry;
        if (node.period != 0 && rearm(node, now, &overruns)) {
            place(node);
        } else {
            node.state = TW_IDLE;
            --count;
        }
        return node;
    }

    void forget_running() {
        running = nullptr;
        due_at = never;
        overruns = 0;
    }

    // Moves one node a level down: in the slots that have opened or, once these are empty, in
    // those that open soon, which is look-ahead: within `horizon` ticks, and see lead_into.
    // False if there was nothing to do.
    [[gnu::noinline]] bool lower_one(digits horizon) {
        if (open_level == 0 && !G::ahead)
            return false;
        for (unsigned level = open_level != 0 ? open_level : G::far; level != 0; --level) {
            const digits until = open_level != 0 ? 0 : G::until_next(level, G::low(cursor));
            if (until <= lead_into(level, horizon) && lower_from(level, until) == step_result::moved)
                return true;
        }
        if (open_level == 0)
            return false;
        move_origin(cursor);
        open_level = 0;
        return true;
    }

    // After all is done, look-ahead up to `horizon` included: it has to go on before the
    // next block opens, if that holds anybody. While look-ahead let the lock go, others may
    // have armed what is due at once.
    void set_quiet(digits horizon) {
        if (!has_caught_up())
            return;
        const digits here = G::low(cursor);
        digits quiet = G::until_next(1, here);
        if (const unsigned busy = slots.next_busy(0, here, 0, static_cast<unsigned>(quiet - 1)); busy != 0)
            quiet = busy;
        for (unsigned level = G::ahead ? G::far : 0; level != 0; --level) {
            const digits until = G::until_next(level, here);
            if (!is_empty(slots.rings[slot_opened_by(level, cursor + until)]))
                quiet = smaller(quiet, until - lead_into(level, horizon));
        }
        quiet_until = cursor + quiet;
    }

    // The earliest tick that needs attention; `now` if there is something to do.
    // `lead`: how many ticks before it opens a crowded slot is to be begun.
    tick next(digits lead) {
        search attention = {lead, nodes_worth_a_look, never};
        const tick on = has_caught_up() ? find_earliest(attention) : count == 0 ? never : 0;
        const tick t = now + on;
        answered = G::low(t);
        if (on == never)
            return never;
        return wraps && t == never ? t - 1 : t;
    }

    // The distance from `now` to the earliest fire, `never` if there is none; or one that is not
    // later, and *is_exact is false, if `looks` nodes do not tell or time is not caught up with.
    tick first_due(std::uint32_t looks, bool *is_exact) {
        *is_exact = has_caught_up() || has_arrived();
        if (!*is_exact)
            return count == 0 ? never : 0;
        search fires = {0, looks, never};
        fires.is_for_fires = true;
        search_slot(fires, 0, G::slot(0, G::low(cursor)), 0);
        const tick on = fires.best == 0 ? 0 : find_earliest(fires);
        *is_exact = fires.is_exact;
        return on;
    }

    // The tick at which the next round begins, and the far slot that opens with it.
    tick next_round() const { return (cursor | (G::round - 1)) + 1; }
    unsigned next_far() const { return G::far_slot(next_round() ^ origin); }

    // How far ahead of the cursor, which is origin, a far slot opens: at the next tick that
    // has this bit and no lower one. A slot whose bit the cursor has stands for the round
    // after the carry (W5); but the last bit of ticks that wrap has no higher one.
    tick opening_of_far(unsigned slot) const {
        const tick bit = tick{1} << G::far_shift(slot);
        const tick next = (cursor | (bit - 1)) + 1;
        const bool is_after_carry = (next & bit) == 0 && !(wraps && slot == G::far_end - 1);
        return (is_after_carry ? next + bit : next) - cursor;
    }

  private:
    static tick later(tick t, tick by) { return by > last_tick - t ? last_tick : t + by; }

    // A search for the earliest tick that needs attention, as a distance from the cursor.
    struct search {
        digits lead = 0;
        std::uint32_t looks = 0;
        tick best = never;
        bool is_for_fires = false;  // and not for postponed nodes that have to move on
        bool is_exact = true;

        void consider(tick distance) { best = smaller(best, distance); }
    };

    // How many ticks before a slot opens look-ahead into it begins, given this for near ones.
    // A far slot may hold all the nodes there are, and ticks may be so short that nodes do not
    // move as fast as they pass: so it begins 16 ticks early for each node, but not before
    // the second half of the round.
    TW_ONE_COPY digits lead_into(unsigned level, digits horizon) const {
        if (level != G::far)
            return horizon;
        const auto half = static_cast<digits>(G::round / 2);
        return larger(horizon, count < half / 16 ? static_cast<digits>(count) * 16 : half);
    }

    // The slot of a tick, counted from `origin`. Of ticks that wrap, those with the same first
    // bit half of the range away or farther are in the next half but one.
    unsigned slot_of(tick t) const {
        const tick difference = t ^ origin;
        if (wraps && difference <= farthest && t - origin > farthest)
            return G::beyond;
        const unsigned level = G::level_of(difference);
        return level == G::far ? G::far_slot(difference) : G::slot(level, G::low(t));
    }

    // From here on slots are counted from t. In the next half of all ticks that wrap, those of
    // the half after that are no more beyond.
    void move_origin(tick t) {
        if constexpr (wraps) {
            if ((t ^ origin) > farthest && slots.busy.test(G::beyond))
                slots.move_all(G::beyond, G::far_end - 1);
        }
        origin = t;
    }

    // The nodes that are due, and postponed ones that were.
    const tw_link &at_cursor() const { return slots.rings[G::slot(0, G::low(cursor))]; }

    // The slot of a level that a tick opens, counted from `origin`.
    unsigned slot_opened_by(unsigned level, tick t) const {
        return level == G::far ? G::far_slot(t ^ origin) : G::slot(level, G::low(t));
    }

    // Whether two ticks, given their xor, belong to one stretch of time that a slot stands for.
    TW_ONE_COPY static bool is_same_stretch(tick difference, unsigned level, unsigned slot) {
        return difference >> (level == G::far ? G::far_shift(slot) : G::shift(level)) == 0;
    }

    // The first node of the cursor's slot is due; if not, it was postponed.
    step_result look_at_first() {
        if (is_empty(at_cursor()))
            return step_result::done;
        tw_node &node = node_of(behind(at_cursor()));
        if (way_to(node.expiry) == 0)
            return step_result::due;
        slots.take(node);
        place(node);
        return step_result::moved;
    }

    // Takes the first node of the slot that opens in so many ticks to where it belongs then; a
    // postponed one, to where it belongs now. From a far slot that is a lower far one, or the
    // top level if its round is the one that opens.
    [[gnu::noinline]] step_result lower_from(unsigned level, digits until) {
        const tick opening = cursor + until;
        const unsigned slot = slot_opened_by(level, opening);
        const tw_link &ring = slots.rings[slot];
        if (is_empty(ring))
            return step_result::done;
        tw_node &node = node_of(behind(ring));
        const tick t = cursor + way_to(node.expiry), difference = t ^ opening;
        slots.take(node);
        if (!is_same_stretch(difference, level, slot))
            place(node);
        else if (level == G::far && difference >= G::round)
            slots.put(node, G::far_slot(difference));
        else
            slots.put(node, G::slot(level - 1, G::low(t)));
        return step_result::moved;
    }

    // Moves the cursor to the next busy slot, at most to `now`. Never past a round whose far
    // nodes are yet to be sorted: those that look-ahead has sorted already stand where the
    // number of that round has them, the others where that of the present one has them.
    void open_next() {
        search openings = {0, nodes_worth_a_look, now - cursor};
        tick on = find_earliest(openings);
        if (const tick round = next_round(); G::ahead && on >= round - cursor + G::round) {
            if (is_empty(slots.rings[next_far()]))
                move_origin(round);
            else
                on = round - cursor;
        }
        cursor += on;
        open_level = G::level_of(cursor ^ origin);
        if (open_level == 0)
            origin = cursor;
    }

    // The distance to the first tick that matters, below the best that is known already. Exact
    // where the next busy slots hold few nodes; of another slot, its opening, or `lead` ticks
    // before, so that look-ahead can empty it in time.
    tick find_earliest(search &found) const {
        const digits here = G::low(cursor);
        for (unsigned level = 0; level <= G::top; ++level) {
            unsigned last = G::width(level) - 1;
            if (level == 0 && found.best < last)
                last = static_cast<unsigned>(found.best);
            for (unsigned on = 0; (on = slots.next_busy(level, here, on, last)) != 0;) {
                const digits opening = (on - 1) * G::span(level) + G::until_next(level, here);
                if (opening >= found.best)
                    break;
                search_slot(found, level, G::slot(level, here + opening), opening);
            }
            if (found.best <= G::until_next(level + 1, here))
                return found.best;  // what stands higher opens later
        }
        search_far_slots(found);
        return found.best;
    }

    void search_far_slots(search &found) const {
        const unsigned next = next_far();
        search_slot(found, G::far, next, next_round() - cursor);
        for (unsigned slot = G::near_slots; slot != G::far_end; ++slot) {
            slot = slots.busy.find(slot, G::far_end);
            if (slot == G::far_end)
                return;
            if (slot != next)
                search_slot(found, G::far, slot, opening_of_far(slot));
        }
    }

    // Looks at the nodes of a slot that opens in so many ticks.
    [[gnu::noinline]] void search_slot(search &found, unsigned level, unsigned slot, tick opening) const {
        if (level == 0 && !found.is_for_fires)
            return found.consider(opening);
        const tw_link &ring = slots.rings[slot];
        for (const tw_link *link = &behind(ring); link != &ring && found.best > opening;
             link = &behind(*link)) {
            if (found.looks == 0) {
                found.is_exact = false;
                return found.consider(opening - smaller<tick>(lead_of(found, level), opening));
            }
            --found.looks;
            const tick due_in = way_to(node_of(*link).expiry);
            const tick difference = (cursor + due_in) ^ (cursor + opening);
            found.consider(found.is_for_fires || is_same_stretch(difference, level, slot) ? due_in : opening);
        }
    }

    digits lead_of(const search &found, unsigned level) const {
        if (!G::ahead || found.lead == 0)
            return 0;
        return smaller(lead_into(level, found.lead), G::span(level));
    }
};

}  // namespace tickwheel::core
