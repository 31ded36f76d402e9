// Walks a whole wheel of records and reports each invariant that does not hold; see record_wheel.hpp. For
// tests and for programs that suspect their memory.
#pragma once

#include "broken.hpp"
#include "record_wheel.hpp"

namespace tickwheel::core {

template <class Wheel> class record_checker;

template <class Shape, class Records>
class record_checker<record_wheel<Shape, Records>> : private broken_invariants {
    using wheel = record_wheel<Shape, Records>;

  public:
    record_checker(wheel &w, tw_report *report, void *arg) : broken_invariants(report, arg), w_(w) {}

    int run() {
        check_time();
        for (unsigned level = 0; level <= Shape::top; ++level)
            for (unsigned index = 0; index < Shape::width(level); ++index)
                check_slot(level, index);
        check_queue();
        expect(w_.sweep_at_ != nullptr ? sweeps_found_ == 1 : w_.sweep_before_ == nullptr,
               "a sweep stands in its log, behind the chunk before");
        check_counts();
        return count();
    }

  private:
    void check_time() {
        expect(w_.origin_ <= w_.cursor_, "no slot is counted from after the cursor");
        expect(w_.cursor_ <= w_.now_, "the cursor is not ahead of now");
        expect(w_.now_ != never, "now is a tick");
        expect(w_.open_level_ == Shape::level_of(w_.cursor_ ^ w_.origin_) &&
                   (w_.open_level_ != 0 || w_.cursor_ == w_.origin_),
               "slots are counted from the cursor, or from before the level that has opened");
        expect(!is_quiet() || w_.has_caught_up(), "a quiet wheel has caught up");
    }

    bool is_quiet() const { return w_.now_ < w_.quiet_until_; }

    void check_counts() {
        expect(found_ == w_.entries_, "entries is the number of entries");
        expect(current_ == w_.armed_, "each armed record has one entry that is not stale");
        expect(found_ <= 2 * w_.armed_ + wheel::spare,
               "no more entries are stale than records are armed, and some");
    }

    // How far ahead of the cursor a slot opens next; 0 if it is open. Where the cursor is, on a level that
    // has not opened, is no slot for any entry: that opens after all of them.
    tick opening_of(unsigned level, unsigned index) const {
        const unsigned on = (index - Shape::index(level, w_.cursor_)) & (Shape::width(level) - 1);
        if (on != 0)
            return (on - 1) * Shape::span(level) + Shape::until_next(level, w_.cursor_);
        return level <= w_.open_level_ ? 0 : never;
    }

    void check_slot(unsigned level, unsigned index) {
        const unsigned slot = Shape::first_slot(level) + index;
        const std::size_t found_before = found_;
        walk_slot(w_.levels_.slots[slot], level, index, false);
        if (level == 0)
            walk_slot(w_.levels_.late[slot], level, index, true);
        const bool has_entries = found_ != found_before || (slot == w_.cursor_slot() && !w_.late_.is_empty());
        const bool is_busy = w_.levels_.busy.test(slot);
        expect(is_busy || !has_entries, "a slot has its bit set if it holds entries");
        expect(!is_busy || has_entries || slot == w_.cursor_slot(),
               "a slot without entries has its bit cleared");
        expect(!has_entries || !is_quiet() || opening_of(level, index) >= w_.quiet_until_ - w_.cursor_,
               "no slot opens while the wheel is quiet");
    }

    void walk_slot(const log &in, unsigned level, unsigned index, bool is_late) {
        std::uint64_t last = 0;  // in the order of arming
        const tick opening = opening_of(level, index);
        walk(in, [&](const entry &e) {
            expect(Shape::index(level, e.due) == index && e.due >= w_.cursor_,
                   "an entry stands in a slot of its tick");
            expect(e.due - w_.cursor_ >= opening, "no slot opens after the tick of an entry in it");
            expect(level == Shape::top || has_room_for(level, e.due - w_.cursor_),
                   "entries stand in the running or the next block");
            expect(level != 0 || is_late == e.is_late(),
                   "late entries, and no others, stand in the late logs");
            if (!w_.is_current(e))
                return;
            const timing &it = w_.records_.timing_of(e.cell);
            expect((it.stamp & 7) == (wheel::stamp_armed | w_.which_),
                   "the stamp of a record with an entry says that it is armed on this wheel");
            expect(e.due == w_.cursor_ || (it.lag <= w_.due_of(it) && e.due <= w_.due_of(it) - it.lag),
                   "no entry stands later than its record is due");
            if (e.is_late() || it.lag != 0)
                return;
            expect(it.order > last, "entries that are not late stand in the order of arming");
            last = it.order;
        });
    }

    // True if a level has room for what is due in so many ticks: in the running block, or in the next one.
    bool has_room_for(unsigned level, tick distance) const {
        const tick block = Shape::until_next(level + 1, w_.cursor_);
        return distance < block || distance - block < Shape::span(level + 1);
    }

    void check_queue() {
        const order_queue &queue = w_.late_;
        for (unsigned level = 0; level < order_queue::levels; ++level) {
            for (unsigned digit = 0; digit < order_queue::width; ++digit)
                check_log_of_queue(level, digit);
            expect((queue.busy_levels_ >> level & 1) == (queue.busy_[level] != 0),
                   "the queue knows which of its levels hold entries");
        }
        walk(queue.logs_[order_queue::added], [&](const entry &e) {
            expect(e.due >= queue.least_[order_queue::added], "a log of the queue knows its least order");
        });
        expect(queue.open_ == order_queue::none || !queue.logs_[queue.open_].is_empty(),
               "an open log of the queue holds entries");
    }

    void check_log_of_queue(unsigned level, unsigned digit) {
        const order_queue &queue = w_.late_;
        const unsigned at = level * order_queue::width + digit;
        const bool is_open = at == queue.open_ && queue.open_ != order_queue::none;
        const unsigned below = level * order_queue::bits;
        walk(queue.logs_[at], [&](const entry &e) {
            expect(e.due >= queue.base_, "no order in the queue is before its base");
            expect(level == 0 || e.due >= queue.least_[at], "a log of the queue knows its least order");
            expect((e.due >> below) % order_queue::width == digit &&
                       (is_open || (e.due ^ queue.base_) >> below < order_queue::width),
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
                current_ += w_.is_current(chunk->entries[i]);
                each(chunk->entries[i]);
            }
            last = chunk;
        }
        expect(in.tail == last, "a log ends with its tail");
    }

    // Returns false if the walk cannot go on.
    bool check_chunk(const log &in, const log_chunk &chunk, const log_chunk *last) {
        const bool has_entries = chunk.first < chunk.end && chunk.end <= log_chunk::size;
        expect(has_entries, "a chunk holds entries");
        if (&chunk == w_.sweep_at_)
            sweeps_found_ += &in == w_.swept_ && last == w_.sweep_before_;
        const bool is_within = last != nullptr && chunk.next != nullptr && &chunk != w_.sweep_before_;
        expect(!is_within || chunk.count() == log_chunk::size,
               "chunks between the first and the last are full");
        if (!has_entries)
            return false;
        found_ += chunk.count();
        return found_ <= w_.entries_;  // a log that leads in a circle would be walked for ever
    }

    wheel &w_;
    std::size_t found_ = 0, current_ = 0;
    unsigned sweeps_found_ = 0;
};

}  // namespace tickwheel::core
