// Moving a live record to another time.
//
// Of a million timers, a random one is not in the cache. The processor looks only some 200 instructions
// ahead, so the less code follows the first access to the record, the more of the caller's work overlaps with
// the cache miss. Everything that does not need the record therefore comes before that access, and everything
// rare is out of line.
#pragma once

#include "record_life.hpp"

namespace tickwheel::timers {

// A delay from now, prepared for moving a record. The constructor reads the clock before the caller takes the
// lock; the destructor wakes the driver, if necessary, after the caller has released the lock.
class prepared_move {
  public:
    prepared_move(record_set &set, std::int64_t delay)  // not negative
        : set_(set), reading_(set.rt->steady.clock.read()), delay_(delay),
          due_(set.rt->steady.tick_once_after(reading_, delay)),
          moment_(runtime::moment_at(set.rt->steady.lanes, reading_)), wake_(*set.rt) {}

    // `move` moves a record to the prepared delay from now; `again`, to the delay from now that the record
    // was started with. Both return 0 or a negative errno.
    TW_INLINED int move(record &timer) TW_REQUIRES(core::wheels_lock) {
        if (!is_usual(timer)) [[unlikely]]
            return move_any(timer, delay_);
        return move_to(timer, due_);
    }
    TW_INLINED int again(record &timer) TW_REQUIRES(core::wheels_lock) {
        if (!is_usual(timer) || timer.delay < 0) [[unlikely]]
            return again_any(timer);
        return move_to(timer, set_.rt->steady.tick_once_after(reading_, timer.delay));
    }

  private:
    // True for an armed record on the steady timeline, without a period.
    static bool is_usual(const record &timer) {
        return core::is_armed(timer.timing) && !timer.is_on_wall && !is_periodic(timer);
    }

    TW_INLINED int move_to(record &timer, runtime::tick due) TW_REQUIRES(core::wheels_lock) {
        runtime::timeline &line = set_.rt->steady;
        core::move_record(set_.space->steady, timer.timing, due, moment_);
        wake_.note(runtime::note_armed(*set_.rt, line, set_.space->lane, due));
        return 0;
    }

    int move_any(record &timer, std::int64_t delay) TW_REQUIRES(core::wheels_lock);
    int again_any(record &timer) TW_REQUIRES(core::wheels_lock);
    void move_on_its_line(record &timer, runtime::tick due) TW_REQUIRES(core::wheels_lock);

    record_set &set_;
    const std::int64_t reading_;  // of the steady clock
    const std::int64_t delay_;
    const runtime::tick due_;  // on the steady timeline
    const std::uint64_t moment_;
    runtime::deferred_wake wake_;
};

}  // namespace tickwheel::timers
