// See cron.hpp.
#include "cron.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace tickwheel::calendar {

namespace {

namespace chrono = std::chrono;

constexpr std::int64_t minute = 60;
constexpr std::int64_t hour = 60 * minute;
constexpr std::int64_t day = 24 * hour;

constexpr std::uint64_t bit(std::int64_t n) { return std::uint64_t{1} << n; }
constexpr std::uint64_t bits_below(std::int64_t n) { return bit(n) - 1; }  // n < 64
std::uint64_t size_of(std::uint64_t set) { return static_cast<std::uint64_t>(std::popcount(set)); }

// The smallest n in the set with from <= n, or 64 if there is none. from < 64.
std::int64_t first_from(std::uint64_t set, std::int64_t from) {
    return std::countr_zero(set & ~bits_below(from));
}

// The day that contains a time, also before 1970, and the time on that day.
std::int64_t date_of(std::int64_t local) { return local >= 0 ? local / day : (local + 1) / day - 1; }
std::int64_t time_of(std::int64_t local) { return local - date_of(local) * day; }

// --- fields ---------------------------------------------------------------------------------

struct field_form {
    const char *malformed;
    int first, last;
    int top;            // the largest number: 7 for Sunday in days of the week, otherwise `last`
    const char *names;  // the names of the values from `first` on, three letters each; or null
    bool has_last_day;  // `L` is allowed
};

constexpr std::array<field_form, 6> forms{{
    {"the seconds of the cron expression are malformed", 0, 59, 59, nullptr, false},
    {"the minutes of the cron expression are malformed", 0, 59, 59, nullptr, false},
    {"the hours of the cron expression are malformed", 0, 23, 23, nullptr, false},
    {"the days of the month of the cron expression are malformed", 1, 31, 31, nullptr, true},
    {"the months of the cron expression are malformed", 1, 12, 12, "janfebmaraprmayjunjulaugsepoctnovdec",
     false},
    {"the days of the week of the cron expression are malformed", 0, 6, 7, "sunmontuewedthufrisat", false},
}};

struct field {
    std::uint64_t values = 0;
    bool has_star = false;
    bool has_open_step = false;
    bool has_last_day = false;

    [[nodiscard]] bool is_repeating(const field_form &form) const {
        return has_star || has_open_step || values == (bits_below(form.last + 1) & ~bits_below(form.first));
    }
};

// Lowers ASCII letters alone, whatever the program's locale is.
char small_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool are_same(std::string_view text, std::string_view small) {
    return std::equal(text.begin(), text.end(), small.begin(), small.end(),
                      [](char a, char b) { return small_letter(a) == b; });
}

// One or two digits.
bool read_number(std::string_view text, int &out) {
    out = 0;
    if (text.empty() || text.size() > 2)
        return false;
    for (const char c : text) {
        if (c < '0' || c > '9')
            return false;
        out = out * 10 + (c - '0');
    }
    return true;
}

bool read_name(std::string_view text, const field_form &form, int &out) {
    const std::string_view names(form.names != nullptr ? form.names : "");
    for (std::size_t i = 0; i < names.size(); i += 3) {
        if (are_same(text, names.substr(i, 3))) {
            out = form.first + static_cast<int>(i / 3);
            return true;
        }
    }
    return false;
}

bool read_value(std::string_view text, const field_form &form, int &out) {
    if (read_name(text, form, out))
        return true;
    return read_number(text, out) && out >= form.first && out <= form.top;
}

// Reads the part of an item before the step: `5` or `1-5`.
bool read_range(std::string_view text, const field_form &form, int &first, int &last) {
    const std::size_t dash = text.find('-');
    if (!read_value(text.substr(0, dash), form, first))
        return false;
    last = first;
    if (dash == std::string_view::npos)
        return true;
    const std::string_view end = text.substr(dash + 1);
    if (!read_value(end, form, last))
        return false;
    if (are_same(end, "sun"))
        last = 7;  // as in fri-sun
    return first <= last;
}

bool read_item(std::string_view text, const field_form &form, field &out) {
    const std::size_t slash = text.find('/');
    const std::string_view range = text.substr(0, slash);
    int first = form.first;
    int last = form.last;
    int step = 1;
    if (form.has_last_day && are_same(text, "l")) {
        out.has_last_day = true;
        return true;
    }
    const bool has_step = slash != std::string_view::npos;
    if (has_step &&
        (!read_number(text.substr(slash + 1), step) || step < 1 || step > form.last - form.first + 1))
        return false;
    if (range == "*" || range == "?") {
        out.has_star = true;
    } else if (!read_range(range, form, first, last)) {
        return false;
    } else if (has_step && range.find('-') == std::string_view::npos) {
        out.has_open_step = true;
        last = std::max(first, form.last);
    }
    for (int value = first; value <= last; value += step)
        out.values |= bit(value);
    return true;
}

bool read_field(std::string_view text, const field_form &form, field &out) {
    for (;;) {
        const std::size_t comma = text.find(',');
        if (!read_item(text.substr(0, comma), form, out))
            return false;
        if (comma == std::string_view::npos)
            break;
        text.remove_prefix(comma + 1);
    }
    if (form.top == 7)
        out.values = (out.values | out.values >> 7) & bits_below(7);
    return true;
}

// --- expressions ----------------------------------------------------------------------------

constexpr std::size_t words_max = 6;

// Splits a text at spaces and tabs. Returns the number of words, or words_max + 1 if there are more than
// words_max.
std::size_t split(std::string_view text, std::array<std::string_view, words_max> &words) {
    constexpr std::string_view blanks = " \t";
    std::size_t count = 0;
    for (;;) {
        text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
        if (text.empty())
            return count;
        if (count == words_max)
            return words_max + 1;
        const std::size_t length = std::min(text.find_first_of(blanks), text.size());
        words[count++] = text.substr(0, length);
        text.remove_prefix(length);
    }
}

// Returns the expression with this name; null: there is no such name.
const char *named_expression(std::string_view name) {
    constexpr std::array<std::pair<const char *, const char *>, 7> names{{
        {"@yearly", "0 0 1 1 *"},
        {"@annually", "0 0 1 1 *"},
        {"@monthly", "0 0 1 * *"},
        {"@weekly", "0 0 * * 0"},
        {"@daily", "0 0 * * *"},
        {"@midnight", "0 0 * * *"},
        {"@hourly", "0 * * * *"},
    }};
    for (const auto &[known, expression] : names) {
        if (are_same(name, known))
            return expression;
    }
    return nullptr;
}

int refuse(const char *&why, const char *reason) {
    why = reason;
    return -EINVAL;
}

}  // namespace

