// See spare_memory.hpp.
#include "spare_memory.hpp"

#include <cstdlib>

#include "record_store.hpp"

namespace tickwheel::timers {

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

}  // namespace tickwheel::timers
