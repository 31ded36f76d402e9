// Seams: how nodes and records of one slot keep one order (P3).
//
// A slot has a ring of nodes and a log of records, each in the order of arming. When a record joins a slot
// that ends with a node, a seam goes to the end of both ring and log, before the record:
//
//     ring   n1 n2 | n3             order of arming: r1 n1 n2 r2 r3 n3
//     log    r1    | r2 r3
//
// To empty the slot, the wheel goes along the log. At each seam it first goes along the ring up to the same
// seam; at the end of the log, to the end of the ring. A slot with only nodes or only records needs no seam.
#pragma once

#include <cstddef>

#include "ring.hpp"

namespace tickwheel::core {

struct seam {
    tw_link link;
    std::uint32_t emptied;  // record_logs::emptied when put; if that has grown, the seam has left its slot
    std::uint8_t unused[offsetof(tw_node, state) - sizeof(tw_link) - sizeof(std::uint32_t)];
    std::uint8_t state;  // seam_state

    seam *next_free() const { return reinterpret_cast<seam *>(link.next); }
    void set_next_free(seam *next) { link.next = reinterpret_cast<tw_link *>(next); }
};
static_assert(offsetof(seam, state) == offsetof(tw_node, state), "a seam is told from a node by its state");
static_assert(sizeof(seam) <= 32);

}  // namespace tickwheel::core
