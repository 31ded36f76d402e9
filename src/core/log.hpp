// Logs: what the slots of a wheel of records hold. A log is a queue of entries in small chunks of memory,
// first in, first out. Entries are read and moved in sequence, and nothing that they stand for is
// touched meanwhile: that makes a wheel of logs fast where one of linked nodes waits for the memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "assert.hpp"
#include "tick.hpp"

namespace tickwheel::core {

// Says that a record is due at a tick, or not before it. It holds as long as the record has the same
// stamp; after that it is stale, and means nothing.
struct entry {
    tick due;
    std::uint32_t cell;  // the record's number
    std::uint32_t mark;  // the stamp of the record; one more if the entry is late

    // It was placed after entries of records that were armed later.
    bool is_late() const { return (mark & 1) != 0; }
    bool has_stamp(std::uint32_t stamp) const { return (mark ^ stamp) <= 1; }
};

// Holds the entries first .. end - 1, at least one while it is in a log.
struct log_chunk {
    static constexpr unsigned size = 15;

    log_chunk *next;
    std::uint16_t first, end;
    entry entries[size];

    unsigned count() const { return unsigned{end} - first; }
};

// A chunk is four cache lines.
static_assert(sizeof(entry) == 16 && (sizeof(void *) != 8 || sizeof(log_chunk) == 256));

// Chunks that no log uses. Memory is added from outside and never given back. All zero is an empty pool.
class chunk_pool {
  public:
    // REQUIRES: memory for this many chunks, at least one
    void add(void *memory, std::size_t chunks) {
        auto *const block = static_cast<log_chunk *>(memory);
        block->next = blocks_;
        block->entries[0].due = chunks;
        blocks_ = block;
    }

    // REQUIRES: there is one; the owner adds enough beforehand (record_wheel::chunks_for)
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
    // Chunks that were never used are handed out in sequence: linking a block of them when it is added
    // would touch all of it at once (P8).
    log_chunk *take_fresh() {
        if (fresh_ == end_of_fresh_) {
            TW_ASSERT(blocks_ != nullptr);
            fresh_ = blocks_;
            end_of_fresh_ = fresh_ + fresh_->entries[0].due;
            blocks_ = fresh_->next;
        }
        return fresh_++;
    }

    log_chunk *free_;
    log_chunk *fresh_, *end_of_fresh_;
    log_chunk *blocks_;  // added and not begun; the first chunk of each says how many it has
};

// All zero is an empty log.
struct log {
    log_chunk *head, *tail;

    bool is_empty() const { return head == nullptr; }
    const entry &front() const { return head->entries[head->first]; }

    void append(chunk_pool &pool, const entry &e) {
        log_chunk *to = tail;
        if (to == nullptr || to->end == log_chunk::size) {
            log_chunk *const fresh = pool.take();
            (to == nullptr ? head : to->next) = fresh;
            tail = to = fresh;
        }
        to->entries[to->end++] = e;
    }

    // Takes off the first entry. Returns the chunk that this has emptied and given back, to be
    // compared and not used; or null.
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

    // Takes off the last entry. If that would empty a chunk, but not the log, it does nothing and returns
    // false: there is no way back to the chunk before.
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
    const entry &back() const { return tail->entries[tail->end - 1]; }
};

}  // namespace tickwheel::core
