// Prefetches records before their entries are due. Changes nothing.
#pragma once

#include "log.hpp"
#include "tick.hpp"

namespace tickwheel::core {
namespace {

inline void fetch(const log_chunk &chunk) {
    for (unsigned i = chunk.first; i != chunk.end; ++i)
        __builtin_prefetch(chunk.entries[i].record, 1);
}

inline void fetch_lines(const log_chunk *chunk) {
    for (std::size_t line = 0; chunk != nullptr && line != sizeof(log_chunk); line += sizeof(log_chunk) / 4)
        __builtin_prefetch(reinterpret_cast<const char *>(chunk) + line);
}

// Call before taking an entry off a log. Fetches the records of the next chunk.
inline void fetch_next_chunk(const log &from) {
    const log_chunk &chunk = *from.head;
    if (chunk.next != nullptr && chunk.first == 0) {
        fetch(*chunk.next);
        __builtin_prefetch(chunk.next->next);
    }
}

// Call before moving an entry to another log, which touches no record. Fetches the next chunk, line by line.
inline void fetch_lines_behind(const log &from) {
    const unsigned at = from.head->first;
    if (at % 4 == 0 && from.head->next != nullptr)
        __builtin_prefetch(reinterpret_cast<const char *>(from.head->next) + at * sizeof(entry));
}

// Fetches the records of the next slots of level 0. When the cursor is `slots_ahead` busy slots before a
// slot, this fetches the records of the slot's first chunk, once. It fetches the chunk itself some slots
// earlier, so that the chunk is in the cache by then.
template <class Shape> class fetching {
  public:
    bool is_at(tick cursor) const { return cursor == at_; }

    // Call when the cursor has reached a slot.
    template <class Slots> void go_to(tick cursor, const Slots &slots) {
        at_ = cursor;
        if (fetched_ <= cursor) {
            fetched_ = cursor;
            count_ = 0;
        } else if (count_ != 0) {
            --count_;
        }
        for (; count_ < slots_ahead; ++count_) {
            const tick limit = cursor + Shape::width(0) / 2 - fetched_;
            const unsigned on = slots.next_busy(0, Shape::low(fetched_), 0, static_cast<unsigned>(limit));
            if (on == 0)
                return;
            fetched_ += on;
            const log &next = slots.records->plain[Shape::index(0, Shape::low(fetched_))];
            if (!next.is_empty())
                fetch(*next.head);
            __builtin_prefetch(
                slots.records->plain[Shape::index(0, Shape::low(fetched_ + slots_ahead))].head);
        }
    }

  private:
    static constexpr unsigned slots_ahead = 4;

    tick fetched_;    // the records up to this tick are fetched
    tick at_;         // the cursor in the last go_to()
    unsigned count_;  // busy slots ahead of the cursor whose records are fetched
};

}  // namespace
}  // namespace tickwheel::core
