/* The time of the examples: real time, or with the argument "virtual" virtual time, which passes at once and
 * exactly. The tests use virtual time. */
#ifndef TICKWHEEL_EXAMPLES_PASSING_H
#define TICKWHEEL_EXAMPLES_PASSING_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tickwheel/runtime.h>
#include <time.h>

static int64_t passing_begin;

static inline void passing_failed(int error) {
    fprintf(stderr, "no timers: %s\n", tw_explain(error));
    exit(1);
}

/* Returns a started runtime, or one on virtual time. */
static inline struct tw_runtime *passing_runtime(int argc, char **argv) {
    const int is_virtual = argc > 1 && strcmp(argv[1], "virtual") == 0;
    struct tw_runtime *rt = NULL;
    int error = tw_runtime_new(&rt, &(struct tw_runtime_options){.driver = is_virtual ? "manual" : "sleep"});
    if (error == 0 && !is_virtual)
        error = tw_runtime_start(rt);
    if (error != 0)
        passing_failed(error);
    passing_begin = tw_runtime_now(rt);
    return rt;
}

static inline void passing_sleep(int64_t ns) {
    struct timespec left = {.tv_sec = (time_t)(ns / TW_SECOND), .tv_nsec = (long)(ns % TW_SECOND)};
    while (nanosleep(&left, &left) != 0)
        ;
}

static inline void let_pass(struct tw_runtime *rt, int64_t ns) {
    if (tw_runtime_advance(rt, ns) == -EOPNOTSUPP) /* real time passes by itself */
        passing_sleep(ns);
}

/* Lets time pass as if the whole program were stopped meanwhile. */
static inline void stall(struct tw_runtime *rt, int64_t ns) {
    if (tw_runtime_leap(rt, ns) == -EOPNOTSUPP) {
        tw_runtime_stop(rt);
        passing_sleep(ns);
        const int error = tw_runtime_start(rt);
        if (error != 0)
            passing_failed(error);
    }
}

/* Returns the time since the start, in seconds. */
static inline double since_begin(struct tw_runtime *rt) {
    return (double)(tw_runtime_now(rt) - passing_begin) / (double)TW_SECOND;
}

#endif
