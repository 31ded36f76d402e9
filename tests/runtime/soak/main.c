/* The soak: tickwheel_soak [seconds]. Prints one line at the end and exits with 0 if every
 * promise held. */
#include "soak.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct arena arenas[DRIVERS] = {
    {.driver = "sleep"}, {.driver = "epoll"}, {.driver = "timerfd"}, {.driver = "uring"}};
static struct armer armers[DRIVERS * ARMERS];

struct sum {
    uint64_t armed, fired, cancelled, pending, early, twice, misordered, not_awaited, odd_timers;
    int64_t latest;
};

static void must(bool truth, const char *what) {
    if (truth)
        return;
    fprintf(stderr, "soak: %s failed\n", what);
    exit(EXIT_FAILURE);
}

static struct sum sum_up(void) {
    struct sum sum = {0};
    for (unsigned d = 0; d < DRIVERS; ++d) {
        const struct arena *a = &arenas[d];
        sum.armed += a->armed;
        sum.fired += a->fired;
        sum.cancelled += a->cancelled;
        sum.pending += tw_runtime_count(a->rt);
        sum.early += a->early;
        sum.twice += a->twice;
        sum.misordered += a->misordered;
        sum.not_awaited += a->not_awaited;
    }
    return sum;
}

static void begin(void) {
    for (unsigned d = 0; d < DRIVERS; ++d) {
        struct tw_runtime_options options = {.driver = arenas[d].driver};
        int error = tw_runtime_new(&arenas[d].rt, &options);
        if (error < 0 && strcmp(options.driver, "uring") == 0) {
            printf("soak: no uring here, epoll twice instead: %s\n", tw_explain(error));
            options.driver = arenas[d].driver = "epoll";
            error = tw_runtime_new(&arenas[d].rt, &options);
        }
        must(error == 0, "tw_runtime_new");
        must(tw_runtime_start(arenas[d].rt) == 0, "tw_runtime_start");
        must(fill(&arenas[d], d + 1), "allocation");
    }
    for (unsigned i = 0; i < DRIVERS * ARMERS; ++i) {
        armers[i] = (struct armer){.arena = &arenas[i / ARMERS], .number = i % ARMERS, .random = 100 + i};
        must(pthread_create(&armers[i].thread, NULL, keep_arming, &armers[i]) == 0, "pthread_create");
    }
}

static void show_progress(int64_t since) {
    const struct sum now = sum_up();
    printf("%4" PRId64 " s: armed %" PRIu64 ", fired %" PRIu64 ", cancelled %" PRIu64 ", pending %" PRIu64
           "; early %" PRIu64 ", twice %" PRIu64 ", order broken %" PRIu64 "\n",
           (raw_clock() - since) / TW_SECOND, now.armed, now.fired, now.cancelled, now.pending, now.early,
           now.twice, now.misordered);
    fflush(stdout);
}

static void watch(int64_t seconds) {
    const int64_t begun = raw_clock(), end = begun + seconds * TW_SECOND;
    const int64_t step = (seconds < 10 ? 1 : 5) * TW_SECOND;
    for (int64_t next = begun + step; next < end; next += step) {
        const struct timespec until = {next / TW_SECOND, (long)(next % TW_SECOND)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
        }
        show_progress(begun);
    }
    const struct timespec until = {end / TW_SECOND, (long)(end % TW_SECOND)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
    }
}

static void stop(void) {
    for (unsigned d = 0; d < DRIVERS; ++d)
        arenas[d].is_over = true;
    for (unsigned i = 0; i < DRIVERS * ARMERS; ++i)
        must(pthread_join(armers[i].thread, NULL) == 0, "pthread_join");
    for (unsigned d = 0; d < DRIVERS; ++d)
        must(tw_runtime_stop(arenas[d].rt) == 0, "tw_runtime_stop");
}

/* At rest, each timer's count of armings must match whether it is pending. */
static uint64_t odd_timers(const struct arena *a) {
    uint64_t odd = 0;
    for (unsigned i = 0; i < TIMERS_EACH; ++i) {
        const struct timer *t = &a->timers[i];
        odd += t->credits != (tw_runtime_remaining(a->rt, t->node) != TW_NO_DEADLINE ? 1 : 0);
    }
    return odd;
}

static void end(void) {
    for (unsigned d = 0; d < DRIVERS; ++d) {
        must(tw_runtime_free(arenas[d].rt) == 0, "tw_runtime_free");
        for (unsigned i = 0; i < TIMERS_EACH; ++i)
            free(arenas[d].timers[i].node);
        free(arenas[d].timers);
    }
}

static bool judge(int64_t seconds) {
    struct sum sum = sum_up();
    for (unsigned d = 0; d < DRIVERS; ++d) {
        sum.odd_timers += odd_timers(&arenas[d]);
        sum.latest = arenas[d].latest > sum.latest ? arenas[d].latest : sum.latest;
    }
    const bool adds_up = sum.armed == sum.fired + sum.cancelled + sum.pending && sum.odd_timers == 0;
    if (sum.odd_timers != 0)
        printf("soak: %" PRIu64 " timers do not add up by themselves\n", sum.odd_timers);
    if (sum.not_awaited != 0)
        printf("soak: %" PRIu64 " callbacks still ran after cancel_wait\n", sum.not_awaited);
    printf("soak: %" PRId64 " s, %d drivers: armed %" PRIu64 " %s fired %" PRIu64 " + cancelled %" PRIu64
           " + pending %" PRIu64 "; early %" PRIu64 ", twice %" PRIu64 ", order broken %" PRIu64
           "; lateness p50 %.3f ms, p99 %.3f ms, max %.3f ms\n",
           seconds, DRIVERS, sum.armed, adds_up ? "=" : "!=", sum.fired, sum.cancelled, sum.pending,
           sum.early, sum.twice, sum.misordered, (double)lateness_below(arenas, 0.5) / 1e6,
           (double)lateness_below(arenas, 0.99) / 1e6, (double)sum.latest / 1e6);
    return adds_up && sum.fired > 0 && sum.not_awaited == 0 && sum.early == 0 && sum.twice == 0 &&
           sum.misordered == 0;
}

int main(int argc, char **argv) {
    const int64_t seconds = argc > 1 ? strtoll(argv[1], NULL, 10) : 60;
    if (seconds < 1 || argc > 2) {
        fprintf(stderr, "usage: %s [seconds]\n", argv[0]);
        return 2;
    }
    printf("soak: %d timers on %d drivers, %d arming threads, %" PRId64 " s\n", DRIVERS * TIMERS_EACH,
           DRIVERS, DRIVERS * ARMERS, seconds);
    begin();
    watch(seconds);
    stop();
    const bool is_well = judge(seconds);
    end();
    return is_well ? EXIT_SUCCESS : EXIT_FAILURE;
}
