/* P4 and P7 for owners of nodes: once tw_runtime_free has returned, none of their nodes is
 * pending, so they may free them on other threads, while callbacks still run. Callbacks that
 * keep arming on other threads get an error. */
#include "support/child.h"
#include "support/runtime_test.h"

#include <pthread.h>
#include <stdbool.h>

#include <tickwheel/handle.h>
#include <tickwheel/workers.h>

enum { OWNERS = 4, NODES = 200 };

static struct tw_runtime *rt;
static struct tw_workers *pool;
static pthread_barrier_t is_freed;
static atomic_bool all_gave_back;
static atomic_int owners_left, closed;
static void (*close_it)(void *state);

static void never(UNUSED struct tw_node *node, UNUSED void *arg) { abort(); }

static void close_and_tell(void *state) {
    close_it(state);
    atomic_store(&closed, 1);
}

/* Owns nodes on both timelines and on many levels, and frees them as soon as that is allowed. */
static void *own(void *arg) {
    struct tw_node *nodes = calloc(NODES, sizeof *nodes);
    uint64_t seed = (uintptr_t)arg;
    for (unsigned i = 0; i < NODES; ++i) {
        const int64_t delay = 3600 * TW_SECOND + (int64_t)random_below(&seed, (uint64_t)1 << 50);
        tw_node_init(&nodes[i], never, NULL);
        if (i % 2 == 0)
            assert_int_equal(tw_runtime_after(rt, &nodes[i], delay), 0);
        else if (i % 3 == 0)
            assert_int_equal(tw_runtime_at(rt, &nodes[i], tw_runtime_now(rt) + delay), 0);
        else
            assert_int_equal(
                tw_runtime_every(rt, &nodes[i], delay / TW_MILLISECOND * TW_MILLISECOND, TW_SKIP), 0);
    }
    pthread_barrier_wait(&is_freed); /* all owners have armed their nodes */
    pthread_barrier_wait(&is_freed);
    memset(nodes, 0xa5, NODES * sizeof *nodes);
    free(nodes);
    if (atomic_fetch_sub(&owners_left, 1) == 1)
        atomic_store(&all_gave_back, true);
    return NULL;
}

/* Returns when every owner has freed its nodes. */
static void free_runtime(void) {
    pthread_barrier_wait(&is_freed);
    if (tw_runtime_free(rt) != 0)
        abort();
    pthread_barrier_wait(&is_freed);
    while (!atomic_load(&all_gave_back))
        doze();
}

static void free_in_callback(UNUSED struct tw_node *node, UNUSED void *arg) { free_runtime(); }
static void free_in_drop(UNUSED void *arg) { free_runtime(); }
static void on_event(UNUSED const struct tw_event *event, UNUSED void *arg) {}

/* --- where it is freed ----------------------------------------------------------------------- */

static void in_callback(void) {
    static struct tw_node node;
    tw_node_init(&node, free_in_callback, NULL);
    assert_ok(tw_runtime_after(rt, &node, 0));
    assert_ok(tw_runtime_start(rt));
}

static void in_run(void) {
    static struct tw_job job;
    assert_ok(tw_job_init(&job, pool, free_in_callback, NULL, 0));
    assert_ok(tw_runtime_after(rt, &job.node, 0));
    assert_ok(tw_runtime_start(rt));
}

static void start_and_stop(bool starts_thread) {
    struct tw_handles *set = NULL;
    tw_handle id;
    const struct tw_when in_an_hour = {.due_ns = 3600 * TW_SECOND};
    const struct tw_task task = {.fn = on_event, .drop = free_in_drop};
    assert_ok(tw_handles_new(&set, rt, NULL));
    assert_ok(tw_handle_start(set, &id, &in_an_hour, &task));
    if (starts_thread)
        assert_ok(tw_runtime_start(rt));
    assert_int_equal(tw_handle_stop(set, id), 1);
    assert_int_equal(closed, 1);
}

static void in_call(void) { start_and_stop(false); }
static void in_call_beside_a_thread(void) { start_and_stop(true); }

