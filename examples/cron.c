/* A report at half past two every night in Berlin, across both changes of daylight saving, and when the clock
 * is set. The program runs on virtual time, so it ends at once.
 *
 *     tickwheel_cron */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <tickwheel/calendar.h>
#include <tickwheel/timers.h>
#include <time.h>

static const int64_t day = 86400 * TW_SECOND;

/* What the timer's functions need: the calendar for the next night, and the runtime for the present. */
struct report {
    struct tw_runtime *rt;
    struct tw_calendar *calendar;
};

static void say_when(int64_t wall_ns) {
    const time_t seconds = (time_t)(wall_ns / TW_SECOND);
    char text[64];
    strftime(text, sizeof text, "%a %d %b %H:%M %Z", localtime(&seconds));
    printf("%-22s ", text);
}

static void on_report(const struct tw_event *event, void *arg) {
    const struct report *report = arg;
    const int64_t now_ns = tw_runtime_now(report->rt);
    const uint64_t missed = tw_calendar_count(report->calendar, event->due_ns, now_ns);
    say_when(now_ns);
    if (missed == 0)
        printf("report\n");
    else
        printf("report, which stands for %" PRIu64 " later ones as well\n", missed);
}

/* Returns the first night after the present, so missed nights fire as one. */
static int64_t next_report(int64_t due_ns, void *arg) {
    const struct report *report = arg;
    const int64_t now_ns = tw_runtime_now(report->rt);
    return tw_calendar_next(report->calendar, now_ns > due_ns ? now_ns : due_ns);
}

static void set_clock(struct tw_runtime *rt, int64_t wall_ns, const char *how) {
    tw_runtime_set_wall(rt, wall_ns);
    say_when(wall_ns);
    printf("the clock is set %s\n", how);
}

int main(void) {
    static const struct tw_runtime_options options = {.driver = "manual", .clock = TW_CLOCK_WALL};
    const int64_t spring = 1711713600 * TW_SECOND,
                  autumn = 1729857600 * TW_SECOND; /* days before the changes */
    struct report report = {0};
    struct tw_task task = {.fn = on_report, .arg = &report, .next = next_report};
    struct tw_timers *timers = NULL;
    tw_handle handle;
    const char *why = "no memory";

    setenv("TZ", "Europe/Berlin", 1); /* for the times that the program prints */
    if (tw_calendar_new(&report.calendar, "30 2 * * *", "Europe/Berlin", &why) != 0 ||
        tw_runtime_new(&report.rt, &options) != 0 || tw_timers_new(&timers, report.rt, NULL) != 0) {
        fprintf(stderr, "no timers: %s\n", why);
        return 1;
    }
    set_clock(report.rt, spring, "to the spring");
    if (tw_timer_start(timers, &handle, NULL, &task) != 0)
        return 1;
    tw_runtime_advance(report.rt, 3 * day); /* there is no half past two on the 31st */
    set_clock(report.rt, autumn, "forward, to the autumn");
    tw_runtime_advance(report.rt, 3 * day); /* on the 27th there are two */
    set_clock(report.rt, tw_runtime_now(report.rt) - day, "back by a day: what has fired is not due again");
    tw_runtime_advance(report.rt, 2 * day);
    tw_runtime_free(report.rt);
    tw_calendar_free(report.calendar);
}
