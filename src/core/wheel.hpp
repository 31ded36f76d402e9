// The wheel: where nodes stand, how they come down as time advances, what is next.
// No lock, no clock, no callback; every member moves one node at most.
#pragma once

#include <cstddef>
#include <cstdint>

#include "levels.hpp"
#include "periodic.hpp"

namespace tickwheel::core {

// Invariants (check.hpp walks what a snapshot can show; W3 the model test holds)
//   W1  settled <= cursor <= now, which is at most `farthest` ahead of the cursor
//   W2  A node stands in the slot of the highest digit in which its expiry differs
//       from `settled`; or in that of a lower digit, if look-ahead or the opening of
//       its slots moved it down; or, postponed, in a slot that opens earlier. So no
//       slot opens too late (P4).
//   W3  All nodes of one tick, but postponed ones, go through the same slots and
//       only ever join a slot at its end. So they stay in arming order (P3).
//   W4  opened == 0: settled == cursor, and no slot that has opened holds a node, but
//       the cursor's of level 0: these are due.
//       opened > 0: the slots of the cursor are being emptied into the level below,
//       from level `opened` down; what is armed meanwhile joins the first of them.
//   W5  opened == 0: the mark stands in the top-level slot that opens next; the nodes
//       before it belong to later rounds. (Of a wheel of one level, in the cursor's.)
//   W6  count is the number of pending nodes: in slots and in `leaving`.
//   W7  No slot opens, and no look-ahead is to be done, before the tick `quiet_until`,
//       if that is in the future.
template <class G> struct wheel {
    using digits = typename G::digits;

    static constexpr unsigned few = 32;  // nodes worth a look to tell the next tick exactly

    enum class turn { moved, due, done };

    tick cursor;          // the tick whose slots are open
    tick settled;         // the tick that slots are counted from
    tick now;             // the latest tick that the wheel was told of
    tick quiet_until;     // see W7
    tick due_at;          // the tick that the running callback's node was due at
    tick overruns;        // the due ticks that it missed
    tw_node *running;     // compared, never followed: it may be gone
    refire_rule *refire;  // set with the first periodic node: who has none need not link it
    tw_link leaving;      // nodes that tw_clear has yet to hand out
    std::size_t count;
    digits asked_for;  // what next() last answered
    unsigned opened;   // see W4
    levels<G> slots;

    // All bytes are zero before.
    void open(tick start) {
        cursor = settled = now = quiet_until = start;
        due_at = never;
        make_empty(leaving);
        slots.open(place_of_mark());
    }

    // The slot that opens next; of a wheel of one level, the cursor's.
    unsigned place_of_mark() const {
        const digits here = G::low(cursor);
        return G::slot(G::top, G::top == 0 ? here : here + G::span(G::top));
    }

    // The way from the cursor to a tick; 0 if that is not in the future. Ticks that wrap are
    // seen from `now`, of which the cursor may be far behind.
    tick way_to(tick t) const {
        if constexpr (wraps)
            return t - cursor <= now - cursor + farthest ? t - cursor : 0;
        else
            return distance(cursor, t);
    }

    // Links a node by its expiry, last among those of its tick.
    void place(tw_node &node) {
        const tick t = cursor + way_to(node.expiry);
        const unsigned level = G::level_of(t ^ settled);
        slots.put(node, G::slot(level, G::low(t)));
        if (G::top == 0 && t != cursor && slots.mark.next == &node.link)
            slots.pass(node);  // in the cursor's slot, for a later round
        else if (level > 0)
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
        if (G::top > 0 && opened == 0 && first - cursor < G::until_next(1, here)) {
            const tick end = smaller<tick>(last - cursor, G::until_next(1, here) - 1);
            const unsigned shared = slots.next_busy(0, here, static_cast<unsigned>(first - cursor) - 1,
                                                    static_cast<unsigned>(end));
            if (shared != 0)
                return cursor + shared;
        }
        return roundest(first, last);
    }

    // Whether all is done that there is to do up to `now`, but for look-ahead.
    bool has_caught_up() const { return opened == 0 && cursor == now && is_done(0, 0); }

    // Goes on towards `now` by one move or one slot, or says that somebody is due, or
    // that all is done.
    turn step() {
        if (opened != 0) {
            lower_one(0);
            return turn::moved;
        }
        const turn first = see_to_first();
        if (first != turn::done || cursor == now)
            return first;
        open_next();
        return turn::moved;
    }

    // Takes the node that is due off its slot; a periodic one is armed again, before
    // its callback, so that this may cancel or free it.
    tw_node &take_due() {
        tw_node &node = node_of(*begin_of(0, G::slot(0, G::low(cursor)))->next);
        slots.take(node);
        running = &node;
        due_at = node.expiry;
        if (node.period != 0 && refire(node, now, &overruns)) {
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

    // Moves one node a level down, or the mark past one: in the slots that have opened
    // or, once these are empty, in those that open within `horizon` ticks, which is
    // look-ahead. False if there was nothing to do.
    bool lower_one(digits horizon) {
        if (G::top == 0)  // nodes of later rounds that came behind one that was due
            return see_to_first() == turn::moved;
        if (opened == 0 && (!G::ahead || G::until_next(1, G::low(cursor)) > horizon))
            return false;
        for (unsigned level = opened != 0 ? opened : G::top; level != 0; --level) {
            const digits until = opened != 0 ? 0 : G::until_next(level, G::low(cursor));
            if (until <= horizon && empty_one(level, until) == turn::moved)
                return true;
        }
        if (opened == 0)
            return false;
        settled = cursor;
        if (opened == G::top)
            slots.set_mark(place_of_mark());
        opened = 0;
        return true;
    }

    // After all is done, look-ahead up to `horizon` included: it has to go on before the
    // next block opens, if that holds anybody.
    void be_quiet(digits horizon) {
        if (G::top == 0)
            return;  // its mark goes with the cursor
        const digits here = G::low(cursor);
        digits quiet = G::until_next(1, here);
        if (const unsigned busy = slots.next_busy(0, here, 0, static_cast<unsigned>(quiet - 1)); busy != 0)
            quiet = busy;
        for (unsigned level = G::ahead ? G::top : 0; level != 0; --level) {
            const digits until = G::until_next(level, here);
            if (!is_done(level, until))
                quiet = smaller(quiet, until - horizon);
        }
        quiet_until = cursor + quiet;
    }

    // The earliest tick that needs attention; `now` if there is something to do.
    // `lead`: how many ticks before it opens a crowded slot is to be begun.
    tick next(digits lead) {
        const tick on = has_caught_up() ? earliest(lead, never) : 0;
        const tick t = now + on;
        asked_for = G::low(t);
        if (on == never)
            return never;
        return wraps && t == never ? t - 1 : t;
    }

  private:
    // A search for the earliest tick that needs attention, as a distance from the cursor.
    struct outlook {
        digits lead;
        unsigned looks;
        tick best;

        void consider(tick distance) { best = smaller(best, distance); }
    };

    // Behind this link stands what is left to be done in a slot, up to the ring's own.
    const tw_link *begin_of(unsigned level, unsigned slot) const {
        return level == G::top ? &slots.mark : &slots.rings[slot];
    }

    // Of the slot that opens in so many ticks; 0: of the cursor's own.
    bool is_done(unsigned level, digits until) const {
        const unsigned slot = G::slot(level, G::low(cursor) + until);
        return begin_of(level, slot)->next == &slots.rings[slot];
    }

    // The first node of the cursor's slot is due; if not, it was postponed, or belongs to a later
    // round of the only level.
    turn see_to_first() {
        if (G::top == 0)
            return empty_one(0, 0);
        const tw_link &ring = slots.rings[G::slot(0, G::low(cursor))];
        if (is_empty(ring))
            return turn::done;
        tw_node &node = node_of(*ring.next);
        if (way_to(node.expiry) == 0)
            return turn::due;
        slots.take(node);
        place(node);
        return turn::moved;
    }

    // Takes the first node of the slot that opens in so many ticks to where it belongs.
    turn empty_one(unsigned level, digits until) {
        const digits here = G::low(cursor);
        const unsigned slot = G::slot(level, here + until);
        tw_link *const first = begin_of(level, slot)->next;
        if (first == &slots.rings[slot])
            return turn::done;
        tw_node &node = node_of(*first);
        const tick due_in = way_to(node.expiry);
        if (due_in < until + G::until_next(level, here + until)) {
            if (G::top == 0)
                return turn::due;
            slots.take(node);
            slots.put(node, G::slot(level - 1, here + G::low(due_in)));
        } else if (is_of_a_later_round(node, level, slot)) {
            slots.pass(node);
        } else {
            slots.take(node);
            place(node);  // it was postponed
        }
        return turn::moved;
    }

    static bool is_of_a_later_round(const tw_node &node, unsigned level, unsigned slot) {
        return level == G::top && slot == G::slot(level, G::low(node.expiry));
    }

    // Moves the cursor to the next busy slot, at most to `now`.
    void open_next() {
        const tick on = earliest(0, now - cursor);
        const tick t = cursor + on;
        opened = G::level_of(t ^ cursor);
        // After a shorter step it is in the next slot, where the mark is already.
        if (opened == G::top && on >= G::span(G::top))
            slots.set_mark(G::slot(G::top, G::low(t)));
        cursor = t;
        if (opened == 0)
            settled = t;
    }

    // The distance to the tick at which a slot is to be opened, at most `limit`: exact where
    // the next busy slots hold few nodes, else `lead` ticks before such a slot opens, so that
    // look-ahead can empty it in time.
    tick earliest(digits lead, tick limit) {
        const digits here = G::low(cursor);
        outlook found{G::ahead ? lead : 0, few, limit};
        for (unsigned level = 0; level <= G::top; ++level) {
            unsigned last = level == G::top ? G::width(level) : G::width(level) - 1;
            if (level == 0 && limit < last)
                last = static_cast<unsigned>(limit);
            for (unsigned on = 0; (on = slots.next_busy(level, here, on, last)) != 0;) {
                const digits opening = (on - 1) * G::span(level) + G::until_next(level, here);
                if (opening >= found.best)
                    break;
                survey(found, level, opening);
            }
            if (level != G::top && found.best <= G::until_next(level + 1, here))
                break;  // what stands higher opens later
        }
        return found.best;
    }

    // Looks at the nodes of the slot that opens in `until` ticks; those before the
    // look-ahead's mark have been found to belong to a later round.
    void survey(outlook &found, unsigned level, digits until) {
        if (G::top > 0 && level == 0)
            return found.consider(until);
        const unsigned slot = G::slot(level, G::low(cursor) + until);
        const tw_link *const ring = &slots.rings[slot];
        const tw_link *const begin = G::ahead && slot == slots.marked ? &slots.mark : ring;
        tick opening = until;
        for (const tw_link *link = begin->next; link != begin; link = link->next) {
            if (link == ring) {
                opening += G::round;
            } else if (link == &slots.mark) {
                continue;
            } else if (found.looks == 0) {
                return found.consider(opening - smaller(smaller(found.lead, G::span(level)), until));
            } else {
                --found.looks;
                const tw_node &node = node_of(*link);
                const tick due_in = way_to(node.expiry);
                const bool is_home =
                    due_in < opening + G::span(level) || is_of_a_later_round(node, level, slot);
                found.consider(is_home ? due_in : opening);
            }
        }
    }
};

}  // namespace tickwheel::core
