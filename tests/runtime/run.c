/* A runtime that fires on the thread of its program (tw_runtime_run). */
#include "support/environment.h"
#include "support/faults.h"

#include <sys/prctl.h>

static struct tw_runtime *rt;
static struct tw_node node, last;
static pthread_t firing;
static atomic_uint fires;

static void count(UNUSED struct tw_node *unused, UNUSED void *arg) {
    firing = pthread_self();
    atomic_fetch_add(&fires, 1);
}

static void stop(UNUSED struct tw_node *unused, UNUSED void *arg) {
    assert_int_equal(tw_runtime_run(rt), -EBUSY);
    assert_int_equal(tw_runtime_stop(rt), 0);
}

static void begin_on(const char *driver) {
    rt = new_runtime((struct tw_runtime_options){.driver = driver});
    fires = 0;
    tw_node_init(&node, count, NULL);
    tw_node_init(&last, stop, NULL);
}

TEST_BY_EACH_THREAD(timers_fire_on_the_thread_that_runs_until_one_stops_it) {
    begin_on(WAY->driver);
    assert_int_equal(tw_runtime_every(rt, &node, TW_MILLISECOND, TW_BURST), 0);
    assert_int_equal(tw_runtime_after(rt, &last, 5 * TW_MILLISECOND), 0);
    for (unsigned runs = 1; runs <= 2; ++runs) {
        assert_int_equal(tw_runtime_run(rt), 0);
        assert_true(pthread_equal(firing, pthread_self()));
        assert_true(fires >= 4 * runs);
        assert_int_equal(tw_runtime_after(rt, &last, 5 * TW_MILLISECOND), 0);
    }
    assert_int_equal(tw_runtime_free(rt), 0);
}

static void *stop_after_a_fire(UNUSED void *arg) {
    wait_for(atomic_load(&fires) != 0);
    assert_int_equal(tw_runtime_start(rt), -EBUSY);
    assert_int_equal(tw_runtime_stop(rt), 0);
    return NULL;
}

TEST_BY_EACH_THREAD(another_thread_stops_it) {
    pthread_t stopper;
    begin_on(WAY->driver);
    assert_int_equal(tw_runtime_after(rt, &node, TW_MILLISECOND), 0);
    assert_int_equal(pthread_create(&stopper, NULL, stop_after_a_fire, NULL), 0);
    assert_int_equal(tw_runtime_run(rt), 0);
    pthread_join(stopper, NULL);
    assert_int_equal(fires, 1);
    assert_int_equal(tw_runtime_free(rt), 0);
}

static void free_it(UNUSED struct tw_node *unused, UNUSED void *arg) {
    assert_int_equal(tw_runtime_free(rt), 0);
}

TEST_BY_EACH_THREAD(p7_a_callback_frees_the_runtime_that_runs) {
    begin_on(WAY->driver);
    tw_node_init(&last, free_it, NULL);
    assert_int_equal(tw_runtime_after(rt, &last, 0), 0);
    assert_int_equal(tw_runtime_run(rt), 0);
}

static int slack_inside;
static void note_slack(UNUSED struct tw_node *unused, UNUSED void *arg) {
    slack_inside = prctl(PR_GET_TIMERSLACK);
    assert_int_equal(tw_runtime_stop(rt), 0);
}

TEST_BY_EACH_THREAD(the_thread_has_the_slack_of_the_options_while_it_runs) {
    const int former = 60000; /* set here, because an earlier test may have left the runtime's value */
    assert_int_equal(prctl(PR_SET_TIMERSLACK, (unsigned long)former), 0);
    begin_on(WAY->driver);
    tw_node_init(&last, note_slack, NULL);
    assert_int_equal(tw_runtime_after(rt, &last, 0), 0);
    assert_int_equal(tw_runtime_run(rt), 0);
    assert_int_equal(slack_inside, 1);
    assert_int_equal(prctl(PR_GET_TIMERSLACK), former);
    assert_int_equal(tw_runtime_free(rt), 0);
}

TEST(what_cannot_run_is_refused) {
    begin_on("manual");
    assert_int_equal(tw_runtime_run(rt), -EOPNOTSUPP);
    assert_int_equal(tw_runtime_free(rt), 0);
    begin_on("timerfd");
    assert_true(tw_runtime_fd(rt) >= 0);
    assert_int_equal(tw_runtime_run(rt), -EBUSY);
    assert_int_equal(tw_runtime_free(rt), 0);
    rt = started_runtime((struct tw_runtime_options){.driver = "epoll"});
    assert_int_equal(tw_runtime_run(rt), -EBUSY);
    assert_int_equal(tw_runtime_free(rt), 0);
    assert_int_equal(tw_runtime_run(NULL), -EINVAL);
}
