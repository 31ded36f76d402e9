// Doubly linked rings of nodes. A ring is represented by its head, a tw_link: head.next is the first member,
// head.prev the last, and the head of an empty ring points at itself.
//
// Nodes belong to the user, who may by mistake free, copy or initialise a node in a ring. The links of such a
// node lead anywhere, and the program would crash far from its error. So if links_are_checked, a walk
// compares each link with its neighbour before it follows it, and an append compares the links that it joins;
// if they disagree, the program stops and names the broken node. Without assertions, taking a node out of a
// slot compares its links only if the slot has no other node: see slots_of::take. Coverage does not count
// branches of lines that name TW_ASSERT.
#pragma once

#include <tickwheel/tw.h>

#include <cstddef>
#include <cstdint>

#include "assert.hpp"
#include "inlining.hpp"

namespace tickwheel::core {

static_assert(offsetof(tw_node, link) == 0);

inline tw_node &node_of(tw_link &link) { return reinterpret_cast<tw_node &>(link); }
inline const tw_node &node_of(const tw_link &link) { return reinterpret_cast<const tw_node &>(link); }

// Besides the user's nodes, rings contain the places of walks (walk.hpp), nodes that never fire. Their state
// tells them apart.
inline constexpr std::uint8_t place_state = TW_RETIRED + 1;

inline bool is_place(const tw_node &node) { return TW_RUNTIME != 0 && node.state == place_state; }

inline void make_empty(tw_link &ring) { ring.next = ring.prev = &ring; }

// Stops the program because of a link that a neighbour contradicts.
[[noreturn]] inline void stop_at(const tw_link &broken) {
    stop("its neighbours in the wheel do not agree: it was reinitialised, copied, overwritten or freed "
         "while it was pending",
         &node_of(broken));
}

// Finds the broken one among a link and its neighbours: if both neighbours contradict the link, it is broken
// itself, otherwise the neighbour that disagrees is.
[[noreturn, gnu::cold, gnu::noinline]] inline void stop_near(const tw_link &link) {
    const bool behind_agrees = link.next->prev == &link;
    const bool before_agrees = link.prev->next == &link;
    if (behind_agrees == before_agrees)
        stop_at(link);
    stop_at(behind_agrees ? *link.prev : *link.next);
}

// A node in a ring is pending unless the program has initialised it again or reused its memory.
inline void stop_if_not_pending(const tw_node &node) {
    if (unlikely(links_are_checked && node.state != TW_PENDING))  // as TW_ASSERT
        stop_at(node.link);
}

inline bool agrees_with_both(const tw_link &link) {
    return link.prev->next == &link && link.next->prev == &link;  // as TW_ASSERT
}

inline void stop_if_broken(const tw_link &link) {
    if (unlikely(links_are_checked && !agrees_with_both(link)))  // as TW_ASSERT
        stop_near(link);
}

// The next link, checked, for walking a ring.
inline tw_link &behind(const tw_link &link) {
    if (unlikely(links_are_checked && link.next->prev != &link))  // as TW_ASSERT
        stop_at(*link.next);
    return *link.next;
}

inline void stop_if_last_broken(const tw_link &ring) {
    if (unlikely(links_are_checked && ring.prev->next != &ring))  // as TW_ASSERT
        stop_at(*ring.prev);
}

inline void insert_after(tw_link &where, tw_link &link) {
    link.prev = &where;
    link.next = where.next;
    where.next->prev = &link;
    where.next = &link;
}

inline void append(tw_link &ring, tw_link &link) {
    stop_if_last_broken(ring);
    insert_after(*ring.prev, link);
}

inline void unlink_unchecked(tw_link &link) {
    link.prev->next = link.next;
    link.next->prev = link.prev;
}

inline void unlink(tw_link &link) {
    stop_if_broken(link);
    unlink_unchecked(link);
}

inline bool is_empty(const tw_link &ring) { return ring.next == &ring; }

// The previous link, checked like `behind`.
inline tw_link &preceding(const tw_link &link) {
    if (unlikely(links_are_checked && link.prev->next != &link))  // as TW_ASSERT
        stop_at(*link.prev);
    return *link.prev;
}

// Prefetches from the end of a ring towards its front, while members leave at the front one after the other.
// The address of the next member is unknown until the current one arrives from memory; meanwhile this walk
// fetches another member, so that half of them are in the cache when their turn comes.
//
// The walk must end before the lock is released, because only the first member may leave during it.
class back_walk {
  public:
    explicit back_walk(const tw_link &ring) : at_(&ring) {}

    // Moves on by one member, and ends at `first`, which leaves next.
    void touch_next(const tw_link &first) {
        if (!has_room || at_ == nullptr)
            return;
        if (at_ != &first)
            at_ = &preceding(*at_);
        if (at_ == &first)
            at_ = nullptr;
    }

  private:
    const tw_link *at_;  // null: the walk has ended
};

// Moves all members of `from`, in their order, behind the members of `ring`.
inline void append_all(tw_link &ring, tw_link &from) {
    if (is_empty(from))
        return;
    stop_if_last_broken(ring);
    stop_if_last_broken(from);
    behind(from).prev = ring.prev;
    ring.prev->next = from.next;
    from.prev->next = &ring;
    ring.prev = from.prev;
    make_empty(from);
}

}  // namespace tickwheel::core
