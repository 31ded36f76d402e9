// Cron expressions in a time zone: the instants at which the selected local times come.
//
// When the local clock is set, for daylight saving or another reason, the due times depend on the kind of the
// expression:
//
//     repeating  Its second, minute or hour field has a `*` or a step without an end, or lists all values:
//                `*/5 * * * *`. It stands for an action that repeats at short intervals.
//     fixed      Any other expression: `30 2 * * *`. It stands for an action at a time of the day.
//
// A repeating expression is due whenever the local clock shows a selected time. So `*/5` stays every five
// real minutes: it is due in both hours if the clock shows an hour twice, and never within a gap, which takes
// no real time.
//
// A fixed expression is due when the local clock shows a selected time for the first time. The selected times
// in a gap are due once, all together, at the first instant after the gap. If that instant is itself a
// selected time, there is still only one due time. (So each selected time is due when the furthest local time
// of zone.hpp reaches or passes it.) The rule is the same for any change of the clock: a gap can begin at
// midnight, last half an hour, or be a whole day.
//
//     30 2 * * *    Europe/Berlin, 31 March 2024: at 03:00, as there is no 02:30;
//                   27 October 2024: at the first 02:30
//     0 0 * * *     America/Sao_Paulo, 4 November 2018: at 01:00, as there is no 00:00
//     0 9 * * *     Pacific/Apia, which had no 30 December 2011: on the 29th at 09:00; on the 31st at 00:00,
//                   for the skipped day, and at 09:00
//
// Threads: any thread may call const functions.
#pragma once

#include <cstdint>

#include "cron.hpp"
#include "zone.hpp"

namespace tickwheel::calendar {

// An expression in a zone, with due times in nanoseconds since 1970. Making a calendar reads a file and takes
// some memory, so keep it for as long as you need it.
class calendar {
  public:
    static constexpr std::int64_t last_ns = 7'289'654'399'000'000'000;  // the last second of the year 2200

    // `zone_name` null: UTC. Returns 0; or an error, stores why, and leaves `out` unchanged.
    //   -EINVAL  the expression or the name is malformed, there is no such zone, or the expression is never
    //            due before the end of 2200
    //   others   from zone::load
    // Throws std::bad_alloc.
    [[nodiscard]] static int parse(const char *expression, const char *zone_name, calendar &out,
                                   const char *&why);

    // The first due time after after_ns, or TW_NO_DEADLINE if there is none up to last_ns.
    [[nodiscard]] std::int64_t next(std::int64_t after_ns) const;

    // The number of due times with after_ns < time <= until_ns. The function does not walk through them, so
    // the cost does not depend on their number. -1 <= after_ns <= until_ns <= last_ns.
    [[nodiscard]] std::uint64_t count(std::int64_t after_ns, std::int64_t until_ns) const;

    // The last due time with after_ns < time <= until_ns, or after_ns if there is none. -1 <= after_ns <=
    // until_ns <= last_ns.
    [[nodiscard]] std::int64_t last(std::int64_t after_ns, std::int64_t until_ns) const;

  private:
    [[nodiscard]] std::int64_t next_fixed(std::int64_t after) const;
    [[nodiscard]] std::int64_t next_repeating(std::int64_t after) const;
    [[nodiscard]] std::uint64_t count_fixed(std::int64_t after, std::int64_t until) const;
    [[nodiscard]] std::uint64_t count_repeating(std::int64_t after, std::int64_t until) const;

    cron cron_;
    zone zone_;
};

}  // namespace tickwheel::calendar
