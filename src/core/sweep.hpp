// Sweeps stale entries out of logs.
//
// The wheel drops a stale entry at its tick, or from a far slot. Until then the entry takes memory. So when
// there are too many, a sweep compacts the logs in place, one after the other.
//
// The bound (R4). A sweep begins when 4 stale > 3 armed + 2 spare. From then on each record that fires, is
// disarmed or gets a new entry by a move pays for `share` = 14 entries; nothing else makes entries stale or
// lowers `armed`. So a sweep of E = stale + armed entries, about 7/4 armed, is over after E / 14 = armed / 8
// such calls. Even if all these calls disarm, the bound holds: 7/8 armed are left, and at most (3/4 + 1/8)
// armed are stale. Each record armed meanwhile adds one to E and to the bound. If an entry moves to a log
// that the sweep has not reached, the sweep looks at it once more; the step that moves it pays for that.
#pragma once

#include "log.hpp"

namespace tickwheel::core {
namespace {

// The position of a sweep. All zero: none is under way.
//
// Invariants
//   G1  A sweep stands before the chunk `at_` of the log `in_`; `before_` is the chunk before that,
//       or null. Both are null between two logs. Only these two chunks and the first and last chunk
//       of a log have room; during a shift also the first and last chunks of the logs that it has
//       joined.
//   G2  During a sweep, an unswept entry moves to a log that is already swept only if the move
//       looks at the entry's record. (No check: this follows from the order of the logs.)
class sweep {
  public:
    static constexpr unsigned share = 14;  // entries to sweep for each call that must pay; see above

    bool is_under_way() const { return next_ != 0; }
    bool is_in_log() const { return at_ != nullptr; }
    unsigned next() const { return next_; }  // the number of the log that comes next
    unsigned number() const { return next_ - 1; }
    const log_chunk *at() const { return at_; }

    // Continues in the log with this number. REQUIRES: the log is not empty
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

    // Drops the stale entries of one chunk, and fills up the chunk before with the rest. Returns the number
    // of entries looked at. `logs` has the chunks and the counts.
    //
    // The processor cannot predict which entries are stale. So this copies each entry, and the next one
    // overwrites a stale one: that needs no branch.
    template <class Logs> unsigned go_on(Logs &logs) {
        log_chunk &chunk = *at_;
        entry kept[log_chunk::size];
        unsigned count = 0;
        for (unsigned i = chunk.first; i != chunk.end; ++i) {
            const entry &e = kept[count] = chunk.entries[i];
            count += e.is_current() ? 1 : 0;
        }
        const unsigned looks = chunk.count();
        const unsigned to_before = before_ != nullptr ? before_->fill(kept, count) : 0;
        chunk.end = chunk.first;
        chunk.fill(kept + to_before, count - to_before);
        logs.entries -= looks - count;
        leave(logs, chunk);
        return looks;
    }

    // The owner has taken off the first entry of a log, and its chunk with it. A sweep at that chunk starts
    // the log again.
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

    // Moves on to the next chunk.
    template <class Logs> void leave(Logs &logs, log_chunk &chunk) {
        at_ = chunk.next;
        if (chunk.count() == 0)
            remove(logs, chunk);
        else
            before_ = &chunk;
        if (at_ == nullptr)
            before_ = nullptr;
    }

    template <class Logs> void remove(Logs &logs, log_chunk &chunk) {
        (before_ != nullptr ? before_->next : in_->head) = chunk.next;
        if (in_->tail == &chunk)
            in_->tail = before_;
        logs.chunks->give_back(&chunk);
    }

    unsigned next_;  // one more than the number of the swept log; 0: no sweep is under way
    log *in_;
    log_chunk *at_, *before_;
};

}  // namespace
}  // namespace tickwheel::core
