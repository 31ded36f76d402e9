// Which slot a key is in: the hash table behind keyed.h.
//
// Keys stay with their timers, in slots that the table's user keeps and numbers; the
// table knows only 32 bits of a key's hash, and the number. Open addressing in cells of 8
// bytes, at most half of them in use. A removed cell is filled again from behind, so that
// endless setting and removing leaves nothing to skip.
//
// A table that grows has two arrays for a while, and each insert and erase moves over a
// few cells of the old one, so that no call does it all (P8).
//
// Calls are made under the lock of the user, but for `hash` and `prefetch`.
#pragma once

#include <atomic>
#include <cstdint>

#include <tickwheel/keyed.h>

#include "siphash.hpp"

namespace tickwheel::runtime {

// An array of a power of two cells. Invariant: from the cell where the search for an
// entry begins, mask & hash, to the one that it is in, none is empty.
class cell_array {
  public:
    static constexpr std::uint32_t none = UINT32_MAX;

    struct cell {
        std::uint32_t hash;
        std::uint32_t slot_plus_1;  // 0: empty, as fresh memory is
    };

    int open(std::uint32_t size);  // a power of two; 0 or -ENOMEM
    void close();                  // may be open or not

    bool is_open() const { return cells_ != nullptr; }
    const cell *cells() const { return cells_; }
    std::uint32_t size() const { return mask_ + 1; }

    template <class Matches> std::uint32_t find(std::uint32_t hash, Matches &&matches) const {
        for (std::uint32_t i = home(hash); cells_[i].slot_plus_1 != 0; i = (i + 1) & mask_)
            if (cells_[i].hash == hash && matches(cells_[i].slot_plus_1 - 1))
                return i;
        return none;
    }
    std::uint32_t slot(std::uint32_t i) const { return cells_[i].slot_plus_1 - 1; }

    void insert(std::uint32_t hash, std::uint32_t slot);
    void erase(std::uint32_t hole);
    void move_to(cell_array &other, std::uint32_t i);      // whatever is in this cell, until it stays empty
    void give_back(std::uint32_t from, std::uint32_t to);  // the memory of empty cells, to the system

    // Where the search for this begins.
    std::uint32_t home(std::uint32_t hash) const { return hash & mask_; }

  private:
    cell *cells_ = nullptr;
    std::uint32_t mask_ = 0;
};

class table {
  public:
    static constexpr std::uint32_t none = cell_array::none;

    // For up to `capacity` entries, and nothing is allocated any more; 0: grows. Returns
    // 0, -ENOMEM, or what getrandom says.
    int open(std::uint32_t capacity);
    void close();  // after open, or instead of it

    std::uint32_t hash(const tw_key &key) const;

    // For a search that comes soon.
    void prefetch(std::uint32_t hash) const {
        const std::uint32_t mask = prefetched_mask_.load(std::memory_order_relaxed);
        __builtin_prefetch(prefetched_.load(std::memory_order_relaxed) + (hash & mask));
    }

    // The slot for which matches(slot) is true, or none. Asked only where hashes agree.
    template <class Matches> std::uint32_t find(std::uint32_t hash, Matches &&matches) const {
        if (const std::uint32_t i = cells_.find(hash, matches); i != none)
            return cells_.slot(i);
        if (!may_be_old(hash))
            return none;
        const std::uint32_t i = old_.find(hash, matches);
        return i != none ? old_.slot(i) : none;
    }

    // Makes room for one more entry, if the table grows: with a capacity there is room for
    // that many. 0, or -ENOMEM: nothing has changed.
    int reserve_one();

    // Of a slot that is not in the table, into room that there is.
    void insert(std::uint32_t hash, std::uint32_t slot);

    // Of a slot that was inserted with this hash.
    void erase(std::uint32_t hash, std::uint32_t slot);

    std::uint32_t count() const { return count_; }
    bool growing() const { return old_.is_open(); }

  private:
    bool may_be_old(std::uint32_t hash) const { return old_.is_open() && old_.home(hash) < old_left_; }
    void move_some();
    void use(const cell_array &cells);

    sip_seed seed_{};
    bool grows_ = false;
    cell_array cells_;
    cell_array old_;              // open while its entries move to cells_; then
    std::uint32_t old_left_ = 0;  // its cells from this one on are empty
    std::uint32_t count_ = 0;

    // Where cells_ is, and its mask, for those without the lock. What they take from here may
    // be out of date, or not belong together: it is no more than a hint.
    std::atomic<const cell_array::cell *> prefetched_{nullptr};
    std::atomic<std::uint32_t> prefetched_mask_{0};
};

}  // namespace tickwheel::runtime
