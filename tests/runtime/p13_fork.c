/* P13: a fork copies a runtime but not its thread. In the child nothing fires and every call
 * is refused until tw_runtime_after_fork. The parent is unaffected. */
#define _GNU_SOURCE
#include "runtime/node_calls.h"
#include "support/child.h"

#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>

#include <tickwheel/observe.h>

/* Shared by parent and child. */
struct board {
    atomic_int parent;
    atomic_uint fires_in_parent, fires_in_child;
};
static struct board *board;

static void count(UNUSED struct tw_node *node, UNUSED void *arg) {
    atomic_fetch_add(getpid() == board->parent ? &board->fires_in_parent : &board->fires_in_child, 1);
}

static int make_board(UNUSED void **state) {
    if (board != NULL)
        return 0;
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        return -1;
    board->parent = getpid();
    return 0;
}

static struct tw_node once, often;
static struct tw_runtime *rt;

static void everything_is_refused(void) {
    struct tw_stats stats;
    expect(tw_runtime_start(rt) == -ECHILD);
    expect(tw_runtime_stop(rt) == -ECHILD);
    for (unsigned i = 0; i < NODE_CALLS; ++i)
        expect(node_calls[i].call(rt, i < ARMING_CALLS ? &once : &often) == -ECHILD);
    expect(tw_runtime_watch(rt, 0, 0, NULL, NULL) == -ECHILD);
    expect(tw_runtime_watch_modify(rt, 0, 0) == -ECHILD);
    expect(tw_runtime_unwatch(rt, 0) == -ECHILD);
    expect(tw_runtime_fd(rt) == -ECHILD);
    expect(tw_runtime_dispatch(rt) == -ECHILD);
    expect(tw_runtime_advance(rt, 1) == -ECHILD);
    expect(tw_runtime_leap(rt, 1) == -ECHILD);
    expect(tw_runtime_set_wall(rt, 1) == -ECHILD);
    expect(tw_runtime_stats(rt, &stats) == -ECHILD);
    expect(tw_runtime_check(rt, NULL, NULL) == -ECHILD);
    expect(tw_runtime_now(rt) == TW_NO_DEADLINE);
    expect(tw_runtime_remaining(rt, &often) == TW_NO_DEADLINE);
    expect(tw_runtime_due(rt) == TW_NO_DEADLINE);
    expect(tw_runtime_overruns(rt) == 0);
    expect(tw_runtime_count(rt) == 0);
}

static void child_waits(const atomic_uint *counter, unsigned least) {
    const int64_t patience = monotonic() + 60 * TW_SECOND;
    while (atomic_load(counter) < least) {
        expect(monotonic() < patience);
        doze();
    }
}

static void child_fires_again(void) {
    expect(tw_runtime_start(rt) == 0);
    doze();
    expect(board->fires_in_child == 0);
    /* a node needs no tw_node_init after the fork */
    expect(tw_runtime_every(rt, &often, TW_MILLISECOND, TW_BURST) == 0);
    expect(tw_runtime_after(rt, &once, 0) == 0);
    child_waits(&board->fires_in_child, 20);
    expect(tw_runtime_cancel_wait(rt, &often) == 1);
}

/* The parent keeps firing, several times, while nothing fires in the child. */
static void child_rests_and_is_revived(void) {
    const unsigned seen = board->fires_in_parent;
    everything_is_refused();
    child_waits(&board->fires_in_parent, seen + 20);
    expect(board->fires_in_child == 0);

    expect(tw_runtime_after_fork(rt) == 0);
    expect(tw_runtime_after_fork(rt) == 0); /* a second call does nothing */
    expect(tw_runtime_count(rt) == 0);
    expect(tw_runtime_cancel(rt, &often) == 0);
    if (THREADS_AFTER_FORK)
        child_fires_again();
    expect(tw_runtime_free(rt) == 0);
    leave(0);
}

