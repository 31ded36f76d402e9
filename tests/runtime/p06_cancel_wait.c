/* P6 and P7 on a runtime: cancel_wait and retire wait if the callback runs on another thread, and only
 * then. */
#include "support/gate.h"
#include "support/runtime_test.h"

#include <pthread.h>

static struct tw_runtime *rt;
static struct gate gate;
static struct tw_node blocker;

static void enter(const char *driver, int64_t period_ns) {
    shut(&gate);
    rt = started_runtime((struct tw_runtime_options){.driver = driver});
    tw_node_init(&blocker, wait_in_gate, &gate);
    if (period_ns)
        tw_runtime_every(rt, &blocker, period_ns, TW_COALESCE);
    else
        tw_runtime_after(rt, &blocker, 0);
    wait_for(gate.inside == 1);
}

typedef int end_function(struct tw_runtime *rt, struct tw_node *node);

struct ending {
    end_function *end;
    int answer;
    int passed_by_then;
    atomic_uint begun, returned;
};

static void *end_it(void *arg) {
    struct ending *ending = arg;
    atomic_store(&ending->begun, 1);
    ending->answer = ending->end(rt, &blocker);
    ending->passed_by_then = gate.passed;
    atomic_store(&ending->returned, 1);
    return NULL;
}

/* Several threads end the node at once: each must wait, and the return of the callback must wake each.
 * Returns how many prevented a fire. */
static int wait_for_callback_in_gate(end_function *end) {
    enum { WAITERS = 3 };
    pthread_t threads[WAITERS];
    struct ending endings[WAITERS] = {{.end = end}, {.end = end}, {.end = end}};
    for (unsigned i = 0; i < WAITERS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, end_it, &endings[i]), 0);
    int prevented = 0;
    for (unsigned i = 0; i < WAITERS; ++i)
        wait_for(endings[i].begun);
    for (unsigned i = 0; i < 10; ++i)
        doze(); /* time in which a thread that did not wait would return */
    for (unsigned i = 0; i < WAITERS; ++i)
        assert_int_equal(endings[i].returned, 0);
    atomic_store(&gate.open, true);
    for (unsigned i = 0; i < WAITERS; ++i) {
        pthread_join(threads[i], NULL);
        assert_int_equal(endings[i].passed_by_then, 1);
        prevented += endings[i].answer;
    }
    return prevented;
}

static void waits_for_the_callback(end_function *end, int64_t period_ns) {
    for (unsigned d = 0; d < thread_drivers_here(); ++d) {
        enter(thread_drivers[d], period_ns);
        /* exactly one of them cancelled the periodic node */
        assert_int_equal(wait_for_callback_in_gate(end), period_ns != 0);
        assert_int_equal(gate.inside + gate.passed, 1);
        tw_runtime_free(rt);
    }
}

TEST(p6_cancel_wait_waits_for_a_one_shot) { waits_for_the_callback(tw_runtime_cancel_wait, 0); }
TEST(p6_cancel_wait_waits_for_a_periodic) { waits_for_the_callback(tw_runtime_cancel_wait, TW_MILLISECOND); }
TEST(p6_retire_waits_for_a_one_shot) { waits_for_the_callback(tw_runtime_retire, 0); }
TEST(p6_retire_waits_for_a_periodic) { waits_for_the_callback(tw_runtime_retire, TW_MILLISECOND); }

/* --- nodes that a cancel_all hands out ------------------------------------------- */

static void *cancel_all_into_gate(UNUSED void *arg) {
    return tw_runtime_cancel_all(rt, wait_in_gate, &gate) == 0 ? NULL : &gate;
}

TEST(p6_cancel_wait_and_retire_wait_for_the_each_of_a_cancel_all_that_has_the_node) {
    end_function *const ends[] = {tw_runtime_cancel_wait, tw_runtime_retire};
    for (unsigned e = 0; e < COUNT_OF(ends); ++e) {
        pthread_t canceller;
        void *failure;
        shut(&gate);
        rt = virtual_runtime();
        tw_node_init(&blocker, wait_in_gate, &gate);
        assert_int_equal(tw_runtime_after(rt, &blocker, TW_SECOND), 0);
        assert_int_equal(pthread_create(&canceller, NULL, cancel_all_into_gate, NULL), 0);
        wait_for(gate.inside == 1);
        assert_int_equal(wait_for_callback_in_gate(ends[e]), 0);
        pthread_join(canceller, &failure);
        assert_null(failure);
        tw_runtime_free(rt);
    }
}

TEST(tw_runtime_due_has_a_deadline_only_on_the_thread_of_the_callback) {
    enter("sleep", 0);
    assert_int_equal(tw_runtime_due(rt), TW_NO_DEADLINE);
    atomic_store(&gate.open, true);
    tw_runtime_free(rt);
}

