// What a runtime can tell, changing nothing. Any thread.
#include "fires.hpp"
#include "wall.hpp"

using namespace tickwheel::runtime;

namespace {

// A tick of either timeline as a reading of its clock.
std::int64_t reading_of(tw_runtime &rt, const timeline &line, tick t) {
    return &line == rt.wall ? wall_reading(rt, t) : rt.unit.reading(t);
}

std::int64_t present_of(const tw_runtime &rt, const timeline &line) {
    return &line == rt.wall ? rt.clocks.wall() : rt.clocks.steady();
}

}  // namespace

TW_API int64_t tw_runtime_now(tw_runtime *rt) {
    if (!usable(rt))
        return TW_NO_DEADLINE;
    return rt->wall != nullptr ? rt->clocks.wall() : rt->clocks.steady();
}

TW_API int64_t tw_runtime_remaining(tw_runtime *rt, const tw_node *node) {
    if (!usable(rt) || node == nullptr)
        return TW_NO_DEADLINE;
    const wall_hold hold(*rt);
    timeline &line = line_of(*rt, node);
    const tick due = tw_expiry(&line.wheel, node);
    if (due == never)
        return TW_NO_DEADLINE;
    const std::int64_t left = reading_of(*rt, line, due) - present_of(*rt, line);
    return left > 0 ? left : 0;
}

TW_API int64_t tw_runtime_due(tw_runtime *rt) {
    if (!usable(rt) || !inside::of(*rt))
        return TW_NO_DEADLINE;
    if (const off_wheel *fire = off_wheel::of(*rt))
        return fire->due();
    const wall_hold hold(*rt);
    const tick due = tw_due(&rt->steady.wheel);
    if (due != never)
        return rt->unit.reading(due);
    return rt->wall != nullptr ? wall_due(*rt) : TW_NO_DEADLINE;
}

TW_API uint64_t tw_runtime_overruns(tw_runtime *rt) {
    if (!usable(rt) || !inside::of(*rt))
        return 0;
    if (const off_wheel *fire = off_wheel::of(*rt))
        return fire->overruns();
    std::uint64_t overruns = 0;
    for_each_timeline(*rt, [&](timeline &line) { overruns += tw_overruns(&line.wheel); });
    return overruns;
}

TW_API size_t tw_runtime_count(tw_runtime *rt) {
    if (!usable(rt))
        return 0;
    const wall_hold hold(*rt);
    std::size_t count = 0;
    for_each_timeline(*rt, [&](timeline &line) { count += tw_count(&line.wheel); });
    return count;
}

TW_API int tw_runtime_stats(tw_runtime *rt, tw_stats *stats) {
    if (const int error = refusal(rt); error != 0)
        return error;
    if (stats == nullptr)
        return -EINVAL;
    const counters &seen = rt->seen;
    stats->wakeups = seen.wakeups;
    stats->wakes = seen.wakes;
    stats->timed = seen.timed;
    stats->late_sum_ns = seen.late_sum;
    stats->late_max_ns = seen.late_max;
    stats->clock_sets = seen.clock_sets;
    stats->wait_errors = seen.wait_errors;
    return 0;
}
