// The memory of one set's records: cells that never move, numbered from 0 in the order in which they were
// first taken. A cell holds one record after another, and counts them in `generation`.
//
// The memory outlives its set, because entries on the wheel may still name its cells. It stays with the
// record space, for later sets (spare_memory).
//
// The record lock guards the store, except as noted.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>

#include "base/numbers.hpp"
#include "cells.hpp"
#include "core/records.hpp"
#include "spare_memory.hpp"

namespace tickwheel::timers {

inline constexpr std::uint32_t most_blocks_at_once = 64;

// Everything that a store needs to grow, allocated without the lock. If freed sets have left blocks, the
// growth is only room for the numbers of these blocks.
struct growth {
    std::uint32_t from = 0;  // the number of cells when this was planned
    std::uint32_t cells = 0;
    std::uint32_t blocks = 0;  // the blocks that start within these cells
    bool takes_spares = false;
    std::uint32_t few[most_blocks_at_once];
    std::uint32_t *numbers = few;  // the numbers of the blocks
    slab *memory = nullptr;
    std::uint32_t table_size = 0;  // of a larger table, if one is needed
    std::uint32_t *table = nullptr;
    std::size_t chunk_count = 0;  // for the entries of these cells
    slab *chunks = nullptr;

    // Returns 0, -ENOMEM or -EMFILE. Then call record_store::add or `discard`.
    int allocate(std::uint32_t stride);
    void discard();

  private:
    int take_numbers();
    bool allocate_memory(std::uint32_t stride);
};

// Invariants
//   T1  next_number <= used <= allocated, and next_number <= limit
//   T2  Every free cell below next_number is on the free list.
class record_store {
  public:
    // Bytes from one cell to the next.
    std::uint32_t stride() const { return stride_; }

    void shape(std::uint32_t stride, unsigned lane) {
        stride_ = stride;
        lane_ = static_cast<std::uint16_t>(lane);
    }

    // Makes this the store of a set with at most `capacity` records; 0: any number. Needs no lock if only the
    // caller knows the store.
    void attach(record_set &owner, std::uint32_t capacity);

    // Ends a set's use of the store: no handle finds the cells any more. Links all blocks but the first;
    // returns one end of the chain, or 0. Needs no lock, because the set has no records.
    std::uint32_t detach();

    // Gives back the number of the first block, and frees the table. Needs no lock.
    void free_all();

    // Returns a cell in state `starting`; null if the store is full or has to grow first.
    TW_INLINED record *take() TW_REQUIRES(core::wheels_lock) {
        record *const taken = first_free_ != nullptr ? first_free_ : take_fresh();
        if (taken == nullptr)
            return nullptr;
        assert(taken->state == record_state::free);
        first_free_ = taken->next_free;
        taken->state = record_state::starting;
        return taken;
    }
    // `in` is the block of the record's cell.
    void give_back(record &freed, const block &in) TW_REQUIRES(core::wheels_lock) {
        assert(freed.state == record_state::ended && freed.uses == 0 && !core::is_armed(freed.timing));
        const std::uint32_t reused = ++freed.generation - in.generation;
        if (reused > most_reused_)
            most_reused_ = reused;
        freed.state = record_state::free;
        freed.next_free = first_free_;
        first_free_ = &freed;
    }

    // Call this when no cell is in use. Hands out cells from number 0 again, so that a walk up to
    // end_number() does not visit all cells that were once in use. Leaves a short walk alone: taking a cell
    // from the free list is faster than taking a fresh one.
    void reset() TW_REQUIRES(core::wheels_lock) {
        if (next_number_ <= short_walk)
            return;
        next_number_ = 0;
        first_free_ = nullptr;
    }

    bool is_full() const { return next_number_ == limit_ && first_free_ == nullptr; }
    std::uint32_t allocated() const { return allocated_; }

    // `plan` plans a growth, by the usual number of cells or up to the store's limit, and `add` makes it.
    // `add` returns false if another thread was faster; then the caller discards the growth.
    void plan(growth &next, bool to_limit, const spare_memory &spare) const TW_REQUIRES(core::wheels_lock);
    bool add(growth &next, record_set &owner, spare_memory &spare) TW_REQUIRES(core::wheels_lock);

    // True if this cell has had a record of this set.
    bool was_used(const block &in, std::uint32_t cell) const TW_REQUIRES(core::wheels_lock) {
        const std::uint32_t first = in.cells.load(std::memory_order_relaxed) != nullptr ? in.first : 0;
        return first + cell % cells_of_block < used_;
    }

    // All cells with this number or a higher one are free.
    std::uint32_t end_number() const { return next_number_; }
    record &operator[](std::uint32_t number) const { return record_at(cell_of(number)); }

    record_store *next_spare;  // in a list of spare_memory
    std::uint32_t chain_end;   // the other end of the chain, after `detach`

  private:
    static constexpr std::uint32_t short_walk = 4096;

    std::uint32_t cell_of(std::uint32_t number) const {
        return blocks_[number / cells_of_block] * cells_of_block + number % cells_of_block;
    }
    std::uint32_t blocks_of_huge_page() const {
        const std::size_t size_of_block = std::size_t{cells_of_block} * stride_;
        return base::larger(1u, static_cast<std::uint32_t>((huge_page - sizeof(slab)) / size_of_block));
    }
    std::uint32_t block_count() const { return (allocated_ + cells_of_block - 1) / cells_of_block; }
    void add_block(std::uint32_t number, record_set &owner);
    std::size_t add_piece(char *cells);
    record *take_fresh();

    record *first_free_;         // null: none
    std::uint32_t next_number_;  // the cell to take when the free list is empty
    std::uint32_t used_;         // lower cells have had a record of this set
    std::uint32_t allocated_;    // cells that have memory: a power of two, or whole blocks
    std::uint32_t limit_;
    std::uint32_t stride_;
    std::uint16_t lane_;
    std::uint32_t most_reused_;  // the most generations that a cell has had in this set
    std::uint32_t *blocks_;      // the blocks of the cells
    std::uint32_t table_size_;
    char *pieces_[pieces_of_block];  // of the first block
};

// The most records of one set: the number of handles that it can have.
inline constexpr std::uint32_t most_records = TW_TIMERS_MAX;
static_assert(most_records <= (last_block - 1) * cells_of_block);

}  // namespace tickwheel::timers
