/* Shared by the tests of runtimes: the drivers that have a thread, and waits that end when a
 * condition holds, not after a time. */
#ifndef TICKWHEEL_TESTS_SUPPORT_RUNTIME_TEST_H
#define TICKWHEEL_TESTS_SUPPORT_RUNTIME_TEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "support/random.h"
#include "support/test.h"

#include <tickwheel/runtime.h>
#include <tickwheel/timers.h>

/* Loops go up to thread_drivers_here(). */
static const char *const thread_drivers[] = {"sleep", "epoll", "timerfd", "uring"};

static inline int64_t reading_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * TW_SECOND + now.tv_nsec;
}

static inline int64_t monotonic(void) { return reading_of(CLOCK_MONOTONIC); }

/* The system may refuse a driver: "uring" on an old kernel, in a sandbox or in an emulator. Prints that if it
 * does. */
static inline bool driver_is_refused(const char *name) {
    const struct tw_driver *driver = tw_driver_named(name);
    void *memory = calloc(1, driver->state_size);
    const int error = driver->open(memory, TW_CLOCK_MONOTONIC);
    if (error == 0)
        driver->close(memory);
    else
        print_message("[  SKIPPED ] the driver \"%s\": %s\n", name, tw_explain(error));
    free(memory);
    return error != 0;
}

static inline bool has_uring(void) {
    static int has = -1;
    if (has < 0)
        has = !driver_is_refused("uring");
    return has == 1;
}

/* "uring" is the last of the drivers with a thread. */
static inline unsigned thread_drivers_here(void) { return COUNT_OF(thread_drivers) - !has_uring(); }

static inline void assert_ok(int result) {
    if (result < 0)
        print_error("%s\n", tw_explain(result));
    assert_true(result >= 0);
}

static inline struct tw_runtime *new_runtime(struct tw_runtime_options options) {
    struct tw_runtime *rt = NULL;
    assert_ok(tw_runtime_new(&rt, &options));
    return rt;
}

/* A runtime on virtual time, with ticks of 1 ms, from 0. */
static inline struct tw_runtime *virtual_runtime(void) {
    return new_runtime((struct tw_runtime_options){.driver = "manual"});
}

/* The same with one lane, for tests of the memory that each lane has. */
static inline struct tw_runtime *virtual_runtime_with_one_lane(void) {
    return new_runtime((struct tw_runtime_options){.driver = "manual", .lanes = 1});
}

static inline struct tw_runtime *started_runtime(struct tw_runtime_options options) {
    struct tw_runtime *rt = new_runtime(options);
    assert_ok(tw_runtime_start(rt));
    return rt;
}

static inline int64_t up_to_tick(int64_t reading, int64_t tick_ns) {
    return (reading + tick_ns - 1) / tick_ns * tick_ns;
}

/* Callbacks of timers whose fires do not matter. */
static inline void no_callback(UNUSED struct tw_node *node, UNUSED void *arg) {}
static inline void no_task(UNUSED const struct tw_event *event, UNUSED void *arg) {}

static inline void pause_ms(long ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL); }

static inline void doze(void) { pause_ms(1); }

/* Waits until `condition` holds. Fails the test after a minute. */
#define wait_for(condition) \
    do { \
        const int64_t patience = monotonic() + 60 * TW_SECOND; \
        while (!(condition)) { \
            if (monotonic() > patience) \
                fail_msg("waited a minute for: %s", #condition); \
            doze(); \
        } \
    } while (0)

#endif
