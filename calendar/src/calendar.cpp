// See calendar.hpp.
#include "calendar.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <tickwheel/driver.h>

namespace tickwheel::calendar {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

// The last second that can be due, and a local time that is later in every zone.
constexpr std::int64_t last_second = calendar::last_ns / second_ns;
constexpr std::int64_t last_local = last_second + std::int64_t{2} * 24 * 3600;

// The second that contains a time; -1 for all times before 1970.
std::int64_t second_of(std::int64_t ns) { return ns < 0 ? -1 : ns / second_ns; }

}  // namespace

int calendar::parse(const char *expression, const char *zone_name, calendar &out, const char *&why) {
    calendar made;
    if (const int error = cron::parse(expression, made.cron_, why); error != 0)
        return error;
    if (const int error = zone::load(zone_name != nullptr ? zone_name : "UTC", made.zone_); error != 0) {
        why = error == -EINVAL ? "there is no such time zone" : "the time zone cannot be read";
        return error;
    }
    if (made.next(-1) == TW_NO_DEADLINE) {
        why = "the cron expression is never due";
        return -EINVAL;
    }
    out = std::move(made);
    return 0;
}

std::int64_t calendar::next(std::int64_t after_ns) const {
    if (after_ns >= last_ns)
        return TW_NO_DEADLINE;
    const std::int64_t after = second_of(after_ns);
    const std::int64_t found = cron_.is_repeating() ? next_repeating(after) : next_fixed(after);
    return found <= last_second ? found * second_ns : TW_NO_DEADLINE;
}

// Like `next`, but in seconds, as the functions below. Returns a time after last_second if there is no due
// time.
std::int64_t calendar::next_fixed(std::int64_t after) const {
    const std::int64_t local = cron_.first(zone_.furthest(after) + 1, last_local);
    return local == cron::none ? zone::the_end : zone_.reaches(local);
}

std::int64_t calendar::next_repeating(std::int64_t after) const {
    for (std::int64_t from = after + 1; from <= last_second;) {
        const zone_span span = zone_.at(from);
        const std::int64_t until = std::min(span.end - 1, last_second);
        const std::int64_t local = cron_.first(from + span.offset, until + span.offset);
        if (local != cron::none)
            return local - span.offset;
        from = until + 1;
    }
    return zone::the_end;
}

std::uint64_t calendar::count(std::int64_t after_ns, std::int64_t until_ns) const {
    const std::int64_t after = second_of(after_ns);
    const std::int64_t until = second_of(until_ns);
    return cron_.is_repeating() ? count_repeating(after, until) : count_fixed(after, until);
}

// Counts all selected times that the furthest local time reaches or passes, then subtracts all but one of
// those that it passes in one jump.
std::uint64_t calendar::count_fixed(std::int64_t after, std::int64_t until) const {
    std::uint64_t count = cron_.count(zone_.furthest(after), zone_.furthest(until));
    for (std::int64_t set = zone_.at(after).end; set <= until; set = zone_.at(set).end) {
        const std::uint64_t passed = cron_.count(zone_.furthest(set - 1), zone_.furthest(set));
        count -= passed > 1 ? passed - 1 : 0;
    }
    return count;
}

std::uint64_t calendar::count_repeating(std::int64_t after, std::int64_t until) const {
    std::uint64_t count = 0;
    while (after < until) {
        const zone_span span = zone_.at(after + 1);
        const std::int64_t last = std::min(span.end - 1, until);
        count += cron_.count(after + span.offset, last + span.offset);
        after = last;
    }
    return count;
}

// A binary search with the invariant: begin <= result <= end.
std::int64_t calendar::last(std::int64_t after_ns, std::int64_t until_ns) const {
    std::int64_t begin = after_ns;
    std::int64_t end = until_ns;
    while (begin < end) {
        const std::int64_t middle = begin + (end - begin) / 2;
        const std::int64_t due = next(middle);
        if (due <= end)
            begin = due;
        else
            end = middle;
    }
    return begin;
}

}  // namespace tickwheel::calendar
