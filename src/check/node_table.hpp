// The pending nodes of the process, and what each looked like when the library last changed it. struct
// tw_node is the same in every build, so what a checking build remembers stands beside it, here.
//
// T1  A node is in the table if and only if it is pending on a wheel that still exists. A wheel that has gone
//     is noticed only when somebody asks for one of its nodes, or makes a wheel at its place.
// T2  `seen` and the list of a wheel are guarded by the wheel's own lock; the rest by the table's.
//
// Locks are taken in this order: the wheel's, the mutex of wheels, a stripe's. Memory is static at first
// and then comes from mmap. It is never given back: freed entries are used again.
#pragma once

#include <tickwheel/tw.h>

#include <cstddef>
#include <cstdint>

namespace tickwheel::check {

struct watched_wheel;

struct watched_node {
    const tw_node *node;
    tw_node seen;          // all but what is before the expiry: links, which change as neighbours come and go
    const void *armed_by;  // where the call that armed it returns to; null if that is not known
    watched_wheel *wheel;
    watched_node *next, *previous;  // in the list of the wheel
    watched_node *next_in_bucket;
};

// A wheel on which something is pending, or one of a runtime.
struct watched_wheel {
    const tw *wheel;
    watched_node *first, *next_to_look_at;  // null: the first
    watched_wheel *next;
    bool is_lasting;  // here until it is forgotten, also while nothing is pending

    // A node of this wheel that was initialised again, if the wheel was not known to exist any more: that is
    // a mistake if the wheel is used after that. Null: none.
    const tw_node *made_again;
    const void *made_again_by;
    tw_node made_again_from;
};

// The wheel that a node, or what is remembered of the node at this address, was armed on last.
inline const tw *wheel_of(const tw_node &seen, const tw_node *node) {
    constexpr unsigned half = 4 * sizeof(std::uintptr_t);
    const auto address = reinterpret_cast<std::uintptr_t>(node);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the node has no pointer
    return reinterpret_cast<const tw *>(seen.wheel - (address << half | address >> half));
}

// All-zero memory for good; null if there is none.
void *memory_for_good(std::size_t size);

// Null if the node is not pending. The answer is good for as long as the lock of the node's wheel is held.
watched_node *find(const tw_node *node);

// Adds a node, on the wheel that it names. Null if there is no memory: then the node is not watched.
watched_node *add(const tw_node *node);
void remove(watched_node *it);

// A pending node that looks the same as this one, or null.
const tw_node *find_alike(const tw_node &node);

watched_wheel *find_wheel(const tw *wheel);
watched_wheel *have_wheel(const tw *wheel);

// Forgets the nodes of a wheel that has gone, and those of all wheels whose memory a new wheel takes.
void forget(const tw *wheel);
void forget_all_below(const tw *wheel);

}  // namespace tickwheel::check
