// Doubly linked rings of nodes. A ring is a tw_link that is its head: head.next is
// the first member, head.prev the last, and an empty ring points at itself.
#pragma once

#include <tickwheel/tw.h>

#include <cstddef>

namespace tickwheel::core {

static_assert(offsetof(tw_node, link) == 0);

inline tw_node &node_of(tw_link &link) { return reinterpret_cast<tw_node &>(link); }
inline const tw_node &node_of(const tw_link &link) { return reinterpret_cast<const tw_node &>(link); }

inline void make_empty(tw_link &ring) { ring.next = ring.prev = &ring; }
inline bool is_empty(const tw_link &ring) { return ring.next == &ring; }

inline void insert_after(tw_link &where, tw_link &link) {
    link.prev = &where;
    link.next = where.next;
    where.next->prev = &link;
    where.next = &link;
}

inline void append(tw_link &ring, tw_link &link) { insert_after(*ring.prev, link); }

inline void unlink(tw_link &link) {
    link.prev->next = link.next;
    link.next->prev = link.prev;
}

// Moves all members of `from`, in their order, behind those of `ring`.
inline void append_all(tw_link &ring, tw_link &from) {
    if (is_empty(from))
        return;
    from.next->prev = ring.prev;
    ring.prev->next = from.next;
    from.prev->next = &ring;
    ring.prev = from.prev;
    make_empty(from);
}

}  // namespace tickwheel::core
