// Arithmetic of times for all stores: whole microseconds, as nanoseconds, within the range that
// durable_store.h gives.
#pragma once

#include <algorithm>
#include <cstdint>

#include <tickwheel/durable_store.h>

namespace tickwheel::durable {

inline constexpr std::int64_t microsecond = 1000;

// A store notifies listeners of jobs that are ready within this time. Members look at the database more often
// than that by themselves.
inline constexpr std::int64_t told_within = 60 * INT64_C(1000000000);

constexpr std::int64_t microsecond_before(std::int64_t ns) { return ns - ns % microsecond; }

// A clock reading plus a time span, rounded up.
constexpr std::int64_t time_after(std::int64_t now, std::int64_t span) {
    if (span >= TW_STORE_TIME_MAX - now)
        return TW_STORE_TIME_MAX;
    const std::int64_t sum = std::max<std::int64_t>(now + span, 0);
    return microsecond_before(sum + microsecond - 1);
}

// The due time of a job that is put now.
constexpr std::int64_t due_time(const tw_durable_job &job, std::int64_t now) {
    return job.absolute != 0 ? time_after(0, job.due_ns) : time_after(now, job.due_ns);
}

// The ready time of a job that is settled now.
constexpr std::int64_t ready_time(const tw_store_outcome &outcome, std::int64_t now) {
    return time_after(outcome.ready_is_delay != 0 ? now : 0, outcome.ready_ns);
}

}  // namespace tickwheel::durable
