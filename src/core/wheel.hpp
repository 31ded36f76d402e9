// The wheel: where nodes stand, how they come down as time advances, what is next.
// No lock, no clock, no callback; every member does a bounded number of node moves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "levels.hpp"
#include "periodic.hpp"

namespace tickwheel::core {

// Invariants (check.hpp walks all but W3, which the model test holds)
//   W1  settled <= cursor <= now
//   W2  A node stands in the slot of the highest digit in which its expiry differs
//       from `settled`, or one block further down if the look-ahead moved it, or,
//       postponed, in a slot that opens earlier. So no slot opens too late (P4).
//   W3  All nodes of one tick, but postponed ones, go through the same slots and
//       only ever join a slot at its end. So they stay in arming order (P3).
//   W4  cursor == settled: no slot that has opened holds a node.
//       cursor > settled: the slots of the cursor are being emptied, lowest level
//       first; what is armed meanwhile joins the one that is emptied last.
//   W5  settled, with look-ahead: the mark stands in the top-level slot that opens
//       next; the nodes before it belong to later rounds.
//   W6  count is the number of pending nodes: in slots, in `due`, in `leaving`.
template <class G> struct wheel {
    static constexpr unsigned few = 32;  // nodes worth a look to tell the next tick exactly

    enum class turn { fire, again, done };

    // A node whose callback is to run, and the due ticks that it missed.
    struct firing {
        tw_node &node;
        tick due;
        tick overruns;
    };

    tick cursor;      // the tick whose slots are open
    tick settled;     // the tick that slots are counted from
    tick now;         // the latest tick that the wheel was told of
    tw_link due;      // nodes to be fired, in order; postponed ones among them
    tw_link leaving;  // nodes that tw_clear has yet to hand out
    std::size_t count = 0;
    unsigned clearing = 0;  // tw_clear calls that go through the slots now
    levels<G> slots;

    explicit wheel(tick start) : cursor(start), settled(start), now(start) {
        make_empty(due);
        make_empty(leaving);
        if (G::ahead)
            slots.set_mark(next_top_slot());
    }

    // Links a node by its expiry, last among those of its tick.
    void place(tw_node &node) {
        const tick t = node.expiry > cursor ? node.expiry : cursor;
        if (t == settled)
            append(due, node.link);
        else
            slots.put(node, G::level_of(t ^ settled), t);
    }

    // The same for a node that is pending already. While slots are cleared one after
    // the other, none may slip from one that is not cleared yet into one that is.
    void place_again(tw_node &node) {
        if (clearing != 0)
            append(leaving, node.link);
        else
            place(node);
    }

    // A tick in [first, last] that costs little: one that level 0 is busy at
    // anyway, else the one that comes down the fewest levels.
    tick choose(tick first, tick last) {
        if (last <= now)
            return last;
        if (first <= now)
            first = now + 1;
        if (G::top > 0 && cursor == settled && G::level_of(first ^ cursor) == 0) {
            const tick end = last < end_of_block() ? last : end_of_block();
            const unsigned before = static_cast<unsigned>(first - cursor) - 1;
            const unsigned shared = slots.next_busy(0, cursor, before, static_cast<unsigned>(end - cursor));
            if (shared != 0)
                return cursor + shared;
        }
        return roundest(first, last);
    }

    // Goes on towards `now` until a node is to be fired (then it is the first of
    // `due`), all is done, or `moves` is used up.
    turn step(unsigned &moves) {
        for (;;) {
            if (cursor != settled && !settle(moves))
                return turn::again;
            while (!is_empty(due)) {
                tw_node &node = node_of(*due.next);
                if (node.expiry <= cursor)
                    return turn::fire;
                if (moves == 0)
                    return turn::again;
                --moves;
                unlink(node.link);
                place_again(node);  // it was postponed
            }
            if (cursor == now)
                return turn::done;
            if (moves == 0)
                return turn::again;
            --moves;
            go_on();
        }
    }

    // Takes the first node off `due`; a periodic one is armed again, before its
    // callback, so that this may cancel or free it.
    firing take_due() {
        tw_node &node = node_of(*due.next);
        unlink(node.link);
        const tick due_at = node.expiry;
        const refire again = node.period != 0 ? refire_after(node, now) : refire{never, 0};
        if (again.next != never) {
            if (node.fires_left != 0)
                --node.fires_left;
            node.expiry = again.next;
            place_again(node);
        } else {
            node.state = TW_IDLE;
            --count;
        }
        return {node, due_at, again.overruns};
    }

    // Moves nodes of the blocks that open next, if that is within `horizon` ticks,
    // one level down, the nearest first; true when none is left.
    bool look_ahead(unsigned &moves, tick horizon) {
        if (cursor != settled && !settle(moves))
            return false;
        if (!G::ahead)
            return true;
        unsigned before;
        do {  // again, as a level may have filled the one below
            before = moves;
            for (unsigned level = 1; level <= G::top; ++level) {
                const tick opening = next_opening_of(level);
                if (opening - cursor > horizon)
                    continue;
                if (!drain(level, opening, moves, [&](tw_node &node) { lower(node, level, opening); }))
                    return false;
            }
        } while (before != moves);
        return true;
    }

    // The earliest tick that needs attention; `now` if there is something to do.
    // `lead`: how many ticks before it opens a crowded slot is to be begun.
    tick next(tick lead) {
        if (cursor != now || cursor != settled || !is_empty(due))
            return now;
        const tick t = earliest(G::ahead ? lead : 0);
        return t > now ? t : now;
    }

  private:
    tick end_of_block() const { return cursor | (G::span(1) - 1); }
    tick next_opening_of(unsigned level) const { return (G::block(level, cursor) + 1) << G::shift(level); }
    unsigned next_top_slot() const { return G::slot(G::top, next_opening_of(G::top)); }

    // Moves the cursor to the next busy slot, at most to `now`.
    void go_on() {
        if (G::top > 0) {  // level 0 alone can tell while the block lasts
            const tick end = now < end_of_block() ? now : end_of_block();
            const unsigned busy = slots.next_busy(0, cursor, 0, static_cast<unsigned>(end - cursor));
            if (busy != 0) {
                open(cursor + busy);
                return;
            }
            if (end == now) {  // what most ticks are: nothing opens
                cursor = settled = now;
                return;
            }
        }
        const tick t = earliest(0);
        open(t < now ? t : now);
    }

    // Moves the cursor to t, which no slot with something due opens before. Its
    // level 0 slot is all due; those of higher levels are left to settle().
    void open(tick t) {
        TW_ASSERT(cursor == settled && t > cursor && t <= now);
        const unsigned crossed = G::level_of(t ^ cursor);
        const bool mark_is_there = G::ahead && G::block(G::top, t) == G::block(G::top, cursor) + 1;
        cursor = t;
        if (G::top > 0)
            slots.empty_into(clearing != 0 ? leaving : due, G::slot(0, t));
        if (crossed == G::top && !mark_is_there)
            slots.set_mark(G::slot(G::top, t));
        if (crossed < lowest_drained)
            settled = t;
    }

    // Empties the slots that opened with the cursor. The lowest goes first: what
    // the look-ahead moved down is older than what it had not come to.
    bool settle(unsigned &moves) {
        const unsigned crossed = G::level_of(cursor ^ settled);
        for (unsigned level = lowest_drained; level <= crossed; ++level)
            if (!drain(level, cursor, moves, [this](tw_node &node) { sink(node); }))
                return false;
        settled = cursor;
        if (crossed == G::top) {
            if (G::ahead)
                slots.set_mark(next_top_slot());
            else
                slots.remove_mark();
        }
        return true;
    }

    // Empties the slot of level `level` that opens at `opening`, by moving its nodes
    // one by one; false when `moves` ran out first. Nodes of later rounds stay.
    template <class Move> bool drain(unsigned level, tick opening, unsigned &moves, Move move) {
        const unsigned slot = G::slot(level, opening);
        const tw_link &end = slots.rings[slot];
        const tw_link &begin = level == G::top ? slots.mark : end;
        while (begin.next != &end) {
            if (moves == 0)
                return false;
            --moves;
            tw_node &node = node_of(*begin.next);
            if (level == G::top && is_of_later_round(node.expiry, opening)) {
                slots.pass(node);
            } else {
                unlink(node.link);
                if (clearing != 0)
                    append(leaving, node.link);
                else
                    move(node);
            }
        }
        return true;
    }

    static bool is_of_later_round(tick t, tick opening) {
        return G::block(G::top, t) > G::block(G::top, opening) &&
               G::slot(G::top, t) == G::slot(G::top, opening);
    }

    // To where it belongs, seen from the cursor.
    void sink(tw_node &node) {
        if (node.expiry <= cursor)
            append(due, node.link);
        else
            slots.put(node, G::level_of(node.expiry ^ cursor), node.expiry);
    }

    // One level down, ahead of its time: not further, for older nodes of the same
    // tick may be waiting there.
    void lower(tw_node &node, unsigned level, tick opening) {
        if (G::block(level, node.expiry) == G::block(level, opening))
            slots.put(node, level - 1, node.expiry);
        else
            place(node);  // it was postponed
    }

    // What a search for the earliest tick that needs attention has found.
    struct outlook {
        tick lead;  // so many ticks before a crowded slot opens, at most one block
        tick best = never;
        unsigned looks = few;

        void consider(tick t) {
            if (t < best)
                best = t;
        }
    };

    // The earliest tick at which a slot is to be opened: exact where the next busy
    // slots hold few nodes, else `lead` ticks before such a slot opens, so that
    // look-ahead can empty it in time.
    tick earliest(tick lead) {
        outlook found{lead};
        for (unsigned level = 0; level < G::top; ++level) {
            const unsigned distance = slots.next_busy(level, cursor, 0, G::width(level) - 1);
            if (distance == 0)
                continue;
            const tick opening = (G::block(level, cursor) + distance) << G::shift(level);
            if (level > 0) {
                const tw_link &ring = slots.rings[G::slot(level, opening)];
                survey(found, level, ring, ring, opening);
            } else if (opening <= end_of_block()) {
                return opening;
            } else {
                found.consider(opening);
            }
        }
        survey_top(found);
        return found.best;
    }

    void survey_top(outlook &found) {
        unsigned distance = 0;
        while ((distance = slots.next_busy(G::top, cursor, distance, G::width(G::top))) != 0) {
            const tick opening = (G::block(G::top, cursor) + distance) << G::shift(G::top);
            if (opening >= found.best)
                break;
            const unsigned slot = G::slot(G::top, opening);
            const tw_link &ring = slots.rings[slot];
            if (slot == slots.marked) {
                survey(found, G::top, slots.mark, ring, opening);
                survey(found, G::top, ring, slots.mark, opening + G::round);
            } else {
                survey(found, G::top, ring, ring, opening);
            }
        }
    }

    // Looks at the nodes between two links of the slot that opens at `opening`.
    static void survey(outlook &found, unsigned level, const tw_link &begin, const tw_link &end,
                       tick opening) {
        if (opening >= found.best)
            return;
        for (const tw_link *link = begin.next; link != &end; link = link->next) {
            if (found.looks == 0) {
                found.consider(opening - (found.lead < G::span(level) ? found.lead : G::span(level)));
                return;
            }
            --found.looks;
            const tick t = node_of(*link).expiry;
            found.consider(is_home(level, t, opening) ? t : opening);
        }
    }

    // Whether a node due at t stands in this slot by right; if not, it was postponed
    // and has to move on when the slot opens.
    static bool is_home(unsigned level, tick t, tick opening) {
        TW_ASSERT(t >= opening);
        if (level == G::top)
            return G::slot(level, t) == G::slot(level, opening);
        return G::block(level, t) == G::block(level, opening);
    }

    static constexpr unsigned lowest_drained = G::top == 0 ? 0 : 1;
};

}  // namespace tickwheel::core
