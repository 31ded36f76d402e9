// The slots of all levels: for each of them a ring of nodes, a log of records and a bit.
#pragma once

#include <cstdint>

#include "bitmap.hpp"
#include "geometry.hpp"
#include "next_busy.hpp"
#include "record_logs.hpp"
#include "ring.hpp"

namespace tickwheel::core {
namespace {

// Invariants
//   L1  a slot has its bit set if and only if it holds nodes or entries of records
template <class Shape> struct slots_of {
    optional_logs<Shape> records;
    bitmap<Shape::slots> busy;
    tw_link rings[Shape::slots];

    // To be called on memory that is all zero.
    void init() {
        for (tw_link &ring : rings)
            make_empty(ring);
    }

    // The pointer spares work: with rings[slot] gcc computes the address of the ring twice.
    void put(tw_node &node, unsigned slot) {
        tw_link *const ring = rings + slot;
        append(*ring, node.link);
        busy.set(slot);
    }

    // Takes a node out of its ring. If it was the last of its slot the slot's bit is cleared (L1).
    // The slot is not stored in the node; it follows from the head of the ring, which is the
    // neighbour on both sides of a last node. A ring outside the slots has no bit.
    //
    // The neighbours of a random node are not in the cache. So nothing is read from them here, as the
    // processor would wait for that, but not for what it writes. Broken links are found when a walk comes
    // there.
    void take(tw_node &node) {
        tw_link *const ring = node.link.next;
        const bool is_last = ring == node.link.prev;
        if (asserts || is_last)
            stop_if_broken(node.link);
        unlink_unchecked(node.link);
        if (!is_last)
            return;
        const auto offset = reinterpret_cast<std::uintptr_t>(ring) - reinterpret_cast<std::uintptr_t>(rings);
        const auto slot = static_cast<unsigned>(offset / sizeof(tw_link));
        if (offset < sizeof rings && !records.hold(slot))
            busy.clear(slot);
    }

    // By L1 the bit tells; but where there are rings alone, asking them takes less code.
    bool is_busy(unsigned slot) const { return is_busy(slot, rings[slot]); }
    bool is_busy(unsigned slot, const tw_link &its_ring) const {
        return TW_RUNTIME != 0 ? busy.test(slot) : !is_empty(its_ring);
    }

    // To be called when the ring or a log of a slot has become empty (L1).
    void clear_if_empty(unsigned slot) {
        if (is_empty(rings[slot]) && !records.hold(slot))
            busy.clear(slot);
    }

    // See next_busy.hpp.
    unsigned next_busy(unsigned level, typename Shape::digits t, unsigned after, unsigned last) const {
        return core::next_busy<Shape>(busy, level, t, after, last);
    }

    // Appends all nodes of all slots to another ring, the nodes of one tick in their order.
    void empty_rings_into(tw_link &ring) {
        for (tw_link &slot : rings)
            append_all(ring, slot);
        if (!records.exist())
            busy = {};
        for (unsigned slot = 0; records.exist() && slot != Shape::slots; ++slot)
            clear_if_empty(slot);
    }
};

}  // namespace
}  // namespace tickwheel::core
