// The rule by which the clock of a time zone is set every year, after the last change that the zone's file
// lists. The rule is the last line of the file. It has the form of POSIX's variable TZ, with the wider hours
// of RFC 9636:
//
//     CET-1CEST,M3.5.0,M10.5.0/3   one hour east of UTC; summer time from the last Sunday of March at 02:00
//                                  to the last Sunday of October at 03:00
//     <+03>-3                      three hours east, all year
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tickwheel::calendar {

// From this second of UTC on, local time is `offset` seconds ahead of UTC.
struct zone_change {
    std::int64_t at;
    std::int32_t offset;
};

class zone_rule {
  public:
    // Returns true and stores the rule if the text is one.
    [[nodiscard]] static bool parse(std::string_view text, zone_rule &rule);

    [[nodiscard]] bool has_summer() const { return has_summer_; }
    [[nodiscard]] std::int32_t standard_offset() const { return standard_; }

    // The two changes of a year: to summer time, and back. In the southern hemisphere the change back comes
    // first.
    [[nodiscard]] std::array<zone_change, 2> changes_in(int year) const;

    // A day of each year, and a time of that day in seconds: from -167 to 167 hours.
    struct moment {
        enum : std::uint8_t {
            leapless_day,  // 1 to 365: 29 February is never counted
            day_of_year,   // 0 to 365
            weekday        // in a week of a month; week 5 is the last
        } form;
        std::int32_t day;
        std::int32_t week;
        std::int32_t month;
        std::int32_t time;
    };

  private:
    std::int32_t standard_ = 0;
    std::int32_t summer_ = 0;
    bool has_summer_ = false;
    moment begin_{};
    moment end_{};
};

}  // namespace tickwheel::calendar
