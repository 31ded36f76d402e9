// Tests src/schedule.hpp: the plans for the next fire of a job, and the schedules that are refused.
#include "src/schedule.hpp"

#include <cstring>
#include <vector>

#include <tickwheel/durable_store.h>

#include "support/dates.hpp"
#include "support/environment.h"
#include "support/random.h"
#include "support/test.h"

namespace {

using tickwheel::durable::calendar;
using tickwheel::durable::check_schedule;
using tickwheel::durable::fire_plan;
using tickwheel::durable::plan_fire;
using tickwheel::durable::plan_retry;
using tickwheel::durable::whole_microseconds;
using tickwheel::test::date;
using tickwheel::test::second_ns;

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t never = TW_NO_DEADLINE;
constexpr std::int64_t year_ns = std::int64_t{365} * 86400 * second_ns;

tw_durable_job periodic(std::int64_t period_ns, tw_durable_missed missed, std::int64_t grace_ns = second_ns) {
    tw_durable_job job = {};
    job.period_ns = period_ns;
    job.missed = missed;
    job.grace_ns = grace_ns;
    return job;
}

struct dated_job {
    tw_durable_job job = {};
    calendar dates;

    dated_job(const char *expression, const char *zone, tw_durable_missed missed) {
        job.cron = expression;
        job.zone = zone;
        job.missed = missed;
        const char *why = "";
        assert_int_equal(check_schedule(job, why, &dates), 0);
        job.grace_ns = second_ns;
    }
};

void assert_plan(const fire_plan &plan, bool fires, std::int64_t due_ns, std::uint64_t overruns,
                 std::int64_t next_ns) {
    assert_int_equal(plan.fires, fires);
    assert_int_equal(plan.due_ns, due_ns);
    assert_int_equal(plan.overruns, overruns);
    assert_int_equal(plan.next_ns, next_ns);
}

// --- jobs without dates ---

int without_tzdir(void **) { return unsetenv("TZDIR"); }
GROUP_FIXTURE(without_tzdir, nullptr);

TEST(schedule_a_one_shot_fires_however_late_it_is) {
    for (const auto missed : {TW_DURABLE_COALESCE, TW_DURABLE_BURST, TW_DURABLE_SKIP}) {
        const tw_durable_job job = periodic(0, missed);
        assert_plan(plan_fire(job, nullptr, 5 * ms, 5 * ms), true, 5 * ms, 0, never);
        assert_plan(plan_fire(job, nullptr, 5 * ms, year_ns), true, 5 * ms, 0, never);
        assert_plan(plan_retry(job, nullptr, 5 * ms), true, 5 * ms, 0, never);
    }
}

TEST(schedule_nothing_fires_before_it_is_due) {
    for (const auto missed : {TW_DURABLE_COALESCE, TW_DURABLE_BURST, TW_DURABLE_SKIP}) {
        assert_plan(plan_fire(periodic(0, missed), nullptr, 5 * ms, 5 * ms - 1), false, 5 * ms, 0, 5 * ms);
        assert_plan(plan_fire(periodic(ms, missed), nullptr, 5 * ms, 5 * ms - 1), false, 5 * ms, 0, 5 * ms);
    }
}

// A due time that is late by exactly the grace is not missed; a nanosecond later it is.
TEST(schedule_within_the_grace_all_fire_one_after_the_other) {
    for (const auto missed : {TW_DURABLE_COALESCE, TW_DURABLE_BURST, TW_DURABLE_SKIP}) {
        const tw_durable_job job = periodic(100 * ms, missed);
        assert_plan(plan_fire(job, nullptr, second_ns, 2 * second_ns), true, second_ns, 0,
                    second_ns + 100 * ms);
    }
    const tw_durable_job skipping = periodic(100 * ms, TW_DURABLE_SKIP);
    assert_plan(plan_fire(skipping, nullptr, second_ns, 2 * second_ns + 1), true, second_ns + 100 * ms, 0,
                second_ns + 200 * ms);
}

TEST(schedule_coalesce_fires_once_for_all_that_are_missed) {
    const tw_durable_job job = periodic(second_ns, TW_DURABLE_COALESCE);
    // The due times are 1 s, 2 s, 3 s ...; at 5.5 s with a grace of 1 s those up to 4 s are missed.
    assert_plan(plan_fire(job, nullptr, second_ns, 5500 * ms), true, 4 * second_ns, 3, 5 * second_ns);
    assert_plan(plan_fire(job, nullptr, 5 * second_ns, 5500 * ms), true, 5 * second_ns, 0, 6 * second_ns);
    assert_plan(plan_fire(job, nullptr, second_ns, 2 * second_ns + 1), true, second_ns, 0, 2 * second_ns);
    // A due time that is late by exactly the grace is not missed.
    assert_plan(plan_fire(job, nullptr, second_ns, 5 * second_ns), true, 3 * second_ns, 2, 4 * second_ns);
}

TEST(schedule_skip_fires_the_first_that_is_not_missed) {
    const tw_durable_job job = periodic(second_ns, TW_DURABLE_SKIP);
    assert_plan(plan_fire(job, nullptr, second_ns, 5500 * ms), true, 5 * second_ns, 0, 6 * second_ns);
    const tw_durable_job rare = periodic(60 * second_ns, TW_DURABLE_SKIP);
    assert_plan(plan_fire(rare, nullptr, second_ns, 30 * second_ns), false, 61 * second_ns, 0,
                61 * second_ns);
    assert_plan(plan_fire(rare, nullptr, second_ns, 61 * second_ns), true, 61 * second_ns, 0,
                121 * second_ns);
}

TEST(schedule_a_retry_is_for_its_due_time_however_late) {
    const tw_durable_job job = periodic(ms, TW_DURABLE_COALESCE);
    assert_plan(plan_retry(job, nullptr, ms), true, ms, 0, 2 * ms);
}

TEST(schedule_years_of_a_short_period_are_a_division) {
    const std::int64_t now = TW_STORE_TIME_MAX;
    for (int i = 0; i < 100000; ++i) {
        const fire_plan plan = plan_fire(periodic(ms, TW_DURABLE_COALESCE), nullptr, 0, now);
        assert_int_equal(plan.overruns, (now - second_ns - 1) / ms);
    }
    assert_plan(plan_fire(periodic(ms, TW_DURABLE_SKIP, 1), nullptr, 0, now), false, never, 0, never);
}

TEST(schedule_due_times_end_with_the_year_2200) {
    const std::int64_t last = TW_STORE_TIME_MAX;
    for (const auto missed : {TW_DURABLE_COALESCE, TW_DURABLE_BURST, TW_DURABLE_SKIP}) {
        const tw_durable_job job = periodic(1000 * ms, missed);
        assert_plan(plan_fire(job, nullptr, last, last), true, last, 0, never);
        assert_plan(plan_fire(job, nullptr, last - 1000 * ms, last), true, last - 1000 * ms, 0, last);
        assert_plan(plan_fire(job, nullptr, last - 1000 * ms + 1000, last), true, last - 1000 * ms + 1000, 0,
                    never);
        const tw_durable_job longest = periodic(last, missed);
        assert_plan(plan_fire(longest, nullptr, 0, 0), true, 0, 0, last);
        assert_plan(plan_fire(longest, nullptr, 1000, 1000), true, 1000, 0, never);
    }
    assert_plan(plan_fire(periodic(last, TW_DURABLE_COALESCE, last), nullptr, 0, last), true, 0, 0, last);
}

// --- jobs with dates ---

TEST(schedule_years_of_seconds_are_coalesced_at_once) {
    const dated_job dated("* * * * * *", nullptr, TW_DURABLE_COALESCE);
    const std::int64_t now = date(2200, 1, 1) * second_ns;
    for (int i = 0; i < 1000; ++i)
        assert_plan(plan_fire(dated.job, dated.dates.get(), 0, now), true, now - 2 * second_ns,
                    static_cast<std::uint64_t>(now / second_ns - 2), now - second_ns);
}

TEST(schedule_the_last_date_is_the_end) {
    const dated_job dated("@yearly", nullptr, TW_DURABLE_SKIP);
    const std::int64_t last = date(2200, 1, 1) * second_ns;
    assert_plan(plan_fire(dated.job, dated.dates.get(), last, last), true, last, 0, never);
    assert_plan(plan_fire(dated.job, dated.dates.get(), last, last + 2 * second_ns), false, never, 0, never);
}

// The stored due time fires even if the expression does not select it, because the zone has changed
// meanwhile.
TEST_IF(has_zones(), schedule_a_stored_date_counts_as_it_is) {
    const dated_job dated("0 9 * * *", "Europe/Berlin", TW_DURABLE_COALESCE);
    const std::int64_t due = date(2024, 1, 1, 7) * second_ns;  // 08:00 in Berlin
    assert_plan(plan_fire(dated.job, dated.dates.get(), due, due), true, due, 0,
                date(2024, 1, 1, 8) * second_ns);
    assert_plan(plan_fire(dated.job, dated.dates.get(), due, date(2024, 1, 2, 12) * second_ns), true,
                date(2024, 1, 2, 8) * second_ns, 2, date(2024, 1, 3, 8) * second_ns);
}

// --- compared with a walk through all due times ---

fire_plan walk(const std::vector<std::int64_t> &due, const tw_durable_job &job, std::int64_t now_ns) {
    std::size_t missed = 0;
    while (due[missed] < now_ns - job.grace_ns)
        ++missed;
    if (job.missed == TW_DURABLE_BURST || missed == 0)
        return {true, due[0], 0, due[1]};
    if (job.missed == TW_DURABLE_COALESCE)
        return {true, due[missed - 1], missed - 1, due[missed]};
    if (due[missed] > now_ns)
        return {false, due[missed], 0, due[missed]};
    return {true, due[missed], 0, due[missed + 1]};
}

TEST(schedule_plans_are_those_of_a_walk_through_all_due_times) {
    std::uint64_t seed = seed_of_run();
    for (int i = 0; i < 5000; ++i) {
        const auto missed = static_cast<tw_durable_missed>(random_below(&seed, 3));
        const bool is_dated = random_below(&seed, 2) == 0;
        dated_job dated("*/7,3 */5 * * * *", nullptr, missed);
        if (!is_dated)
            dated.job = periodic(ms + static_cast<std::int64_t>(random_below(&seed, 100)) * 7000, missed);
        const std::int64_t unit = is_dated ? second_ns : ms;
        dated.job.grace_ns = 1 + static_cast<std::int64_t>(random_below(&seed, 20)) * unit;
        std::vector<std::int64_t> due = {
            tw_calendar_next(dated.dates.get(), static_cast<std::int64_t>(random_below(&seed, year_ns)))};
        const std::int64_t now = due[0] + static_cast<std::int64_t>(random_below(&seed, 500)) * unit;
        for (int after_now = 0; after_now<2; after_now += due.back()> now)
            due.push_back(is_dated ? tw_calendar_next(dated.dates.get(), due.back())
                                   : due.back() + dated.job.period_ns);
        const fire_plan expected = walk(due, dated.job, now);
        assert_plan(plan_fire(dated.job, is_dated ? dated.dates.get() : nullptr, due[0], now), expected.fires,
                    expected.due_ns, expected.overruns, expected.next_ns);
    }
}

// --- the schedules of users ---

TEST(schedule_sound_schedules_are_taken) {
    const auto assert_taken = [](auto change) {
        tw_durable_job job = {};
        change(job);
        const char *why = nullptr;
        assert_int_equal(check_schedule(job, why), 0);
    };
    assert_taken([](tw_durable_job &) {});
    assert_taken([](tw_durable_job &edited) { edited.due_ns = TW_STORE_TIME_MAX; });
    assert_taken([](tw_durable_job &edited) { edited.period_ns = ms; });
    assert_taken([](tw_durable_job &edited) { edited.period_ns = ms + 1; });
    assert_taken([](tw_durable_job &edited) { edited.period_ns = TW_STORE_TIME_MAX, edited.due_ns = 5; });
    assert_taken([](tw_durable_job &edited) { edited.cron = "@daily"; });
    assert_taken([](tw_durable_job &edited) {
        edited.cron = "@daily", edited.zone = "UTC", edited.missed = TW_DURABLE_SKIP;
    });
    assert_taken([](tw_durable_job &edited) { edited.grace_ns = TW_STORE_TIME_MAX; });
}

TEST(schedule_faults_are_named) {
    const auto assert_refused = [](const char *reason, auto change) {
        tw_durable_job job = {};
        change(job);
        const char *why = nullptr;
        calendar dates;
        assert_int_equal(check_schedule(job, why, &dates), -EINVAL);
        assert_string_equal(why, reason);
    };
    assert_refused("due_ns is negative", [](tw_durable_job &edited) { edited.due_ns = -1; });
    assert_refused("due_ns is after the year 2200",
                   [](tw_durable_job &edited) { edited.due_ns = TW_STORE_TIME_MAX + 1; });
    assert_refused("period_ns is less than 1 ms", [](tw_durable_job &edited) { edited.period_ns = ms - 1; });
    assert_refused("period_ns is less than 1 ms", [](tw_durable_job &edited) { edited.period_ns = -1; });
    assert_refused("period_ns is too long", [](tw_durable_job &edited) { edited.period_ns = INT64_MAX; });
    assert_refused("the job has both a period and a cron expression",
                   [](tw_durable_job &edited) { edited.cron = "@daily", edited.period_ns = second_ns; });
    assert_refused("the job has both due_ns and a cron expression",
                   [](tw_durable_job &edited) { edited.cron = "@daily", edited.due_ns = 1; });
    assert_refused("the job has a time zone without a cron expression",
                   [](tw_durable_job &edited) { edited.zone = "UTC"; });
    assert_refused("grace_ns is negative", [](tw_durable_job &edited) { edited.grace_ns = -1; });
    assert_refused("grace_ns is too long", [](tw_durable_job &edited) { edited.grace_ns = INT64_MAX; });
    assert_refused("there is no such time zone",
                   [](tw_durable_job &edited) { edited.cron = "@daily", edited.zone = "Nowhere"; });
    assert_refused("the cron expression is never due",
                   [](tw_durable_job &edited) { edited.cron = "0 0 30 2 *"; });
    assert_refused("missed is not a value of enum tw_durable_missed", [](tw_durable_job &edited) {
        const unsigned value = 3;  // as C code could store it
        std::memcpy(&edited.missed, &value, sizeof value);
    });
}

TEST(schedule_times_are_rounded_up_to_microseconds) {
    assert_int_equal(whole_microseconds(0), 0);
    assert_int_equal(whole_microseconds(1), 1000);
    assert_int_equal(whole_microseconds(1000), 1000);
    assert_int_equal(whole_microseconds(1001), 2000);
    assert_int_equal(whole_microseconds(TW_STORE_TIME_MAX), TW_STORE_TIME_MAX);
}

}  // namespace
