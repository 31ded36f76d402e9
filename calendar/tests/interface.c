/* Tests tickwheel/calendar.h from C: due times, their limits, and arguments that are refused. */
#include <tickwheel/calendar.h>

#include "support/test.h"

#define SECOND INT64_C(1000000000)
#define DAY (86400 * SECOND)
#define LAST_SECOND (INT64_C(7289654399) * SECOND) /* of the year 2200 */

static struct tw_calendar *calendar_of(const char *cron) {
    struct tw_calendar *calendar = NULL;
    assert_int_equal(tw_calendar_new(&calendar, cron, NULL, NULL), 0);
    return calendar;
}

TEST(calendar_due_times) {
    struct tw_calendar *daily = calendar_of("0 0 * * *");
    assert_int_equal(tw_calendar_next(daily, 0), DAY);
    assert_int_equal(tw_calendar_next(daily, DAY - 1), DAY);
    assert_int_equal(tw_calendar_next(daily, DAY), 2 * DAY);
    assert_int_equal(tw_calendar_last(daily, 0, 10 * DAY), 10 * DAY);
    assert_int_equal(tw_calendar_last(daily, 0, 10 * DAY - 1), 9 * DAY);
    assert_int_equal(tw_calendar_count(daily, 0, 10 * DAY), 10);
    assert_int_equal(tw_calendar_count(daily, 0, 10 * DAY - 1), 9);
    tw_calendar_free(daily);
}

TEST(calendar_times_before_1970_and_after_2200_have_no_due_time) {
    struct tw_calendar *each_second = calendar_of("* * * * * *");
    assert_int_equal(tw_calendar_next(each_second, INT64_MIN), 0);
    assert_int_equal(tw_calendar_next(each_second, LAST_SECOND - 1), LAST_SECOND);
    assert_int_equal(tw_calendar_next(each_second, LAST_SECOND), TW_NO_DEADLINE);
    assert_int_equal(tw_calendar_next(each_second, INT64_MAX), TW_NO_DEADLINE);
    assert_int_equal(tw_calendar_last(each_second, INT64_MIN, INT64_MAX), LAST_SECOND);
    assert_int_equal(tw_calendar_count(each_second, INT64_MIN, INT64_MAX), LAST_SECOND / SECOND + 1);
    assert_int_equal(tw_calendar_last(each_second, -5, -1), -5);
    assert_int_equal(tw_calendar_count(each_second, -5, -1), 0);
    assert_int_equal(tw_calendar_last(each_second, -5, 0), 0);
    assert_int_equal(tw_calendar_count(each_second, -5, 0), 1);
    assert_int_equal(tw_calendar_last(each_second, LAST_SECOND, INT64_MAX), LAST_SECOND);
    assert_int_equal(tw_calendar_count(each_second, LAST_SECOND, INT64_MAX), 0);
    assert_int_equal(tw_calendar_last(each_second, INT64_MAX, INT64_MAX), INT64_MAX);
    tw_calendar_free(each_second);
}

TEST(calendar_a_stretch_without_due_times) {
    struct tw_calendar *daily = calendar_of("@daily");
    assert_int_equal(tw_calendar_last(daily, 3 * DAY, 4 * DAY - 1), 3 * DAY);
    assert_int_equal(tw_calendar_last(daily, -7, -1), -7);
    assert_int_equal(tw_calendar_count(daily, 3 * DAY, 4 * DAY - 1), 0);
    assert_int_equal(tw_calendar_last(daily, 4 * DAY, 3 * DAY), 4 * DAY);
    assert_int_equal(tw_calendar_count(daily, 4 * DAY, 3 * DAY), 0);
    assert_int_equal(tw_calendar_last(daily, 4 * DAY, 4 * DAY), 4 * DAY);
    tw_calendar_free(daily);
}

static void assert_refused(const char *cron, const char *zone, const char *reason) {
    struct tw_calendar *calendar = NULL;
    const char *why = NULL;
    assert_int_equal(tw_calendar_new(&calendar, cron, zone, &why), -EINVAL);
    assert_string_equal(why, reason);
    assert_int_equal(tw_calendar_new(&calendar, cron, zone, NULL), -EINVAL);
    assert_null(calendar);
}

TEST(calendar_faults_are_named) {
    assert_refused(NULL, NULL, "the cron expression is null");
    assert_refused("", NULL, "the cron expression has neither five nor six fields");
    assert_refused("60 * * * *", NULL, "the minutes of the cron expression are malformed");
    assert_refused("* * * * \xff", NULL, "the days of the week of the cron expression are malformed");
    assert_refused("@reboot", NULL, "the cron expression has an unknown name");
    assert_refused("0 0 30 2 *", NULL, "the cron expression is never due");
    assert_refused("@daily", "", "there is no such time zone");
    assert_refused("@daily", "Nowhere/Land", "there is no such time zone");
    assert_refused("@daily", "../../etc/passwd", "there is no such time zone");
    assert_refused("@daily", "/etc/localtime", "there is no such time zone");
    const char *why = NULL;
    assert_int_equal(tw_calendar_new(NULL, "@daily", NULL, &why), -EINVAL);
    assert_string_equal(why, "the calendar is null");
}

TEST(calendar_null_has_no_due_times) {
    assert_int_equal(tw_calendar_next(NULL, 0), TW_NO_DEADLINE);
    assert_int_equal(tw_calendar_last(NULL, 5, DAY), 5);
    assert_int_equal(tw_calendar_count(NULL, 5, DAY), 0);
    tw_calendar_free(NULL);
}
