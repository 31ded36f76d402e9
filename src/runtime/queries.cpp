// Queries, which change nothing. Any thread.
#include "current_run.hpp"
#include "wall.hpp"

using namespace tickwheel::runtime;

TW_API int64_t tw_runtime_now(tw_runtime *rt) {
    registry::check_runtime(rt, __builtin_return_address(0));
    return usable(rt) ? rt->absolute->clock.read() : TW_NO_DEADLINE;
}

TW_API int64_t tw_runtime_remaining(tw_runtime *rt, const tw_node *node) {
    TW_NOTE_CALLER;
    if (!usable(rt) || node == nullptr)
        return TW_NO_DEADLINE;
    const wall_hold hold(*rt);
    timeline &line = timeline_of(*rt, node);
    const tick due = tw_expiry(&line.wheel, node);
    if (due == TW_NEVER)
        return TW_NO_DEADLINE;
    return time_left(line.deadline_of(due), line.clock.read());
}

TW_API int64_t tw_runtime_due(tw_runtime *rt) {
    if (!usable(rt) || !inside_user_code::of(*rt))
        return TW_NO_DEADLINE;
    if (const current_run *run = current_run::of(*rt))
        return run->due();
    const wall_hold hold(*rt);
    std::int64_t deadline = TW_NO_DEADLINE;
    for_each_timeline(*rt, [&](timeline &line) {
        if (const tick due = tw_due(&line.wheel); due != TW_NEVER)
            deadline = line.deadline_of(due);
    });
    return deadline;
}

TW_API uint64_t tw_runtime_overruns(tw_runtime *rt) {
    if (!usable(rt) || !inside_user_code::of(*rt))
        return 0;
    if (const current_run *run = current_run::of(*rt))
        return run->overruns();
    std::uint64_t overruns = 0;
    for_each_timeline(*rt, [&](timeline &line) { overruns += tw_overruns(&line.wheel); });
    return overruns;
}

// No timer is pending while the runtime is being freed: its nodes are off the wheels, and its records only
// wait for their `drop`.
TW_API size_t tw_runtime_count(tw_runtime *rt) {
    registry::check_runtime(rt, __builtin_return_address(0));
    if (!usable(rt) || rt->is_freed != 0)
        return 0;
    const wall_hold hold(*rt);
    std::size_t count = 0;
    for_each_wheel(*rt, [&](tw &wheel) { count += tw_count(&wheel); });
    return count;
}

TW_API int tw_runtime_check(tw_runtime *rt, tw_report *report, void *arg) {
    if (const int error = check_usable(rt); error != 0)
        return error;
    const no_thread_cancel guard;  // also covers `report`
    const wall_hold hold(*rt);
    int broken = 0;
    for_each_wheel(*rt, [&](tw &wheel) { broken += tw_check(&wheel, report, arg); });
    return broken;
}