static void with_a_fork_in_between(struct tw_runtime_options options) {
    atomic_store(&board->fires_in_parent, 0);
    atomic_store(&board->fires_in_child, 0);
    rt = started_runtime(options);
    tw_node_init(&once, count, NULL);
    tw_node_init(&often, count, NULL);
    assert_int_equal(tw_runtime_every(rt, &often, TW_MILLISECOND, TW_BURST), 0);
    wait_for(board->fires_in_parent > 5);
    wait_until_others_sleep();
    const pid_t child = fork();
    if (child == 0)
        child_rests_and_is_revived();
    assert_child_is_well(child);
    const unsigned by_then = board->fires_in_parent;
    wait_for(board->fires_in_parent > by_then + 5);
    assert_int_equal(tw_runtime_after_fork(rt), 0); /* has no effect outside a child */
    assert_int_equal(tw_runtime_cancel_wait(rt, &often), 1);
    assert_int_equal(tw_runtime_free(rt), 0);
}

FIXTURE(make_board, NULL);

TEST(p13_the_child_rests_until_it_is_revived) {
    for (unsigned d = 0; d < thread_drivers_here(); ++d)
        with_a_fork_in_between((struct tw_runtime_options){.driver = thread_drivers[d]});
    with_a_fork_in_between((struct tw_runtime_options){.driver = "epoll", .clock = TW_CLOCK_WALL});
}

/* --- forks while other threads are inside calls ---------------------------------------------- */

static atomic_bool over;
static atomic_uint hammering;
static struct tw_node hammered[2][64];

static void *hammer(void *arg) {
    struct tw_node *nodes = arg;
    atomic_fetch_add(&hammering, 1);
    for (unsigned i = 0; !over; ++i) {
        tw_runtime_after(rt, &nodes[i % 64], (int64_t)(i % 97) * 20000);
        if (i % 5 == 0)
            tw_runtime_at(rt, &nodes[i * 7 % 64], tw_runtime_now(rt) + 1000000);
        if (i % 3 == 0)
            tw_runtime_cancel_wait(rt, &nodes[(i / 2) % 64]);
    }
    return NULL;
}

static void child_makes_sure_that_all_locks_are_free(void) {
    alarm(60); /* a lock that is never released must fail the test and not hang it */
    expect(tw_runtime_after_fork(rt) == 0);
    for (unsigned k = 0; k < 2; ++k)
        for (unsigned i = 0; i < 64; ++i)
            expect(tw_runtime_after(rt, &hammered[k][i], 3600 * TW_SECOND) == 0);
    expect(tw_runtime_count(rt) == 128);
    expect(tw_runtime_free(rt) == 0);
    expect(board->fires_in_child == 0);
    leave(0);
}

static void forks_amid_calls(struct tw_runtime_options options) {
    pthread_t threads[2];
    atomic_store(&board->fires_in_child, 0);
    rt = started_runtime(options);
    wait_until_others_sleep();
    atomic_store(&over, false);
    atomic_store(&hammering, 0);
    for (unsigned k = 0; k < 2; ++k) {
        for (unsigned i = 0; i < 64; ++i)
            tw_node_init(&hammered[k][i], count, NULL);
        assert_int_equal(pthread_create(&threads[k], NULL, hammer, hammered[k]), 0);
    }
    wait_for(hammering == 2);
    for (unsigned i = 0; i < 60; ++i) {
        const pid_t child = fork();
        if (child == 0)
            child_makes_sure_that_all_locks_are_free();
        assert_child_is_well(child);
    }
    atomic_store(&over, true);
    for (unsigned k = 0; k < 2; ++k)
        pthread_join(threads[k], NULL);
    tw_runtime_free(rt);
}

TEST(p13_a_fork_finds_every_wheel_whole_whatever_other_threads_do) {
    forks_amid_calls((struct tw_runtime_options){.driver = "sleep"});
    forks_amid_calls((struct tw_runtime_options){.driver = "timerfd", .clock = TW_CLOCK_WALL});
}

/* --- a fork while another thread waits for a callback ------------------------------------------ */

static int to_callback[2];

static void wait_for_a_byte(struct tw_node *node, void *arg) {
    char byte;
    count(node, arg);
    IGNORE(read(to_callback[0], &byte, 1));
}

