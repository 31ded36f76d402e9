// The functions of calendar.h. They check their arguments, and let no exception out.
#include <tickwheel/calendar.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "calendar.hpp"

#define TW_API extern "C" __attribute__((visibility("default")))

using cpp_calendar = tickwheel::calendar::calendar;

struct tw_calendar {
    cpp_calendar dates;
};

namespace {

constexpr std::int64_t before_1970 = -1;

int refuse(int error, const char **why, const char *reason) {
    if (why != nullptr)
        *why = reason;
    return error;
}

int make(tw_calendar *&made, const char *cron, const char *zone, const char **why) {
    const char *reason = nullptr;
    cpp_calendar dates;
    if (const int error = cpp_calendar::parse(cron, zone, dates, reason); error != 0)
        return refuse(error, why, reason);
    made = new tw_calendar{std::move(dates)};
    return 0;
}

// The part of a stretch of time that lies between 1970 and 2200, and so may contain due times.
struct stretch {
    std::int64_t after, until;
    stretch(std::int64_t after_ns, std::int64_t until_ns)
        : after(std::max(after_ns, before_1970)), until(std::min(until_ns, cpp_calendar::last_ns)) {}
    [[nodiscard]] bool is_empty() const { return until <= after; }
};

}  // namespace

TW_API int tw_calendar_new(tw_calendar **calendar, const char *cron, const char *zone, const char **why) {
    if (calendar == nullptr || cron == nullptr)
        return refuse(-EINVAL, why,
                      calendar == nullptr ? "the calendar is null" : "the cron expression is null");
    try {
        return make(*calendar, cron, zone, why);
    } catch (const std::bad_alloc &) {
        return refuse(-ENOMEM, why, "no memory");
    }
}

TW_API void tw_calendar_free(tw_calendar *calendar) { delete calendar; }

TW_API std::int64_t tw_calendar_next(const tw_calendar *calendar, std::int64_t after_ns) {
    return calendar != nullptr ? calendar->dates.next(after_ns) : TW_NO_DEADLINE;
}

TW_API std::int64_t tw_calendar_last(const tw_calendar *calendar, std::int64_t after_ns,
                                     std::int64_t until_ns) {
    const stretch in(after_ns, until_ns);
    if (calendar == nullptr || in.is_empty())
        return after_ns;
    const std::int64_t last = calendar->dates.last(in.after, in.until);
    return last != in.after ? last : after_ns;
}

TW_API std::uint64_t tw_calendar_count(const tw_calendar *calendar, std::int64_t after_ns,
                                       std::int64_t until_ns) {
    const stretch in(after_ns, until_ns);
    return calendar != nullptr && !in.is_empty() ? calendar->dates.count(in.after, in.until) : 0;
}
