// See record_move.hpp: here is what is rare.
#include "record_move.hpp"

#include <cerrno>

#include "runtime/wall.hpp"

namespace tickwheel::runtime {

namespace {

int refuse_busy(const record &it) {
    return refuse(-EBUSY, has_next(it) ? "its schedule (next) has not yet returned the next deadline"
                                       : "the timer's last callback runs or is about to");
}

// The tick of a delay from a reading of the steady clock, on the record's own timeline.
// REQUIRES: wall_hold, if that is the wall timeline
tick tick_after(record_set &set, const record &it, std::int64_t reading, std::int64_t delay) {
    timeline &line = line_of(*set.keeper, it.is_on_wall);
    if (it.is_on_wall) {
        reading = line.clock.read();
        line.follow(reading);
    }
    return line.tick_after(reading, delay) - line.set_back;
}

}  // namespace

// Moves a record to a tick of its clock. The grid of a periodic one begins there.
// REQUIRES: wall_hold, if that is the wall timeline
void prepared_move::move_on_its_line(record &it, tick due) {
    record_keeper &keeper = *set_.keeper;
    timeline &line = line_of(keeper, it.is_on_wall);
    wheel_of(keeper, it).move(it.number, it.timing, due, ++keeper.order);
    if (it.has_rest && it.rest->part != 0)
        it.rest->part = 1;
    wake_.note(line.note_armed(due + line.set_back));
}

int prepared_move::move_any(record &it, std::int64_t delay) {
    if (!it.is_armed)
        return refuse_busy(it);
    const wall_hold hold(*set_.rt);
    if (!is_periodic(it))
        it.delay = delay;
    move_on_its_line(it, tick_after(set_, it, reading_, delay));
    return 0;
}

int prepared_move::postpone_any(record &it) {
    if (!it.is_armed)
        return refuse_busy(it);
    const wall_hold hold(*set_.rt);
    if (const tick due = tick_after(set_, it, reading_, delay_); due > it.timing.due)
        move_on_its_line(it, due);
    return 0;
}

int prepared_move::again_any(record &it) {
    if (!it.is_armed)
        return refuse_busy(it);
    return it.delay < 0 ? refuse(-EINVAL, "the timer has no delay to start again: its deadline is absolute, "
                                          "or from its schedule (next)")
                        : move_any(it, it.delay);
}

std::int64_t remaining(const record_set &set, const record &it) {
    if (!it.is_armed)
        return 0;
    const timeline &line = line_of(*set.keeper, it.is_on_wall);
    return time_left(line.unit.reading(it.timing.due), line.clock.read());
}

}  // namespace tickwheel::runtime
