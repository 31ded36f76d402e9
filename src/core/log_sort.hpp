// Puts the late entries of one slot into the order of arming (P3), in bounded steps (P8): a merge sort of
// logs, which takes no memory beyond the chunks that the entries are in.
#pragma once

#include <bit>
#include <cstdint>

#include "log.hpp"

namespace tickwheel::core {

// Runs are sorted logs. Like the digits of a binary counter, run i is empty or has about 2^i batches, and
// two of one length are merged into one of the next. Meanwhile the `due` of an entry is its record's place in
// the order of arming, which is what is compared; its tick is that of the slot.
class log_sort {
  public:
    static constexpr unsigned batch = 8;
    static constexpr unsigned most_runs = 32;
    static constexpr unsigned logs = most_runs + 3;

    // To be called on memory that is all zero.
    void init(chunk_pool &pool) {
        pool_ = &pool;
        for (unsigned i = 0; i < logs; ++i)
            place_[i] = static_cast<std::uint8_t>(i);
    }

    // True if it holds no entries.
    bool is_empty() const { return runs_ == 0 && !is_merging_; }

    // True if all entries are in order, in result(). REQUIRES: no merge is under way
    bool is_done() const { return (runs_ & (runs_ - 1)) == 0; }

    // REQUIRES: is_done() and not is_empty()
    log &result() { return in(lowest_run()); }

    // To be called when a log of its may have become empty: an entry was taken off, or it was swept.
    void forget_empty() {
        for (std::uint32_t runs = runs_; runs != 0; runs &= runs - 1) {
            const std::uint32_t lowest = runs & (0 - runs);
            if (in(static_cast<unsigned>(std::countr_zero(runs))).is_empty())
                runs_ &= ~lowest;
        }
        if (is_merging_ && next_to_merge() == nullptr && merged().is_empty())
            is_merging_ = false;
    }

    // Takes a batch in. REQUIRES: is_merging() is false, count is 1 .. batch
    void take(entry *entries, unsigned count) {
        for (unsigned i = 1; i < count; ++i)
            for (unsigned k = i; k != 0 && entries[k].due < entries[k - 1].due; --k)
                swap(entries[k], entries[k - 1]);
        for (unsigned i = 0; i < count; ++i)
            merged().append(*pool_, entries[i]);
        put_merged(0);
    }

    bool is_merging() const { return is_merging_; }

    // Begins to merge the two shortest runs. REQUIRES: no merge is under way, and is_done() is false
    void begin_last_merges() {
        take_run(lowest_run(), left_use);
        const unsigned longer = lowest_run();
        take_run(longer, right_use);
        begin_merge(longer + 1);
    }

    // The log whose first entry is the next to go on to append_merged; null if none is left. The owner takes
    // it off, as a sweep may stand in that log. REQUIRES: is_merging()
    log *next_to_merge() {
        if (left().is_empty())
            return right().is_empty() ? nullptr : &right();
        return right().is_empty() || left().front().due < right().front().due ? &left() : &right();
    }
    void append_merged(const entry &e) { merged().append(*pool_, e); }

    // REQUIRES: is_merging(), and next_to_merge() is null
    void end_merge() {
        put_merged(merging_to_);
        forget_empty();  // the merge that is over; and its run, as a sweep may have left nothing
    }

    // All of its logs, for those who walk or sweep every log there is.
    log &at(unsigned i) { return logs_[i]; }

  private:
    template <class> friend class record_checker;
    template <class> friend struct record_test_access;

    static void swap(entry &a, entry &b) {
        const entry other = a;
        a = b;
        b = other;
    }

    // What a log is for changes by exchanging places, so that a sweep that stands in one finds it there.
    log &in(unsigned use) { return logs_[place_[use]]; }
    static constexpr unsigned left_use = most_runs, right_use = most_runs + 1, merged_use = most_runs + 2;
    log &left() { return in(left_use); }
    log &right() { return in(right_use); }
    log &merged() { return in(merged_use); }

    unsigned lowest_run() const { return static_cast<unsigned>(std::countr_zero(runs_)); }

    void exchange(unsigned one, unsigned other) {
        const std::uint8_t place = place_[one];
        place_[one] = place_[other];
        place_[other] = place;
    }

    void take_run(unsigned run, unsigned into) {
        exchange(into, run);
        runs_ &= ~(std::uint32_t{1} << run);
    }

    void begin_merge(unsigned to) {
        TW_ASSERT(to < most_runs);
        is_merging_ = true;
        merging_to_ = to;
    }

    // Makes what was merged run `to`; if there is one already, begins to merge the two.
    void put_merged(unsigned to) {
        if ((runs_ >> to & 1) == 0) {
            exchange(to, merged_use);
            runs_ |= std::uint32_t{1} << to;
            return;
        }
        exchange(right_use, merged_use);
        take_run(to, left_use);
        begin_merge(to + 1);
    }

    chunk_pool *pool_;
    log logs_[logs];
    std::uint8_t place_[logs];
    std::uint32_t runs_;  // bit i: run i holds entries
    unsigned merging_to_;
    bool is_merging_;
};

}  // namespace tickwheel::core
