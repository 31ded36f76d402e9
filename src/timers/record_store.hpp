// Where the library keeps timers of its own: slots that have a number, in slabs that stay
// where they are. Guarded by the lock of the set they belong to.
#pragma once

#include <atomic>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include <tickwheel/handle.h>
#include <tickwheel/keyed.h>
#include <tickwheel/tw.h>

#include <tickwheel/task.h>

#include "workers/workers.hpp"

namespace tickwheel::runtime {

struct record_set;

enum class record_state : std::uint8_t {
    free,      // in the list of free slots, or never used
    starting,  // its timer is being made, and nobody else knows it
    live,      // it fires, and its handle or key is good
    ended      // it fires no more; its last run, or whoever ended it, gives the slot back
};

// A key that a record has no room for, on the heap; its bytes stand behind it, aligned as
// malloc aligns: callbacks may read a struct there.
struct alignas(std::max_align_t) long_key {
    std::uint32_t hash;

    unsigned char *bytes() { return reinterpret_cast<unsigned char *>(this + 1); }
};

// A key as it is kept. Which of them holds, key_size and has_number_key say beside it.
union kept_key {
    unsigned char bytes[16];
    long_key *longer;  // if there are more
    std::uint64_t number;
};

// One timer, in two cache lines: the node is the first, what its set adds the second. Behind
// it stands what its set has besides.
struct record {
    tw_node node;  // its `arg` is that of the task
    record_set *set;
    std::uint32_t number;
    std::uint32_t generation;  // goes up when the timer is over
    union {
        tw_task_callback *fn;
        record *next_free;  // while free
    };
    tw_next_deadline *next;
    void (*drop)(void *);
    std::uint32_t runs;  // callbacks that wait for a worker, or run; and calls that hold it meanwhile
    record_state state : 4;
    bool is_last : 1;         // its last fire has begun
    std::uint8_t : 0;         // what follows is a memory location of its own
    std::uint8_t epoch : 7;   // from here on nothing changes while it is live, so that
    bool has_number_key : 1;  // callbacks may read it without the lock
    std::uint16_t key_size;
    kept_key key;
};

// Of a set with workers, behind the record.
struct worker_part {
    tw_runnable runnable;
    std::uint32_t begun;  // of `runs`
};

inline constexpr std::uint32_t most_records = std::uint32_t{1} << 24;

// Slab i has 64 << i slots, so that a few slabs are enough for all and none ever moves.
class record_store {
  public:
    // `capacity` 0: grows. `behind` bytes stand behind each record.
    void shape(std::uint32_t capacity, std::size_t behind);
    int allocate_all();
    void free_all();

    // Null: grow first, or there is no more room.
    record *take(record_set &owner) {
        record *const it = first_free_ != nullptr ? first_free_ : make(owner);
        if (it == nullptr)
            return nullptr;
        assert(it->state == record_state::free);
        first_free_ = it->next_free;
        it->state = record_state::starting;
        return it;
    }
    void give_back(record &it) {
        assert(it.state == record_state::ended && it.runs == 0);
        it.state = record_state::free;
        it.next_free = first_free_;
        first_free_ = &it;
    }

    // Slots with these numbers and higher ones cannot be had yet.
    void cover(std::uint32_t up_to) { covered_ = up_to < limit_ ? up_to : limit_; }
    bool is_covered() const { return made_ < covered_; }  // but for those, there may be one more

    // None is taken. They are handed out from the first one again, so that whoever looks at
    // all that may be taken does not see how many there once were. A few are seen quickly, and
    // those in the list of free ones are taken more quickly.
    void all_are_free() {
        if (made_ <= a_few)
            return;
        made_ = 0;
        first_free_ = nullptr;
    }

    // A slab to grow by is allocated with no lock held, and then added, or freed if somebody
    // else has been faster. Null: no memory; `is_full`: no more slots to be had.
    bool is_full() const { return made_ == limit_ && first_free_ == nullptr; }
    unsigned next_slab() const { return slab_of(made_); }
    void *allocate(unsigned slab) const;
    bool add(unsigned slab, void *memory);

    std::uint32_t made() const { return made_; }  // only those with lower numbers may be taken
    record &operator[](std::uint32_t number) const {
        const unsigned slab = slab_of(number);
        char *const memory = slabs_[slab].load(std::memory_order_relaxed);
        return *reinterpret_cast<record *>(memory + (number - first_of(slab)) * stride_);
    }
    record *find(std::uint32_t number) const { return number < used_ ? &(*this)[number] : nullptr; }
    bool contain(const void *address) const;

    // For a slot that is looked at soon; also without the lock, and if there is none.
    void prefetch(std::uint32_t number) const {
        const unsigned slab = slab_of(number);
        const char *const memory = slab < slab_count ? slabs_[slab].load(std::memory_order_relaxed) : nullptr;
        if (memory == nullptr)
            return;
        const char *const it = memory + (number - first_of(slab)) * stride_;
        __builtin_prefetch(it, 1);
        __builtin_prefetch(it + sizeof(tw_node), 1);
    }

  private:
    static constexpr unsigned slab_count = 19;  // enough for most_records
    static constexpr std::uint32_t smallest = 64;
    static constexpr std::uint32_t a_few = 4096;

    static unsigned slab_of(std::uint32_t number) {
        return static_cast<unsigned>(std::bit_width(number / smallest + 1)) - 1;
    }
    static std::uint32_t first_of(unsigned slab) { return ((std::uint32_t{1} << slab) - 1) * smallest; }
    std::uint32_t size_of(unsigned slab) const;
    record *make(record_set &owner);

    std::atomic<char *> slabs_[slab_count];  // written with the lock
    std::size_t stride_;
    std::uint32_t limit_, covered_;
    std::uint32_t made_;
    std::uint32_t used_;  // the same since the set was made: their generations count
    record *first_free_;
};

inline worker_part &worker_part_of(record &it) { return *reinterpret_cast<worker_part *>(&it + 1); }
inline record &record_of(tw_runnable &it) { return *(reinterpret_cast<record *>(&it) - 1); }
inline record &record_of(tw_node *node) { return *reinterpret_cast<record *>(node); }

static_assert(most_records == TW_HANDLES_MAX && TW_KEY_MAX <= UINT16_MAX);
static_assert(sizeof(void *) != 8 || sizeof(record) == 128);
static_assert(offsetof(record, node) == 0 && offsetof(worker_part, runnable) == 0);

}  // namespace tickwheel::runtime
