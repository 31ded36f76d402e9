// See cells.hpp.
#include "cells.hpp"

#include <pthread.h>

#include <cerrno>
#include <cstdlib>

#include "runtime/runtime.hpp"

namespace tickwheel::runtime {

constinit std::atomic<block *> directory[leaves] = {};

namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
std::uint32_t next_block = 1;  // that was never taken

// Blocks that were given back, in the order in which that happened: a block, and with it its handles, is
// used again as late as possible. They are linked by `stride`, which a block without owner has no use for.
std::uint32_t first_free = 0, last_free = 0;

// The mutex is held over a fork, so that the child can take blocks. It is taken before all locks of runtimes
// there, and so no thread may hold one of these when it takes the mutex.
bool handlers_are_set = false;

void lock() { pthread_mutex_lock(&mutex); }
void unlock() { pthread_mutex_unlock(&mutex); }

// REQUIRES: mutex held
int watch_for_forks() {
    if (handlers_are_set)
        return 0;
    const int error = pthread_atfork(lock, unlock, unlock);
    handlers_are_set = error == 0;
    return -error;
}

// REQUIRES: mutex held
int add_leaf(std::uint32_t number) {
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
    const mutex_hold hold(&mutex);
    if (first_free != 0) {
        number = first_free;
        first_free = block_at(number).stride;
        return 0;
    }
    if (next_block == last_block)
        return refuse(-EMFILE, "the sets of this process have as many timers as handles can distinguish");
    if (const int error = watch_for_forks(); error != 0)
        return error;
    if (const int error = add_leaf(next_block); error != 0)
        return error;
    number = next_block++;
    return 0;
}

void give_back_block(std::uint32_t number) {
    const mutex_hold hold(&mutex);
    block &it = block_at(number);
    it.owner.store(nullptr, std::memory_order_relaxed);
    it.cells.store(nullptr, std::memory_order_relaxed);
    it.stride = 0;
    if (first_free == 0)
        first_free = number;
    else
        block_at(last_free).stride = number;
    last_free = number;
}

}  // namespace tickwheel::runtime