int cron::parse(const char *text, cron &out, const char *&why) {
    const std::string_view given(text, strnlen(text, length_max + 1));
    if (given.size() > length_max)
        return refuse(why, "the cron expression is too long");
    cron made;
    if (const int error = made.parse_fields(given, why); error != 0)
        return error;
    constexpr std::int64_t all_dates =
        std::int64_t{40} * 366 * day;  // each date falls on each day of the week within 40 years
    if (made.first(0, all_dates) == none)
        return refuse(why, "the cron expression is never due");
    out = made;
    return 0;
}

int cron::parse_fields(std::string_view text, const char *&why) {
    std::array<std::string_view, words_max> words;
    std::size_t count = split(text, words);
    if (count == 1 && words[0].front() == '@') {
        const char *const named = named_expression(words[0]);
        if (named == nullptr)
            return refuse(why, "the cron expression has an unknown name");
        count = split(named, words);
    }
    if (count != 5 && count != 6)
        return refuse(why, "the cron expression has neither five nor six fields");
    std::array<field, 6> fields;
    if (count == 5)
        fields[0].values = bit(0);
    for (std::size_t i = 6 - count; i < 6; ++i) {
        if (!read_field(words[i - (6 - count)], forms[i], fields[i]))
            return refuse(why, forms[i].malformed);
    }
    seconds_ = fields[0].values;
    minutes_ = fields[1].values;
    hours_ = fields[2].values;
    days_ = fields[3].values;
    months_ = fields[4].values;
    weekdays_ = fields[5].values;
    has_last_day_ = fields[3].has_last_day;
    either_day_ = !fields[3].has_star && !fields[5].has_star;
    is_repeating_ = fields[0].is_repeating(forms[0]) || fields[1].is_repeating(forms[1]) ||
                    fields[2].is_repeating(forms[2]);
    return 0;
}

// --- days -----------------------------------------------------------------------------------

namespace {

// A month, and `zeroth`, the day before its first day. Days count from 1970.
struct month_at {
    chrono::year_month month;
    std::int64_t zeroth;

    explicit month_at(chrono::year_month m)
        : month(m), zeroth(chrono::sys_days(m / 1).time_since_epoch().count() - 1) {}

    static month_at with(std::int64_t date) {
        const chrono::year_month_day calendar_date{chrono::sys_days(chrono::days(date))};
        return month_at(calendar_date.year() / calendar_date.month());
    }
    [[nodiscard]] month_at following() const { return month_at(month + chrono::months(1)); }
};

}  // namespace

