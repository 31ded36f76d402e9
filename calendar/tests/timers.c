/* Timers that follow a calendar (P1) are never early: through both changes of daylight saving, and whatever
 * time the wall clock is set to. On virtual time, and in real time on the system's wall clock. */
#include <tickwheel/calendar.h>
#include <tickwheel/keyed.h>

#include "support/runtime_test.h"
#include "support/timer_remaining.h"
#include "support/zones.h"

#define MINUTE (60 * TW_SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

enum { FIRES_MAX = 64 };

/* The argument of a task, which contains the calendar, as in programs. */
struct report {
    struct tw_runtime *rt;
    struct tw_timers *timers;
    struct tw_calendar *calendar;
    tw_handle handle;
    int64_t set_back_ns; /* by the next callback */
    int64_t due[FIRES_MAX], at[FIRES_MAX];
    unsigned fires;
};

static void on_due(const struct tw_event *event, void *arg) {
    struct report *report = arg;
    const int64_t now = tw_runtime_now(report->rt);
    assert_true(now >= event->due_ns);
    assert_true(report->fires < FIRES_MAX);
    report->due[report->fires] = event->due_ns;
    report->at[report->fires++] = now;
    if (report->set_back_ns != 0)
        assert_ok(tw_runtime_set_wall(report->rt, now - report->set_back_ns));
    report->set_back_ns = 0;
}

static int64_t next_each(int64_t due_ns, void *arg) {
    return tw_calendar_next(((struct report *)arg)->calendar, due_ns);
}

static int64_t next_from_now(int64_t due_ns, void *arg) {
    const struct report *report = arg;
    const int64_t now_ns = tw_runtime_now(report->rt);
    return tw_calendar_next(report->calendar, now_ns > due_ns ? now_ns : due_ns);
}

static int64_t date(int year, int month, int day, int hour, int minute) {
    struct tm utc = {
        .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_hour = hour, .tm_min = minute};
    return timegm(&utc) * TW_SECOND;
}

static void begin(struct report *report, struct tw_runtime_options options, const char *cron,
                  const char *zone) {
    *report = (struct report){.rt = new_runtime(options)};
    assert_ok(tw_timers_new(&report->timers, report->rt, NULL));
    assert_ok(tw_calendar_new(&report->calendar, cron, zone, NULL));
}

static void start(struct report *report, tw_next_deadline *next) {
    const struct tw_task task = {.fn = on_due, .arg = report, .next = next};
    assert_ok(tw_timer_start(report->timers, &report->handle, NULL, &task));
}

/* Starts a timer on a virtual wall clock that reads `now_ns`. */
static void begin_at(struct report *report, int64_t now_ns, const char *cron, const char *zone,
                     tw_next_deadline *next) {
    begin(report, (struct tw_runtime_options){.driver = "manual", .clock = TW_CLOCK_WALL}, cron, zone);
    assert_ok(tw_runtime_set_wall(report->rt, now_ns));
    start(report, next);
}

static void end(struct report *report) {
    assert_int_equal(tw_runtime_check(report->rt, NULL, NULL), 0);
    tw_runtime_free(report->rt);
    tw_calendar_free(report->calendar);
}

/* Asserts that the fires were due at these times, and came at them. */
static void assert_fired(const struct report *report, unsigned count, const int64_t *due) {
    assert_int_equal(report->fires, count);
    for (unsigned i = 0; i < count; ++i) {
        assert_int_equal(report->due[i], due[i]);
        assert_int_equal(report->at[i], due[i]);
    }
}

/* Asserts the fires of "30 2 * * *" in Berlin in three nights. */
static void assert_nights(int64_t begin, const int64_t *due) {
    struct report report;
    begin_at(&report, begin, "30 2 * * *", "Europe/Berlin", next_from_now);
    assert_ok(tw_runtime_advance(report.rt, 3 * DAY));
    assert_fired(&report, 3, due);
    end(&report);
}

TEST_IF(has_zones(), a_time_in_the_gap_fires_at_its_end) {
    const int64_t due[] = {date(2024, 3, 30, 1, 30), date(2024, 3, 31, 1, 0), date(2024, 4, 1, 0, 30)};
    assert_nights(date(2024, 3, 29, 12, 0), due);
}

TEST_IF(has_zones(), a_time_that_comes_twice_fires_once) {
    const int64_t due[] = {date(2024, 10, 26, 0, 30), date(2024, 10, 27, 0, 30), date(2024, 10, 28, 1, 30)};
    assert_nights(date(2024, 10, 25, 12, 0), due);
}

