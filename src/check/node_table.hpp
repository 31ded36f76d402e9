// A table of the pending nodes of the process, and of the contents that each had when the library last
// changed it. The nodes have no room for this, because struct tw_node is the same in every build.
//
// T1  A node is in the table if and only if it is pending on a wheel that still exists. The table
//     notices that a wheel has gone only when a call names one of its nodes or initialises a wheel
//     in its place.
// T2  The wheel's own lock guards `seen` and the list of the wheel; the locks of the table guard the
//     rest.
//
// Lock order: the wheel's lock, the mutex of wheels, a stripe's mutex. The first memory is static; more comes
// from mmap. The table never gives memory back, but reuses freed entries.
#pragma once

#include <tickwheel/tw.h>

#include <cstddef>
#include <cstdint>

namespace tickwheel::check {

struct watched_wheel;

struct watched_node {
    const tw_node *node;
    tw_node seen;          // valid from `expiry` on: the links before it change as neighbours come and go
    const void *armed_by;  // the return address of the call that armed the node; null if unknown
    watched_wheel *wheel;
    watched_node *next, *previous;  // in the list of the wheel
    watched_node *next_in_bucket;
};

// A wheel that has pending nodes or belongs to a runtime.
struct watched_wheel {
    const tw *wheel;
    watched_node *first, *next_to_look_at;  // null: the first
    watched_wheel *next;
    bool is_lasting;  // in the table until `forget`, even while nothing is pending

    // A node of this wheel that was initialised again while we could not know whether the wheel still exists.
    // It was a mistake if the program uses the wheel after that. Null: none.
    const tw_node *made_again;
    const void *made_again_by;
    tw_node made_again_from;
};

// The wheel that a node was armed on last. `seen` is the node or a copy of it, `node` the node's own address.
inline const tw *wheel_of(const tw_node &seen, const tw_node *node) {
    constexpr unsigned half = 4 * sizeof(std::uintptr_t);
    const auto address = reinterpret_cast<std::uintptr_t>(node);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the node has no pointer
    return reinterpret_cast<const tw *>(seen.wheel - (address << half | address >> half));
}

// Zeroed memory that is never freed; null if there is none.
void *memory_for_good(std::size_t size);

// Null if the node is not pending. The result is valid while the lock of the node's wheel is held.
watched_node *find(const tw_node *node);

// Adds a node to the wheel that it names. Null if there is no memory: then the node is not watched.
watched_node *add(const tw_node *node);
void remove(watched_node *watched);

// A pending node with the same contents as this one, or null.
const tw_node *find_alike(const tw_node &node);

watched_wheel *find_wheel(const tw *wheel);
watched_wheel *find_or_add_wheel(const tw *wheel);

// Forget the nodes of a wheel that has gone, and the nodes of all wheels whose memory overlaps a new wheel.
void forget(const tw *wheel);
void forget_overlapping(const tw *wheel);

}  // namespace tickwheel::check
