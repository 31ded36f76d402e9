// See schedule.hpp.
#include "schedule.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include <tickwheel/durable_store.h>

namespace tickwheel::durable {

namespace {

// --- checking -------------------------------------------------------------------------------

bool is_time(std::int64_t ns) { return ns >= 0 && ns <= TW_STORE_TIME_MAX; }

// Returns what is wrong with a job's schedule, apart from the cron expression and the zone; or null.
const char *fault_of(const tw_durable_job &job) {
    // C code may store any number in an enum.
    unsigned missed = 0;
    static_assert(sizeof missed == sizeof job.missed);
    std::memcpy(&missed, &job.missed, sizeof missed);

    if (!is_time(job.due_ns))
        return job.due_ns < 0 ? "due_ns is negative" : "due_ns is after the year 2200";
    if (job.cron != nullptr && job.period_ns != 0)
        return "the job has both a period and a cron expression";
    if (job.cron != nullptr && job.due_ns != 0)
        return "the job has both due_ns and a cron expression";
    if (job.cron == nullptr && job.zone != nullptr)
        return "the job has a time zone without a cron expression";
    if (job.period_ns != 0 && job.period_ns < shortest_period_ns)
        return "period_ns is less than 1 ms";
    if (!is_time(job.period_ns))
        return "period_ns is too long";
    if (missed > TW_DURABLE_SKIP)
        return "missed is not a value of enum tw_durable_missed";
    if (!is_time(job.grace_ns))
        return job.grace_ns < 0 ? "grace_ns is negative" : "grace_ns is too long";
    return nullptr;
}

// --- due times ------------------------------------------------------------------------------

// The due time `due_ns`, and the due times that follow it up to TW_STORE_TIME_MAX.
struct due_times {
    std::int64_t period_ns;
    const tw_calendar *dates;
    std::int64_t due_ns;

    // The first due time after `after`, or TW_NO_DEADLINE. due_ns <= after.
    [[nodiscard]] std::int64_t next(std::int64_t after) const {
        if (dates != nullptr)
            return tw_calendar_next(dates, after);
        if (period_ns == 0)
            return TW_NO_DEADLINE;
        const std::int64_t last = due_ns + (after - due_ns) / period_ns * period_ns;
        return period_ns <= TW_STORE_TIME_MAX - last ? last + period_ns : TW_NO_DEADLINE;
    }

    // The number of due times after due_ns and up to `until`. due_ns <= until.
    [[nodiscard]] std::uint64_t count(std::int64_t until) const {
        if (dates != nullptr)
            return tw_calendar_count(dates, due_ns, until);
        return period_ns == 0 ? 0 : static_cast<std::uint64_t>((until - due_ns) / period_ns);
    }

    // The last due time up to `until`, which may be due_ns. due_ns <= until.
    [[nodiscard]] std::int64_t last(std::int64_t until) const {
        if (dates != nullptr)
            return tw_calendar_last(dates, due_ns, until);
        return period_ns == 0 ? due_ns : due_ns + (until - due_ns) / period_ns * period_ns;
    }
};

due_times due_times_of(const tw_durable_job &job, const tw_calendar *dates, std::int64_t due_ns) {
    assert((dates != nullptr) == (job.cron != nullptr));
    assert(is_time(due_ns));
    return {job.period_ns, dates, due_ns};
}

// Plans for a job that has missed all due times from the stored one up to the time `last_missed`.
fire_plan coalesce(const due_times &times, std::int64_t last_missed) {
    const std::int64_t due = times.last(last_missed);
    return {true, due, times.count(last_missed), times.next(due)};
}

fire_plan skip(const due_times &times, std::int64_t last_missed, std::int64_t now_ns) {
    const std::int64_t due = times.next(last_missed);
    if (due > now_ns)
        return {false, due, 0, due};
    return {true, due, 0, times.next(due)};
}

}  // namespace

int make_calendar(const tw_durable_job &job, calendar &made, const char *&why) {
    tw_calendar *fresh = nullptr;
    const int error = tw_calendar_new(&fresh, job.cron, job.zone, &why);
    if (error == -ENOMEM)
        throw std::bad_alloc();
    made.reset(fresh);
    return error;
}

int check_schedule(const tw_durable_job &job, const char *&why, calendar *parsed) {
    const char *const fault = fault_of(job);
    if (fault != nullptr) {
        why = fault;
        return -EINVAL;
    }
    if (job.cron == nullptr)
        return 0;
    calendar dates;
    const int error = make_calendar(job, dates, why);
    if (error == 0 && parsed != nullptr)
        *parsed = std::move(dates);
    return error;
}

fire_plan plan_retry(const tw_durable_job &job, const tw_calendar *dates, std::int64_t due_ns) {
    return {true, due_ns, 0, due_times_of(job, dates, due_ns).next(due_ns)};
}

fire_plan plan_fire(const tw_durable_job &job, const tw_calendar *dates, std::int64_t due_ns,
                    std::int64_t now_ns) {
    if (due_ns > now_ns)
        return {false, due_ns, 0, due_ns};
    const bool is_periodic = job.period_ns != 0 || dates != nullptr;
    const std::int64_t last_missed = now_ns - job.grace_ns - 1;
    if (!is_periodic || due_ns > last_missed || job.missed == TW_DURABLE_BURST)
        return plan_retry(job, dates, due_ns);
    const due_times times = due_times_of(job, dates, due_ns);
    return job.missed == TW_DURABLE_SKIP ? skip(times, last_missed, now_ns) : coalesce(times, last_missed);
}

}  // namespace tickwheel::durable
