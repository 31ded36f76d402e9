/* Starts and stops a runtime thousands of times while other threads arm and callbacks stop it.
 * No arming is lost, and nothing fires while it is stopped. */
#include "support/environment.h"
#include "support/faults.h"
#include "support/sanitized.h"

#include <sched.h>

/* Making a thread takes qemu-user some milliseconds. */
static unsigned lives(void) { return EMULATED ? 400 : SLOW ? 1000 : is_nightly() ? 10000 : 3000; }
#define LIVES lives()

static struct tw_runtime *rt;

TEST_EACH_WAY(thousands_of_runtimes) {
    const struct holdings before = holdings_now();
    for (unsigned i = 0; i < LIVES; ++i) {
        rt = runtime_on(WAY->driver);
        if (i % 10 == 0 && WAY->by != BY_VIRTUAL_TIME)
            set_going(WAY, rt);
        assert_int_equal(tw_runtime_free(rt), 0);
    }
    assert_nothing_leaked(before);
}

/* --- threads that arm at the same time ------------------------------------------------------- */

#define ARMERS 2
#define OWN_NODES 16

static atomic_bool arming;

/* Every arming ends as a fire, a cancellation, or a node that is still pending. */
struct armer {
    pthread_t thread;
    struct counter nodes[OWN_NODES];
    uint64_t armed, cancelled, refused;
};

static struct armer armers[ARMERS];

static void arm_or_cancel(struct armer *self, struct tw_node *node, unsigned turn) {
    const int64_t delay = turn % 7 == 0 ? TW_MILLISECOND : 0;
    int result = turn % 5 == 0 ? tw_runtime_cancel_wait(rt, node) : tw_runtime_move(rt, node, delay);
    if (turn % 5 == 0)
        self->cancelled += result == 1;
    else if (result == -ENOENT) { /* this thread alone arms the node, so each arming is a new one */
        result = tw_runtime_after(rt, node, delay);
        self->armed += result == 0;
    }
    self->refused += result < 0;
}

static void *arm_again_and_again(void *arg) {
    struct armer *self = arg;
    for (unsigned turn = 0; atomic_load(&arming); ++turn) {
        arm_or_cancel(self, &self->nodes[turn % OWN_NODES].node, turn);
        if (turn % 64 == 0)
            sched_yield();
    }
    return NULL;
}

static void begin_arming(void) {
    atomic_store(&arming, true);
    for (size_t i = 0; i < ARMERS; ++i) {
        memset(&armers[i], 0, sizeof armers[i]);
        for (size_t k = 0; k < OWN_NODES; ++k)
            init_counter(&armers[i].nodes[k]);
        assert_int_equal(pthread_create(&armers[i].thread, NULL, arm_again_and_again, &armers[i]), 0);
    }
}

static void end_arming(void) {
    atomic_store(&arming, false);
    for (size_t i = 0; i < ARMERS; ++i)
        pthread_join(armers[i].thread, NULL);
}

/* REQUIRES: runtime stopped */
static void assert_all_accounted_for(void) {
    uint64_t armed = 0, ended = tw_runtime_count(rt);
    for (size_t i = 0; i < ARMERS; ++i) {
        assert_int_equal(armers[i].refused, 0);
        armed += armers[i].armed;
        ended += armers[i].cancelled;
        for (size_t k = 0; k < OWN_NODES; ++k)
            ended += atomic_load(&armers[i].nodes[k].fires);
    }
    assert_true(armed > 0);
    assert_int_equal(armed, ended);
}

TEST_BY_EACH_THREAD(thousands_of_starts_and_stops_while_others_arm) {
    const struct holdings before = holdings_now();
    rt = runtime_on(WAY->driver);
    begin_arming();
    for (unsigned i = 0; i < LIVES; ++i) {
        assert_int_equal(tw_runtime_start(rt), 0);
        assert_int_equal(tw_runtime_start(rt), -EALREADY);
        assert_int_equal(tw_runtime_stop(rt), 0);
        assert_int_equal(tw_runtime_stop(rt), 0);
    }
    end_arming();
    assert_all_accounted_for();
    assert_works_and_free(WAY, rt);
    assert_nothing_leaked(before);
}