TEST_IF(has_zones(), every_half_hour_goes_on_through_both_changes) {
    const int64_t changes[] = {date(2024, 3, 31, 1, 0), date(2024, 10, 27, 1, 0)};
    for (unsigned i = 0; i < COUNT_OF(changes); ++i) {
        struct report report;
        begin_at(&report, changes[i] - 2 * HOUR, "*/30 * * * *", "Europe/Berlin", next_from_now);
        assert_ok(tw_runtime_advance(report.rt, 4 * HOUR));
        int64_t due[8];
        for (unsigned n = 0; n < COUNT_OF(due); ++n)
            due[n] = changes[i] - 2 * HOUR + (n + 1) * 30 * MINUTE;
        assert_fired(&report, COUNT_OF(due), due);
        end(&report);
    }
}

/* --- the clock is set --- */

TEST(set_forward_the_missed_times_fire_as_one) {
    const int64_t begin_ns = date(2024, 7, 1, 8, 0), now = date(2024, 7, 4, 10, 0);
    struct report report;
    begin_at(&report, begin_ns, "0 9 * * *", NULL, next_from_now);
    assert_ok(tw_runtime_set_wall(report.rt, now));
    assert_int_equal(report.fires, 0);
    assert_ok(tw_runtime_advance(report.rt, 0));
    assert_int_equal(report.fires, 1);
    assert_int_equal(report.due[0], begin_ns + HOUR);
    assert_int_equal(report.at[0], now);
    assert_int_equal(tw_calendar_count(report.calendar, report.due[0], now), 3); /* on the 2nd, 3rd and 4th */
    assert_ok(tw_runtime_advance(report.rt, DAY));
    assert_int_equal(report.fires, 2);
    assert_int_equal(report.at[1], date(2024, 7, 5, 9, 0));
    end(&report);
}

TEST(set_forward_each_missed_time_fires_if_next_counts_from_the_due_time) {
    struct report report;
    begin_at(&report, date(2024, 7, 1, 8, 0), "0 9 * * *", NULL, next_each);
    assert_ok(tw_runtime_set_wall(report.rt, date(2024, 7, 4, 10, 0)));
    assert_ok(tw_runtime_advance(report.rt, 0));
    assert_int_equal(report.fires, 4);
    for (int i = 0; i < 4; ++i)
        assert_int_equal(report.due[i], date(2024, 7, 1 + i, 9, 0));
    assert_ok(tw_runtime_advance(report.rt, DAY));
    assert_int_equal(report.fires, 5);
    end(&report);
}

/* As on a machine without a battery for its clock, when it gets the time from the network. */
TEST(set_forward_by_decades) {
    struct report report;
    begin_at(&report, 0, "* * * * * *", NULL, next_from_now);
    assert_ok(tw_runtime_advance(report.rt, 3 * TW_SECOND));
    assert_int_equal(report.fires, 3);
    const int64_t now = date(2026, 1, 1, 0, 0);
    assert_ok(tw_runtime_set_wall(report.rt, now));
    assert_ok(tw_runtime_advance(report.rt, 2 * TW_SECOND));
    assert_int_equal(report.fires, 6);
    assert_int_equal(report.at[3], now);
    assert_int_equal(report.at[5], now + 2 * TW_SECOND);
    end(&report);
}

TEST(set_back_what_has_fired_is_not_due_again) {
    const int64_t nine = date(2024, 7, 1, 9, 0);
    tw_next_deadline *const schedules[] = {next_each, next_from_now};
    for (unsigned i = 0; i < COUNT_OF(schedules); ++i) {
        struct report report;
        begin_at(&report, nine - MINUTE, "0 9 * * *", NULL, schedules[i]);
        assert_ok(tw_runtime_advance(report.rt, 2 * MINUTE));
        assert_ok(tw_runtime_set_wall(report.rt, nine - 10 * MINUTE));
        assert_ok(tw_runtime_advance(report.rt, DAY));
        assert_int_equal(report.fires, 1);
        assert_int_equal(timer_remaining(report.timers, report.handle), 10 * MINUTE);
        assert_ok(tw_runtime_advance(report.rt, 10 * MINUTE));
        const int64_t due[] = {nine, nine + DAY};
        assert_fired(&report, COUNT_OF(due), due);
        end(&report);
    }
}

