/* tickwheel/calendar.h - cron expressions in a time zone: timers at times of the day.
 *
 *     struct report {
 *         struct tw_runtime *rt;
 *         struct tw_calendar *calendar;
 *     };
 *
 *     static int64_t next_report(int64_t due_ns, void *arg) {
 *         const struct report *report = arg;
 *         const int64_t now_ns = tw_runtime_now(report->rt);
 *         return tw_calendar_next(report->calendar, now_ns > due_ns ? now_ns : due_ns);
 *     }
 *     ...
 *     struct tw_task task = {.fn = write_report, .arg = &report, .next = next_report};
 *     tw_calendar_new(&report.calendar, "30 9 * * mon-fri", "Europe/Berlin", NULL);
 *     tw_timer_start(timers, &handle, NULL, &task);    // on a runtime with TW_CLOCK_WALL
 *
 * A calendar is a cron expression in a time zone. It only computes due times; timers of timers.h and
 * keyed.h ask a calendar through `next` of task.h, where `arg` is your struct that contains the
 * calendar. tickwheel/durable.h uses the same expressions. The library is tickwheel::calendar
 * (pkg-config: tickwheel-calendar).
 *
 * An expression has five fields, or six with seconds first; without them the second is 0:
 *
 *            minute hour day-of-month month day-of-week        30 9 * * mon-fri
 *     second minute hour day-of-month month day-of-week        0/10 * * * * *
 *
 * A field is a list of numbers, `5`, ranges, `1-5`, and `*`. A range may have a step, `1-30/2` (every
 * second value of the range), as may `*`; `10/5` is every fifth value from 10 on. `?` is `*`. Months and
 * days of the week have names, `jan` and `mon`; Sunday is 0, 7 or `sun`. `L` as a day of the month is the
 * last day. `@yearly`, `@annually`, `@monthly`, `@weekly`, `@daily`, `@midnight` and `@hourly` are whole
 * expressions. Case does not matter. If neither day field has a `*`, a day that either of them selects is
 * due; otherwise both must select the day.
 *
 * Daylight saving, and other changes of the local time:
 *
 *   fixed      An expression for times of the day, `30 2 * * *`, is due once for each of them: at the
 *              first instant after the gap if the local clock skips that time (once for all times of a
 *              gap), and at the first of the two if the clock shows that time twice.
 *   repeating  An expression whose second, minute or hour has a `*` or an open step (`0/5`), or lists
 *              all values, is due whenever the local clock shows such a time: every five minutes stays
 *              every five real minutes.
 *
 * Conventions
 *   Arguments  `calendar` is the calendar that the call is about.
 *   Time       Nanoseconds since 1970 in UTC, as TW_CLOCK_WALL reads. Due times are whole seconds, from
 *              1970 to the end of 2200.
 *   Clock      The runtime must have TW_CLOCK_WALL. TW_CLOCK_VIRTUAL works too, and begins on
 *              1 January 1970. Readings of the other clocks are not dates, but the library cannot
 *              tell: on those clocks timers fire at the wrong times. If a tick is longer than a second,
 *              several due times within one tick fire as one.
 *   Forward    If the clock is set forward past due times, or callbacks are late, these due times are
 *              missed. The timer fires at once, for the first of them. If `next` counts from the
 *              present, as above, the timer skips the others, and tw_calendar_count returns how many
 *              there were. If `next` counts from `due_ns` alone, each of them fires: a machine that
 *              boots in 1970 and then sets its clock would catch up on decades of due times.
 *   Back       If the clock is set back, a due time that has fired is not due again. The timer waits
 *              until the clock reads its deadline, which stays the same. If the clock was wrong and far
 *              ahead, start the timer again.
 *   Zones      Those of the system's tz database, or of the folder in $TZDIR. "UTC" needs no database.
 *              tw_calendar_new reads the zone; after an update of the database, make a new calendar.
 *   Threads    A calendar never changes: every function may be called from any thread. Free a calendar
 *              when no timer uses it any more.
 *   Allocates  tw_calendar_new.
 */
#ifndef TICKWHEEL_CALENDAR_H
#define TICKWHEEL_CALENDAR_H

#include <stddef.h>
#include <stdint.h>

#include <tickwheel/driver.h>
#include <tickwheel/must_check.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tw_calendar;

/* Makes a calendar from the cron expression `cron` in the time zone `zone`, such as "Europe/Berlin", and
 * stores it in *calendar. A null `zone` is UTC. Both strings may come from an untrusted user. The caller
 * owns the calendar and frees it with tw_calendar_free. Returns 0. On an error *why is a static text that
 * says what is wrong; `why` may be null.
 *   -EINVAL  `calendar` or `cron` is null; the expression is malformed, longer than 256 bytes, or never
 *            due; there is no such zone, or its file is damaged
 *   -ENOMEM  out of memory
 *   -EMFILE, -ENFILE, -EIO  from the system: the zone cannot be read now */
TW_MUST_CHECK int tw_calendar_new(struct tw_calendar **calendar, const char *cron, const char *zone,
                                  const char **why);

/* Frees a calendar; `calendar` may be null. */
void tw_calendar_free(struct tw_calendar *calendar);

/* Returns the first due time after `after_ns`; TW_NO_DEADLINE if there is none up to 2200, or if `calendar`
 * is null. Takes microseconds, however distant the due time is. */
TW_MUST_CHECK int64_t tw_calendar_next(const struct tw_calendar *calendar, int64_t after_ns);

/* Returns the last due time that is later than `after_ns` and not later than `until_ns`; `after_ns` if
 * there is none or `calendar` is null. */
TW_MUST_CHECK int64_t tw_calendar_last(const struct tw_calendar *calendar, int64_t after_ns,
                                       int64_t until_ns);

/* Returns how many due times are later than `after_ns` and not later than `until_ns`. 0 if `calendar`
 * is null. Takes as long for a million due times as for one. */
TW_MUST_CHECK uint64_t tw_calendar_count(const struct tw_calendar *calendar, int64_t after_ns,
                                         int64_t until_ns);

#ifdef __cplusplus
}
#endif

#endif
