/* The showcase: runs the same timers on each driver in turn. The callbacks measure the lateness.
 *
 * The program arms eight periodic and 32 one-shot timers. Each callback reads the clock and compares the
 * reading with the requested deadline. The last driver runs on virtual time, where nothing is late
 * and a year passes in a moment.
 *
 * The program exits with 1 if a timer fired early, was lost or left its grid. It shows the lateness but does
 * not judge it, because lateness depends on the machine. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "table.h"
#include "trial.h"

enum { DRIVERS = 5, VIRTUAL_STEPS = 73 };

static const int64_t frame_ns = 100 * TW_MILLISECOND;
static const int64_t year_ns = TW_SECOND * 86400 * 365;
static const int64_t patience_ns = 120 * TW_SECOND; /* how long to wait for timers that do not fire */
static double seconds = 5;                          /* for each driver */

static struct trial trials[DRIVERS] = {
    {.driver = "sleep", .tick_ns = TW_MICROSECOND, .unit_ns = TW_MILLISECOND},
    {.driver = "epoll", .tick_ns = TW_MICROSECOND, .unit_ns = TW_MILLISECOND},
    {.driver = "uring", .tick_ns = TW_MICROSECOND, .unit_ns = TW_MILLISECOND, .is_optional = true},
    {.driver = "timerfd", .tick_ns = TW_MICROSECOND, .unit_ns = TW_MILLISECOND},
    {.driver = "manual", .tick_ns = TW_MILLISECOND, .unit_ns = 60 * TW_SECOND, .is_virtual = true},
};

static sigset_t signals; /* that end the program */

static void show(const struct trial *trial) {
    char status[64];
    snprintf(status, sizeof status, "running: %s", trial->driver);
    table_draw(trials, DRIVERS, status);
}

/* Waits for the next frame. Returns the signal that came meanwhile, or 0. */
static int wait_for_frame(int64_t ns) {
    const struct timespec timeout = {.tv_sec = (time_t)(ns / TW_SECOND), .tv_nsec = (long)(ns % TW_SECOND)};
    int signal = sigtimedwait(&signals, NULL, &timeout);
    return signal > 0 ? signal : 0;
}

/* Runs until the time is over and every timer has fired, which is later on a slow machine. */
static int run_real(struct trial *trial) {
    const int64_t enough = (int64_t)(seconds * (double)TW_SECOND);
    int64_t ran;
    while ((ran = trial_ran(trial)) < enough || (!trial_saw_all(trial) && ran < enough + patience_ns)) {
        show(trial);
        int signal = wait_for_frame(ran < enough && enough - ran < frame_ns ? enough - ran : frame_ns);
        if (signal != 0)
            return signal;
    }
    return 0;
}

static int run_virtual(struct trial *trial) {
    for (int step = 0; step < VIRTUAL_STEPS; ++step) {
        trial_move(trial, year_ns / VIRTUAL_STEPS);
        show(trial);
        int signal = wait_for_frame(0);
        if (signal != 0)
            return signal;
    }
    return 0;
}

static int run(unsigned which) {
    struct trial *trial = &trials[which];
    int error = trial_begin(trial);
    if (error != 0) {
        fprintf(stderr, "the %s driver: %s\n", trial->driver, tw_explain(error));
        exit(2);
    }
    if (trial->state == REFUSED)
        return 0;
    int signal = trial->is_virtual ? run_virtual(trial) : run_real(trial);
    trial_stop(trial);
    return signal;
}

static int run_all(void) {
    for (unsigned i = 0; i < DRIVERS; ++i) {
        int signal = run(i);
        if (signal != 0)
            return signal;
        table_print_row(trials, i);
    }
    return 0;
}

/* Writes the verdict and returns true if all trials are good. */
static bool judge(char *verdict, size_t size) {
    unsigned long long fires = 0, early = 0, lost = 0;
    int64_t drift = 0;
    bool good = true;
    for (unsigned i = 0; i < DRIVERS; ++i) {
        struct trial *trial = &trials[i];
        fires += trial->lateness.fires;
        early += trial->early;
        lost += trial->lost;
        if (trial->drift_ns > drift)
            drift = trial->drift_ns;
        good = good && trial_is_good(trial);
    }
    snprintf(verdict, size, "verdict: %s - %llu fires, %llu early, %llu lost, drift %lld ns",
             good ? "good" : "BAD", fires, early, lost, (long long)drift);
    return good;
}

static void usage(FILE *to) {
    fputs("tickwheel_demo [--seconds-per-driver S]   0.1 to 3600 seconds; 5 if not said\n"
          "Shows how late timers fire on each driver. Ends with 1 if one was early, lost or\n"
          "drifted, with 2 if it could not run.\n",
          to);
}

static void read_options(int argc, char *argv[]) {
    static const struct option options[] = {
        {"seconds-per-driver", required_argument, NULL, 's'}, {"help", no_argument, NULL, 'h'}, {0}};
    int option;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        char *end = NULL;
        if (option == 'h') {
            usage(stdout);
            exit(0);
        }
        if (option == 's')
            seconds = strtod(optarg, &end);
        if (option != 's' || *end != '\0' || !(seconds >= 0.1 && seconds <= 3600)) {
            usage(stderr);
            exit(2);
        }
    }
}

int main(int argc, char *argv[]) {
    char verdict[128] = "interrupted";
    read_options(argc, argv);
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);

    table_open();
    int signal = run_all();
    bool good = signal == 0 && judge(verdict, sizeof verdict);
    table_close(trials, DRIVERS, verdict, good);
    for (unsigned i = 0; i < DRIVERS; ++i)
        trial_free(&trials[i]);
    return signal != 0 ? 128 + signal : good ? 0 : 1;
}
