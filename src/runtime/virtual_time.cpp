// Virtual time moves when the program says so, and due timers fire on the caller's thread, which is the
// firing thread meanwhile. Any thread, one at a time (drive_permit).
#include "turn.hpp"

namespace {

using namespace tickwheel::runtime;

int check_moving(const tw_runtime *rt, std::int64_t by) {
    if (const int error = check_usable(rt); error != 0)
        return error;
    if (!is_manual(*rt->driver))
        return refuse(-EOPNOTSUPP, "only virtual time can be moved: the driver \"manual\"");
    if (by < 0)
        return refuse(-EINVAL, "the duration is negative, but time does not go back");
    return by > last_reading - rt->steady.clock.read() ? explain_system_error(-ERANGE) : 0;
}

// The time until the first deadline of all timelines. Negative if that has passed.
std::int64_t time_to_next(tw_runtime &rt) {
    const tw_deadlines next = what_is_next(rt);
    std::int64_t least = INT64_MAX;
    for_each_timeline(rt, [&](const timeline &line) {
        const std::int64_t way = next.*line.deadline_field - line.clock.read();
        least = way < least ? way : least;
    });
    return least;
}

// Repeats while callbacks make more timers due at once, on either timeline.
void fire_all(tw_runtime &rt) {
    while (!fire_due(rt) && !must_leave(rt) && time_to_next(rt) <= 0) {
    }
}

void go(tw_runtime &rt, std::int64_t by) {
    rt.steady.clock.move(by);
    rt.meter.note_sleep({{0, 0}, by});  // no fire is late by more than that
    fire_all(rt);
}

// Time stops at each deadline, so that every callback reads the time at which it was due.
void advance_step_by_step(tw_runtime &rt, std::int64_t by) {
    fire_all(rt);
    while (!must_leave(rt) && by > 0) {
        const std::int64_t way = time_to_next(rt);  // not positive if another thread has just armed
        const std::int64_t step = way <= 0 ? 0 : way < by ? way : by;
        by -= step;
        go(rt, step);
    }
}

int move(tw_runtime *rt, std::int64_t by, void (*how)(tw_runtime &, std::int64_t)) {
    if (const int error = check_moving(rt, by); error != 0)
        return error;
    return drive(*rt, [=] {
        how(*rt, by);
        return check_usable(rt);  // -ECHILD if a callback has forked, and this is the child
    });
}

}  // namespace

TW_API int tw_runtime_advance(tw_runtime *rt, int64_t ns) {
    registry::check_runtime(rt, __builtin_return_address(0));
    return move(rt, ns, advance_step_by_step);
}

TW_API int tw_runtime_leap(tw_runtime *rt, int64_t ns) {
    registry::check_runtime(rt, __builtin_return_address(0));
    return move(rt, ns, go);
}

TW_API int tw_runtime_set_wall(tw_runtime *rt, int64_t wall_ns) {
    if (const int error = check_usable(rt); error != 0)
        return error;
    if (!is_manual(*rt->driver) || !has_wall(*rt))
        return refuse(-EOPNOTSUPP,
                      "only a virtual wall clock can be set: the driver \"manual\" with TW_CLOCK_WALL");
    if (wall_ns < 0)
        return refuse(-EINVAL, "the reading is negative");
    rt->absolute->clock.set(wall_ns);
    return 0;
}
