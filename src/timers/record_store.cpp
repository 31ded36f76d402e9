// See record_store.hpp.
#include "record_store.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace tickwheel::runtime {

namespace {

constexpr std::size_t page = 4096, huge_page = std::size_t{2} << 20;

slab *allocate(std::size_t bytes, std::size_t alignment) {
    void *memory = nullptr;
    bytes = (bytes + alignof(slab) - 1) / alignof(slab) * alignof(slab);
    if (posix_memalign(&memory, alignment, bytes + sizeof(slab)) != 0)
        return nullptr;
    char *const begin = static_cast<char *>(memory);
    return new (begin + bytes) slab{nullptr, begin};
}

}  // namespace

slab *allocate_slab(std::size_t bytes) { return allocate(bytes, alignof(slab)); }

slab *allocate_cells(std::size_t bytes) {
    if (bytes < huge_page)
        return allocate_slab(bytes);
    slab *const made = allocate(bytes, huge_page);
    if (made != nullptr) {
        madvise(made->begin, bytes, MADV_HUGEPAGE);  // only advice: an error does no harm
        for (std::size_t at = 0; at < bytes; at += page)
            made->begin[at] = 0;
    }
    return made;
}

void free_slab(slab *it) {
    if (it != nullptr)
        std::free(it->begin);
}

void free_slabs(slab *first) {
    while (first != nullptr) {
        slab *const next = first->next;
        free_slab(first);
        first = next;
    }
}

int growth::allocate(std::uint32_t stride, std::uint32_t table_size) {
    const std::uint32_t asked = blocks;
    int error = 0;
    for (blocks = 0; blocks < asked && error == 0; ++blocks)
        error = take_block(numbers[blocks]);
    if (error != 0)
        --blocks;
    memory = allocate_cells(std::size_t{cells} * stride);
    if (table_size != 0)
        table = static_cast<std::uint32_t *>(std::malloc(table_size * sizeof(std::uint32_t)));
    if (chunk_count != 0)
        chunks = allocate_slab(chunk_count * sizeof(core::log_chunk));
    const bool has_all =
        memory != nullptr && (table_size == 0 || table != nullptr) && (chunk_count == 0 || chunks != nullptr);
    if (error == 0 && !has_all)
        error = -ENOMEM;
    if (error != 0)
        discard();
    return error;
}

void growth::discard() {
    while (blocks != 0)
        give_back_block(numbers[--blocks]);
    free_slab(memory);
    std::free(table);
    free_slab(chunks);
}

void record_store::begin(record_set &owner, std::uint32_t capacity) {
    limit_ = capacity != 0 ? capacity : most_records;
    for (std::uint32_t i = 0; i < block_count(); ++i)
        block_at(blocks_[i]).owner.store(&owner, std::memory_order_relaxed);
}

// The cells of the next set begin with generations that no handle of this one has.
void record_store::end() {
    for (std::uint32_t i = 0; i < block_count(); ++i) {
        block &each = block_at(blocks_[i]);
        each.owner.store(nullptr, std::memory_order_relaxed);
        each.generation += most_reused_ + 1;
    }
    first_free_ = next_number_ = used_ = most_reused_ = 0;
}

void record_store::free_all() {
    for (std::uint32_t i = 0; i < block_count(); ++i)
        give_back_block(blocks_[i]);
    std::free(blocks_);
    free_slabs(slabs_);
}

// The first block grows by pieces, each as large as all before; then come whole blocks, each time as many as
// there are, and at most 64.
void record_store::plan(growth &next) const {
    next.from = allocated_;
    const std::uint32_t there = block_count();
    if (allocated_ < cells_of_block) {
        next.cells = allocated_ == 0 ? smallest_piece : allocated_;
        next.blocks = allocated_ == 0 ? 1 : 0;
        return;
    }
    const std::uint32_t wanted = (limit_ - allocated_ - 1) / cells_of_block + 1;
    next.blocks = core::smaller(core::smaller(there, most_blocks_at_once), wanted);
    next.cells = next.blocks * cells_of_block;
}

std::uint32_t record_store::table_size_for(const growth &next) const {
    const std::uint32_t needed = block_count() + next.blocks;
    return needed <= table_size_ ? 0 : 2 * needed;
}

void record_store::add_piece(char *cells) {
    const auto piece = static_cast<unsigned>(std::bit_width(allocated_ / smallest_piece));
    block_at(blocks_[0]).pieces = pieces_;
    pieces_[piece] = cells;
}

bool record_store::add(growth &next, record_set &owner) {
    if (next.from != allocated_)
        return false;
    const std::uint32_t there = block_count();
    if (next.table != nullptr) {
        if (there != 0)
            std::memcpy(next.table, blocks_, there * sizeof *blocks_);
        std::free(blocks_);
        blocks_ = next.table;
        table_size_ = 2 * (there + next.blocks);
    }
    char *const cells = next.memory->begin;
    for (std::uint32_t i = 0; i < next.blocks; ++i) {
        block &each = block_at(blocks_[there + i] = next.numbers[i]);
        each.stride = stride_;
        if (allocated_ != 0) {
            each.first = (there + i) * cells_of_block;
            each.cells.store(cells + std::size_t{i} * cells_of_block * stride_, std::memory_order_relaxed);
        }
        each.owner.store(&owner, std::memory_order_relaxed);
    }
    if (allocated_ < cells_of_block)
        add_piece(cells);
    allocated_ += next.cells;
    next.memory->next = slabs_;
    slabs_ = next.memory;
    return true;
}

void record_store::add_rests(slab *memory) {
    memory->next = slabs_;
    slabs_ = memory;
    auto *const rests = reinterpret_cast<record_rest *>(memory->begin);
    for (std::uint32_t i = 0; i < rests_of_slab; ++i)
        give_back_rest(rests[i]);
}

// Returns the next cell, as if it were the only one on the free list. A cell that was in use before the last
// reset() keeps its generation (P11). Its stamp goes on from the last use of the memory, so that entries
// which are left from there stay stale.
record *record_store::take_fresh() {
    if (next_number_ == allocated_ || next_number_ == limit_)
        return nullptr;
    const std::uint32_t number = next_number_++;
    const std::uint32_t cell = cell_of(number);
    record &it = record_at(cell);
    if (number >= touched_) {
        touched_ = next_number_;
        it.timing.stamp = 0;
    }
    if (number >= used_) {
        used_ = next_number_;
        it.number = cell;
        it.generation = block_of(cell).generation;
        it.state = record_state::free;
        it.uses = 0;
        it.is_armed = false;
    }
    it.next_free = 0;
    return &it;
}

}  // namespace tickwheel::runtime
