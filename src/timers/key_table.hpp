// Which number a key is in: the hash table behind keyed.h.
//
// Keys stay with their timers, in slots that the table's user keeps and numbers; the
// table knows only 32 bits of a key's hash, and the number. Open addressing in buckets of 8
// bytes, at most half of them in use. A removed bucket is filled again from behind, so that
// endless setting and removing leaves nothing to skip.
//
// A table that grows has two arrays for a while, and each insert and erase moves over a
// few buckets of the old one, so that no call does it all (P8).
//
// Calls are made under the lock of the user, but for `hash` and `prefetch`.
#pragma once

#include <atomic>
#include <cstdint>

#include <tickwheel/keyed.h>

#include "siphash.hpp"

namespace tickwheel::runtime {

// An array of a power of two buckets. Invariant: from the bucket where the search for an
// key begins, mask & hash, to the one that it is in, none is empty.
class bucket_array {
  public:
    static constexpr std::uint32_t none = UINT32_MAX;

    struct bucket {
        std::uint32_t hash;
        std::uint32_t number_plus_1;  // 0: empty, as fresh memory is
    };

    int open(std::uint32_t size);  // a power of two; 0 or -ENOMEM
    void close();                  // may be open or not

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
    void move_to(bucket_array &other, std::uint32_t i);    // whatever is in this bucket, until it stays empty
    void give_back(std::uint32_t from, std::uint32_t to);  // the memory of empty buckets, to the system

    // Where the search for this begins.
    std::uint32_t home(std::uint32_t hash) const { return hash & mask_; }

  private:
    bucket *buckets_ = nullptr;
    std::uint32_t mask_ = 0;
};

class key_table {
  public:
    static constexpr std::uint32_t none = bucket_array::none;

    // For up to `capacity` keys, and nothing is allocated any more; 0: grows. Returns
    // 0, -ENOMEM, or what getrandom says.
    int open(std::uint32_t capacity);
    void close();  // after open, or instead of it

    std::uint32_t hash(const tw_key &key) const;

    // For a search that comes soon.
    void prefetch(std::uint32_t hash) const {
        const std::uint32_t mask = prefetched_mask_.load(std::memory_order_relaxed);
        __builtin_prefetch(prefetched_.load(std::memory_order_relaxed) + (hash & mask));
    }

    // The number for which matches(number) is true, or none. Asked only where hashes agree.
    template <class Matches> std::uint32_t find(std::uint32_t hash, Matches &&matches) const {
        if (const std::uint32_t i = buckets_.find(hash, matches); i != none)
            return buckets_.number(i);
        if (!may_be_old(hash))
            return none;
        const std::uint32_t i = old_.find(hash, matches);
        return i != none ? old_.number(i) : none;
    }

    // Makes room for one more key, if the table grows: with a capacity there is room for
    // that many. 0, or -ENOMEM: nothing has changed.
    int reserve_one();

    // Of a number that is not in the table, into room that there is.
    void insert(std::uint32_t hash, std::uint32_t number);

    // Of a number that was inserted with this hash.
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
    bucket_array old_;            // open while its keys move to buckets_; then
    std::uint32_t old_left_ = 0;  // its buckets from this one on are empty
    std::uint32_t count_ = 0;

    // Where buckets_ is, and its mask, for those without the lock. What they take from here may
    // be out of date, or not belong together: it is no more than a hint.
    std::atomic<const bucket_array::bucket *> prefetched_{nullptr};
    std::atomic<std::uint32_t> prefetched_mask_{0};
};

}  // namespace tickwheel::runtime
