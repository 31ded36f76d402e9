// See zone_rule.hpp.
#include "zone_rule.hpp"

#include <chrono>

namespace tickwheel::calendar {

namespace {

namespace chrono = std::chrono;

constexpr std::int32_t minute = 60;
constexpr std::int32_t hour = 60 * minute;

// Reads a rule from left to right. Each function removes its element from the front of the text, and returns
// false if the text does not begin with one; after that, except for `take`, the reader is of no more use.
class reader {
  public:
    explicit reader(std::string_view text) : rest_(text) {}

    [[nodiscard]] bool is_at_end() const { return rest_.empty(); }

    [[nodiscard]] bool is_before(char wanted) const { return !rest_.empty() && rest_.front() == wanted; }

    bool take(char wanted) {
        if (!is_before(wanted))
            return false;
        rest_.remove_prefix(1);
        return true;
    }

    bool number(std::int32_t least, std::int32_t most, std::int32_t &out) {
        std::size_t digits = 0;
        out = 0;
        for (; digits < rest_.size() && digits < 3 && is_digit(rest_[digits]); ++digits)
            out = out * 10 + (rest_[digits] - '0');
        rest_.remove_prefix(digits);
        return digits > 0 && out >= least && out <= most;
    }

    // The abbreviation of a time, `CET` or `<+03>`. The library does not use it.
    bool name() {
        const bool is_quoted = take('<');
        std::size_t length = 0;
        while (length < rest_.size() &&
               (is_letter(rest_[length]) || (is_quoted && is_of_number(rest_[length]))))
            ++length;
        rest_.remove_prefix(length);
        return length >= 3 && (!is_quoted || take('>'));
    }

    // [+-]hours[:minutes[:seconds]], in seconds.
    bool time(std::int32_t most_hours, std::int32_t &out) {
        const bool is_negative = take('-');
        if (!is_negative)
            take('+');
        std::int32_t hours = 0;
        std::int32_t minutes = 0;
        std::int32_t seconds = 0;
        if (!number(0, most_hours, hours))
            return false;
        if (take(':') && (!number(0, 59, minutes) || (take(':') && !number(0, 59, seconds))))
            return false;
        out = hours * hour + minutes * minute + seconds;
        out = is_negative ? -out : out;
        return true;
    }

    // How far local time is ahead of UTC, in seconds. The text has the opposite sign.
    bool offset(std::int32_t &out) {
        if (!time(24, out))
            return false;
        out = -out;
        return true;
    }

    // ,date[/time]
    bool moment(zone_rule::moment &out) {
        if (!take(',') || !date(out))
            return false;
        out.time = 2 * hour;
        return !take('/') || time(167, out.time);
    }

  private:
    static bool is_digit(char c) { return c >= '0' && c <= '9'; }
    static bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
    static bool is_of_number(char c) { return is_digit(c) || c == '+' || c == '-'; }

    bool date(zone_rule::moment &out) {
        if (take('J')) {
            out.form = zone_rule::moment::leapless_day;
            return number(1, 365, out.day);
        }
        if (take('M')) {
            out.form = zone_rule::moment::weekday;
            return number(1, 12, out.month) && take('.') && number(1, 5, out.week) && take('.') &&
                   number(0, 6, out.day);
        }
        out.form = zone_rule::moment::day_of_year;
        return number(0, 365, out.day);
    }

    std::string_view rest_;
};

chrono::sys_days day_of(const zone_rule::moment &when, chrono::year year) {
    const chrono::sys_days new_year = year / chrono::January / 1;
    if (when.form == zone_rule::moment::day_of_year)
        return new_year + chrono::days(when.day);
    if (when.form == zone_rule::moment::leapless_day) {
        const bool has_passed_leap_day = year.is_leap() && when.day >= 60;
        return new_year + chrono::days(when.day - (has_passed_leap_day ? 0 : 1));
    }
    const chrono::year_month month = year / chrono::month(static_cast<unsigned>(when.month));
    const chrono::weekday weekday(static_cast<unsigned>(when.day));
    if (when.week == 5)
        return month / weekday[chrono::last];
    return month / weekday[static_cast<unsigned>(when.week)];
}

// The UTC time of a moment of a year, if the local clock is `offset` ahead of UTC until then.
std::int64_t second_of(const zone_rule::moment &when, int year, std::int32_t offset) {
    return chrono::seconds(day_of(when, chrono::year(year)).time_since_epoch()).count() + when.time - offset;
}

}  // namespace

bool zone_rule::parse(std::string_view text, zone_rule &rule) {
    zone_rule parsed;
    reader in(text);
    if (!in.name() || !in.offset(parsed.standard_))
        return false;
    if (!in.is_at_end()) {
        parsed.has_summer_ = true;
        parsed.summer_ = parsed.standard_ + hour;  // unless the rule gives another offset
        if (!in.name() || (!in.is_before(',') && !in.offset(parsed.summer_)) || !in.moment(parsed.begin_) ||
            !in.moment(parsed.end_) || !in.is_at_end())
            return false;
    }
    rule = parsed;
    return true;
}

std::array<zone_change, 2> zone_rule::changes_in(int year) const {
    return {{{second_of(begin_, year, standard_), summer_}, {second_of(end_, year, summer_), standard_}}};
}

}  // namespace tickwheel::calendar
