// The part of slot_checker.hpp that checks the logs of a wheel; see record_logs.hpp for the invariants.
#pragma once

#include "broken.hpp"
#include "placement.hpp"

#if TW_RUNTIME

namespace tickwheel::core {
namespace {

template <class Shape> class log_checker {
  public:
    log_checker(const placement<Shape> &w, broken_invariants &report) : w_(w), report_(report) {}

    bool exist() const { return w_.slots.records.exist(); }

    // Checks a slot that opens `opening` ticks after the cursor; 0: it is open. Returns true if it holds
    // entries.
    bool check_slot(unsigned slot, tick opening) {
        const std::size_t found_before = found_;
        where_ = {slot, opening, false};
        last_order_ = 0;
        walk(logs().plain[slot], [this](const entry &e) { check_entry(e); });
        if (slot < Shape::width(0)) {
            where_.is_late = true;
            walk(logs().late[slot], [this](const entry &e) { check_entry(e); });
        }
        const bool has_queue = slot == logs().queue_slot && !logs().queue.is_empty();
        return found_ != found_before || has_queue;
    }

    // Checks the counts, and the entries outside the slots. Call it last.
    void check_whole() {
        walk(logs().shifting, [](const entry &) {});
        check_queue();
        const record_logs<Shape> &all = logs();
        const sweep &at = all.sweeping;
        expect(at.at_ != nullptr ? sweeps_found_ == 1 : at.before_ == nullptr,
               "a sweep stands in its log, behind the chunk before");
        expect(found_ == all.entries, "entries is the number of entries");
        expect(current_ == all.armed, "each armed record has one entry that is not stale");
        expect(found_ <= 2 * all.armed + all.spare,
               "stale entries outnumber armed records by at most a constant");
    }

  private:
    const record_logs<Shape> &logs() const { return *w_.slots.records; }
    void expect(bool holds, const char *invariant) { report_.expect(holds, invariant); }

    void check_entry(const entry &e) {
        if (where_.slot < Shape::near_slots)
            check_near_tick(e);
        expect(where_.slot >= Shape::width(0) || where_.is_late == e.is_late(),
               "late entries, and no others, stand in the late logs");
        if (e.is_current())
            check_record(*e.record, e);
    }

    void check_near_tick(const entry &e) {
        const unsigned level = Shape::level_of_slot(where_.slot);
        const tick due_in = static_cast<std::uint32_t>(e.low - static_cast<std::uint32_t>(w_.cursor));
        const tick t = w_.cursor + due_in;
        expect(Shape::slot(level, Shape::low(t)) == where_.slot, "an entry stands in a slot of its tick");
        expect(due_in >= where_.opening, "no slot opens after the tick of an entry in it");
    }

    void check_record(const timing &record, const entry &e) {
        expect((record.stamp & (stamps::one_arming - 1)) == (stamps::armed | logs().wheel_bit),
               "the stamp of a record with an entry says that it is armed on this wheel");
        const tick due_in = w_.distance_to(larger(logs().due_of(record), w_.earliest()));
        expect(due_in >= where_.opening + record.lag, "no slot opens after a record in it is due");
        if (e.is_late() || record.lag != 0 || where_.slot >= Shape::near_slots)
            return;
        expect(where_.slot >= Shape::width(0) || record.order > last_order_,
               "entries that are not late stand in the order of arming");
        last_order_ = record.order;
    }

    void check_queue() {
        const order_queue &queue = logs().queue;
        for (unsigned level = 0; level < order_queue::levels; ++level) {
            for (unsigned digit = 0; digit < order_queue::width; ++digit)
                check_log_of_queue(level, digit);
            expect((queue.busy_levels_ >> level & 1) == (queue.busy_[level] != 0),
                   "the queue knows which of its levels hold entries");
        }
        walk(queue.logs_[order_queue::added], [](const entry &) {});
        expect(queue.open_ == order_queue::none || !queue.logs_[queue.open_].is_empty(),
               "an open log of the queue holds entries");
    }

    void check_log_of_queue(unsigned level, unsigned digit) {
        const order_queue &queue = logs().queue;
        const unsigned at = level * order_queue::width + digit;
        const bool is_open = at == queue.open_ && queue.open_ != order_queue::none;
        const unsigned below = level * order_queue::bits;
        walk(queue.logs_[at], [&](const entry &e) {
            if (queue.are_far_apart_ && !e.is_current())
                return;
            const std::uint64_t order = queue.distance_of(e);
            expect(order >= queue.base_, "no order in the queue is before its base");
            expect(level == 0 || order >= queue.least_[at], "a log of the queue knows its least order");
            expect((order >> below) % order_queue::width == digit &&
                       (is_open || (order ^ queue.base_) >> below < order_queue::width),
                   "an entry of the queue stands where its order differs from the base");
        });
        expect((queue.busy_[level] >> digit & 1) == !queue.logs_[at].is_empty(),
               "the queue knows which of its logs hold entries");
    }

    // Calls `each` for each entry of a log.
    template <class Each> void walk(const log &in, Each each) {
        const log_chunk *last = nullptr;
        for (const log_chunk *chunk = in.head; chunk != nullptr; chunk = chunk->next) {
            if (!check_chunk(in, *chunk, last))
                return;
            for (unsigned i = chunk->first; i != chunk->end; ++i) {
                const entry &e = chunk->entries[i];
                ++found_;
                current_ += e.is_current();
                each(e);
            }
            last = chunk;
        }
        expect(in.tail == last, "a log ends with its tail");
    }

    // Returns false if the walk cannot continue.
    bool check_chunk(const log &in, const log_chunk &chunk, const log_chunk *last) {
        const sweep &at = logs().sweeping;
        const bool has_entries = chunk.first < chunk.end && chunk.end <= log_chunk::size;
        expect(has_entries, "a chunk holds entries");
        if (&chunk == at.at_)
            sweeps_found_ += &in == at.in_ && last == at.before_;
        const bool is_within = last != nullptr && chunk.next != nullptr && &chunk != at.before_;
        expect(!is_within || chunk.count() == log_chunk::size || &in == &logs().shifting,
               "chunks between the first and the last are full");
        if (!has_entries)
            return false;
        return found_ <= logs().entries;  // a circular log would never end
    }

    const placement<Shape> &w_;
    broken_invariants &report_;
    struct {
        unsigned slot;
        tick opening;
        bool is_late;
    } where_ = {};
    std::uint64_t last_order_ = 0;
    std::size_t found_ = 0, current_ = 0;
    unsigned sweeps_found_ = 0;
};

}  // namespace
}  // namespace tickwheel::core

#endif
