// A walk over all pending nodes, but not records, that does not stop the wheel: it meets one node in each
// hold of the lock. In between, its caller and other threads arm, cancel and fire.
//
// The walk goes through the slots from the highest number to the lowest: from far slots to level 0, the way
// that nodes come down. So it misses no node that the wheel lowers; it meets a node twice if the node comes
// down from a slot already walked. It may miss a periodic node that fires or a postponed node that is placed
// again, because they may go the other way.
//
// Within a slot the walk leaves two places, nodes of its own in the ring: one behind the node that it has met
// last, and one behind the last node of the ring when it first paused. Nodes that join the slot later stand
// behind both, and the walk does not meet them: otherwise a caller that arms each node again would never come
// to an end. The wheel drops a place that reaches the front of its ring. By then all nodes before it have
// left the slot: so if the first place is gone, the walk continues at the front, and if the second is gone,
// it leaves the slot. If a cancel_all or a shift has emptied all slots at once, places may be in a ring
// outside the slots; then the walk takes them out, and begins the slot again.
#pragma once

#include "slot_engine.hpp"

namespace tickwheel::core {
namespace {

// The most links passed in one hold of the lock.
inline constexpr unsigned links_at_once = 64;

// One hold of the lock in a walk `at`, which is zeroed at first.
template <class Shape> class walk {
  public:
    walk(slot_engine<Shape> &w, tw_walk &at) : wheel_(w), at_(at) {}

    // Returns the next node, of which it leaves a copy in at.was. Null at the end, or if this hold has lasted
    // long enough. REQUIRES: no shift is under way
    tw_node *next() TW_REQUIRES(wheels_lock) {
        unsigned links = 0;
        for (tw_link *last = go_on(); !is_over(); last = nullptr) {
            tw_link &ring = wheel_.slots.rings[Shape::slots - 1 - at_.slots_done];
            const bool has_left = last == nullptr && at_.has_end && !is_place(at_.end);
            tw_link *link = has_left ? &ring : &behind(last != nullptr ? *last : ring);
            for (; link != &ring && link != &at_.end.link; link = &behind(*link)) {
                tw_node &node = node_of(*link);
                const bool is_met = !is_place(node);
                if (!is_met && ++links != links_at_once)
                    continue;
                if (is_met)
                    at_.was = node;
                pause_behind(node.link, ring);
                return is_met ? &node : nullptr;
            }
            take_end();
            ++at_.slots_done;
        }
        return nullptr;
    }

    bool is_over() const { return at_.slots_done == Shape::slots; }

    // Ends the walk where it is.
    void end() TW_REQUIRES(wheels_lock) {
        if (is_place(at_.place))
            wheel_.take_place(at_.place);
        take_end();
        at_.slots_done = Shape::slots;
    }

  private:
    // Returns the link that the walk has reached in its slot; null if it begins the slot or continues at its
    // front.
    tw_link *go_on() {
        const bool begins = at_.times_emptied != wheel_.times_emptied;
        if (begins)
            take_end();
        if (!is_place(at_.place))
            return nullptr;
        tw_link *const before = at_.place.link.prev;
        wheel_.take_place(at_.place);
        return begins ? nullptr : before;
    }

    void pause_behind(tw_link &last, const tw_link &ring) {
        put(at_.place, last);
        if (!at_.has_end)
            put(at_.end, *ring.prev);
        at_.has_end = true;
        at_.times_emptied = wheel_.times_emptied;
    }

    void put(tw_node &place, tw_link &behind_this) {
        place.state = place_state;
        insert_after(behind_this, place.link);
        ++wheel_.count;
        ++wheel_.places;
    }

    void take_end() {
        if (is_place(at_.end))
            wheel_.take_place(at_.end);
        at_.has_end = false;
    }

    slot_engine<Shape> &wheel_;
    tw_walk &at_;
};

}  // namespace
}  // namespace tickwheel::core
