// Memory for cells, rests and chunks, which is freed all at once.
#pragma once

#include <cstddef>

namespace tickwheel::timers {

// Describes memory that the record space frees at its end. The slab stands after the memory that was
// allocated with it, so that this memory keeps the alignment of the allocation.
struct alignas(64) slab {
    slab *next;
    char *begin;
    std::size_t mapped;  // bytes; 0: `begin` comes from the heap
};

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

// Allocates a slab. Any thread, no lock. Returns null if memory runs out.
slab *allocate_slab(std::size_t bytes);

// The same for chunks, in small pages, because most chunks are never written. A huge page would take 2 MB for
// the few bytes at the beginning and at the end.
slab *allocate_chunks(std::size_t bytes);

// The same for cells, all zero. Cells that nearly fill whole huge pages are mapped in huge pages if the
// system has them: accesses to records come in random order, and with small pages each access would miss the
// TLB too. Clearing fresh memory is slow and must not happen under the lock (P8), so this function does it.
slab *allocate_cells(std::size_t bytes);

void free_slab(slab *of);  // may be null
void free_slabs(slab *first);

}  // namespace tickwheel::timers
