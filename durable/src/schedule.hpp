// What a periodic job does next: for which of its due times it fires, and which one follows. Reads no clock.
//
// A due time is missed if it has passed by more than the job's grace. Those that have passed by less fire one
// after the other, in any case. With n due times missed,
//
//     coalesce  they fire as one: for the last of them, with n - 1 overruns
//     burst     each fires
//     skip      none fires
//
// The n-th due time of a period is first + n * period. It is computed by a division, so that it does not
// matter how long the job was not looked after. Those of a cron expression are counted by days, at
// a cost that does not depend on their number either.
//
// Threads: all functions can be called from any.
#pragma once

#include <cstdint>
#include <memory>

#include <tickwheel/calendar.h>
#include <tickwheel/durable.h>

namespace tickwheel::durable {

struct free_calendar {
    void operator()(tw_calendar *dates) const { tw_calendar_free(dates); }
};

// A job's cron expression in its zone; null without one.
using calendar = std::unique_ptr<tw_calendar, free_calendar>;

// As tw_calendar_new, but throws std::bad_alloc instead of returning -ENOMEM. On an error `made` is null.
int make_calendar(const tw_durable_job &job, calendar &made, const char *&why);

inline constexpr std::int64_t shortest_period_ns = 1'000'000;
inline constexpr std::int64_t default_grace_ns = 1'000'000'000;

// What happens to a job that is due.
struct fire_plan {
    bool fires;              // now. If not, all due times so far were skipped, or none has come
    std::int64_t due_ns;     // what the fire is for
    std::uint64_t overruns;  // earlier due times that it stands for, too
    std::int64_t next_ns;  // the due time that is left: after the fire if there is one. TW_STORE_NEVER: none
};

// Rounds up to whole microseconds, in which all times and periods are kept. 0 <= ns <= TW_STORE_TIME_MAX.
constexpr std::int64_t whole_microseconds(std::int64_t ns) { return (ns + 999) / 1000 * 1000; }

// Checks what a user says of a job's times: due_ns, period_ns, cron, zone, missed and grace_ns. Stores the
// parsed expression if there is one and `parsed` is not null. Returns 0, or an error and why.
//   -EINVAL  it is out of range or malformed
//   others   of make_calendar
// Throws std::bad_alloc.
[[nodiscard]] int check_schedule(const tw_durable_job &job, const char *&why, calendar *parsed = nullptr);

// Plans for a job whose next due time is due_ns. Of the job only period_ns, cron, missed and grace_ns count,
// checked and with defaults filled in; `dates` is its expression, and null without one. A job that has
// neither period nor expression fires once. 0 <= due_ns <= TW_STORE_TIME_MAX, and the same for now_ns.
[[nodiscard]] fire_plan plan_fire(const tw_durable_job &job, const tw_calendar *dates, std::int64_t due_ns,
                                  std::int64_t now_ns);

// Plans a fire for exactly this due time, be it missed or not: for one that was tried before, and is tried
// again.
[[nodiscard]] fire_plan plan_retry(const tw_durable_job &job, const tw_calendar *dates, std::int64_t due_ns);

}  // namespace tickwheel::durable
