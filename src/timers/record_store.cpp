// See record_store.hpp.
#include "record_store.hpp"
#include "base/numbers.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace tickwheel::timers {

// --- growing -----------------------------------------------------------------------------

int growth::take_numbers() {
    const std::uint32_t wanted = blocks;
    blocks = 0;
    if (wanted > most_blocks_at_once)
        numbers = static_cast<std::uint32_t *>(std::malloc(wanted * sizeof *numbers));
    if (numbers == nullptr)
        return -ENOMEM;
    for (; blocks < wanted; ++blocks)
        if (const int error = take_block(numbers[blocks]); error != 0)
            return error;
    return 0;
}

bool growth::allocate_memory(std::uint32_t stride) {
    memory = allocate_cells(std::size_t{cells} * stride);
    if (chunk_count != 0)
        chunks = allocate_chunks(chunk_count * sizeof(core::log_chunk));
    return memory != nullptr && (chunk_count == 0 || chunks != nullptr);
}

int growth::allocate(std::uint32_t stride) {
    int error = takes_spares ? 0 : take_numbers();
    if (error == 0 && !takes_spares && !allocate_memory(stride))
        error = -ENOMEM;
    if (error == 0 && table_size != 0)
        table = static_cast<std::uint32_t *>(std::malloc(table_size * sizeof *table));
    if (error == 0 && table_size != 0 && table == nullptr)
        error = -ENOMEM;
    if (error != 0)
        discard();
    return error;
}

void growth::discard() {
    while (!takes_spares && blocks != 0)
        give_back_block(numbers[--blocks]);
    if (numbers != few)
        std::free(numbers);
    free_slab(memory);
    std::free(table);
    free_slab(chunks);
}

// The first block grows by pieces, each as large as all before it. Then the store grows by whole blocks: it
// doubles, but adds no more than fits into a huge page, because clearing the new cells holds up all timers if
// a callback starts the timer (P2). It adds at least one block (4 MB with the largest storage). A set with a
// capacity gets everything that it lacks at once, so that it is made completely or not at all. The store
// takes blocks of freed sets a few at a time, under the lock.
void record_store::plan(growth &next, bool to_limit, const spare_memory &spare) const {
    const bool has_spares = spare.has_blocks(stride_);
    const std::uint32_t there = block_count();
    const std::uint32_t wanted = to_limit ? limit_ : allocated_ + 1;
    std::uint32_t to;
    if (allocated_ < cells_of_block && (wanted <= cells_of_block || has_spares)) {
        to = std::bit_ceil(base::larger(smallest_piece, base::smaller(wanted, cells_of_block)));
    } else {
        const std::uint32_t most = (limit_ - 1) / cells_of_block + 1 - there;
        std::uint32_t more = to_limit ? most : base::smaller(most, there);
        if (!to_limit)
            more = base::smaller(more, blocks_of_huge_page());
        if (has_spares)
            more = base::smaller(more, most_blocks_at_once);
        next.takes_spares = has_spares;
        to = cells_of_block * (there + more);
    }
    next.from = allocated_;
    next.cells = to - allocated_;
    next.blocks = (to - 1) / cells_of_block + 1 - there;
    next.table_size = there + next.blocks <= table_size_ ? 0 : 2 * (there + next.blocks);
}

void record_store::add_block(std::uint32_t number, record_set &owner) {
    block &added = block_at(number);
    added.stride = static_cast<std::uint16_t>(stride_);
    added.lane.store(lane_, std::memory_order_relaxed);
    added.first = allocated_;
    blocks_[block_count()] = number;
    added.owner.store(&owner, std::memory_order_relaxed);
}

// Adds the next piece to the first block, and returns the number of its cells.
std::size_t record_store::add_piece(char *cells) {
    const auto piece = static_cast<unsigned>(std::bit_width(allocated_ / smallest_piece));
    block_at(blocks_[0]).pieces = pieces_;
    pieces_[piece] = cells;
    return base::larger(allocated_, smallest_piece);
}

bool record_store::add(growth &next, record_set &owner, spare_memory &spare) {
    if (next.from != allocated_)
        return false;
    if (next.table != nullptr) {
        if (blocks_ != nullptr)
            std::memcpy(next.table, blocks_, block_count() * sizeof *blocks_);
        std::free(blocks_);
        blocks_ = next.table;
        table_size_ = next.table_size;
    }
    if (next.takes_spares) {
        for (; next.blocks != 0; --next.blocks, allocated_ += cells_of_block) {
            const std::uint32_t number = spare.take_block(stride_);
            if (number == 0)
                break;
            add_block(number, owner);
        }
        return true;
    }
    const std::uint32_t *number = next.numbers;
    char *cells = next.memory->begin;
    for (const std::uint32_t end = allocated_ + next.cells; allocated_ != end;) {
        if (allocated_ % cells_of_block == 0)
            add_block(*number++, owner);
        std::size_t added = cells_of_block;
        if (allocated_ < cells_of_block)
            added = add_piece(cells);
        else
            block_at(number[-1]).cells.store(cells, std::memory_order_relaxed);
        allocated_ += static_cast<std::uint32_t>(added);
        cells += added * stride_;
    }
    spare.add(next.memory);
    if (next.numbers != next.few)
        std::free(next.numbers);
    return true;
}

// --- one set after another -----------------------------------------------------------------

void record_store::attach(record_set &owner, std::uint32_t capacity) {
    limit_ = capacity != 0 ? capacity : most_records;
    if (allocated_ != 0)
        block_at(blocks_[0]).owner.store(&owner, std::memory_order_relaxed);
}

// Raises the generations of the cells, so that no handle of this set is ever a handle of the next one.
std::uint32_t record_store::detach() {
    std::uint32_t chain = 0;
    for (std::uint32_t i = 0; i < block_count(); ++i) {
        block &each = block_at(blocks_[i]);
        each.owner.store(nullptr, std::memory_order_relaxed);
        each.generation += most_reused_ + 1;
        if (i == 0)
            continue;
        each.first = chain;
        chain = blocks_[i];
    }
    chain_end = block_count() > 1 ? blocks_[1] : 0;
    allocated_ = base::smaller(allocated_, cells_of_block);
    first_free_ = nullptr;
    next_number_ = used_ = most_reused_ = 0;
    return chain;
}

void record_store::free_all() {
    if (allocated_ != 0)
        give_back_block(blocks_[0]);
    std::free(blocks_);
}

// --- taking ---------------------------------------------------------------------------------

// Returns the next cell, as if it were the only one on the free list. A cell that was in use before the last
// reset() keeps its generation (P11). Its stamp continues from the last use of the memory, so that old
// entries stay stale.
record *record_store::take_fresh() {
    if (next_number_ == allocated_ || next_number_ == limit_)
        return nullptr;
    const std::uint32_t number = next_number_++;
    assert(next_number_ <= used_ + 1 && used_ <= allocated_);
    const std::uint32_t cell = cell_of(number);
    record &timer = record_at(cell);
    if (number >= used_) {
        used_ = next_number_;
        timer.number = cell;
        timer.generation = block_of(cell).generation;
        timer.state = record_state::free;
        timer.uses = 0;
    }
    timer.next_free = nullptr;
    return &timer;
}

}  // namespace tickwheel::timers
