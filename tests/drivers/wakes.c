/* Counts exactly the system calls of calls that arm. The first timer that is due before the end of a driver's
 * sleep costs one system call, which wakes the driver. Then arming costs none until the driver sleeps again,
 * however many timers a thread arms. */
#include "support/faults.h"
#include "support/gate.h"

#include <poll.h>

/* MANY: calls that arm. NODES: so few that a driver sleeps until the earliest deadline, and not until
 * look-ahead. */
enum { MANY = 1000, NODES = 20 };
#define HOUR (3600 * TW_SECOND)

static struct tw_runtime *rt;
static struct tw_node nodes[NODES];
static struct gate ended; /* holds the thread after its wait, see below */

static int64_t delay; /* of the node that was armed last */

static int init_nodes(UNUSED void **state) {
    delay = HOUR;
    for (unsigned i = 0; i < NODES; ++i)
        IGNORE(tw_node_init(&nodes[i], no_callback, NULL));
    return 0;
}

static int free_runtime(UNUSED void **state) {
    atomic_store(&ended.open, true);
    if (rt != NULL)
        tw_runtime_free(rt);
    rt = NULL;
    return 0;
}

FIXTURE(init_nodes, free_runtime);

/* All system calls by which a thread wakes a driver. */
static unsigned own_calls(void) {
    return (unsigned)(own_calls_of(CALL_TIMERFD_SETTIME) + own_calls_of(CALL_WRITE) +
                      own_calls_of(CALL_FUTEX_WAKE));
}

/* Arms nodes many times, each time with an earlier deadline. Returns how many such system calls that has
 * made. */
static unsigned calls_to_arm_many(void) {
    const unsigned before = own_calls();
    for (unsigned i = 0; i < MANY; ++i)
        assert_in_range(tw_runtime_after(rt, &nodes[i % NODES], delay -= 100 * TW_MILLISECOND), 0, 1);
    return own_calls() - before;
}

/* --- the runtime's thread ---------------------------------------------------------------------- */

/* A driver that holds the thread in the gate when its wait has ended, so that the runtime does not know yet
 * that the driver is awake. */
static const struct tw_driver *inner;
static atomic_uint waits;

static int wait_and_pass_gate(void *state, const struct tw_deadlines *until) {
    atomic_fetch_add(&waits, 1);
    const int slept = inner->wait_until(state, until);
    pass(&ended);
    return slept;
}

TEST_BY_EACH_THREAD(many_timers_armed_while_the_driver_sleeps_wake_it_by_one_call) {
    static struct tw_driver gated;
    inner = tw_driver_named(WAY->driver);
    gated = *inner;
    gated.wait_until = wait_and_pass_gate;
    shut(&ended);
    atomic_store(&waits, 0);
    rt = new_runtime((struct tw_runtime_options){.own_driver = &gated});
    assert_int_equal(calls_to_arm_many(), 0); /* there is no thread yet */
    assert_ok(tw_runtime_start(rt));
    for (unsigned sleep = 1; sleep <= 3; ++sleep) {
        wait_for(waits == sleep);
        assert_int_equal(calls_to_arm_many(), 1);
        wait_for(ended.inside == 1);
        assert_int_equal(calls_to_arm_many(), 0);
        atomic_store(&ended.open, true);
        wait_for(ended.passed == 1);
        shut(&ended);
    }
}

/* --- callbacks --------------------------------------------------------------------------------- */

static atomic_int in_callback;

static void arm_in_callback(UNUSED struct tw_node *node, UNUSED void *arg) {
    atomic_store(&in_callback, (int)calls_to_arm_many());
}

static bool callback_has_run(void) { return in_callback >= 0; }

TEST_IN_REAL_TIME(many_timers_armed_in_a_callback_wake_nothing) {
    struct tw_node node;
    rt = runtime_on(WAY->driver);
    set_going(WAY, rt);
    atomic_store(&in_callback, -1);
    IGNORE(tw_node_init(&node, arm_in_callback, NULL));
    assert_ok(tw_runtime_after(rt, &node, 0));
    assert_true(go_on_until(WAY, rt, callback_has_run));
    assert_int_equal(in_callback, 0);
}

/* --- the program's loop ------------------------------------------------------------------------ */

static bool is_readable(int fd) {
    struct pollfd descriptor = {fd, POLLIN, 0};
    return poll(&descriptor, 1, 0) == 1;
}

static void *arm_many_elsewhere(UNUSED void *arg) { return (void *)(uintptr_t)calls_to_arm_many(); }

static unsigned calls_to_arm_many_elsewhere(void) {
    pthread_t thread;
    void *calls;
    assert_int_equal(pthread_create(&thread, NULL, arm_many_elsewhere, NULL), 0);
    pthread_join(thread, &calls);
    return (unsigned)(uintptr_t)calls;
}

/* A turn of the loop: it arms, polls and dispatches. */
TEST_ONE_WAY(many_timers_armed_in_a_turn_of_a_loop_make_two_calls, 3) {
    rt = runtime_on(WAY->driver);
    assert_int_equal(calls_to_arm_many(), 0); /* no loop has the descriptor yet */
    const int fd = tw_runtime_fd(rt);
    assert_ok(fd);
    for (unsigned turn = 0; turn < 4; ++turn) {
        const unsigned elsewhere = turn % 2; /* turn 0: the descriptor was never dispatched */
        assert_false(is_readable(fd));
        assert_int_equal(elsewhere ? calls_to_arm_many_elsewhere() : calls_to_arm_many(), 1);
        assert_true(is_readable(fd));
        assert_int_equal(calls_to_arm_many(), 0);
        assert_int_equal(tw_runtime_fd(rt), fd); /* a second call leaves it readable */
        assert_int_equal(tw_runtime_fd(rt), fd);
        assert_true(is_readable(fd));
        assert_int_equal(calls_to_arm_many(), 0);
        const unsigned before = own_calls();
        assert_ok(tw_runtime_dispatch(rt));
        assert_int_equal(own_calls() - before, 1);
    }
}