// The selected days of a month; bit n stands for day n.
std::uint64_t cron::days_of(chrono::year_month month) const {
    if ((months_ & bit(static_cast<unsigned>(month.month()))) == 0)
        return 0;
    const auto length = static_cast<unsigned>((month / chrono::last).day());
    const std::uint64_t all = bits_below(length + 1) & ~bit(0);
    const std::uint64_t by_date = days_ | (has_last_day_ ? bit(length) : 0);
    // The selected days of the week, rotated so that bit 0 is the day before the first of the month, and
    // repeated for five weeks.
    const unsigned zeroth = (chrono::weekday(month / 1) - chrono::days(1)).c_encoding();
    const std::uint64_t week = (weekdays_ >> zeroth | weekdays_ << (7 - zeroth)) & bits_below(7);
    const std::uint64_t by_weekday = week | week << 7 | week << 14 | week << 21 | week << 28;
    return all & (either_day_ ? by_date | by_weekday : by_date & by_weekday);
}

bool cron::selects_day(std::int64_t date) const {
    const month_at at = month_at::with(date);
    return (days_of(at.month) & bit(date - at.zeroth)) != 0;
}

// The first selected day from `from` to `until`, or `none`.
std::int64_t cron::first_day(std::int64_t from, std::int64_t until) const {
    for (month_at at = month_at::with(from); at.zeroth < until; at = at.following()) {
        const std::int64_t first = first_from(days_of(at.month), std::max<std::int64_t>(from - at.zeroth, 0));
        if (first != 64)
            return at.zeroth + first <= until ? at.zeroth + first : none;
    }
    return none;
}

// The number of selected days with begin <= day < end.
std::uint64_t cron::count_days(std::int64_t begin, std::int64_t end) const {
    std::uint64_t count = 0;
    for (month_at at = month_at::with(begin); at.zeroth + 1 < end; at = at.following()) {
        const std::int64_t least = std::max<std::int64_t>(begin - at.zeroth, 0);
        const std::int64_t beyond = std::min<std::int64_t>(end - at.zeroth, 32);
        count += size_of(days_of(at.month) & bits_below(beyond) & ~bits_below(least));
    }
    return count;
}

// --- times of a day -------------------------------------------------------------------------

// The first selected second of a day from `from` on, or `none`.
std::int64_t cron::first_of_day(std::int64_t from) const {
    const std::int64_t from_hour = from / hour;
    const std::int64_t from_minute = from / minute % 60;
    // The result is in the same minute, or else in a later minute of the same hour, or else in a later hour.
    std::int64_t h = first_from(hours_, from_hour);
    std::int64_t m = h == from_hour ? first_from(minutes_, from_minute) : 0;
    std::int64_t s = h == from_hour && m == from_minute ? first_from(seconds_, from % minute) : 0;
    if (s == 64)
        m = first_from(minutes_, from_minute + 1);
    if (m == 64)
        h = first_from(hours_, from_hour + 1);
    if (h == 64)
        return none;
    if (h != from_hour)
        m = first_from(minutes_, 0);
    if (h != from_hour || m != from_minute)
        s = first_from(seconds_, 0);
    return h * hour + m * minute + s;
}

// The number of selected seconds of a day before `end`.
std::uint64_t cron::count_of_day(std::int64_t end) const {
    const std::int64_t h = end / hour;
    const std::int64_t m = end / minute % 60;
    const std::uint64_t a_minute = size_of(seconds_);
    const std::uint64_t an_hour = a_minute * size_of(minutes_);
    std::uint64_t count = size_of(hours_ & bits_below(h)) * an_hour;
    if ((hours_ & bit(h)) == 0)
        return count;
    count += size_of(minutes_ & bits_below(m)) * a_minute;
    if ((minutes_ & bit(m)) == 0)
        return count;
    return count + size_of(seconds_ & bits_below(end % minute));
}

std::int64_t cron::first(std::int64_t from, std::int64_t until) const {
    std::int64_t date = date_of(from);
    std::int64_t time = selects_day(date) ? first_of_day(time_of(from)) : none;
    if (time == none) {
        date = first_day(date + 1, date_of(until));
        time = first_of_day(0);
    }
    if (date == none || date * day + time > until)
        return none;
    return date * day + time;
}

std::uint64_t cron::count(std::int64_t after, std::int64_t until) const {
    if (until <= after)
        return 0;
    const auto count_before = [this](std::int64_t end) {  // on the same day
        return selects_day(date_of(end)) ? count_of_day(time_of(end)) : 0;
    };
    const std::int64_t begin = after + 1;
    const std::int64_t end = until + 1;
    return count_days(date_of(begin), date_of(end)) * count_of_day(day) + count_before(end) -
           count_before(begin);
}

}  // namespace tickwheel::calendar