TEST(p6_cancel_does_not_wait_and_cancel_wait_only_for_its_own_node) {
    struct tw_node other;
    enter("sleep", 0);
    tw_node_init(&other, wait_in_gate, &gate);
    tw_runtime_after(rt, &other, 3600 * TW_SECOND);
    assert_int_equal(tw_runtime_cancel(rt, &blocker), 0);
    assert_int_equal(tw_runtime_cancel_wait(rt, &other), 1);
    assert_int_equal(gate.passed, 0);
    atomic_store(&gate.open, true);
    tw_runtime_free(rt);
}

/* --- from inside callbacks ---------------------------------------------------- */

static struct tw_node self, neighbour;
static int answers[4];
static atomic_uint neighbour_calls, done;

static void count_neighbour(UNUSED struct tw_node *node, UNUSED void *arg) {
    atomic_fetch_add(&neighbour_calls, 1);
}

static void end_all(struct tw_node *node, UNUSED void *arg) {
    answers[0] = tw_runtime_cancel_wait(rt, &neighbour); /* due on the same tick */
    answers[1] = tw_runtime_cancel_wait(rt, node);
    answers[2] = tw_runtime_retire(rt, node);
    answers[3] = tw_runtime_after(rt, node, 1);
    atomic_store(&done, 1);
}

TEST(p6_no_deadlock_from_inside_the_callback) {
    for (unsigned d = 0; d < thread_drivers_here(); ++d) {
        rt = new_runtime((struct tw_runtime_options){.driver = thread_drivers[d]});
        atomic_store(&done, 0);
        atomic_store(&neighbour_calls, 0);
        tw_node_init(&self, end_all, NULL);
        tw_node_init(&neighbour, count_neighbour, NULL);
        const struct tw_when when = {
            .due_ns = monotonic(), .absolute = 1, .period_ns = TW_SECOND, .missed = TW_BURST};
        tw_runtime_arm(rt, &self, &when);
        tw_runtime_arm(rt, &neighbour, &when);
        assert_ok(tw_runtime_start(rt));
        wait_for(done);
        assert_int_equal(tw_runtime_stop(rt), 0);
        assert_int_equal(answers[0], 1);
        assert_int_equal(answers[1], 1);
        assert_int_equal(answers[2], 0);
        assert_int_equal(answers[3], -EPERM);
        assert_int_equal(neighbour_calls, 0);
        assert_int_equal(tw_runtime_count(rt), 0);
        tw_runtime_free(rt);
    }
}

/* A callback may take a lock that another thread holds while it arms and cancels, because the
 * library holds none of its own during the callback (P7). */
static pthread_mutex_t users = PTHREAD_MUTEX_INITIALIZER;

static void take_users_lock(UNUSED struct tw_node *node, UNUSED void *arg) {
    pthread_mutex_lock(&users);
    pthread_mutex_unlock(&users);
    atomic_store(&done, 1);
}

TEST(p7_callbacks_run_with_no_lock_held) {
    for (unsigned d = 0; d < thread_drivers_here(); ++d) {
        atomic_store(&done, 0);
        tw_node_init(&self, take_users_lock, NULL);
        tw_node_init(&neighbour, count_neighbour, NULL);
        pthread_mutex_lock(&users);
        rt = started_runtime((struct tw_runtime_options){.driver = thread_drivers[d]});
        tw_runtime_after(rt, &self, 0);
        wait_for(tw_runtime_count(rt) == 0); /* the node is in its callback, or about to be */
        for (unsigned i = 0; i < 1000; ++i) {
            assert_int_equal(tw_runtime_after(rt, &neighbour, TW_SECOND), 0);
            assert_int_equal(tw_runtime_move(rt, &neighbour, 2 * TW_SECOND), 0);
            assert_int_equal(tw_runtime_cancel(rt, &neighbour), 1);
        }
        assert_int_equal(done, 0);
        pthread_mutex_unlock(&users);
        wait_for(done);
        tw_runtime_free(rt);
    }
}

static atomic_uint freed_nodes;

static void free_node(struct tw_node *node, UNUSED void *arg) {
    free(node);
    atomic_fetch_add(&freed_nodes, 1);
}

/* The call that arms must not access the node once the node may have fired. */
TEST(p7_a_node_may_be_gone_before_the_call_that_armed_it_returns) {
    enum { NODES = 20000 };
    for (unsigned d = 0; d < thread_drivers_here(); ++d) {
        rt = started_runtime((struct tw_runtime_options){.driver = thread_drivers[d], .tick_ns = 1});
        atomic_store(&freed_nodes, 0);
        for (unsigned i = 0; i < NODES; ++i) {
            struct tw_node *node = malloc(sizeof *node);
            assert_non_null(node);
            tw_node_init(node, free_node, NULL);
            const struct tw_when when = {.slack_ns = i % 3};
            assert_int_equal(i % 2 ? tw_runtime_arm(rt, node, &when) : tw_runtime_after(rt, node, 0), 0);
        }
        wait_for(freed_nodes == NODES);
        tw_runtime_free(rt);
    }
}
