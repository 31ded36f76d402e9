/* The uring driver: the errors where the system refuses io_uring, the number of system calls that its waits
 * make, and that the child of a fork leaves the parent's ring alone. The tests of all drivers cover the
 * rest. */
#include "support/child.h"
#include "support/faults.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <tickwheel/observe.h>

/* --- refused -------------------------------------------------------------------------- */

static void assert_refused(int error, const char *because) {
    const struct tw_runtime_options options = {.driver = "uring"};
    const struct holdings before = holdings_now();
    struct tw_runtime *rt = NULL;
    assert_int_equal(tw_runtime_new(&rt, &options), error);
    assert_null(rt);
    assert_non_null(strstr(tw_explain(error), because));
    assert_nothing_leaked(before);
}

TEST(new_tells_a_kernel_that_lacks_it_from_a_system_that_forbids_it) {
    static const struct {
        int from_system, error;
        const char *because;
    } refusals[] = {
        {ENOSYS, -ENOSYS, "Linux 6.1"}, /* no io_uring */
        {EINVAL, -ENOSYS, "Linux 6.1"}, /* io_uring without what the driver needs */
        {EPERM, -EPERM, "kernel.io_uring_disabled"},
        {EACCES, -EPERM, "kernel.io_uring_disabled"},
        {ENOMEM, -ENOMEM, "out of memory"},
        {EMFILE, -EMFILE, "out of descriptors"},
    };
    for (size_t i = 0; i < COUNT_OF(refusals); ++i) {
        inject(ONLY(CALL_URING_SETUP), refusals[i].from_system, 0, 1);
        assert_refused(refusals[i].error, refusals[i].because);
    }
    inject_nothing();
}

/* tw_runtime_new refuses the driver there. */
TEST(new_finds_a_sandbox_that_forbids_but_a_part_of_it) {
    static const enum call parts[] = {CALL_URING_BEGIN, CALL_URING_ENTER};
    if (!has_uring())
        skip();
    for (size_t i = 0; i < COUNT_OF(parts); ++i) {
        inject(ONLY(parts[i]), EPERM, 0, 1);
        assert_refused(-EPERM, "sandbox");
    }
    inject_nothing();
}

/* --- system calls -------------------------------------------------------------------------- */

static struct tw_runtime *rt;
static atomic_uint fires;

static void count_fires(UNUSED struct tw_node *node, UNUSED void *arg) { atomic_fetch_add(&fires, 1); }

TEST_ONE_WAY(a_wait_is_one_system_call, 5) {
    struct tw_node node;
    struct tw_stats stats;
    rt = runtime_on(WAY->driver);
    atomic_store(&fires, 0);
    tw_node_init(&node, count_fires, NULL);
    assert_int_equal(tw_runtime_every(rt, &node, 5 * TW_MILLISECOND, TW_BURST), 0);
    const uint64_t entered = calls_of(CALL_URING_ENTER), set = calls_of(CALL_TIMERFD_SETTIME);
    assert_int_equal(tw_runtime_start(rt), 0);
    wait_for(fires >= 50);
    tw_runtime_stop(rt);
    tw_runtime_stats(rt, &stats);
    tw_runtime_free(rt);
    assert_int_equal(calls_of(CALL_TIMERFD_SETTIME), set);
    assert_in_range(calls_of(CALL_URING_ENTER) - entered, 1, stats.wakeups + 2);
    assert_in_range(stats.wakeups, 1, atomic_load(&fires) + 2);
}

static void fire_again(struct tw_node *node, UNUSED void *arg) {
    if (atomic_fetch_add(&fires, 1) < 2000)
        tw_runtime_after(rt, node, 0);
}

/* Each turn fires one timer, and another one is due already. */
TEST_ONE_WAY(a_turn_without_time_to_sleep_makes_no_system_call, 5) {
    struct tw_node node;
    const struct tw_runtime_options options = {
        .driver = WAY->driver, .tick_ns = 3600 * TW_SECOND, .budget = 1};
    assert_int_equal(tw_runtime_new(&rt, &options), 0);
    atomic_store(&fires, 0);
    tw_node_init(&node, fire_again, NULL);
    assert_int_equal(tw_runtime_after(rt, &node, 0), 0);
    const uint64_t entered = calls_of(CALL_URING_ENTER);
    assert_int_equal(tw_runtime_start(rt), 0);
    wait_for(fires > 2000);
    tw_runtime_free(rt);
    assert_in_range(calls_of(CALL_URING_ENTER) - entered, 1, 20);
}

/* --- forks --------------------------------------------------------------------------------- */

static atomic_uint events;

static void empty_and_count(int fd, UNUSED uint32_t ready, UNUSED void *arg) {
    eventfd_t value;
    eventfd_read(fd, &value);
    atomic_fetch_add(&events, 1);
}

static bool goes_on(int fd) {
    struct counter once;
    const unsigned seen = atomic_load(&events);
    init_counter(&once);
    tw_runtime_after(rt, &once.node, 2 * TW_MILLISECOND);
    eventfd_write(fd, 1);
    wait_for(atomic_load(&once.fires) == 1 && atomic_load(&events) > seen);
    return true;
}

/* The child shares the ring's pages, and unmaps them while the parent's thread waits. */
TEST_ONE_WAY(the_child_of_a_fork_leaves_the_parents_ring_alone, 5) {
    struct tw_stats stats;
    const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    rt = runtime_on(WAY->driver);
    assert_int_equal(tw_runtime_watch(rt, fd, EPOLLIN, empty_and_count, NULL), 0);
    assert_int_equal(tw_runtime_start(rt), 0);
    for (unsigned i = 0; i < 6; ++i) {
        assert_true(goes_on(fd));
        wait_until_others_sleep();
        const pid_t child = fork();
        if (child == 0) {
            expect(i % 2 == 0 || tw_runtime_after_fork(rt) == 0);
            expect(i % 3 == 0 || tw_runtime_free(rt) == 0);
            leave(0);
        }
        assert_true(goes_on(fd));
        assert_child_is_well(child);
        assert_true(goes_on(fd));
    }
    tw_runtime_stats(rt, &stats);
    assert_int_equal(stats.wait_errors, 0);
    tw_runtime_free(rt);
    close(fd);
}
