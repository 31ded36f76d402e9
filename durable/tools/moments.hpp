// Durations and times as the user writes and reads them. All are in nanoseconds; a time counts from 1970,
// UTC.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tickwheel::jobs {

// "250ms", "3min", "1h30min": whole numbers, each with a unit, the longest first. Throws bad_usage, which
// names the option, if it is none or too long for a job.
std::int64_t read_duration(std::string_view option, std::string_view text);

// "2026-12-24T18:00:00Z", or with an offset from UTC as in "+01:00", and up to nine digits of a second.
// Throws bad_usage if it is none, or not from 1970 to 2200.
std::int64_t read_time(std::string_view option, std::string_view text);

// In the local time zone: "2026-12-24 19:00:00".
std::string local_time(std::int64_t ns);

// For programs: "2026-12-24T18:00:00.000000Z".
std::string utc_time(std::int64_t ns);

// Of two units at most: "2 min 5 s", "3.2 s", "250 ms". Not negative.
std::string duration(std::int64_t ns);

// A time seen from now: "in 2 min 5 s", "3 s late"; `past` is the word for what lies in the past.
std::string relative(std::int64_t ns, std::int64_t now_ns, const char *past = "late");

}  // namespace tickwheel::jobs
