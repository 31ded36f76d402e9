// See moments.hpp.
#include "moments.hpp"

#include <charconv>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "bad_usage.hpp"
#include "plain.hpp"
#include "src/duration_text.hpp"

namespace tickwheel::jobs {

namespace {

constexpr std::int64_t us = 1000, ms = 1000 * us, s = 1000 * ms, min = 60 * s, h = 60 * min, d = 24 * h;
constexpr std::int64_t longest = d * 366 * 231;  // from 1970 to 2200

struct unit {
    std::string_view name;
    std::int64_t ns;
};
constexpr unit units[] = {{"d", d}, {"h", h}, {"min", min}, {"s", s}, {"ms", ms}, {"us", us}};

[[noreturn]] void refuse(std::string_view option, std::string_view text, const char *why) {
    throw bad_usage(std::string(option) + " " + plain(text) + ": " + why);
}

// Takes the leading characters for which `is_one` is true off the text.
std::string_view take(std::string_view &text, bool (*is_one)(char)) {
    std::size_t size = 0;
    while (size < text.size() && is_one(text[size]))
        ++size;
    const std::string_view word = text.substr(0, size);
    text.remove_prefix(size);
    return word;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

const unit *unit_named(std::string_view name) {
    for (const unit &each : units)
        if (each.name == name)
            return &each;
    return nullptr;
}

// Reads the parts of a time in the order in which they are written.
class time_reader {
  public:
    time_reader(std::string_view option, std::string_view text) : option_(option), text_(text), rest_(text) {}

    // Reads exactly `digits` digits.
    int number(std::size_t digits, int least, int most) {
        const std::string_view word = rest_.substr(0, digits);
        int value = -1;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (word.size() != digits || !is_digit(word[0]) || error != std::errc() ||
            end != word.data() + word.size())
            refuse("a time is written as 2026-12-24T18:00:00Z");
        if (value < least || value > most)
            refuse("there is no such time");
        rest_.remove_prefix(digits);
        return value;
    }
    void sign(char expected) {
        if (!has(expected))
            refuse("a time is written as 2026-12-24T18:00:00Z");
    }
    bool has(char c) {
        if (rest_.empty() || rest_[0] != c)
            return false;
        rest_.remove_prefix(1);
        return true;
    }
    std::int64_t fraction() {
        if (!has('.'))
            return 0;
        const std::string_view digits = take(rest_, is_digit);
        if (digits.empty() || digits.size() > 9)
            refuse("a second has one to nine digits after the point");
        std::int64_t ns = 0;
        for (std::size_t i = 0; i < 9; ++i)
            ns = ns * 10 + (i < digits.size() ? digits[i] - '0' : 0);
        return ns;
    }
    std::int64_t offset() {
        if (has('Z'))
            return 0;
        const bool is_east = has('+');
        if (!is_east && !has('-'))
            refuse("a time ends with Z for UTC, or an offset like +01:00");
        const int hours = number(2, 0, 23);
        sign(':');
        const std::int64_t offset = hours * h + number(2, 0, 59) * min;
        return is_east ? offset : -offset;
    }
    void end() {
        if (!rest_.empty())
            refuse("there is more text after the time");
    }
    [[noreturn]] void refuse(const char *why) { jobs::refuse(option_, text_, why); }

  private:
    std::string_view option_, text_, rest_;
};

std::string print_time(std::int64_t ns, const char *format,
                       std::tm *(*broken_down)(const time_t *, std::tm *)) {
    const auto seconds = static_cast<time_t>(ns / s);
    std::tm parts = {};
    char text[64] = "";
    if (broken_down(&seconds, &parts) != nullptr)
        std::strftime(text, sizeof text, format, &parts);
    return text;
}

}  // namespace

std::int64_t read_duration(std::string_view option, std::string_view text) {
    std::string_view rest = text;
    std::int64_t sum = 0, former = INT64_MAX;
    do {
        const std::string_view digits = take(rest, is_digit), name = take(rest, is_letter);
        const unit *const of = unit_named(name);
        if (digits.empty() || of == nullptr)
            refuse(option, text, "a duration is written as 250ms, 3min or 1h30min; units: us ms s min h d");
        if (of->ns >= former)
            refuse(option, text, "units come once, the longest first");
        std::int64_t count = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
        if (error != std::errc() || count > (longest - sum) / of->ns)
            refuse(option, text, "that is longer than 230 years");
        sum += count * of->ns;
        former = of->ns;
    } while (!rest.empty());
    return sum;
}

std::int64_t read_time(std::string_view option, std::string_view text) {
    using namespace std::chrono;
    time_reader in(option, text);
    const year in_year(in.number(4, 1970, 2200));
    in.sign('-');
    const month in_month(static_cast<unsigned>(in.number(2, 1, 12)));
    in.sign('-');
    const year_month_day date(in_year, in_month, day(static_cast<unsigned>(in.number(2, 1, 31))));
    if (!date.ok())
        in.refuse("there is no such day");
    in.sign('T');
    std::int64_t ns = in.number(2, 0, 23) * h;
    in.sign(':');
    ns += in.number(2, 0, 59) * min;
    in.sign(':');
    ns += in.number(2, 0, 59) * s;
    ns += in.fraction() - in.offset();
    in.end();
    ns += sys_days(date).time_since_epoch().count() * d;
    if (ns < 0)
        in.refuse("that is before 1970");
    return ns;
}

std::string local_time(std::int64_t ns) { return print_time(ns, "%Y-%m-%d %H:%M:%S", localtime_r); }

std::string utc_time(std::int64_t ns) {
    char fraction[16];
    std::snprintf(fraction, sizeof fraction, ".%06dZ", static_cast<int>(ns % s / us));
    return print_time(ns, "%Y-%m-%dT%H:%M:%S", gmtime_r) + fraction;
}

std::string duration(std::int64_t ns) { return durable::duration_text(ns); }

std::string relative(std::int64_t ns, std::int64_t now_ns, const char *past) {
    if (ns / ms == now_ns / ms)
        return "now";
    return ns > now_ns ? "in " + duration(ns - now_ns) : duration(now_ns - ns) + " " + past;
}

}  // namespace tickwheel::jobs
