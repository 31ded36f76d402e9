// Memory for cells, rests and chunks, which is freed as a whole.
#pragma once

#include <cstddef>

namespace tickwheel::timers {

// Describes memory that the record space frees at its end. It stands behind what was allocated with it, so
// that this keeps the alignment of the allocation.
struct alignas(64) slab {
    slab *next;
    char *begin;
    std::size_t mapped;  // bytes; 0: `begin` comes from the heap
};

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

// Allocates one. Any thread, no lock. Null without memory.
slab *allocate_slab(std::size_t bytes);

// The same for chunks, most of which are never written: in small pages. A huge page would take 2 MB for the
// few bytes at the beginning and at the end.
slab *allocate_chunks(std::size_t bytes);

// The same for cells: all zero. Cells that nearly fill whole huge pages are mapped in huge pages if the
// system has them: records are accessed in random order, and with small pages each access would miss the TLB
// too. Clearing fresh memory is slow and must not happen under the lock (P8), so this function does it.
slab *allocate_cells(std::size_t bytes);

void free_slab(slab *of);  // may be null
void free_slabs(slab *first);

}  // namespace tickwheel::timers
