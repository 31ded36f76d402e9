// Memory that freed sets leave to later ones, and the list of all memory that the space frees at its end.
//
// REQUIRES: record lock held, for all but what says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record.hpp"
#include "slab.hpp"

namespace tickwheel::timers {

class record_store;

inline constexpr std::size_t most_storage = 4096;
inline constexpr std::size_t cell_alignment = 64;

// Memory for records that belongs to no set: what freed sets have left, by the size of their cells, and
// rests. Blocks go to any set with cells of that size that grows. The first block of a set, whose pieces its
// store knows, goes with the store. So there is never more memory than the sets have needed at one time, and
// a first block for each of them.
class spare_memory {
  public:
    record_store *take_store(std::uint32_t stride);  // null if there is none
    bool has_blocks(std::uint32_t stride) const { return kinds_[kind_of(stride)].blocks != 0; }
    std::uint32_t take_block(std::uint32_t stride);        // 0: none
    void give(record_store &store, std::uint32_t blocks);  // the chain that `end` has returned

    // A rest for a record of a set that has no room for it in the cells; null if more have to be added.
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

    // What is freed in the end: everything. No lock, and no wheel may know the cells.
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