/* Counts fires after tw_runtime_stop has returned. */
static atomic_bool stopped;
static atomic_uint fires, fires_while_stopped;

static void note_if_stopped(UNUSED struct tw_node *node, UNUSED void *arg) {
    atomic_fetch_add(&fires, 1);
    atomic_fetch_add(&fires_while_stopped, atomic_load(&stopped));
    for (volatile unsigned i = 0; i < 1000; ++i) {
    }
    atomic_fetch_add(&fires_while_stopped, atomic_load(&stopped));
}

static unsigned fires_to_see;

TEST_BY_EACH_THREAD(no_callback_runs_once_stop_has_returned) {
    struct tw_node nodes[8];
    atomic_store(&fires, 0);
    atomic_store(&fires_while_stopped, 0);
    const struct tw_when often = {.period_ns = 10 * TW_MICROSECOND};
    const struct tw_runtime_options options = {.driver = WAY->driver, .tick_ns = 10 * TW_MICROSECOND};
    assert_int_equal(tw_runtime_new(&rt, &options), 0);
    for (size_t i = 0; i < COUNT_OF(nodes); ++i) {
        tw_node_init(&nodes[i], note_if_stopped, NULL);
        assert_int_equal(tw_runtime_arm(rt, &nodes[i], &often), 0);
    }
    for (unsigned i = 0; i < 300; ++i) {
        fires_to_see = atomic_load(&fires) + 3;
        atomic_store(&stopped, false);
        assert_int_equal(tw_runtime_start(rt), 0);
        wait_for(fires >= fires_to_see);
        assert_int_equal(tw_runtime_stop(rt), 0);
        atomic_store(&stopped, true);
    }
    tw_runtime_free(rt);
    assert_int_equal(fires_while_stopped, 0);
}

/* --- callbacks that stop while other threads stop and start ---------------------------------- */

static atomic_bool others_go_on;
static atomic_uint stops_inside;

static void stop_here(UNUSED struct tw_node *node, UNUSED void *arg) {
    tw_runtime_stop(rt);
    atomic_fetch_add(&stops_inside, 1);
}

static void *stop_again_and_again(UNUSED void *arg) {
    while (atomic_load(&others_go_on)) {
        tw_runtime_stop(rt);
        sched_yield();
    }
    return NULL;
}

static bool many_stops_inside(void) { return atomic_load(&stops_inside) >= 500; }

static void *start_again_and_again(UNUSED void *arg) {
    while (atomic_load(&others_go_on)) {
        IGNORE(tw_runtime_start(rt));
        sched_yield();
    }
    return NULL;
}

TEST_BY_EACH_THREAD(callbacks_stop_while_another_thread_stops_and_a_third_starts) {
    const struct holdings before = holdings_now();
    pthread_t stopper, starter;
    struct tw_node nodes[4];
    rt = runtime_on(WAY->driver);
    atomic_store(&stops_inside, 0);
    atomic_store(&others_go_on, true);
    for (size_t i = 0; i < COUNT_OF(nodes); ++i) {
        tw_node_init(&nodes[i], stop_here, NULL);
        assert_int_equal(tw_runtime_every(rt, &nodes[i], TW_MILLISECOND, TW_BURST), 0);
    }
    assert_int_equal(pthread_create(&starter, NULL, start_again_and_again, NULL), 0);
    assert_int_equal(pthread_create(&stopper, NULL, stop_again_and_again, NULL), 0);
    const bool many = go_on_until(&ways[0], NULL, many_stops_inside);
    atomic_store(&others_go_on, false);
    pthread_join(starter, NULL);
    pthread_join(stopper, NULL);
    assert_true(many);
    for (size_t i = 0; i < COUNT_OF(nodes); ++i)
        tw_runtime_cancel_wait(rt, &nodes[i]);
    assert_int_equal(tw_runtime_stop(rt), 0);
    assert_works_and_free(WAY, rt);
    assert_nothing_leaked(before);
}