static void *stop(UNUSED void *arg) { return tw_runtime_stop(rt) == 0 ? rt : NULL; }

TEST(p13_a_child_may_start_and_stop_although_a_thread_of_the_parent_waits_in_a_stop) {
    pthread_t stopper;
    void *stopped;
    rt = started_runtime((struct tw_runtime_options){.driver = "sleep"});
    assert_int_equal(pipe(to_callback), 0);
    atomic_store(&board->fires_in_parent, 0);
    tw_node_init(&once, wait_for_a_byte, NULL);
    assert_int_equal(tw_runtime_after(rt, &once, 0), 0);
    wait_for(board->fires_in_parent == 1);
    assert_int_equal(pthread_create(&stopper, NULL, stop, NULL), 0);
    wait_until_others_sleep();
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        expect(tw_runtime_after_fork(rt) == 0);
        expect(!THREADS_AFTER_FORK || tw_runtime_start(rt) == 0);
        expect(tw_runtime_stop(rt) == 0);
        expect(tw_runtime_free(rt) == 0);
        leave(0);
    }
    assert_child_is_well(child);
    assert_int_equal(write(to_callback[1], "", 1), 1);
    pthread_join(stopper, &stopped);
    assert_ptr_equal(stopped, rt);
    tw_runtime_free(rt);
    close(to_callback[0]);
    close(to_callback[1]);
}

/* --- the parent's descriptor. Forks inside callbacks: free_or_fork_anywhere.c ------------------ */

static pid_t forked_child;

static void fork_and_return(struct tw_node *node, UNUSED void *arg) {
    forked_child = fork();
    if (forked_child == 0) {
        expect(tw_runtime_after_fork(rt) == -EBUSY);
        expect(tw_runtime_after(rt, node, 1) == -ECHILD);
    }
}

/* A child that returns to tw_runtime_dispatch must not set the timer that it shares with the
 * parent. */
TEST(p13_a_child_leaves_the_descriptor_of_the_parent_alone) {
    struct tw_node forker, later;
    rt = new_runtime((struct tw_runtime_options){.driver = "timerfd"});
    struct pollfd readable = {.fd = tw_runtime_fd(rt), .events = POLLIN};
    atomic_store(&board->fires_in_parent, 0);
    tw_node_init(&forker, fork_and_return, NULL);
    tw_node_init(&later, count, NULL);
    tw_runtime_after(rt, &forker, 0);
    const int result = tw_runtime_dispatch(rt);
    if (getpid() != board->parent)
        leave(result == -ECHILD ? 0 : 1);
    assert_int_equal(result, 0);
    assert_int_equal(tw_runtime_after(rt, &later, 100 * TW_MILLISECOND), 0);
    assert_child_is_well(forked_child);
    assert_int_equal(poll(&readable, 1, 60000), 1);
    while (board->fires_in_parent == 0)
        assert_int_equal(tw_runtime_dispatch(rt), 0);
    tw_runtime_free(rt);
}

TEST(p13_a_child_may_start_a_thread_where_the_parent_has_lent_its_descriptor) {
    rt = new_runtime((struct tw_runtime_options){.driver = "timerfd"});
    assert_true(tw_runtime_fd(rt) >= 0);
    tw_node_init(&once, count, NULL);
    const pid_t child = fork();
    if (child == 0) {
        struct tw_stats stats;
        expect(tw_runtime_after_fork(rt) == 0);
        expect(tw_runtime_after(rt, &once, 3600 * TW_SECOND) == 0);
        expect(tw_runtime_stats(rt, &stats) == 0);
        expect(stats.wakes == 0); /* only the parent's loop waits */
        expect(!THREADS_AFTER_FORK || tw_runtime_start(rt) == 0);
        expect(tw_runtime_free(rt) == 0);
        leave(0);
    }
    assert_child_is_well(child);
    assert_int_equal(tw_runtime_start(rt), -EBUSY);
    tw_runtime_free(rt);
}
