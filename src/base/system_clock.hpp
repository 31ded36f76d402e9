// Reading a system clock.
#pragma once

#include <time.h>

#include <cstdint>

namespace tickwheel::base {

// In nanoseconds, of a clock that every kernel has.
inline std::int64_t system_reading(clockid_t clock) {
    timespec now;
    ::clock_gettime(clock, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace tickwheel::base
