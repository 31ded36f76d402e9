/* Shared by the tests of faults. Only the main thread asserts; callbacks count. */
#ifndef TICKWHEEL_TESTS_FAULTS_H
#define TICKWHEEL_TESTS_FAULTS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "support/inject.h"
#include "support/runtime_test.h"

/* The ways to drive a runtime: its own thread, the test's own loop, or virtual time. */
struct way {
    const char *name, *driver;
    enum { BY_THREAD, BY_LOOP, BY_VIRTUAL_TIME } by;
};

/* Loops go up to ways_here(). */
extern struct way ways[6];
static inline unsigned ways_here(void) { return COUNT_OF(ways) - !has_uring(); }

/* The way that this test uses. If the system refuses it, the test is skipped. */
#define WAY way_of_test(*state)
static inline const struct way *way_of_test(const struct way *way) {
    if (way == &ways[COUNT_OF(ways) - 1] && !has_uring())
        skip();
    return way;
}

#define THE_WAY(test, i) CASE(test, i, way_name_##i, &ways[i])
#define way_name_0 "sleep"
#define way_name_1 "epoll"
#define way_name_2 "timerfd"
#define way_name_3 "dispatched"
#define way_name_4 "manual"
#define way_name_5 "uring"

/* Tests that run once for each driver with a thread, for these and a loop, for each way, or for the named
 * ways. */
#define BY_EACH_THREAD(test) THE_WAY(test, 0) THE_WAY(test, 1) THE_WAY(test, 2) THE_WAY(test, 5)
#define TEST_BY_EACH_THREAD(name) \
    DECLARE_TEST(name); \
    BY_EACH_THREAD(name) DEFINE_TEST(name)
#define TEST_IN_REAL_TIME(name) \
    DECLARE_TEST(name); \
    BY_EACH_THREAD(name) THE_WAY(name, 3) DEFINE_TEST(name)
#define TEST_EACH_WAY(name) \
    DECLARE_TEST(name); \
    BY_EACH_THREAD(name) THE_WAY(name, 3) THE_WAY(name, 4) DEFINE_TEST(name)
#define TEST_ONE_WAY(name, i) \
    DECLARE_TEST(name); \
    THE_WAY(name, i) DEFINE_TEST(name)
#define TEST_THREE_WAYS(name, i, j, k) \
    DECLARE_TEST(name); \
    THE_WAY(name, i) THE_WAY(name, j) THE_WAY(name, k) DEFINE_TEST(name)

static inline struct tw_runtime *runtime_on(const char *driver) {
    return new_runtime((struct tw_runtime_options){.driver = driver});
}

/* Lets the runtime fire: a thread from here on, the other ways while go_on_until runs. */
void set_going(const struct way *way, struct tw_runtime *rt);

typedef bool condition(void);

/* Waits for the condition. Returns false if the condition has not become true within a minute. Does not
 * access `rt` once the condition is true, so the condition may be that the runtime was freed. */
bool go_on_until(const struct way *way, struct tw_runtime *rt, condition *done);

/* Open descriptors of this process. */
int count_descriptors(void);

/* The resources of a process that a runtime could leak. */
struct holdings {
    int descriptors;
    int64_t allocations;
};
struct holdings holdings_now(void);
bool has_nothing_leaked(struct holdings before);
void assert_nothing_leaked(struct holdings before);

/* A node that counts its fires. */
struct counter {
    struct tw_node node;
    atomic_uint fires;
};
void init_counter(struct counter *counter);

/* Asserts that the runtime works, by a one-shot and a periodic node that fire; then frees it. */
void assert_works_and_free(const struct way *way, struct tw_runtime *rt);

#endif
