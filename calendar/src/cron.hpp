// Cron expressions, which select local times.
//
//            minute hour day-of-month month day-of-week     30 9 * * mon-fri
//     second minute hour day-of-month month day-of-week     */10 * * * * *
//
// A field is a list of `5`, `1-5`, `1-30/2` (every second value of the range), `*`, `*/5`, and `10/5` (every
// fifth value from 10 to the end). `?` is `*`. Months and days of the week have names, `jan` and `mon`;
// Sunday is 0, 7 or `sun`. `L` as a day of the month is the last day. Without a field for seconds, the second
// is 0. Some expressions have names: `@yearly` or `@annually`, `@monthly`, `@weekly`, `@daily` or
// `@midnight`, `@hourly`. Case does not matter.
//
// A day field with a `*` does not restrict the days. If both day fields restrict them, the expression selects
// the days that either field selects, as in Vixie's cron; otherwise the days that both select.
//
// An expression is independent of time zones; calendar.hpp combines the two.
//
// Threads: any thread may call const functions.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace tickwheel::calendar {

// An expression, and the local times that it selects. Local times are seconds, as in zone.hpp.
class cron {
  public:
    static constexpr std::size_t length_max = 256;
    static constexpr std::int64_t none = std::numeric_limits<std::int64_t>::min();

    // Reads an expression. Returns 0; or -EINVAL, stores why, and leaves `out` unchanged. Refuses an
    // expression that selects no day, such as 30 February.
    [[nodiscard]] static int parse(const char *text, cron &out, const char *&why);

    // True if the second, minute or hour field has a `*` or a step without an end, or lists all values.
    [[nodiscard]] bool is_repeating() const { return is_repeating_; }

    // The first selected time from `from` to `until`, both included, or `none`.
    [[nodiscard]] std::int64_t first(std::int64_t from, std::int64_t until) const;

    // The number of selected times with after < time <= until.
    [[nodiscard]] std::uint64_t count(std::int64_t after, std::int64_t until) const;

  private:
    int parse_fields(std::string_view text, const char *&why);
    [[nodiscard]] std::uint64_t days_of(std::chrono::year_month month) const;
    [[nodiscard]] bool selects_day(std::int64_t date) const;
    [[nodiscard]] std::int64_t first_day(std::int64_t from, std::int64_t until) const;
    [[nodiscard]] std::uint64_t count_days(std::int64_t begin, std::int64_t end) const;
    [[nodiscard]] std::int64_t first_of_day(std::int64_t from) const;
    [[nodiscard]] std::uint64_t count_of_day(std::int64_t end) const;

    // Bit n stands for the value n.
    std::uint64_t seconds_ = 1;
    std::uint64_t minutes_ = 1;
    std::uint64_t hours_ = 1;
    std::uint64_t days_ = 0;
    std::uint64_t months_ = 0;
    std::uint64_t weekdays_ = 0;
    bool has_last_day_ = false;
    bool either_day_ = false;
    bool is_repeating_ = false;
};

}  // namespace tickwheel::calendar
