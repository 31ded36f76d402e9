// Logs: a slot's entries for records, the timers that the library owns. A log is a queue of entries in small
// chunks of memory, first in, first out. The wheel lowers entries in sequence, and touches their records only
// in far slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "assert.hpp"
#include "tick.hpp"

namespace tickwheel::core {

// The wheel's part of a record, zero at first. Only the wheel writes it, with its lock held.
struct timing {
    tick due;             // less the wheel's offset; see record_logs
    std::uint64_t order;  // as in tw_node
    std::uint32_t stamp;
    std::uint32_t lag;  // how many ticks before `due` its entry is
};

// A stamp says whether its record is armed, on which of two wheels it was armed last, and how often. An
// entry's mark is a copy of the stamp, with one more bit that says whether the entry is late. The stamp names
// the wheel so that an entry that becomes current again after 2^29 armings fires no record that is armed on
// the other wheel.
namespace stamps {
inline constexpr std::uint32_t late = 1, armed = 2, second_wheel = 4, one_arming = 8;

inline std::uint32_t next(std::uint32_t stamp, std::uint32_t wheel) {
    return (stamp & -one_arming) + one_arming + (armed | wheel);
}
}  // namespace stamps

inline bool is_armed(const timing &of) { return (of.stamp & stamps::armed) != 0; }

// Says that a record is due at a tick, or not before it. The entry is current while the record has the same
// stamp, and stale after that: the wheel ignores it.
struct entry {
    timing *record;
    std::uint32_t low;   // the lowest bits of the tick, or in an order_queue of the record's order
    std::uint32_t mark;  // see stamps

    // True if the entry was placed after entries of records that were armed later.
    bool is_late() const { return (mark & stamps::late) != 0; }
    bool is_current() const { return (mark ^ record->stamp) <= stamps::late; }
};

// Holds the entries first .. end - 1, at least one while it is in a log.
struct log_chunk {
    static constexpr unsigned size = 15;

    log_chunk *next;
    std::uint16_t first, end;
    entry entries[size];

    unsigned count() const { return unsigned{end} - first; }

    // Appends as many of these entries as fit. Returns their number.
    unsigned fill(const entry *from, unsigned n) {
        const unsigned taken = smaller(n, size - end);
        for (unsigned i = 0; i != taken; ++i)
            entries[end + i] = from[i];
        end = static_cast<std::uint16_t>(end + taken);
        return taken;
    }
};

// A chunk is four cache lines.
static_assert(sizeof(void *) != 8 || (sizeof(entry) == 16 && sizeof(log_chunk) == 256));

// Chunks that no log uses. The owner adds memory, and the pool never returns it. All zero is an empty pool.
class chunk_pool {
  public:
    // REQUIRES: memory for this many chunks, at least one
    void add(void *memory, std::size_t chunks) { blocks_ = new (memory) fresh_block{blocks_, chunks}; }

    // REQUIRES: the pool is not empty; the owner adds enough chunks beforehand (chunks_for)
    log_chunk *take() {
        log_chunk *taken = free_;
        if (taken != nullptr)
            free_ = taken->next;
        else
            taken = take_fresh();
        taken->next = nullptr;
        taken->first = taken->end = 0;
        return taken;
    }
    void give_back(log_chunk *chunk) {
        chunk->next = free_;
        free_ = chunk;
    }

  private:
    // The start of a block of memory from which no chunk was taken yet.
    struct fresh_block {
        fresh_block *next;
        std::size_t chunks;
    };

    // Takes unused chunks of a block in sequence: linking them when the block is added would touch all of it
    // at once (P8).
    log_chunk *take_fresh() {
        if (fresh_ == end_of_fresh_) {
            TW_ASSERT(blocks_ != nullptr);
            const fresh_block begun = *blocks_;
            fresh_ = reinterpret_cast<log_chunk *>(blocks_);
            end_of_fresh_ = fresh_ + begun.chunks;
            blocks_ = begun.next;
        }
        return fresh_++;
    }

    log_chunk *free_;
    log_chunk *fresh_, *end_of_fresh_;
    fresh_block *blocks_;
};

// All zero is an empty log.
struct log {
    log_chunk *head, *tail;

    bool is_empty() const { return head == nullptr; }
    entry &front() const { return head->entries[head->first]; }
    entry &back() const { return tail->entries[tail->end - 1]; }

    void append(chunk_pool &pool, const entry &e) {
        log_chunk *to = tail;
        if (to == nullptr || to->end == log_chunk::size) {
            log_chunk *const fresh = pool.take();
            (to == nullptr ? head : to->next) = fresh;
            tail = to = fresh;
        }
        to->entries[to->end++] = e;
    }

    // Takes off the first entry. If this empties a chunk, returns the freed chunk, only to compare its
    // address; otherwise null.
    const log_chunk *pop(chunk_pool &pool) {
        log_chunk *const from = head;
        if (++from->first != from->end)
            return nullptr;
        head = from->next;
        if (head == nullptr)
            tail = nullptr;
        pool.give_back(from);
        return from;
    }

    // Takes off the last entry. If that would empty a chunk but not the log, does nothing and returns false,
    // because chunks have no link to the one before.
    bool take_back(chunk_pool &pool) {
        if (tail->count() != 1) {
            --tail->end;
            return true;
        }
        if (head != tail)
            return false;
        pool.give_back(head);
        head = tail = nullptr;
        return true;
    }

    // Moves all chunks of another log behind the chunks of this one.
    void append_all(log &from) {
        if (from.is_empty())
            return;
        (is_empty() ? head : tail->next) = from.head;
        tail = from.tail;
        from = {};
    }
};

}  // namespace tickwheel::core
