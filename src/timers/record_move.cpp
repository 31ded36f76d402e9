// The rare cases of record_move.hpp.
#include "record_move.hpp"

#include <cerrno>

namespace tickwheel::timers {

namespace {

int refuse_busy(const record &timer) {
    return runtime::refuse(-EBUSY, has_next(timer)
                                       ? "the schedule (next) has not yet returned the next deadline"
                                       : "the timer's last callback is running or about to run");
}

// The tick of the record's own clock for a delay from now. `reading` is the steady clock's.
runtime::tick tick_after(record_set &set, const record &timer, std::int64_t reading, std::int64_t delay)
    TW_REQUIRES(core::wheels_lock) {
    record_space &space = *set.space;
    const runtime::timeline &line = line_of(space, timer);
    return line.tick_after(timer.is_on_wall ? space.wall_reading : reading, delay) - line.set_back;
}

}  // namespace

// Moves a record to a tick of its clock. The grid of a periodic record restarts there.
void prepared_move::move_on_its_line(record &timer, runtime::tick due) {
    record_space &space = *set_.space;
    runtime::timeline &line = line_of(space, timer);
    core::move_record(wheel_of(space, timer), timer.timing, due, moment_);
    if (timer.has_rest && timer.rest->part != 0)
        timer.rest->part = 1;
    wake_.note(runtime::note_armed(*set_.rt, line, space.lane, due + line.set_back));
}

int prepared_move::move_any(record &timer, std::int64_t delay) {
    if (!core::is_armed(timer.timing))
        return refuse_busy(timer);
    move_on_its_line(timer, tick_after(set_, timer, reading_, delay));
    return 0;
}

int prepared_move::again_any(record &timer) {
    if (!core::is_armed(timer.timing))
        return refuse_busy(timer);
    return timer.delay < 0
               ? runtime::refuse(-EINVAL, "the timer has no delay to start again: its deadline is absolute, "
                                          "or from its schedule (next)")
               : move_any(timer, timer.delay);
}

}  // namespace tickwheel::timers
