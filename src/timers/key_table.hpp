// The hash table behind keyed.h: it maps a key's hash to the number of its record's cell.
//
// The keys themselves are in the records. The table has 32 bits of each key's hash and the number, in buckets
// of 8 bytes with open addressing, at most half of them in use. `erase` moves the next buckets up into the
// empty one, so there are no tombstones, and endless inserting and erasing does not slow the table down.
//
// While the table grows there are two arrays. Each insert and erase moves a few buckets from the old array to
// the new one, so that no single call moves them all (P8).
//
// REQUIRES: record lock held, except for `hash` and `prefetch`.
#pragma once

#include <atomic>
#include <cstdint>

#include <tickwheel/keyed.h>

#include "siphash.hpp"

namespace tickwheel::timers {

// An array of buckets. Its size is a power of two. Invariant: between home(hash), where the search for a hash
// starts, and the bucket that holds the hash, no bucket is empty.
class bucket_array {
  public:
    static constexpr std::uint32_t none = UINT32_MAX;

    struct bucket {
        std::uint32_t hash;
        std::uint32_t number_plus_1;  // 0: empty, as fresh memory is
    };

    int open(std::uint32_t size);  // a power of two; returns 0 or -ENOMEM
    void close();                  // also if not open

    bool is_open() const { return buckets_ != nullptr; }
    const bucket *buckets() const { return buckets_; }
    std::uint32_t size() const { return mask_ + 1; }

    template <class Matches> std::uint32_t find(std::uint32_t hash, Matches &&matches) const {
        for (std::uint32_t i = home(hash); buckets_[i].number_plus_1 != 0; i = (i + 1) & mask_)
            if (buckets_[i].hash == hash && matches(buckets_[i].number_plus_1 - 1))
                return i;
        return none;
    }
    std::uint32_t number(std::uint32_t i) const { return buckets_[i].number_plus_1 - 1; }

    void insert(std::uint32_t hash, std::uint32_t number);
    void erase(std::uint32_t hole);
    // Moves the content of bucket i to `other`, and that of the buckets that move up into it, until bucket i
    // stays empty.
    void move_to(bucket_array &other, std::uint32_t i);
    // Returns the memory of empty buckets to the system.
    void give_back(std::uint32_t from, std::uint32_t to);

    std::uint32_t home(std::uint32_t hash) const { return hash & mask_; }

  private:
    bucket *buckets_ = nullptr;
    std::uint32_t mask_ = 0;
};

class key_table {
  public:
    static constexpr std::uint32_t none = bucket_array::none;

    // Makes a table for up to `capacity` keys, which allocates nothing later; or, if `capacity` is 0, a table
    // that grows. Returns 0, -ENOMEM or the negative errno of getrandom.
    int open(std::uint32_t capacity);
    void close();  // also if not open

    std::uint32_t hash(const tw_key &key) const;

    // Prefetches the bucket of a hash.
    void prefetch(std::uint32_t hash) const {
        const std::uint32_t mask = prefetched_mask_.load(std::memory_order_relaxed);
        __builtin_prefetch(prefetched_.load(std::memory_order_relaxed) + (hash & mask));
    }

    // Returns the number with this hash for which matches(number) is true, or `none`.
    template <class Matches> std::uint32_t find(std::uint32_t hash, Matches &&matches) const {
        if (const std::uint32_t i = buckets_.find(hash, matches); i != none)
            return buckets_.number(i);
        if (!may_be_old(hash))
            return none;
        const std::uint32_t i = old_.find(hash, matches);
        return i != none ? old_.number(i) : none;
    }

    // Makes room for one more key. Returns 0, or -ENOMEM and changes nothing. A table with a capacity already
    // has room.
    int reserve_one();

    // REQUIRES: the number is not in the table, and there is room
    void insert(std::uint32_t hash, std::uint32_t number);

    // Does nothing if the number is not under this hash, because another number has replaced it.
    void erase(std::uint32_t hash, std::uint32_t number);

    std::uint32_t count() const { return count_; }
    bool growing() const { return old_.is_open(); }

  private:
    bool may_be_old(std::uint32_t hash) const { return old_.is_open() && old_.home(hash) < old_left_; }
    void move_some();
    void use(const bucket_array &buckets);

    sip_seed seed_{};
    bool grows_ = false;
    bucket_array buckets_;
    bucket_array old_;            // open while its buckets move to buckets_
    std::uint32_t old_left_ = 0;  // the buckets of old_ from this one on have moved
    std::uint32_t count_ = 0;

    // The address and mask of buckets_, for `prefetch`, which has no lock. They may be stale, or not
    // match each other: prefetching a wrong address does no harm.
    std::atomic<const bucket_array::bucket *> prefetched_{nullptr};
    std::atomic<std::uint32_t> prefetched_mask_{0};
};

}  // namespace tickwheel::timers
