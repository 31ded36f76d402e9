// Yields the late entries of one slot in the order of arming (P3), in bounded steps (P8).
#pragma once

#include <cstdint>

#include "log.hpp"

namespace tickwheel::core {
namespace {

// A radix heap over the records' order of arming.
//
// The owner first adds all entries, to one log. Then the queue counts their orders from the least
// (`origin_`), so that the numbers start at 0 and spread evenly over the digits. Read an order as a number
// with digits of `bits` bits: an entry stands on the level of the highest digit in which its order differs
// from `base_`, in the log with the number of that digit. So all entries of a level are earlier than the
// entries of the levels above, and a log of level 0 holds one order. When level 0 is empty, the earliest log
// above opens: its least order becomes the base, and its entries go to lower levels. So the first entry is
// known once all have moved once or twice, unless a sweep removes it meanwhile. An entry moves at most once
// per digit, and only when its turn comes.
//
// An entry has room for the lowest 32 bits of its order, which give the distance from the least order unless
// two orders are 2^32 apart. In that case the queue reads all orders from the records.
//
// Invariants
//   Q1  For an entry of level l and digit d, digit l of its order is d, and is the highest that
//       differs from the base; on level 0 the order may equal the base. Exceptions: added entries
//       that have not moved yet, entries of the open log, and stale entries if the queue reads
//       orders from the records.
//   Q2  No order is before the base.
//   Q3  A log's bit in `busy_` is set if and only if the log holds entries, and a level's bit in
//       `busy_levels_` if and only if one of its logs does.
//   Q4  No order in a log above level 0 is before its `least_`.
class order_queue {
  public:
    static constexpr unsigned batch = 8;
    static constexpr unsigned bits = 4, width = 1u << bits, levels = 64 / bits;
    static constexpr unsigned added = levels * width;  // the log of added entries that have not moved yet
    static constexpr unsigned logs = added + 1;

    bool is_empty() const { return busy_levels_ == 0 && logs_[added].is_empty(); }

    // REQUIRES: no entry has moved yet since the queue was empty
    void add(chunk_pool &pool, entry e) {
        TW_ASSERT(busy_levels_ == 0);
        const std::uint64_t order = e.record->order;
        if (logs_[added].is_empty())
            least_[added] = most_ = order;
        least_[added] = smaller(least_[added], order);
        most_ = larger(most_, order);
        e.low = static_cast<std::uint32_t>(order);
        logs_[added].append(pool, e);
    }

    // True if the earliest entry is known; then first() is its log.
    bool is_first_known() const { return open_ == none && (busy_levels_ & 1) != 0; }
    log &first() { return logs_[first_of_level(0)]; }

    // Returns the open log, or opens the earliest one. The owner takes off its first entry, because a sweep
    // may stand there, and passes it to `put`. REQUIRES: is_first_known() is false, and the queue is not
    // empty
    log &to_move() {
        if (open_ == none && !logs_[added].is_empty()) {
            open_ = added;
            origin_ = least_[added];
            are_far_apart_ = most_ - origin_ > UINT32_MAX;
            base_ = 0;
        } else if (open_ == none) {
            open_ = first_of_level(lowest_bit(busy_levels_));
            base_ = least_[open_];
        }
        return logs_[open_];
    }

    // Puts an entry of the open log where it belongs. Returns true if it may soon be the first.
    bool put(chunk_pool &pool, const entry &e) {
        const std::uint64_t order = distance_of(e);
        const std::uint64_t crossed = order ^ base_;
        const unsigned level =
            crossed == 0 ? 0 : (63 - static_cast<unsigned>(__builtin_clzll(crossed))) / bits;
        const unsigned digit = static_cast<unsigned>(order >> bits * level) % width;
        const unsigned to = level * width + digit;
        if (logs_[to].is_empty() || order < least_[to])
            least_[to] = order;
        logs_[to].append(pool, e);
        busy_[level] = static_cast<std::uint16_t>(busy_[level] | 1u << digit);
        busy_levels_ |= 1u << level;
        return level == 0;
    }

    // Call after a move, a fire or a sweep, which may have emptied a log.
    void forget_if_empty(const log &emptied) {
        if (!emptied.is_empty())
            return;
        const auto at = static_cast<unsigned>(&emptied - logs_);
        if (at == open_)
            open_ = none;
        if (at == added)
            return;
        const unsigned level = at / width;
        busy_[level] = static_cast<std::uint16_t>(busy_[level] & ~(1u << at % width));
        if (busy_[level] == 0)
            busy_levels_ &= ~(1u << level);
    }

    bool owns(const log &of) const {
        return reinterpret_cast<std::uintptr_t>(&of) - reinterpret_cast<std::uintptr_t>(logs_) < sizeof logs_;
    }

    // All logs, for walks and sweeps. An entry only moves to a log with a higher number.
    log &at(unsigned i) { return logs_[added - i]; }

    // Appends all entries to another log, in any order.
    void empty_into(log &to) {
        for (log &each : logs_) {
            if (each.is_empty())
                continue;
            to.append_all(each);
            forget_if_empty(each);
        }
    }

  private:
    template <class> friend class log_checker;
    friend struct test_access;

    static constexpr unsigned none = 0;  // level 0 never opens

    static unsigned lowest_bit(unsigned word) { return static_cast<unsigned>(__builtin_ctz(word)); }
    unsigned first_of_level(unsigned level) const { return level * width + lowest_bit(busy_[level]); }

    std::uint64_t distance_of(const entry &e) const {
        return are_far_apart_ ? e.record->order - origin_
                              : static_cast<std::uint32_t>(e.low - static_cast<std::uint32_t>(origin_));
    }

    std::uint64_t origin_, base_;
    std::uint64_t most_;  // the latest order that was added
    log logs_[logs];
    std::uint64_t least_[logs];
    std::uint16_t busy_[levels];
    std::uint32_t busy_levels_;
    unsigned open_;
    bool are_far_apart_;
};

}  // namespace
}  // namespace tickwheel::core
