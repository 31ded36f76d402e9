// Cron expressions in a time zone: when the local times that they select come.
//
// When the local clock is set, for daylight saving or else, it depends on what the expression means. It is
//
//     repeating  if its second, minute or hour field has a `*` or a step without an end, or lists all values:
//                `*/5 * * * *`. It asks for something to be done again and again.
//     fixed      otherwise: `30 2 * * *`. It asks for something to be done at a time of the day.
//
// A repeating expression is due whenever the local clock shows a time that it selects. Every five minutes
// thus stays every five real minutes: it is due in both of two hours that the clock shows alike, and has
// nothing to be due for in a gap.
//
// A fixed expression is due when the local clock shows a time that it selects for the first time. Times in
// a gap are not lost: they are due once, all together, at the first instant after the gap, which counts as
// one with a time that is selected there itself. (So each time is due when the furthest local time of
// zone.hpp reaches or passes it.) It does not matter by how much the clock is set, at what time of the day,
// or why: a gap can begin at midnight, last half an hour, or be a whole day.
//
//     30 2 * * *    Europe/Berlin, 31 March 2024: at 03:00, as there is no 02:30.
//                   27 October 2024: at the first 02:30
//     0 0 * * *     America/Sao_Paulo, 4 November 2018: at 01:00, as there is no 00:00
//     0 9 * * *     Pacific/Apia, which had no 30 December 2011: on the 29th at 09:00; on the 31st at 00:00,
//                   for the day that was left out, and at 09:00
//
// Threads: const functions can be called from any.
#pragma once

#include <cstdint>

#include "cron.hpp"
#include "zone.hpp"

namespace tickwheel::durable {

// An expression in a zone: due times in nanoseconds, as in durable.h. Costs some memory and time to make, so
// keep it for as long as it is of use.
class calendar {
  public:
    // `zone_name` null: UTC. Returns 0, or an error and why, and leaves `out` alone.
    //   -EINVAL  the expression or the name is malformed, there is no such zone, or the expression does not
    //            come true there before the end of 2200
    //   others   of zone::load
    // Throws std::bad_alloc.
    [[nodiscard]] static int parse(const char *expression, const char *zone_name, calendar &out,
                                   const char *&why);

    // The first due time after this one, or TW_STORE_NEVER if there is none up to TW_STORE_TIME_MAX.
    [[nodiscard]] std::int64_t next(std::int64_t after_ns) const;

    // How many due times there are with after < time <= until, without walking through them: the cost does
    // not depend on how many there are. 0 <= after <= until <= TW_STORE_TIME_MAX.
    [[nodiscard]] std::uint64_t count(std::int64_t after_ns, std::int64_t until_ns) const;

    // The last due time with after < time <= until, or `after` if there is none. As above.
    [[nodiscard]] std::int64_t last(std::int64_t after_ns, std::int64_t until_ns) const;

  private:
    [[nodiscard]] std::int64_t next_fixed(std::int64_t after) const;
    [[nodiscard]] std::int64_t next_repeating(std::int64_t after) const;
    [[nodiscard]] std::uint64_t count_fixed(std::int64_t after, std::int64_t until) const;
    [[nodiscard]] std::uint64_t count_repeating(std::int64_t after, std::int64_t until) const;

    cron cron_;
    zone zone_;
};

}  // namespace tickwheel::durable
