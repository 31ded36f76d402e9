// The slots of all levels: a ring each, a bit each, and the mark.
#pragma once

#include <cstdint>

#include "assert.hpp"
#include "bitmap.hpp"
#include "ring.hpp"
#include "tick.hpp"

namespace tickwheel::core {

// Invariants
//   L1  a slot that holds nodes has its bit set; of the others, at most those where the mark
//       is or was
//   L2  the mark is a link in the ring of slot `marked`. Everything else in a ring is
//       the link of a node.
template <class G> struct levels {
    using digits = typename G::digits;

    // The mark parts one top-level ring: the nodes before it have been looked at
    // and belong to later rounds.
    tw_link mark;
    unsigned marked;
    bitmap<G::slots> busy;
    tw_link rings[G::slots];

    // All bytes are zero before.
    void open(unsigned mark_in) {
        for (tw_link &ring : rings)
            make_empty(ring);
        make_empty(mark);
        set_mark(mark_in);
    }

    void put(tw_node &node, unsigned slot) {
        append(rings[slot], node.link);
        busy.set(slot);
    }

    // Takes a node from its ring, which may also be one that is no slot.
    void take(tw_node &node) {
        tw_link *const ring = node.link.next;
        unlink(node.link);
        if (ring->next != ring)
            return;
        const auto offset = reinterpret_cast<std::uintptr_t>(ring) - reinterpret_cast<std::uintptr_t>(rings);
        if (offset < sizeof rings)
            busy.clear(static_cast<unsigned>(offset / sizeof(tw_link)));
    }

    bool has_nodes(unsigned slot) const {
        const tw_link *first = rings[slot].next;
        if (first == &mark)
            first = mark.next;
        return first != &rings[slot];
    }

    // The distance in slots, after < distance <= last, from the slot of t to the
    // next one with nodes; 0 if there is none. last <= width(level). Goes around
    // the end of the level, and mends stale bits on its way.
    unsigned next_busy(unsigned level, digits t, unsigned after, unsigned last) {
        TW_ASSERT(last <= G::width(level));
        const unsigned width = G::width(level);
        const unsigned here = G::index(level, t);
        for (unsigned distance = after + 1; distance <= last;) {
            const unsigned index = (here + distance) & (width - 1);
            const unsigned begin = G::first_slot(level) + index;
            const unsigned end = begin + smaller(width - index, last - distance + 1);
            const unsigned found = busy.find(begin, end);
            distance += found - begin;
            if (found == end)
                continue;
            if (has_nodes(found))
                return distance;
            busy.clear(found);
        }
        return 0;
    }

    void set_mark(unsigned slot) {
        unlink(mark);
        insert_after(rings[slot], mark);
        marked = slot;
    }

    // Moves the mark behind the node that it stands before.
    void pass(tw_node &node) {
        TW_ASSERT(mark.next == &node.link);
        unlink(mark);
        insert_after(node.link, mark);
    }

    // Hands all nodes of all slots to the end of another ring.
    void empty_into(tw_link &ring) {
        unlink(mark);
        for (tw_link &slot : rings)
            append_all(ring, slot);
        insert_after(rings[marked], mark);
        busy = {};
    }
};

}  // namespace tickwheel::core
