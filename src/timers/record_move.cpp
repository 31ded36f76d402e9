// See record_move.hpp: here is what is rare.
#include "record_move.hpp"

#include <cerrno>

namespace tickwheel::runtime {

namespace {

int refuse_busy(const record &it) {
    return refuse(-EBUSY, has_next(it) ? "its schedule (next) has not yet returned the next deadline"
                                       : "the timer's last callback runs or is about to");
}

// The tick of a delay from a reading of the steady clock, on the record's own timeline.
tick tick_after(record_set &set, const record &it, std::int64_t reading, std::int64_t delay) {
    record_space &space = *set.space;
    const timeline &line = line_of(space, it);
    return line.tick_after(it.is_on_wall ? space.wall_reading : reading, delay) - line.set_back;
}

}  // namespace

// Moves a record to a tick of its clock. The grid of a periodic one begins there.
void prepared_move::move_on_its_line(record &it, tick due) {
    record_space &space = *set_.space;
    timeline &line = line_of(space, it);
    core::move_record(&line.wheel, it.timing, due);
    if (it.has_rest && it.rest->part != 0)
        it.rest->part = 1;
    wake_.note(line.note_armed(due + line.set_back));
}

int prepared_move::move_any(record &it, std::int64_t delay) {
    if (!core::is_armed(it.timing))
        return refuse_busy(it);
    if (!is_periodic(it))
        it.delay = delay;
    move_on_its_line(it, tick_after(set_, it, reading_, delay));
    return 0;
}

int prepared_move::postpone_any(record &it) {
    if (!core::is_armed(it.timing))
        return refuse_busy(it);
    if (const tick due = tick_after(set_, it, reading_, delay_); due > it.timing.due)
        move_on_its_line(it, due);
    return 0;
}

int prepared_move::again_any(record &it) {
    if (!core::is_armed(it.timing))
        return refuse_busy(it);
    return it.delay < 0 ? refuse(-EINVAL, "the timer has no delay to start again: its deadline is absolute, "
                                          "or from its schedule (next)")
                        : move_any(it, it.delay);
}

std::int64_t remaining(const record_set &set, const record &it) {
    if (!core::is_armed(it.timing))
        return 0;
    const timeline &line = line_of(*set.space, it);
    return time_left(line.unit.reading(it.timing.due), line.clock.read());
}

}  // namespace tickwheel::runtime
