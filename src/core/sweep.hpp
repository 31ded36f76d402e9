// Sweeping stale entries out of logs.
//
// The wheel drops a stale entry at its tick, or from a far slot. Until then the entry takes memory. So when
// there are too many, a sweep compacts one log after the other in place.
//
// The bound (R5). A sweep begins when 4 stale > 3 armed + 2 spare. From then on each record that fires, is
// disarmed or gets a new entry by a move pays for `share` = 14 entries; nothing else makes entries stale or
// lowers `armed`. So a sweep of E = stale + armed entries, about 7/4 armed, is over after E / 14 = armed / 8
// such calls. If all of them disarm, the bound holds: 7/8 armed are left, and at most (3/4 + 1/8) armed are
// stale. Records that are armed meanwhile enlarge E by one each, and the bound as well. An entry that moves
// to a log that is still to be swept is looked at once more: the step that moves it pays for that.
#pragma once

#include "record_memory.hpp"

namespace tickwheel::core {
namespace {

// Where a sweep has come to. All zero: none is under way.
//
// Invariants
//   G1  A sweep stands before the chunk `at_` of the log `in_`; `before_` is the chunk before that, or
//       null. Both are null between two logs. Only these two and the first and last chunk of a log have room;
//       during a shift also those of the logs that it has joined.
//   G2  During a sweep, an entry that was not swept yet moves to a log that was swept already only if the
//       move looks at the entry's record. (No check: this follows from the order of the logs.)
class sweep {
  public:
    static constexpr unsigned share = 14;  // entries with each one that becomes stale

    bool is_under_way() const { return next_ != 0; }
    bool is_in_log() const { return at_ != nullptr; }
    unsigned next() const { return next_; }  // the number of the log that comes next
    unsigned number() const { return next_ - 1; }
    const log_chunk *at() const { return at_; }

    // Goes on in the log of this number, which is not empty.
    void begin(unsigned number, log &in) {
        next_ = number + 1;
        in_ = &in;
        at_ = in.head;
        before_ = nullptr;
    }
    void end() {
        next_ = 0;
        at_ = before_ = nullptr;
    }

    // Drops the stale entries of one chunk, and fills up the chunk before with those that are left. Of two
    // seams with nothing between them only the later one matters, and none at the end of a log. Returns how
    // many entries were looked at. `logs` has the memory and the counts.
    //
    // The processor cannot guess which entries are stale. So each is copied, and if it was stale the next one
    // overwrites it: that takes no jump.
    template <class Logs> unsigned go_on(Logs &logs) {
        log_chunk &chunk = *at_;
        entry kept[log_chunk::size];
        unsigned count = 0, seams = 0, stale = 0;
        for (unsigned i = chunk.first; i != chunk.end; ++i) {
            const entry &e = kept[count] = chunk.entries[i];
            if (unlikely(e.is_seam())) {
                ++seams;
                count += put_seam(logs, e, count != 0 ? &kept[count - 1] : last_of(before_)) ? 1 : 0;
                continue;
            }
            const unsigned is_stale = e.is_current() ? 0 : 1;
            stale += is_stale;
            count += 1 - is_stale;
        }
        const unsigned looks = chunk.count() - seams;
        const unsigned to_before = before_ != nullptr ? before_->fill(kept, count) : 0;
        chunk.end = chunk.first;
        chunk.fill(kept + to_before, count - to_before);
        logs.entries -= stale;
        leave(logs, chunk);
        return looks;
    }

    // The owner has taken off the first entry of a log, and its chunk with it. A sweep that stands there
    // starts the log again.
    void note_emptied(const log_chunk &emptied, const log &from) {
        if (&emptied != at_ && &emptied != before_)
            return;
        before_ = nullptr;
        at_ = from.head;
    }
    // The owner has taken back the only entry of a log.
    void note_taken_back(const log_chunk &emptied) {
        if (&emptied == at_)
            at_ = nullptr;
    }

  private:
    template <class> friend class log_checker;
    friend struct test_access;

    static entry *last_of(log_chunk *in) { return in != nullptr ? &in->entries[in->end - 1] : nullptr; }

    // Puts a seam behind the entry that was kept last. Returns false if it has taken the place of that one.
    template <class Logs> static bool put_seam(Logs &logs, const entry &e, entry *last) {
        if (last == nullptr || !last->is_seam())
            return true;
        logs.drop(*last->seam);
        *last = e;
        return false;
    }

    // Goes on to the chunk behind this one.
    template <class Logs> void leave(Logs &logs, log_chunk &chunk) {
        at_ = chunk.next;
        if (at_ == nullptr)
            drop_seam_at_end(logs, chunk);
        if (chunk.count() == 0)
            remove(logs, chunk);
        else
            before_ = &chunk;
        if (at_ == nullptr)
            before_ = nullptr;
    }

    // It stays if it is all that its chunk has, and the log has more chunks: R4 holds then, too.
    template <class Logs> void drop_seam_at_end(Logs &logs, log_chunk &chunk) {
        const entry *const last = last_of(chunk.count() != 0 ? &chunk : before_);
        if (last == nullptr || !last->is_seam())
            return;
        log_chunk &last_chunk = chunk.count() != 0 ? chunk : *before_;
        if (&last_chunk == before_ && last_chunk.count() == 1 && &last_chunk != in_->head)
            return;
        logs.drop(*last->seam);
        --last_chunk.end;
        if (&last_chunk != before_ || last_chunk.count() != 0)
            return;
        before_ = nullptr;  // `chunk` is the only other one, and empty
        in_->head = &chunk;
        logs.memory->chunks.give_back(&last_chunk);
    }

    template <class Logs> void remove(Logs &logs, log_chunk &chunk) {
        (before_ != nullptr ? before_->next : in_->head) = chunk.next;
        if (in_->tail == &chunk)
            in_->tail = before_;
        logs.memory->chunks.give_back(&chunk);
    }

    unsigned next_;  // one more than the number of the log that is swept; 0: no sweep is under way
    log *in_;
    log_chunk *at_, *before_;
};

}  // namespace
}  // namespace tickwheel::core
