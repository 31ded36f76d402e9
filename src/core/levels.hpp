// The slots of all levels: a ring each, and a bit each.
#pragma once

#include <cstdint>

#include "assert.hpp"
#include "bitmap.hpp"
#include "ring.hpp"
#include "tick.hpp"

namespace tickwheel::core {

// Invariants
//   L1  a slot has its bit set if and only if it holds nodes
template <class G> struct levels {
    using digits = typename G::digits;

    bitmap<G::slots> busy;
    tw_link rings[G::slots];

    // All bytes are zero before.
    void open() {
        for (tw_link &ring : rings)
            make_empty(ring);
    }

    // By a pointer: given rings[slot], gcc works out twice where the ring is.
    void put(tw_node &node, unsigned slot) {
        tw_link *const ring = rings + slot;
        append(*ring, node.link);
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

    // The distance in slots, after < distance <= last, from the slot of t to the next one of
    // its level with nodes; 0 if there is none. last < width(level). Goes around the end of the
    // level.
    unsigned next_busy(unsigned level, digits t, unsigned after, unsigned last) const {
        TW_ASSERT(last < G::width(level));
        const unsigned width = G::width(level);
        const unsigned here = G::index(level, t);
        for (unsigned distance = after + 1; distance <= last;) {
            const unsigned index = (here + distance) & (width - 1);
            const unsigned begin = G::first_slot(level) + index;
            const unsigned end = begin + smaller(width - index, last - distance + 1);
            const unsigned found = busy.find(begin, end);
            distance += found - begin;
            if (found != end)
                return distance;
        }
        return 0;
    }

    void move_all(unsigned from, unsigned to) {
        append_all(rings[to], rings[from]);
        busy.clear(from);
        busy.set(to);
    }

    // Hands all nodes of all slots to the end of another ring.
    void empty_into(tw_link &ring) {
        for (tw_link &slot : rings)
            append_all(ring, slot);
        busy = {};
    }
};

}  // namespace tickwheel::core
