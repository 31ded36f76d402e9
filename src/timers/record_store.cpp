// See record_store.hpp.
#include "record_set.hpp"

#include <cerrno>
#include <cstdlib>

namespace tickwheel::runtime {

namespace {

constexpr std::size_t cache_line = 64;

}  // namespace

void record_store::shape(std::uint32_t capacity, std::size_t behind) {
    static_assert(std::bit_width((most_records - 1) / smallest + 1) == slab_count);
    stride_ = (sizeof(record) + behind + cache_line - 1) / cache_line * cache_line;
    limit_ = capacity != 0 ? capacity : most_records;
    allowed_ = limit_;
    next_number_ = 0;
    used_ = 0;
    first_free_ = nullptr;
}

std::uint32_t record_store::size_of(unsigned slab) const {
    const std::uint32_t whole = smallest << slab, left = limit_ - first_of(slab);
    return whole < left ? whole : left;
}

void *record_store::allocate(unsigned slab) const {
    void *memory = nullptr;
    return posix_memalign(&memory, cache_line, size_of(slab) * stride_) == 0 ? memory : nullptr;
}

bool record_store::add(unsigned slab, void *memory) {
    if (slabs_[slab] != nullptr)
        return false;
    slabs_[slab].store(static_cast<char *>(memory), std::memory_order_relaxed);
    return true;
}

int record_store::allocate_all() {
    for (unsigned slab = 0; slab < slab_count && first_of(slab) < limit_; ++slab) {
        void *const memory = allocate(slab);
        if (memory == nullptr)
            return -ENOMEM;
        add(slab, memory);
    }
    return 0;
}

void record_store::free_all() {
    for (const auto &slab : slabs_)
        std::free(slab);
}

bool record_store::contains(const void *address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (unsigned slab = 0; slab < slab_count && slabs_[slab] != nullptr; ++slab) {
        const auto begin = reinterpret_cast<std::uintptr_t>(slabs_[slab].load());
        if (at >= begin && at - begin < size_of(slab) * stride_)
            return true;
    }
    return false;
}

// Returns the next cell of the slabs, as if it were the only one on the free list. A cell that
// was in use before the last reset() keeps its generation (P11).
record *record_store::take_fresh(record_set &owner) {
    if (next_number_ == allowed_ || slabs_[slab_of(next_number_)] == nullptr)
        return nullptr;
    const std::uint32_t number = next_number_++;
    record &record = (*this)[number];
    record.next_free = nullptr;
    if (number < used_)
        return &record;
    used_ = next_number_;
    record.set = &owner;
    record.number = number;
    record.generation = range_of(owner, number).first_generation;
    record.state = record_state::free;
    record.uses = 0;
    record.node = {};
    return &record;
}

}  // namespace tickwheel::runtime
