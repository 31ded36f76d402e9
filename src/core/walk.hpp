// A walk over all pending nodes, but not records, that does not stop the wheel: it copies a few nodes in each
// hold of the lock. In between, other threads arm, cancel and fire.
//
// The walk goes through the slots from the highest number to the lowest: from far slots to level 0, the way
// that nodes come down. So it misses no node that the wheel lowers; it meets a node twice that comes down
// from a slot already walked. It may miss a periodic node that fires or a postponed node that is placed
// again, because they may go the other way.
//
// Within a slot the walk leaves two places, nodes of its own in the ring: one behind the last node that it
// has copied, and one behind the last node of the ring when it first paused. Nodes that join the slot later
// stand behind both, and the walk does not visit them: otherwise a visitor that arms them again would never
// end. The wheel drops a place that reaches the front of its ring. By then all nodes before it have left the
// slot: so if the first place is gone, the walk continues at the front, and if the second is gone, it leaves
// the slot. If a clear or a shift has emptied all slots at once, places may be in a ring outside the slots;
// then the walk takes them out, and begins the slot again.
#pragma once

#include "slot_engine.hpp"

namespace tickwheel::core {
namespace {

// The most nodes copied, and the most links passed, in one hold of the lock.
inline constexpr unsigned nodes_at_once = 32, links_at_once = 64;

// A node that a walk has met, and a copy of its contents.
struct met_node {
    const tw_node *node;
    tw_node was;
};

template <class Shape> class walk {
  public:
    explicit walk(slot_engine<Shape> &w)
        : wheel_(w), left_(Shape::slots), times_emptied_(0), has_end_(false) {}

    // Copies the next nodes, and returns their number: less than nodes_at_once at the end.
    // REQUIRES: no shift is under way
    unsigned copy() TW_REQUIRES(wheels_lock) {
        unsigned count = 0, links = 0;
        for (const tw_link *last = go_on(); left_ != 0; last = nullptr) {
            const tw_link &ring = wheel_.slots.rings[left_ - 1];
            const bool has_left = last == nullptr && has_end_ && !is_place(end_);
            const tw_link *link = has_left ? &ring : &behind(last != nullptr ? *last : ring);
            for (; link != &ring && link != &end_.link; link = &behind(*link)) {
                if (count == nodes_at_once || links++ == links_at_once) {
                    pause_before(*link, ring);
                    return count;
                }
                if (is_place(node_of(*link)) || is_seam(node_of(*link)))
                    continue;
                met_[count].node = &node_of(*link);
                met_[count].was = node_of(*link);
                ++count;
            }
            take_end();
            --left_;
        }
        return count;
    }

    const met_node &met(unsigned i) const { return met_[i]; }
    bool is_over() const { return left_ == 0; }

  private:
    // Returns the link that the walk has reached in its slot; null if it begins the slot or continues at its
    // front.
    const tw_link *go_on() {
        const bool begins = times_emptied_ != wheel_.times_emptied;
        if (begins)
            take_end();
        if (!is_place(place_))
            return nullptr;
        const tw_link *const before = place_.link.prev;
        wheel_.take_place(place_);
        return begins ? nullptr : before;
    }

    void pause_before(const tw_link &next, const tw_link &ring) {
        put(place_, *next.prev);
        if (!has_end_)
            put(end_, *ring.prev);
        has_end_ = true;
        times_emptied_ = wheel_.times_emptied;
    }

    void put(tw_node &place, tw_link &behind_this) {
        place.state = place_state;
        insert_after(behind_this, place.link);
        ++wheel_.count;
        ++wheel_.places;
    }

    void take_end() {
        if (is_place(end_))
            wheel_.take_place(end_);
        has_end_ = false;
    }

    slot_engine<Shape> &wheel_;
    unsigned left_;                // slots 0 .. left_ - 1 remain; the walk is in the last of them
    std::uint32_t times_emptied_;  // the wheel's count when the walk put its places
    bool has_end_;                 // the walk has put `end_` into this slot
    tw_node place_ = {};           // before the next node to copy
    tw_node end_ = {};             // behind the nodes that were in the slot at the first pause
    met_node met_[nodes_at_once] = {};
};

}  // namespace
}  // namespace tickwheel::core
