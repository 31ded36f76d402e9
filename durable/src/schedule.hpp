// Plans the next fire of a periodic job: for which due time it fires, and which one follows. Reads no clock.
//
// A due time is missed if it has passed by more than the job's grace. Due times within the grace always fire
// one after the other. If n due times were missed,
//
//     coalesce  they fire as one: for the last of them, with n - 1 overruns
//     burst     each fires
//     skip      none fires
//
// The n-th due time of a period is first + n * period. A division computes it, so the cost does not depend on
// the length of an outage. The calendar counts the due times of a cron expression by days, so that cost does
// not depend on their number either.
//
// Threads: any thread may call any function.
#pragma once

#include <cstdint>
#include <memory>

#include <tickwheel/calendar.h>
#include <tickwheel/durable.h>

namespace tickwheel::durable {

struct free_calendar {
    void operator()(tw_calendar *dates) const { tw_calendar_free(dates); }
};

// A job's cron expression in its time zone; null if the job has none.
using calendar = std::unique_ptr<tw_calendar, free_calendar>;

// Makes the calendar of a job that has a cron expression. Returns what tw_calendar_new returns, except that
// it throws std::bad_alloc instead of returning -ENOMEM. On an error `made` is null.
int make_calendar(const tw_durable_job &job, calendar &made, const char *&why);

inline constexpr std::int64_t shortest_period_ns = 1'000'000;
inline constexpr std::int64_t default_grace_ns = 1'000'000'000;

// What a job must do at a given time.
struct fire_plan {
    bool fires;              // now; false: all due times so far are skipped, or none has come
    std::int64_t due_ns;     // the due time that fires; if none fires, the same as next_ns
    std::uint64_t overruns;  // earlier due times that this fire also covers
    std::int64_t next_ns;    // the due time after that one, or after the skipped ones. TW_NO_DEADLINE: none
};

// Rounds up to whole microseconds, the unit in which times and periods are stored. 0 <= ns <=
// TW_STORE_TIME_MAX.
constexpr std::int64_t whole_microseconds(std::int64_t ns) { return (ns + 999) / 1000 * 1000; }

// Checks the schedule of a user's job: due_ns, period_ns, cron, zone, missed and grace_ns. Stores the parsed
// expression if there is one and `parsed` is not null. Returns 0, or an error and stores why.
//   -EINVAL  a value is out of range or malformed
//   others   from make_calendar
// Throws std::bad_alloc.
[[nodiscard]] int check_schedule(const tw_durable_job &job, const char *&why, calendar *parsed = nullptr);

// Plans a job whose next due time is due_ns. Of the job the function reads only period_ns, cron, missed and
// grace_ns, which must be valid and have their defaults filled in. `dates` is the parsed cron expression, or
// null. A job with neither period nor expression fires once. 0 <= due_ns <= TW_STORE_TIME_MAX, and the same
// for now_ns.
[[nodiscard]] fire_plan plan_fire(const tw_durable_job &job, const tw_calendar *dates, std::int64_t due_ns,
                                  std::int64_t now_ns);

// Plans a fire for exactly this due time, missed or not: for a retry.
[[nodiscard]] fire_plan plan_retry(const tw_durable_job &job, const tw_calendar *dates, std::int64_t due_ns);

}  // namespace tickwheel::durable
