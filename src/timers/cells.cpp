// See cells.hpp.
#include "cells.hpp"

#include <cerrno>
#include <cstdlib>

#include "runtime/fork.hpp"

namespace tickwheel::timers {

constinit std::atomic<block *> directory[leaves] = {};
constinit std::uint32_t end_of_blocks = last_block;

namespace {

std::uint32_t next_block TW_GUARDED_BY(runtime::process_mutex) = 1;  // the first that was never taken

// Blocks that were given back, oldest first: a block, and so its handles, is reused as late as possible. They
// are linked by `first`, which a block without an owner does not need.
std::uint32_t first_free TW_GUARDED_BY(runtime::process_mutex) = 0;
std::uint32_t last_free TW_GUARDED_BY(runtime::process_mutex) = 0;

int add_leaf(std::uint32_t number) TW_REQUIRES(runtime::process_mutex) {
    std::atomic<block *> &leaf = directory[number / blocks_of_leaf];
    if (leaf.load(std::memory_order_relaxed) != nullptr)
        return 0;
    void *const memory = std::calloc(blocks_of_leaf, sizeof(block));
    if (memory == nullptr)
        return -ENOMEM;
    leaf.store(static_cast<block *>(memory), std::memory_order_release);
    return 0;
}

}  // namespace

int take_block(std::uint32_t &number) {
    const base::mutex_hold hold(&runtime::process_mutex);
    if (first_free != 0) {
        number = first_free;
        first_free = block_at(number).first;
        return 0;
    }
    if (next_block == end_of_blocks)
        return runtime::refuse(-EMFILE,
                               "the sets of this process have as many timers as handles can distinguish");
    if (const int error = add_leaf(next_block); error != 0)
        return error;
    number = next_block++;
    return 0;
}

void give_back_block(std::uint32_t number) {
    const base::mutex_hold hold(&runtime::process_mutex);
    block &back = block_at(number);
    back.owner.store(nullptr, std::memory_order_relaxed);
    back.cells.store(nullptr, std::memory_order_relaxed);
    back.first = 0;
    if (first_free == 0)
        first_free = number;
    else
        block_at(last_free).first = number;
    last_free = number;
}

}  // namespace tickwheel::timers
