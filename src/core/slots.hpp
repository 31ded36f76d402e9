// The slots of all levels: for each slot a ring of nodes, a log of records and a bit.
#pragma once

#include <cstdint>

#include "bitmap.hpp"
#include "geometry.hpp"
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

    // REQUIRES: zeroed memory
    void init() {
        for (tw_link &ring : rings)
            make_empty(ring);
    }

    // The pointer saves work: with rings[slot] gcc computes the address of the ring twice.
    void put(tw_node &node, unsigned slot) {
        tw_link *const ring = rings + slot;
        append(*ring, node.link);
        busy.set(slot);
    }

    // Takes a node out of its ring, and clears the slot's bit if the node was the last of its slot (L1). The
    // node does not store its slot; the slot follows from the head of the ring, which is the neighbour on
    // both sides of the last node. A ring outside the slots has no bit.
    //
    // The neighbours of a random node are not in the cache. So this only writes to them: the processor waits
    // for reads, but not for writes. A walk that reaches them finds broken links.
    TW_INLINE_IF_FAST void take(tw_node &node) {
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

    // By L1 the bit is enough, but without records testing the ring takes less code.
    bool is_busy(unsigned slot) const { return is_busy(slot, rings[slot]); }
    bool is_busy(unsigned slot, const tw_link &its_ring) const {
        return TW_RUNTIME != 0 ? busy.test(slot) : !is_empty(its_ring);
    }

    // Call when the ring or a log of a slot may have become empty (L1).
    void clear_if_empty(unsigned slot) {
        if (is_empty(rings[slot]) && !records.hold(slot))
            busy.clear(slot);
    }

    // The distance in slots from the slot of t to the next busy slot of its level, with after < distance <=
    // last; 0 if there is none. Wraps around the end of the level, so it searches at most two stretches.
    // REQUIRES: last < width(level)
    unsigned next_busy(unsigned level, typename Shape::digits t, unsigned after, unsigned last) const {
        TW_ASSERT(last < Shape::width(level));
        const unsigned width = Shape::width(level);
        const unsigned here = Shape::index(level, t);
        for (unsigned distance = after + 1; distance <= last;) {
            const unsigned index = (here + distance) & (width - 1);
            const unsigned begin = Shape::first_slot(level) + index;
            const unsigned end = begin + smaller(width - index, last - distance + 1);
            const unsigned found = busy.find(begin, end);
            distance += found - begin;
            if (found != end)
                return distance;
        }
        return 0;
    }

    // Appends all nodes of all slots to another ring; nodes of one tick keep their order.
    void empty_rings_into(tw_link &ring) {
        for (tw_link &slot : rings)
            append_all(ring, slot);
        if (!records.exist())
            busy = {};
        for (unsigned slot = 0; records.exist() && slot != Shape::slots; ++slot)
            clear_if_empty(slot);
    }

#if TW_RUNTIME
    // --- sweeping the logs: see sweep.hpp ------------------------------------------------------

    TW_INLINED void sweep_if_crowded() {
        const record_logs<Shape> &all = *records;
        const bool is_crowded = 4 * (all.entries - all.armed) > 3 * all.armed + 2 * all.spare;
        if (unlikely(is_crowded || all.sweeping.is_under_way()))
            sweep_some(sweep::share);
    }

    TW_INLINED void pay_for_moves(unsigned moved) {
        if (unlikely(records->sweeping.is_under_way()))
            sweep_some(moved);
    }

  private:
    // Sweeps this many entries, and the rest of the last chunk. REQUIRES: every entry is in a log
    [[gnu::noinline]] void sweep_some(unsigned entries) {
        record_logs<Shape> &all = *records;
        sweep &at = all.sweeping;
        for (unsigned looks = 0; looks < entries;) {
            if (!at.is_in_log() && !begin_next_log(at))
                return;
            log &in = all.log_at(at.number());
            looks += at.go_on(all);
            if (in.is_empty())
                note_swept_empty(at.number(), in);
        }
        if (at.is_in_log()) {
            fetch(*at.at());
            fetch_lines(at.at()->next);
        }
    }

    void note_swept_empty(unsigned number, const log &in) {
        if (records->queue.owns(in))
            records->queue.forget_if_empty(in);
        if (number != 0)
            clear_if_empty(records->slot_at(number));
    }

    // Finds the next log with entries. Returns false if the sweep is over.
    bool begin_next_log(sweep &at) {
        record_logs<Shape> &all = *records;
        for (unsigned i = at.next(); (i = all.skip_to_busy(i, busy)) != all.all_logs; ++i) {
            if (log &next = all.log_at(i); !next.is_empty()) {
                at.begin(i, next);
                return true;
            }
        }
        at.end();
        return false;
    }
#endif
};

}  // namespace
}  // namespace tickwheel::core
