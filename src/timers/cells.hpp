// The numbers of cells, which lead to a record's memory. They are unique in the process, so a handle of one
// set is never a handle of another, in any runtime (P11).
//
// Cells are numbered in blocks of 1,024. A directory maps a block to its memory and its owner. If a block is
// given back and another set uses it later, its generations continue.
//
// Any thread. The set that owns a block writes the block's description, with the record lock held; other sets
// read only its `owner`, to find that a handle is not theirs.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "record.hpp"

namespace tickwheel::timers {

inline constexpr std::uint32_t cells_of_block = 1024;
inline constexpr std::uint32_t smallest_piece = 64;
inline constexpr unsigned pieces_of_block = 5;  // of 64, 64, 128, 256 and 512 cells

constexpr std::uint32_t first_of_piece(unsigned piece) {
    return piece == 0 ? 0 : smallest_piece / 2 << piece;
}

// Where one block's cells are. A set's first block is in pieces, which are allocated one by one. This struct
// is small, because each call on a handle reads it.
struct alignas(32) block {
    std::atomic<record_set *> owner;
    std::atomic<char *> cells;  // null: the block is in pieces
    union {
        std::uint32_t first;  // the number of cell 0 in its store
        char *const *pieces;  // if the block is in pieces; then cell 0 has number 0
    };
    std::uint16_t stride;
    std::atomic<std::uint16_t> lane;  // of the owner
    std::uint32_t generation;         // the generation that each of its cells starts with
};
static_assert(sizeof(block) == 32);

// Leaves of 1,024 blocks. The first block stays unused so that no handle is 0, and the last one so that
// number + 1 is never 0.
inline constexpr std::uint32_t leaves = 4096, blocks_of_leaf = 1024;
inline constexpr std::uint32_t last_block = leaves * blocks_of_leaf - 1;

extern std::atomic<block *> directory[leaves];

// take_block hands out numbers below this one. A test lowers it to run out of numbers.
extern std::uint32_t end_of_blocks;

// take_block takes a block number for a set, and returns 0, -ENOMEM, or -EMFILE if all numbers are taken.
// give_back_block returns the number; the block's `generation` is then the one that the next owner starts
// with. The caller holds no lock of a runtime, because both functions take process_mutex (fork.hpp).
int take_block(std::uint32_t &number);
void give_back_block(std::uint32_t number);

// REQUIRES: the block was taken
inline block &block_at(std::uint32_t number) {
    return directory[number / blocks_of_leaf].load(std::memory_order_relaxed)[number % blocks_of_leaf];
}

// REQUIRES: the cell's block was taken
inline block &block_of(std::uint32_t cell) { return block_at(cell / cells_of_block); }

// The block of any cell number; null if that block does not exist.
inline block *find_block_of(std::uint32_t cell) {
    block *const leaf = directory[cell / cells_of_block / blocks_of_leaf].load(std::memory_order_acquire);
    return leaf != nullptr ? leaf + cell / cells_of_block % blocks_of_leaf : nullptr;
}

// REQUIRES: the cell has memory
inline record &record_in(const block &in, std::uint32_t cell) {
    std::size_t i = cell % cells_of_block;
    char *cells = in.cells.load(std::memory_order_relaxed);
    if (cells == nullptr) {
        const auto piece = static_cast<unsigned>(std::bit_width(i / smallest_piece));
        cells = in.pieces[piece];
        i -= first_of_piece(piece);
    }
    return *reinterpret_cast<record *>(cells + i * in.stride);
}
inline record &record_at(std::uint32_t cell) { return record_in(block_of(cell), cell); }

// The set of a record that is in use.
inline record_set &set_of(const record &timer) {
    return *block_of(timer.number).owner.load(std::memory_order_relaxed);
}

}  // namespace tickwheel::timers
