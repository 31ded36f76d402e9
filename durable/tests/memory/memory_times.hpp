// The arithmetic of times: whole microseconds, as nanoseconds, within the range that durable_store.h gives.
#pragma once

#include <algorithm>
#include <cstdint>

#include <tickwheel/durable_store.h>

namespace memory {

// The store notifies listeners of jobs that are ready within this time.
inline constexpr std::int64_t told_within = 60 * INT64_C(1000000000);

constexpr std::int64_t microsecond_before(std::int64_t ns) { return ns - ns % 1000; }

// A clock reading plus a span of time, rounded up.
constexpr std::int64_t time_after(std::int64_t now, std::int64_t span) {
    if (span >= TW_STORE_TIME_MAX - now)
        return TW_STORE_TIME_MAX;
    return microsecond_before(std::max<std::int64_t>(now + span, 0) + 999);
}

}  // namespace memory
