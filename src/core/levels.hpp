// The slots of all levels: a ring each, a bit each, and the mark.
#pragma once

#include "assert.hpp"
#include "bitmap.hpp"
#include "ring.hpp"
#include "tick.hpp"

namespace tickwheel::core {

// Invariants
//   L1  a slot that holds nodes has its bit set; a set bit may mean an empty slot
//   L2  the mark is a link in the ring of slot `marked`, and in none if that is
//       no_slot. Everything else in a ring is the link of a node.
template <class G> struct levels {
    static constexpr unsigned no_slot = ~0u;

    // The mark parts one top-level ring: the nodes before it have been looked at
    // and belong to later rounds.
    tw_link mark = {};
    unsigned marked = no_slot;
    bitmap<G::slots> busy;
    tw_link rings[G::slots];

    levels() {
        for (tw_link &ring : rings)
            make_empty(ring);
    }

    void put(tw_node &node, unsigned level, tick t) {
        const unsigned slot = G::slot(level, t);
        append(rings[slot], node.link);
        busy.set(slot);
    }

    bool has_nodes(unsigned slot) const {
        const tw_link &ring = rings[slot];
        if (slot == marked && ring.next == &mark)
            return mark.next != &ring;
        return !is_empty(ring);
    }

    // The distance in slots, after < distance <= last, from the slot of t to the
    // next one with nodes; 0 if there is none. last <= width(level). Goes around
    // the end of the level, and mends stale bits on its way.
    unsigned next_busy(unsigned level, tick t, unsigned after, unsigned last) {
        TW_ASSERT(last <= G::width(level));
        for (unsigned distance = after + 1; distance <= last;) {
            const unsigned index = (G::index(level, t) + distance) & (G::width(level) - 1);
            const unsigned run = smaller(G::width(level) - index, last - distance + 1);
            const unsigned begin = G::first_slot(level) + index;
            const unsigned found = busy.find(begin, begin + run);
            distance += found - begin;
            if (found == begin + run)
                continue;
            if (has_nodes(found))
                return distance;
            busy.clear(found);
        }
        return 0;
    }

    // Hands all nodes of a slot to the end of another ring; the mark stays.
    void empty_into(tw_link &ring, unsigned slot) {
        const bool keeps_mark = slot == marked;
        if (keeps_mark)
            unlink(mark);
        append_all(ring, rings[slot]);
        if (keeps_mark)
            insert_after(rings[slot], mark);
        busy.clear(slot);
    }

    void set_mark(unsigned slot) {
        remove_mark();
        insert_after(rings[slot], mark);
        marked = slot;
    }

    void remove_mark() {
        if (marked != no_slot)
            unlink(mark);
        marked = no_slot;
    }

    // Moves the mark behind the node that it stands before.
    void pass(tw_node &node) {
        TW_ASSERT(mark.next == &node.link);
        unlink(mark);
        insert_after(node.link, mark);
    }
};

}  // namespace tickwheel::core
