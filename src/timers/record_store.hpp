// The memory of one set's records: numbered cells in slabs that never move.
//
// A cell holds one record after another, and counts them in `generation`. Everything here is
// guarded by the lock of the set, except where a function says otherwise.
#pragma once

#include <atomic>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include <tickwheel/handle.h>
#include <tickwheel/keyed.h>
#include <tickwheel/task.h>
#include <tickwheel/tw.h>

#include "workers/workers.hpp"

namespace tickwheel::runtime {

struct record_set;

// The life of a record, in this order.
enum class record_state : std::uint8_t {
    free,      // the cell is on the free list, or was never used
    starting,  // being filled in; no other thread can find it
    live,      // fires, and its handle or key finds it
    ended      // fires no more; its last run, or the call that ended it, frees the cell
};

// A key that does not fit into a record. Its bytes follow the struct on the heap. They are
// aligned as malloc aligns, because a callback may read a struct there.
struct alignas(std::max_align_t) long_key {
    std::uint32_t hash;

    unsigned char *bytes() { return reinterpret_cast<unsigned char *>(this + 1); }
};

// A record's copy of its key. `has_number_key` and `key_size` tell which member is valid.
union stored_key {
    unsigned char bytes[16];
    long_key *longer;  // if the key is longer than `bytes`
    std::uint64_t number;
};

// A timer that the library keeps, in two cache lines: the first is the node, the second the
// rest. A set with workers has a `worker_part` behind each record, and a set with storage then
// has the copy of the task's argument.
struct record {
    tw_node node;  // its `arg` is the task's
    record_set *set;
    std::uint32_t number;      // of the cell
    std::uint32_t generation;  // of the cell; increases when the record is over
    union {
        tw_task_callback *fn;
        record *next_free;  // while free
    };
    tw_next_deadline *next;
    void (*drop)(void *);
    std::uint32_t uses;  // fires that wait or run, and calls that keep the record: see record_life.hpp
    record_state state : 4;
    bool is_last : 1;         // its last fire has begun
    std::uint8_t : 0;         // ends the memory location that changes while the record is live
    std::uint8_t epoch : 7;   // from here on all is constant while it is live,
    bool has_number_key : 1;  // so callbacks read it without the lock
    std::uint16_t key_size;
    stored_key key;
};

// Follows the record in a set with workers.
struct worker_part {
    tw_runnable runnable;
    std::uint32_t begun;  // how many of `uses` a worker has begun
};

inline constexpr std::uint32_t most_records = std::uint32_t{1} << 24;

// Slab i has 64 << i cells: 19 slabs hold them all, and growing moves none.
class record_store {
  public:
    // For `capacity` records, or any number if that is 0, with `behind` bytes after each.
    void shape(std::uint32_t capacity, std::size_t behind);
    int allocate_all();
    void free_all();

    // Returns a cell in state `starting`; null if the store has to grow first or is full.
    record *take(record_set &owner) {
        record *const taken = first_free_ != nullptr ? first_free_ : take_fresh(owner);
        if (taken == nullptr)
            return nullptr;
        assert(taken->state == record_state::free);
        first_free_ = taken->next_free;
        taken->state = record_state::starting;
        return taken;
    }
    void give_back(record &record) {
        assert(record.state == record_state::ended && record.uses == 0);
        record.state = record_state::free;
        record.next_free = first_free_;
        first_free_ = &record;
    }

    // Handles can express the cells below this number. The others are not handed out.
    void allow_below(std::uint32_t number) { allowed_ = number < limit_ ? number : limit_; }
    bool needs_allowance() const { return next_number_ == allowed_; }

    // To be called when no cell is in use. Hands out cells from number 0 again, so that a walk
    // up to end_number() does not visit as many cells as were once in use. A short walk is left
    // alone: taking a cell from the free list is faster than taking a fresh one.
    void reset() {
        if (next_number_ <= short_walk)
            return;
        next_number_ = 0;
        first_free_ = nullptr;
    }

    bool is_full() const { return next_number_ == limit_ && first_free_ == nullptr; }

    // To grow: allocate the next slab without the lock, then add it with the lock. `add` returns
    // false if another thread has added that slab first; the caller then frees the memory.
    unsigned next_slab() const { return slab_of(next_number_); }
    void *allocate(unsigned slab) const;
    bool add(unsigned slab, void *memory);

    // All cells with this number or a higher one are free.
    std::uint32_t end_number() const { return next_number_; }

    record &operator[](std::uint32_t number) const {
        const unsigned slab = slab_of(number);
        char *const memory = slabs_[slab].load(std::memory_order_relaxed);
        return *reinterpret_cast<record *>(memory + (number - first_of(slab)) * stride_);
    }

    // Null if no record was ever in this cell.
    record *find(std::uint32_t number) const { return number < used_ ? &(*this)[number] : nullptr; }

    bool contains(const void *address) const;

    // Fetches a cell that is needed soon. Called without the lock, with any number.
    void prefetch(std::uint32_t number) const {
        const unsigned slab = slab_of(number);
        const char *const memory = slab < slab_count ? slabs_[slab].load(std::memory_order_relaxed) : nullptr;
        if (memory == nullptr)
            return;
        const char *const cell = memory + (number - first_of(slab)) * stride_;
        __builtin_prefetch(cell, 1);
        __builtin_prefetch(cell + sizeof(tw_node), 1);
    }

  private:
    static constexpr unsigned slab_count = 19;  // enough for most_records
    static constexpr std::uint32_t smallest = 64;
    static constexpr std::uint32_t short_walk = 4096;

    static unsigned slab_of(std::uint32_t number) {
        return static_cast<unsigned>(std::bit_width(number / smallest + 1)) - 1;
    }
    static std::uint32_t first_of(unsigned slab) { return ((std::uint32_t{1} << slab) - 1) * smallest; }
    std::uint32_t size_of(unsigned slab) const;
    record *take_fresh(record_set &owner);

    std::atomic<char *> slabs_[slab_count];  // written with the lock
    std::size_t stride_;
    std::uint32_t limit_, allowed_;
    std::uint32_t next_number_;  // the cell to take when the free list is empty
    std::uint32_t used_;         // the highest value of next_number_: generations count in cells below
    record *first_free_;
};

inline worker_part &worker_part_of(record &record) { return *reinterpret_cast<worker_part *>(&record + 1); }
inline record &record_of(tw_runnable &runnable) { return *(reinterpret_cast<record *>(&runnable) - 1); }
inline record &record_of(tw_node *node) { return *reinterpret_cast<record *>(node); }

static_assert(most_records == TW_HANDLES_MAX && TW_KEY_MAX <= UINT16_MAX);
static_assert(sizeof(void *) != 8 || sizeof(record) == 128);
static_assert(offsetof(record, node) == 0 && offsetof(worker_part, runnable) == 0);

}  // namespace tickwheel::runtime
