// Dates for the tests of calendars.
#pragma once

#include <chrono>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "support/zones.h"

namespace tickwheel::test {

// The seconds from 1970 to this date, in UTC or in local time.
inline std::int64_t date(int year, unsigned month, unsigned day, int hour = 0, int minute = 0,
                         int second = 0) {
    const std::chrono::sys_days days =
        std::chrono::year(year) / static_cast<int>(month) / static_cast<int>(day);
    return std::chrono::seconds(days.time_since_epoch()).count() + std::int64_t{3600} * hour +
           std::int64_t{60} * minute + second;
}

inline constexpr std::int64_t second_ns = 1'000'000'000;

// The parts of a text between bars.
inline std::vector<std::string> texts_in(const std::string &text) {
    std::vector<std::string> all;
    std::istringstream from(text);
    for (std::string each; std::getline(from, each, '|');)
        all.push_back(each);
    return all;
}

}  // namespace tickwheel::test
