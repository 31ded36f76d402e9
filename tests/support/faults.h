/* Shared by the tests of faults. Assertions stand on the main thread; callbacks count. */
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

/* Who fires: a runtime's thread, a loop of the test's own, or virtual time. */
struct way {
    const char *name, *driver;
    enum { BY_THREAD, BY_LOOP, BY_VIRTUAL_TIME } by;
};

extern struct way ways[5];

/* The way that a test was given. */
#define WAY ((const struct way *)*state)

#define THE_WAY(test, i) \
    { #test " (" way_name_##i ")", test, NULL, NULL, &ways[i] }
#define way_name_0 "sleep"
#define way_name_1 "epoll"
#define way_name_2 "timerfd"
#define way_name_3 "dispatched"
#define way_name_4 "manual"

/* A test once for each driver with a thread; or for each way. */
#define BY_EACH_THREAD(test) THE_WAY(test, 0), THE_WAY(test, 1), THE_WAY(test, 2)
#define EACH_WAY(test) BY_EACH_THREAD(test), THE_WAY(test, 3), THE_WAY(test, 4)

static inline struct tw_runtime *runtime_on(const char *driver) {
    return new_runtime((struct tw_runtime_options){.driver = driver});
}

/* Lets it fire: from here on for a thread, otherwise while go_on_until runs. */
void set_going(const struct way *way, struct tw_runtime *rt);

typedef bool condition(void);

/* Waits for the condition; false if it has not come true in a minute. `rt` is not
 * touched once it has, so that it may be what has freed the runtime. */
bool go_on_until(const struct way *way, struct tw_runtime *rt, condition *done);

/* Open descriptors of this process. */
int count_descriptors(void);

/* What a process holds that a runtime could leak. */
struct holdings {
    int descriptors;
    int64_t allocations;
};
struct holdings holdings_now(void);
void assert_nothing_leaked(struct holdings before);

/* A node that counts its fires. */
struct counter {
    struct tw_node node;
    atomic_uint fires;
};
void init_counter(struct counter *counter);

/* Every part of it works: a oneshot and a periodic node fire; then frees it. */
void assert_works_and_free(const struct way *way, struct tw_runtime *rt);

#endif
