/* P13: in the child of a fork there is no worker, nothing waits and nothing runs until
 * tw_runtime_after_fork. The parent is unaffected. */
#include "support/child.h"
#include "workers_test.h"

static struct tw_work held, items[10];

/* A worker runs `held`; another fire of it waits, and so do fires of all the other work items. */
static void begin(void) {
    shut(&gate);
    atomic_store(&runs, 0);
    rt = new_runtime(by_hand);
    pool = new_pool(rt, (struct tw_workers_options){.threads = 1});
    hold_a_worker(&held, &gate);
    fire(&held);
    for (unsigned i = 0; i < COUNT_OF(items); ++i) {
        assert_ok(tw_work_init(&items[i], pool, count, NULL, i % 2));
        fire(&items[i]);
    }
    wait_until_others_sleep();
}

static void end(void) {
    atomic_store(&gate.open, true);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(runs, COUNT_OF(items));
    assert_int_equal(gate.passed, 2);
    assert_ok(tw_runtime_free(rt));
}

static void everything_is_refused(void) {
    struct tw_worker_stats stats;
    struct tw_workers *more;
    struct tw_work item;
    expect(tw_workers_new(&more, rt, NULL) == -ECHILD);
    expect(tw_workers_free(pool) == -ECHILD);
    expect(tw_workers_wait(pool) == -ECHILD);
    expect(tw_workers_stats(pool, &stats) == -ECHILD);
    expect(tw_work_init(&item, pool, count, NULL, 0) == -ECHILD);
    expect(tw_runtime_cancel(rt, &items[0].node) == -ECHILD);
}

/* The work items can be used without initialising them again. */
static void pool_works_again(void) {
    struct tw_worker_stats stats;
    expect(tw_runtime_after_fork(rt) == 0);
    expect(tw_workers_stats(pool, &stats) == 0 && stats.waiting == 0 && stats.running == 0);
    for (unsigned i = 0; i < COUNT_OF(items); ++i)
        expect(tw_runtime_cancel_wait(rt, &items[i].node) == 0);
    expect(tw_runtime_retire(rt, &held.node) == 0);
    for (unsigned i = 0; i < 2 * COUNT_OF(items); ++i)
        expect(tw_runtime_after(rt, &items[i / 2].node, 0) == 0 && tw_runtime_advance(rt, 0) == 0);
    expect(tw_workers_wait(pool) == 0);
    expect(runs == 2 * COUNT_OF(items));
    expect(tw_workers_free(pool) == 0);
}

TEST(p13_the_child_has_an_empty_pool_that_works_once_it_is_revived) {
    begin();
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        everything_is_refused();
        if (THREADS_AFTER_FORK)
            pool_works_again();
        expect(tw_runtime_free(rt) == 0);
        leave(0);
    }
    assert_child_is_well(child);
    end();
}

/* --- from inside a run ------------------------------------------------------------------------ */

static atomic_int status_of_child;
enum { LEAVES, RETURNS, FREES_AND_RETURNS };

static void fork_in_run(UNUSED struct tw_node *node, void *arg) {
    const int does = *(const int *)arg;
    wait_until_others_sleep();
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        expect(tw_runtime_after_fork(rt) == -EBUSY);
        if (does == LEAVES)
            leave(0);
        if (does == FREES_AND_RETURNS)
            expect(tw_runtime_free(rt) == 0);
        leave_with_the_thread();
        return;
    }
    int status = -1;
    waitpid(child, &status, 0);
    atomic_store(&status_of_child, status);
    atomic_fetch_add(&runs, 1);
}

/* Forks in an inline run, because the only worker is held. A work item that would not end waits behind, and
 * must not run in the child. Forks on a worker: free_or_fork_anywhere.c. */
