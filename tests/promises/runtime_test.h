/* What the tests of promises on the runtime share: every driver that has a thread, and
 * waits that end when a condition holds, not after a time. */
#ifndef TICKWHEEL_TESTS_RUNTIME_TEST_H
#define TICKWHEEL_TESTS_RUNTIME_TEST_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <tickwheel/runtime.h>

#define TEST(name) static void name(__attribute__((unused)) void **state)
#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static const char *const thread_drivers[] = {"sleep", "epoll", "timerfd"};

static inline int64_t reading_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * TW_SECOND + now.tv_nsec;
}

static inline int64_t monotonic(void) { return reading_of(CLOCK_MONOTONIC); }

static inline void assert_ok(int result) {
    if (result < 0)
        print_error("%s\n", tw_strerror(result));
    assert_true(result >= 0);
}

static inline struct tw_runtime *new_runtime(struct tw_runtime_options options) {
    struct tw_runtime *rt = NULL;
    assert_ok(tw_runtime_new(&rt, &options));
    return rt;
}

static inline struct tw_runtime *started_runtime(struct tw_runtime_options options) {
    struct tw_runtime *rt = new_runtime(options);
    assert_ok(tw_runtime_start(rt));
    return rt;
}

static inline void doze(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

/* Until `condition` holds; not holding for a minute is a failure. */
#define wait_for(condition) \
    do { \
        const int64_t patience = monotonic() + 60 * TW_SECOND; \
        while (!(condition)) { \
            if (monotonic() > patience) \
                fail_msg("waited a minute for: %s", #condition); \
            doze(); \
        } \
    } while (0)

/* splitmix64: the same numbers on every machine. */
static inline uint64_t random_next(uint64_t *seed) {
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static inline uint64_t random_below(uint64_t *seed, uint64_t bound) { return random_next(seed) % bound; }

#endif
