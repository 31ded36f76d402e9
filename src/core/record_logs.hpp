// The records of one wheel: logs of entries in its slots. Keeps the logs ordered and short.
#pragma once

#include "bitmap.hpp"
#include "features.hpp"

#if TW_RUNTIME
#include "fetching.hpp"
#include "order_queue.hpp"
#include "records.hpp"
#include "sweep.hpp"
#endif

namespace tickwheel::core {
namespace {

#if TW_RUNTIME

// Invariants. log_checker.hpp checks what a snapshot can show; the model test checks the rest.
//
//   R1  Each armed record has one current entry. The entry's tick is `lag` ticks before the record
//       is due, or earlier; the cursor if that tick has passed. So no record is lost (P4): at the
//       entry's tick the record is due, or the entry moves on to the record's tick. A record that
//       is not armed has no current entry. (An entry that stays stale for 2^29 armings of its
//       record becomes current again. It may take the record's place among the records of its tick,
//       and fires nothing that is not due.)
//   R2  Entries of one tick go through the same slots, and only join a log at its end. So entries
//       whose records stay where they were armed are in the order of arming (P3).
//   R3  An entry whose record was moved to a later tick moves on when its own tick comes, marked as
//       late. On level 0 late entries have logs of their own, and a queue puts them in order when
//       the slot opens; the entries in the queue belong to the slot `queue_slot`.
//   R4  `entries` is the number of entries, `armed` the number of records with a current entry. At
//       most armed + spare entries are stale; see sweep.hpp.
template <class Shape> struct record_logs {
    static_assert(sizeof(typename Shape::digits) == sizeof(entry::low),
                  "an entry has all digits of its tick");

    static constexpr unsigned width_0 = Shape::width(0);
    static constexpr unsigned all_logs = 1 + Shape::slots + width_0 + order_queue::logs;

    // Allowed entries beyond two for each armed record.
    static constexpr std::size_t spare = 32;

    // See records.hpp. R4 bounds the entries. A chunk holds at least one entry. All chunks are full except
    // the first and the last of a log and the chunk where a sweep stands; during a shift, except the first
    // and the last of each log that existed before it.
    static constexpr std::size_t chunks_for(std::size_t records, unsigned wheels) {
        const std::size_t entries = 2 * records + wheels * spare;
        return smaller(entries, entries / log_chunk::size + wheels * (std::size_t{4} * all_logs + 1));
    }

    chunk_pool *chunks;
    record_caller *caller;
    void *caller_arg;

    std::size_t entries, armed;
    tick offset;              // how many ticks the wheel is ahead of timing::due
    std::uint32_t wheel_bit;  // a bit of the stamps: stamps::second_wheel or 0
    log *due_log;             // the log of the record that look_at_cursor() found due

    sweep sweeping;
    fetching<Shape> fetches;
    log shifting;  // entries that a shift has yet to place
    unsigned queue_slot;
    log plain[Shape::slots];
    log late[width_0];
    order_queue queue;

    tick due_of(const timing &record) const { return record.due + offset; }

    bool has_late(unsigned slot) const {
        return slot < width_0 && (!late[slot].is_empty() || (slot == queue_slot && !queue.is_empty()));
    }
    bool hold(unsigned slot) const { return !plain[slot].is_empty() || has_late(slot); }

    // True if the logs hold anything, even if all entries are stale.
    bool are_busy() const { return entries != 0; }

    // --- taking off ---

    // Takes off the first entry of a log.
    void pop(log &from) {
        const log_chunk *const chunk = from.pop(*chunks);
        if (chunk != nullptr)
            sweeping.note_emptied(*chunk, from);
    }

    // Takes off the last entry, unless that would empty a chunk but not the log.
    void take_back(log &from) {
        const log_chunk *last = from.tail;
        if (!from.take_back(*chunks))
            return;
        --entries;
        if (from.is_empty())
            sweeping.note_taken_back(*last);
    }

    // --- sweeping: see sweep.hpp ---

    // The logs in the order of the sweep: slots with high numbers first, because entries come down during a
    // sweep. Level 0 has two logs per slot.
    log &log_at(unsigned i) {
        if (i == 0)
            return shifting;
        if (i <= Shape::slots)
            return plain[slot_at(i)];
        i -= 1 + Shape::slots;
        return i < width_0 ? late[i] : queue.at(i - width_0);
    }

    // The slot of log_at(i). REQUIRES: i != 0
    unsigned slot_at(unsigned i) const {
        if (i <= Shape::slots)
            return Shape::slots - i;
        i -= 1 + Shape::slots;
        return i < width_0 ? i : queue_slot;
    }

    // Skips empty logs, by the bits of their slots (L1).
    unsigned skip_to_busy(unsigned i, const bitmap<Shape::slots> &busy) const {
        constexpr unsigned first_late = 1 + Shape::slots, first_of_queue = first_late + width_0;
        if (i != 0 && i < first_late) {
            const unsigned slot = busy.find_last(Shape::slots - i);
            i = slot == Shape::slots ? first_late : Shape::slots - slot;
        }
        if (i >= first_late && i < first_of_queue)
            i = first_late + busy.find(i - first_late, width_0);
        return i < first_of_queue || !queue.is_empty() ? i : all_logs;
    }
};

template <class Shape> struct optional_logs {
    record_logs<Shape> *logs;  // null: the wheel has only nodes

    record_logs<Shape> &operator*() const { return *logs; }
    record_logs<Shape> *operator->() const { return logs; }
    bool exist() const { return logs != nullptr; }
    bool hold(unsigned slot) const { return logs != nullptr && logs->hold(slot); }
    bool are_busy() const { return logs != nullptr && logs->are_busy(); }
    std::size_t entries() const { return logs != nullptr ? logs->entries : 0; }
    std::size_t armed() const { return logs != nullptr ? logs->armed : 0; }
};

#else

template <class Shape> struct optional_logs {
    static constexpr bool exist() { return false; }
    static constexpr bool hold(unsigned) { return false; }
    static constexpr bool are_busy() { return false; }
    static constexpr std::size_t entries() { return 0; }
    static constexpr std::size_t armed() { return 0; }
};

#endif

}  // namespace
}  // namespace tickwheel::core
