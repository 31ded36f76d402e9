// Durations and times as users write and read them. All are in nanoseconds; a time counts from 1970, UTC.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tickwheel::jobs {

// "250ms", "3min", "1h30min": whole numbers, each with a unit, the longest unit first. Throws bad_usage,
// which names the option, if the text is not a duration, or too long for a job.
std::int64_t read_duration(std::string_view option, std::string_view text);

// "2026-12-24T18:00:00Z", or with an offset from UTC such as "+01:00", and up to nine digits of a second.
// Throws bad_usage if the text is not a time from 1970 to 2200.
std::int64_t read_time(std::string_view option, std::string_view text);

// In the local time zone: "2026-12-24 19:00:00".
std::string local_time(std::int64_t ns);

// For programs: "2026-12-24T18:00:00.000000Z".
std::string utc_time(std::int64_t ns);

// At most two units: "2 min 5 s", "3.2 s", "250 ms". Not negative.
std::string duration(std::int64_t ns);

// A time relative to now: "in 2 min 5 s", "3 s late". `past` is the word after the duration of a past time.
std::string relative(std::int64_t ns, std::int64_t now_ns, const char *past = "late");

}  // namespace tickwheel::jobs