/* After that, the present is before the due time that has fired, and `next` must not return it again. */
TEST(set_back_by_its_own_callback) {
    const int64_t nine = date(2024, 7, 1, 9, 0);
    struct report report;
    begin_at(&report, nine - MINUTE, "0 9 * * *", NULL, next_from_now);
    report.set_back_ns = HOUR;
    assert_ok(tw_runtime_advance(report.rt, 2 * HOUR));
    assert_int_equal(report.fires, 1);
    assert_ok(tw_runtime_advance(report.rt, DAY));
    const int64_t due[] = {nine, nine + DAY};
    assert_fired(&report, COUNT_OF(due), due);
    end(&report);
}

TEST(set_back_from_a_clock_far_ahead_the_timer_is_started_again) {
    const int64_t now = date(2024, 7, 1, 8, 0);
    struct report report;
    begin_at(&report, date(2099, 1, 1, 0, 0), "0 9 * * *", NULL, next_from_now);
    assert_ok(tw_runtime_set_wall(report.rt, now));
    assert_ok(tw_runtime_advance(report.rt, 3 * HOUR));
    assert_int_equal(report.fires, 0);
    assert_int_equal(tw_timer_cancel(report.timers, report.handle), 1);
    start(&report, next_from_now);
    assert_ok(tw_runtime_advance(report.rt, DAY));
    const int64_t due[] = {now + HOUR + DAY};
    assert_fired(&report, COUNT_OF(due), due);
    end(&report);
}

/* --- other runtimes --- */

TEST(the_last_due_time_ends_the_timer) {
    const int64_t due[] = {date(2200, 1, 1, 0, 0)};
    struct report report;
    begin_at(&report, due[0] - HOUR, "@yearly", NULL, next_from_now);
    assert_ok(tw_runtime_advance(report.rt, 2 * HOUR));
    assert_fired(&report, COUNT_OF(due), due);
    assert_int_equal(tw_timers_count(report.timers), 0);
    const struct tw_task task = {.fn = on_due, .arg = &report, .next = next_from_now};
    assert_int_equal(tw_timer_start(report.timers, &report.handle, NULL, &task), -ENOENT);
    end(&report);
}

TEST(keys_and_plain_virtual_time) {
    struct report report;
    struct tw_keyed *reports = NULL;
    begin(&report, (struct tw_runtime_options){.driver = "manual"}, "*/20 * * * *", NULL);
    const struct tw_task task = {.fn = on_due, .arg = &report, .next = next_from_now};
    assert_ok(tw_keyed_new(&reports, report.rt, NULL));
    assert_int_equal(tw_keyed_set(reports, tw_key_string("hourly"), NULL, &task), 0);
    assert_ok(tw_runtime_advance(report.rt, HOUR)); /* it is 1970 */
    const int64_t due[] = {20 * MINUTE, 40 * MINUTE, 60 * MINUTE};
    assert_fired(&report, COUNT_OF(due), due);
    end(&report);
}

TEST(on_long_ticks_the_due_times_of_a_tick_fire_as_one) {
    struct report report;
    begin(&report, (struct tw_runtime_options){.driver = "manual", .tick_ns = MINUTE}, "* * * * * *", NULL);
    start(&report, next_from_now);
    assert_ok(tw_runtime_advance(report.rt, 3 * MINUTE));
    const int64_t due[] = {MINUTE, 2 * MINUTE, 3 * MINUTE};
    assert_fired(&report, COUNT_OF(due), due);
    end(&report);
}

/* --- in real time --- */

static atomic_uint seen;

static void on_second(const struct tw_event *event, UNUSED void *arg) {
    const int64_t now = reading_of(CLOCK_REALTIME);
    if (now < event->due_ns || event->due_ns % TW_SECOND != 0)
        abort();
    atomic_fetch_add(&seen, 1);
}

TEST(each_second_of_the_systems_clock) {
    struct report report;
    begin(&report, (struct tw_runtime_options){.driver = "epoll", .clock = TW_CLOCK_WALL}, "* * * * * *",
          NULL);
    const struct tw_task task = {.fn = on_second, .arg = &report, .next = next_from_now};
    assert_ok(tw_runtime_start(report.rt));
    assert_ok(tw_timer_start(report.timers, &report.handle, NULL, &task));
    wait_for(atomic_load(&seen) >= 2);
    end(&report);
}
