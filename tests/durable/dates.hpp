// Dates for the tests of calendars.
#pragma once

#include <chrono>
#include <cstdint>

#include "durable/zone.hpp"

namespace tickwheel::durable::test {

// The seconds from 1970 to this date: a time in UTC, or a local one.
inline std::int64_t date(int year, unsigned month, unsigned day, int hour = 0, int minute = 0,
                         int second = 0) {
    const std::chrono::sys_days days =
        std::chrono::year(year) / static_cast<int>(month) / static_cast<int>(day);
    return std::chrono::seconds(days.time_since_epoch()).count() + std::int64_t{3600} * hour +
           std::int64_t{60} * minute + second;
}

inline constexpr std::int64_t second_ns = 1'000'000'000;

// Whether there is a tz database.
inline bool has_zones() {
    zone any;
    return zone::load("Europe/Berlin", any) == 0;
}

}  // namespace tickwheel::durable::test
