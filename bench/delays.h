// Delays in nanoseconds, for implementations that count from the clock's reading at the call.
#ifndef TICKWHEEL_BENCH_DELAYS_H
#define TICKWHEEL_BENCH_DELAYS_H

#include <cstdint>
#include <vector>

#include "inputs.h"

namespace bench {

using Delays = std::vector<std::int64_t>;

constexpr std::int64_t millisecond = 1'000'000;

// Maps the stream of ticks onto [from, from + spread).
inline Delays delays_of(const std::vector<std::uint32_t> &ticks, std::int64_t from, std::int64_t spread) {
    Delays delays;
    delays.reserve(ticks.size());
    for (std::uint32_t tick : ticks)
        delays.push_back(from + (tick - 1) * (spread / horizon));
    return delays;
}

// Delays so long that nothing comes due during a run.
inline Delays far_delays_of(const std::vector<std::uint32_t> &ticks) {
    return delays_of(ticks, 3'600'000 * millisecond, horizon * millisecond);
}

}  // namespace bench

#endif
