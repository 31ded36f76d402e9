/* A user's program with a timer that follows a calendar, built with the installed library. */
#include <stdio.h>

#include <tickwheel/calendar.h>
#include <tickwheel/timers.h>

static int64_t next_hour(int64_t due_ns, void *calendar) {
    return tw_calendar_next((const struct tw_calendar *)calendar, due_ns);
}

static void on_hour(const struct tw_event *event, void *calendar) {
    (void)calendar;
    printf("%lld\n", (long long)(event->due_ns / TW_SECOND));
}

int main(void) {
    struct tw_runtime_options options = {0};
    struct tw_task task = {0};
    struct tw_runtime *rt = NULL;
    struct tw_timers *timers = NULL;
    struct tw_calendar *calendar = NULL;
    const char *why = "";
    tw_handle handle = TW_NO_HANDLE;
    options.driver = "manual";
    if (tw_calendar_new(&calendar, "@hourly", NULL, &why) != 0 || tw_runtime_new(&rt, &options) != 0 ||
        tw_timers_new(&timers, rt, NULL) != 0) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    task.fn = on_hour;
    task.next = next_hour;
    task.arg = calendar;
    if (tw_timer_start(timers, &handle, NULL, &task) != 0 || tw_runtime_advance(rt, 7200 * TW_SECOND) != 0 ||
        tw_calendar_next(calendar, tw_runtime_now(rt)) != 10800 * TW_SECOND)
        return 1;
    tw_runtime_free(rt);
    tw_calendar_free(calendar);
    return 0;
}
