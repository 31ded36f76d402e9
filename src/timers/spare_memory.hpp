// Memory that freed sets leave to later sets, and the list of all memory that the space frees at its end.
//
// REQUIRES: record lock held, except as noted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record.hpp"
#include "slab.hpp"

namespace tickwheel::timers {

class record_store;

inline constexpr std::size_t most_storage = 4096;
inline constexpr std::size_t cell_alignment = 64;

// Memory of a lane for records that belongs to no set: the stores and blocks of freed sets, by the size of
// their cells, and rests. Any growing set of the lane with cells of that size can take the blocks. A set's
// first block stays with its store, which knows the block's pieces. So the memory of a lane never exceeds
// what its sets have needed at one time, plus a first block for each of them.
class spare_memory {
  public:
    record_store *take_store(std::uint32_t stride);  // null if there is none
    bool has_blocks(std::uint32_t stride) const { return kinds_[kind_of(stride)].blocks != 0; }
    std::uint32_t take_block(std::uint32_t stride);        // 0: none
    void give(record_store &store, std::uint32_t blocks);  // the chain that `detach` has returned

    // Returns a rest for a record of a set without rests in its cells; null if the caller must add more.
    record_rest *take_rest() {
        record_rest *const taken = free_rests_;
        if (taken != nullptr)
            free_rests_ = taken->next_free;
        return taken;
    }
    void give_back_rest(record_rest &rest) {
        rest.next_free = free_rests_;
        free_rests_ = &rest;
    }
    static constexpr std::uint32_t rests_of_slab = 63;
    void add_rests(slab *memory);

    // The list of all memory. free_all frees all of it, and needs no lock; but no wheel may know the cells
    // any more.
    void add(slab *memory) {
        memory->next = slabs_;
        slabs_ = memory;
    }
    void free_all();

  private:
    static constexpr std::size_t most_stride =
        (storage_offset(true, true) + most_storage + cell_alignment - 1) / cell_alignment * cell_alignment;
    static std::size_t kind_of(std::uint32_t stride) { return stride / cell_alignment; }

    struct {
        record_store *stores;
        std::uint32_t blocks;  // linked by `first`; 0: none
    } kinds_[most_stride / cell_alignment + 1];
    record_rest *free_rests_;
    slab *slabs_;
};

}  // namespace tickwheel::timers
