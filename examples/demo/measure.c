/* Runs the timers of the showcase on each driver in turn, and writes as JSON what the runtimes have measured:
 * how late fires were and why, and how long callbacks ran. ./dev report makes a page of that.
 *
 *     tickwheel_measure [SECONDS] > drivers.json     for each driver; 3 by default
 *
 * For a driver that this system does not have, the output has the reason. The program exits with 1 if a
 * timer fired early, was lost or left its grid, and with 2 if it could not run. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <tickwheel/observe.h>
#include <time.h>

#include "trial.h"

enum { DRIVERS = 4, CHECKS_A_SECOND = 20, PATIENCE = 120 };

static struct trial trials[DRIVERS] = {
    {.driver = "sleep", .tick_ns = TW_MICROSECOND, .unit_ns = TW_MILLISECOND},
    {.driver = "epoll", .tick_ns = TW_MICROSECOND, .unit_ns = TW_MILLISECOND},
    {.driver = "uring", .tick_ns = TW_MICROSECOND, .unit_ns = TW_MILLISECOND, .is_optional = true},
    {.driver = "timerfd", .tick_ns = TW_MICROSECOND, .unit_ns = TW_MILLISECOND},
};

static const char *const causes[TW_LATE_CAUSES] = {
    [TW_LATE_WAKING] = "waking", [TW_LATE_CALLBACKS] = "callbacks", [TW_LATE_BUDGET] = "budget"};

/* Waits until the time is over and every timer has fired, which is later on a slow machine. */
static void wait_for(struct trial *trial, double seconds) {
    const int64_t enough = (int64_t)(seconds * (double)TW_SECOND);
    const struct timespec pause = {.tv_nsec = TW_SECOND / CHECKS_A_SECOND};
    int64_t ran;
    while ((ran = trial_ran(trial)) < enough ||
           (!trial_saw_all(trial) && ran < enough + PATIENCE * TW_SECOND))
        nanosleep(&pause, NULL);
}

static void write_histogram(const char *name, const struct tw_histogram *histogram) {
    printf("\"%s\":{\"counts\":[", name);
    for (unsigned i = 0; i < TW_BUCKETS; ++i)
        printf("%s%" PRIu64, i > 0 ? "," : "", histogram->counts[i]);
    printf("],\"sum_ns\":%" PRId64 ",\"max_ns\":%" PRId64 "}", histogram->sum_ns, histogram->max_ns);
}

/* Returns 0 or a negative errno. */
static int write_trial(struct trial *trial) {
    struct tw_stats observed;
    int error = tw_runtime_stats(trial->rt, &observed);
    if (error != 0)
        return error;
    printf("{\"driver\":\"%s\",\"ran_ns\":%" PRId64 ",\"fires\":%" PRIu64 ",\"early\":%" PRIu64
           ",\"lost\":%u,\"drift_ns\":%" PRId64 ",\"periods\":%u,\"wakeups\":%" PRIu64 ",\n",
           trial->driver, trial->ran_ns, (uint64_t)trial->lateness.fires, (uint64_t)trial->early, trial->lost,
           (int64_t)trial->drift_ns, (unsigned)trial->periods, trial_wakeups(trial));
    write_histogram("run", &observed.callbacks);
    for (unsigned cause = 0; cause < TW_LATE_CAUSES; ++cause) {
        printf(",\n");
        write_histogram(causes[cause], &observed.late[cause]);
    }
    printf("}");
    return 0;
}

/* Returns true if no fire was early, lost or off its grid. */
static bool measure(struct trial *trial, double seconds) {
    int error = trial_begin(trial);
    if (error != 0) {
        fprintf(stderr, "the %s driver: %s\n", trial->driver, tw_explain(error));
        exit(2);
    }
    if (trial->state == REFUSED) {
        printf("{\"driver\":\"%s\",\"not_run\":\"%s\"}", trial->driver, trial->refusal);
        return true;
    }
    wait_for(trial, seconds);
    trial_stop(trial);
    bool good = write_trial(trial) == 0 && trial_is_good(trial);
    trial_free(trial);
    return good;
}

/* The last bucket has no limit, and is written as 0. */
static void write_limits(void) {
    printf("{\"limits_ns\":[");
    for (unsigned i = 0; i < TW_BUCKETS; ++i)
        printf("%s%" PRId64, i > 0 ? "," : "", i < TW_BUCKETS - 1 ? tw_bucket_limit(i) : 0);
    printf("],\n\"timers\":%d,\"drivers\":[\n", TIMERS);
}

int main(int argc, char *argv[]) {
    char *end = "";
    const double seconds = argc > 1 ? strtod(argv[1], &end) : 3;
    if (argc > 2 || *end != '\0' || !(seconds >= 0.1 && seconds <= 3600)) {
        fputs("tickwheel_measure [SECONDS]   for each driver: 0.1 to 3600; 3 if not said\n", stderr);
        return 2;
    }
    bool good = true;
    write_limits();
    for (unsigned i = 0; i < DRIVERS; ++i) {
        fprintf(stderr, "measuring the %s driver\n", trials[i].driver);
        good = measure(&trials[i], seconds) && good;
        printf(i < DRIVERS - 1 ? ",\n" : "\n]}\n");
    }
    if (fflush(stdout) != 0)
        return 2;
    return good ? 0 : 1;
}