static void give_back_when_freed(void (*where)(void), const char *driver, enum tw_clock clock) {
    pthread_t owners[OWNERS];
    struct tw_driver watched = *tw_driver_named(driver);
    close_it = watched.close;
    watched.close = close_and_tell;
    pthread_barrier_init(&is_freed, NULL, OWNERS + 1);
    atomic_store(&all_gave_back, false);
    atomic_store(&owners_left, OWNERS);
    atomic_store(&closed, 0);
    rt = new_runtime((struct tw_runtime_options){.own_driver = &watched, .clock = clock});
    assert_ok(tw_workers_new(&pool, rt, &(struct tw_workers_options){.threads = 1}));
    for (unsigned i = 0; i < OWNERS; ++i)
        assert_int_equal(pthread_create(&owners[i], NULL, own, (void *)(uintptr_t)(i + 1)), 0);
    where();
    for (unsigned i = 0; i < OWNERS; ++i)
        pthread_join(owners[i], NULL);
    wait_for(closed == 1);
    pthread_barrier_destroy(&is_freed);
}

TEST(owners_give_back_as_soon_as_free_has_returned) {
    void (*const places[])(void) = {in_callback, in_run, in_call, in_call_beside_a_thread};
    for (unsigned p = 0; p < COUNT_OF(places); ++p) {
        for (unsigned d = 0; d < thread_drivers_here(); ++d)
            give_back_when_freed(places[p], thread_drivers[d], TW_CLOCK_DEFAULT);
        give_back_when_freed(places[p], "epoll", TW_CLOCK_WALL);
    }
}

/* --- other callbacks that keep running ------------------------------------------------------- */

static atomic_bool runs, was_refused;
static atomic_int refusal;

/* Arms a node of its own until arming is refused. */
static void arm_until_refused(UNUSED struct tw_node *node, UNUSED void *arg) {
    struct tw_node *const own_node = malloc(sizeof *own_node);
    int result;
    tw_node_init(own_node, never, NULL);
    atomic_store(&runs, true);
    do
        result = tw_runtime_after(rt, own_node, 3600 * TW_SECOND);
    while (result >= 0);
    atomic_store(&refusal, result);
    tw_runtime_cancel(rt, own_node); /* it may still be pending if tw_runtime_free has not returned */
    memset(own_node, 0xa5, sizeof *own_node);
    free(own_node);
    atomic_store(&was_refused, true);
}

static void free_when_the_other_runs(UNUSED struct tw_node *node, UNUSED void *arg) {
    while (!atomic_load(&runs))
        doze();
    if (tw_runtime_free(rt) != 0)
        abort();
    while (!atomic_load(&was_refused))
        doze();
}

TEST(callbacks_that_go_on_arming_are_told) {
    for (int by_worker = 0; by_worker <= 1; ++by_worker)
        for (unsigned times = 0; times < 20; ++times) {
            static struct tw_job arms, frees;
            static struct tw_node frees_here;
            struct tw_driver watched = *tw_driver_named("sleep");
            close_it = watched.close;
            watched.close = close_and_tell;
            atomic_store(&runs, false);
            atomic_store(&was_refused, false);
            atomic_store(&closed, 0);
            rt = new_runtime((struct tw_runtime_options){.own_driver = &watched});
            assert_ok(tw_workers_new(&pool, rt, &(struct tw_workers_options){.threads = 2}));
            assert_ok(tw_job_init(&arms, pool, arm_until_refused, NULL, 0));
            assert_ok(tw_job_init(&frees, pool, free_when_the_other_runs, NULL, 0));
            tw_node_init(&frees_here, free_when_the_other_runs, NULL);
            assert_ok(tw_runtime_after(rt, &arms.node, 0));
            assert_ok(tw_runtime_after(rt, by_worker ? &frees.node : &frees_here, 0));
            assert_ok(tw_runtime_start(rt));
            wait_for(closed == 1);
            assert_int_equal(refusal, -ESHUTDOWN);
        }
}