static void fork_in_place(int does) {
    struct tw_work forks;
    shut(&gate);
    atomic_store(&runs, 0);
    atomic_store(&status_of_child, -1);
    rt = new_runtime((struct tw_runtime_options){0});
    pool = new_pool(rt, (struct tw_workers_options){.threads = 1, .queue = 1});
    init_item(&forks, pool, fork_in_run, &does);
    init_item(&items[0], pool, wait_in_gate, &gate);
    init_item(&held, pool, wait_in_gate, &gate);
    assert_ok(tw_runtime_start(rt));
    assert_ok(tw_runtime_after(rt, &held.node, 0));
    wait_for(atomic_load(&gate.inside) == 1);
    assert_ok(tw_runtime_after(rt, &forks.node, 0));
    assert_ok(tw_runtime_after(rt, &items[0].node, 0));
    wait_for(atomic_load(&runs) == 1);
    assert_int_equal(status_of_child, 0);
    wait_for(stats_of(pool).inlined == 1);
    atomic_store(&gate.open, true);
    wait_for(atomic_load(&gate.passed) == 2);
    assert_ok(tw_workers_wait(pool));
    assert_ok(tw_runtime_free(rt));
}

TEST(p13_a_run_in_place_may_fork) {
    for (int does = LEAVES; does <= (THREADS_AFTER_FORK ? FREES_AND_RETURNS : LEAVES); ++does)
        fork_in_place(does);
}

static pid_t child_of_run = -1;

static void fork_and_return(UNUSED struct tw_node *node, UNUSED void *arg) {
    wait_until_others_sleep();
    child_of_run = fork();
}

TEST(p13_a_run_in_place_may_fork_and_the_child_may_use_the_pool) {
    struct tw_work forks;
    shut(&gate);
    atomic_store(&runs, 0);
    rt = new_runtime(by_hand);
    pool = new_pool(rt, (struct tw_workers_options){.threads = 1, .queue = 1});
    hold_a_worker(&held, &gate);
    init_item(&forks, pool, fork_and_return, NULL);
    for (unsigned i = 0; i < COUNT_OF(items); ++i)
        init_item(&items[i], pool, count, NULL);
    fire(&forks);
    assert_ok(tw_runtime_after(rt, &items[0].node, 0));
    const int result = tw_runtime_advance(rt, 0);
    if (child_of_run == 0) {
        alarm(60);
        expect(result == -ECHILD);
        if (THREADS_AFTER_FORK) {
            expect(tw_runtime_after_fork(rt) == 0);
            expect(tw_runtime_after(rt, &items[0].node, 0) == 0 && tw_runtime_advance(rt, 0) == 0);
            expect(tw_workers_wait(pool) == 0 && runs == 1);
            expect(tw_workers_free(pool) == 0);
        }
        expect(tw_runtime_free(rt) == 0);
        leave(0);
    }
    assert_ok(result);
    assert_child_is_well(child_of_run);
    atomic_store(&gate.open, true);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(runs, 1);
    assert_ok(tw_runtime_free(rt));
}

/* --- during calls ---------------------------------------------------------------------------- */

TEST(p13_a_fork_amid_runs_leaves_a_pool_in_one_piece) {
    static struct tw_work busy[50];
    rt = started_runtime((struct tw_runtime_options){.tick_ns = 50000});
    pool = new_pool(rt, (struct tw_workers_options){.threads = 3, .queue = 10});
    wait_until_others_sleep();
    for (unsigned i = 0; i < COUNT_OF(busy); ++i) {
        assert_ok(tw_work_init(&busy[i], pool, count, NULL, i % 2));
        assert_ok(tw_runtime_every(rt, &busy[i].node, 50000, TW_COALESCE));
    }
    for (int i = 0; i < 40; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);
            if (THREADS_AFTER_FORK) {
                expect(tw_runtime_after_fork(rt) == 0);
                const int before = runs;
                expect(tw_runtime_start(rt) == 0);
                expect(tw_runtime_every(rt, &busy[i % 50].node, 50000, TW_COALESCE) == 0);
                while (runs < before + 5)
                    doze();
            }
            expect(tw_runtime_free(rt) == 0);
            leave(0);
        }
        assert_child_is_well(child);
    }
    assert_ok(tw_runtime_free(rt));
}
