// See record_store.hpp.
#include "record_store.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace tickwheel::runtime {

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

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
    const bool is_huge = bytes >= huge_page;
    slab *const made = allocate(bytes, is_huge ? huge_page : alignof(slab));
    if (made == nullptr)
        return nullptr;
    if (is_huge)
        madvise(made->begin, bytes, MADV_HUGEPAGE);  // only advice: an error does no harm
    std::memset(made->begin, 0, bytes);
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
        chunks = allocate_slab(chunk_count * sizeof(core::log_chunk));
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

// The first block grows by pieces, each as large as all before; then come whole blocks, each time as many as
// there are, and at most 64. A set with a capacity has all that it lacks in one go, so that it is made as a
// whole or not at all. Blocks of freed sets are taken a few at a time, under the lock.
void record_store::plan(growth &next, std::uint32_t target, const spare_memory &spare) const {
    const bool has_spares = spare.has_blocks(stride_);
    const std::uint32_t there = block_count();
    const std::uint32_t wanted = core::larger(target, allocated_ + 1);
    std::uint32_t to;
    if (allocated_ < cells_of_block && (wanted <= cells_of_block || has_spares)) {
        to = core::smaller(cells_of_block, core::larger(smallest_piece, std::bit_ceil(wanted)));
    } else {
        const std::uint32_t usual = core::smaller(there, (limit_ - 1) / cells_of_block + 1 - there);
        const std::uint32_t needed = target > allocated_ ? (wanted - 1) / cells_of_block + 1 - there : usual;
        next.takes_spares = has_spares;
        to = cells_of_block *
             (there +
              (target > allocated_ && !has_spares ? needed : core::smaller(needed, most_blocks_at_once)));
    }
    next.from = allocated_;
    next.cells = to - allocated_;
    next.blocks = (to - 1) / cells_of_block + 1 - there;
    next.table_size = there + next.blocks <= table_size_ ? 0 : 2 * (there + next.blocks);
}

void record_store::add_block(std::uint32_t number, record_set &owner) {
    block &it = block_at(number);
    it.stride = stride_;
    it.first = allocated_;
    blocks_[block_count()] = number;
    it.owner.store(&owner, std::memory_order_relaxed);
}

// Returns how many cells a piece of the first block has.
std::size_t record_store::add_piece(char *cells) {
    const auto piece = static_cast<unsigned>(std::bit_width(allocated_ / smallest_piece));
    block_at(blocks_[0]).pieces = pieces_;
    pieces_[piece] = cells;
    return core::larger(allocated_, smallest_piece);
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

void record_store::begin(record_set &owner, std::uint32_t capacity) {
    limit_ = capacity != 0 ? capacity : most_records;
    if (allocated_ != 0)
        block_at(blocks_[0]).owner.store(&owner, std::memory_order_relaxed);
}

// The cells of the next set begin with generations that no handle of this one has.
std::uint32_t record_store::end() {
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
    allocated_ = core::smaller(allocated_, cells_of_block);
    first_free_ = next_number_ = used_ = most_reused_ = 0;
    return chain;
}

void record_store::free_all() {
    if (allocated_ != 0)
        give_back_block(blocks_[0]);
    std::free(blocks_);
}

record_store *spare_memory::take_store(std::uint32_t stride) {
    record_store *&first = kinds_[kind_of(stride)].stores;
    record_store *const taken = first;
    if (taken != nullptr)
        first = taken->next_spare;
    return taken;
}

std::uint32_t spare_memory::take_block(std::uint32_t stride) {
    std::uint32_t &first = kinds_[kind_of(stride)].blocks;
    const std::uint32_t taken = first;
    if (taken != 0)
        first = block_at(taken).first;
    return taken;
}

void spare_memory::give(record_store &store, std::uint32_t blocks) {
    auto &kind = kinds_[kind_of(store.stride())];
    if (blocks != 0) {
        block_at(store.chain_end).first = kind.blocks;
        kind.blocks = blocks;
    }
    store.next_spare = kind.stores;
    kind.stores = &store;
}

void spare_memory::add_rests(slab *memory) {
    add(memory);
    auto *const rests = reinterpret_cast<record_rest *>(memory->begin);
    for (std::uint32_t i = 0; i < rests_of_slab; ++i)
        give_back_rest(rests[i]);
}

void spare_memory::free_all() {
    for (auto &kind : kinds_) {
        while (record_store *const store = kind.stores) {
            kind.stores = store->next_spare;
            store->free_all();
            std::free(store);
        }
        while (kind.blocks != 0) {
            const std::uint32_t number = kind.blocks;
            kind.blocks = block_at(number).first;
            give_back_block(number);
        }
    }
    free_slabs(slabs_);
}

// --- taking ---------------------------------------------------------------------------------

// Returns the next cell, as if it were the only one on the free list. A cell that was in use before the last
// reset() keeps its generation (P11). Its stamp goes on from the last use of the memory, so that entries
// which are left from there stay stale.
record *record_store::take_fresh() {
    if (next_number_ == allocated_ || next_number_ == limit_)
        return nullptr;
    const std::uint32_t number = next_number_++;
    assert(next_number_ <= used_ + 1 && used_ <= allocated_);
    const std::uint32_t cell = cell_of(number);
    record &it = record_at(cell);
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
