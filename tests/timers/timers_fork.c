/* P13 for handles: in the child of a fork nothing fires and every call is refused until
 * tw_runtime_after_fork. Then the set is empty, and each argument was dropped once. */
#define _GNU_SOURCE
#include "support/child.h"
#include "support/gate.h"
#include "support/sanitized.h"
#include "timers_test.h"

#include <pthread.h>
#include <tickwheel/workers.h>

enum { CAPACITY = 3 };

static bool all_fire(struct tw_runtime *rt, const struct probe *probes) {
    if (tw_runtime_start(rt) != 0)
        return false;
    for (unsigned i = 0; i < CAPACITY; ++i)
        while (probes[i].drops == 0)
            doze();
    for (unsigned i = 0; i < CAPACITY; ++i)
        if (probes[i].fires != 1 || probes[i].drops != 1)
            return false;
    return true;
}

static bool all_are_stopped(struct tw_timers *set, const struct probe *probes) {
    for (unsigned i = 0; i < CAPACITY; ++i)
        if (tw_timer_cancel_wait(set, probes[i].id) != 1 || probes[i].fires != 0 || probes[i].drops != 1)
            return false;
    return tw_timers_count(set) == 0;
}

/* Returns true if the set has room for its whole capacity, and the timers work. */
static bool is_as_new(struct tw_runtime *rt, struct tw_timers *set) {
    struct probe probes[CAPACITY + 1];
    memset(probes, 0, sizeof probes);
    if (tw_timers_count(set) != 0)
        return false;
    for (unsigned i = 0; i <= CAPACITY; ++i) {
        const struct tw_task task = task_of(&probes[i]);
        const struct tw_when at_once = {0};
        if (tw_timer_start(set, &probes[i].id, &at_once, &task) != (i < CAPACITY ? 0 : -ENOSPC))
            return false;
    }
    if (!(THREADS_AFTER_FORK ? all_fire(rt, probes) : all_are_stopped(set, probes)))
        return false;
    return tw_timers_free(set) == 0 && tw_runtime_free(rt) == 0;
}

static int visit_nothing(UNUSED const struct tw_entry *entry, UNUSED void *visit_arg) {
    leave(1);
    return 0;
}

static void everything_is_refused(struct tw_timers *set, struct probe *probe) {
    struct tw_timers *another = NULL;
    const struct tw_when when = {0};
    const struct tw_task task = task_of(probe);
    tw_handle id = 99;
    expect(tw_timers_new(&another, probe->rt, NULL) == -ECHILD && another == NULL);
    expect(tw_timer_start(set, &id, &when, &task) == -ECHILD);
    expect(tw_timer_after(set, &id, 0, note_fire, probe) == -ECHILD);
    expect(tw_timer_every(set, &id, MS, TW_COALESCE, note_fire, probe) == -ECHILD);
    expect(id == 99);
    expect(tw_timer_cancel(set, probe->id) == -ECHILD);
    expect(tw_timer_cancel_wait(set, probe->id) == -ECHILD);
    expect(tw_timer_move(set, probe->id, 0) == -ECHILD);
    expect(tw_timer_move(set, probe->id, 0) == -ECHILD);
    expect(tw_timer_again(set, probe->id) == -ECHILD);
    expect(tw_timers_each(set, visit_nothing, NULL) == -ECHILD);
    expect(timer_remaining(set, probe->id) == TW_NO_DEADLINE);
    expect(tw_timers_count(set) == 0);
    expect(tw_timers_free(set) == -ECHILD);
}

TEST(p13_a_child_gets_an_empty_set_back) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = "epoll"});
    struct tw_timers *set = new_set(rt, (struct tw_set_options){.capacity = CAPACITY});
    struct probe probes[CAPACITY] = {{.rt = rt}, {.rt = rt}, {.rt = rt}};
    for (unsigned i = 0; i < CAPACITY; ++i)
        (i == 0 ? start_every : start_after)(set, &probes[i], 3600 * TW_SECOND);
    wait_until_others_sleep();
    const pid_t child = fork();
    if (child == 0) {
        everything_is_refused(set, &probes[0]);
        expect(probes[0].drops + probes[1].drops + probes[2].drops == 0);
        expect(tw_runtime_after_fork(rt) == 0);
        for (unsigned i = 0; i < CAPACITY; ++i) {
            expect(probes[i].drops == 1 && probes[i].fires == 0);
            expect(tw_timer_cancel(set, probes[i].id) == -ESTALE);
        }
        expect(is_as_new(rt, set));
        expect(probes[0].drops + probes[1].drops + probes[2].drops == 3);
        leave(0);
    }
    assert_child_is_well(child);
    for (unsigned i = 0; i < CAPACITY; ++i) { /* the parent is unaffected */
        assert_int_equal(probes[i].drops, 0);
        assert_true(timer_remaining(set, probes[i].id) <= 3600 * TW_SECOND + MS); /* rounded up to a tick */
    }
    tw_runtime_free(rt);
}

/* --- while another thread runs a user's function --------------------------------------------- */

static struct gate gate;

static void callback_at_gate(UNUSED struct probe *probe) { pass(&gate); }

static void drop_at_gate(void *arg) {
    note_drop(arg);
    pass(&gate);
}

static void copy_at_gate(UNUSED void *to, UNUSED void *from) { pass(&gate); }

static atomic_uint copies_dropped;
static void count_copy(UNUSED void *arg) { atomic_fetch_add(&copies_dropped, 1); }

static struct tw_timers *set_at_gate;

static void *copy_in_start(void *arg) {
    struct probe *probe = arg;
    struct tw_task task = task_of(probe);
    const struct tw_when when = {.due_ns = 3600 * TW_SECOND};
    task.arg_size = 1;
    task.copy = copy_at_gate;
    task.drop = count_copy;
    probe->answer = tw_timer_start(set_at_gate, &probe->id, &when, &task);
    return NULL;
}

static void *drop_in_stop(void *arg) {
    struct probe *probe = arg;
    probe->answer = tw_timer_cancel(set_at_gate, probe->id);
    return NULL;
}

static void child_with_threads_at_the_gate(struct tw_runtime *rt, struct probe *probes, bool revives) {
    if (revives) {
        expect(tw_runtime_after_fork(rt) == 0);
        expect(is_as_new(rt, set_at_gate));
    } else {
        expect(tw_runtime_free(rt) == 0);
    }
    /* the fork cut the callback short: the argument may be half changed, and must not be dropped */
    expect(probes[0].drops == 0);
    expect(copies_dropped == 0);  /* for the same reason */
    expect(probes[1].drops == 1); /* in the parent, before the fork; not a second time */
    leave(0);
}

/* At the fork, a callback, a drop and a copy run, each on a thread that the child does not have. */
TEST(p13_what_ran_on_another_thread_is_neither_gone_on_with_nor_dropped_twice) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = "sleep"});
    struct probe probes[CAPACITY] = {{.rt = rt, .inside = callback_at_gate}, {.rt = rt}, {.rt = rt}};
    set_at_gate = new_set(rt, (struct tw_set_options){.capacity = CAPACITY, .storage = 1});
    const struct tw_task dropped_slowly = {.fn = note_fire, .arg = &probes[1], .drop = drop_at_gate};
    const struct tw_when later = {.due_ns = 3600 * TW_SECOND};
    pthread_t threads[2];
    assert_int_equal(tw_timer_start(set_at_gate, &probes[1].id, &later, &dropped_slowly), 0);
    start_after(set_at_gate, &probes[0], 0);
    assert_int_equal(pthread_create(&threads[0], NULL, drop_in_stop, &probes[1]), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, copy_in_start, &probes[2]), 0);
    wait_for(gate.inside == 3);
    wait_until_others_sleep();
    for (int revives = 0; revives < 2; ++revives) {
        const pid_t child = fork();
        if (child == 0)
            child_with_threads_at_the_gate(rt, probes, revives);
        assert_child_is_well(child);
    }
    atomic_store(&gate.open, true);
    for (unsigned t = 0; t < 2; ++t)
        pthread_join(threads[t], NULL);
    assert_int_equal(probes[1].answer, 1);
    assert_int_equal(probes[2].answer, 0);
    tw_runtime_free(rt);
    assert_int_equal(probes[0].drops, 1);
    assert_int_equal(probes[1].drops, 1);
    assert_int_equal(copies_dropped, 1);
}

/* --- while another thread makes sets --------------------------------------------------------------- */

enum { FORKS = 300, LARGE = 100000 };

static atomic_bool forks_are_over;
static atomic_uint sets_made;

static void *make_and_free_sets(UNUSED void *arg) {
    while (!atomic_load(&forks_are_over)) {
        struct tw_runtime *rt = virtual_runtime();
        new_set(rt, (struct tw_set_options){.capacity = LARGE});
        tw_runtime_free(rt);
        atomic_fetch_add(&sets_made, 1);
    }
    return NULL;
}

/* All runtimes of a process share one allocator of cell numbers. */
TEST(p13_a_child_makes_sets_though_another_thread_was_making_one) {
    pthread_t thread;
    if (SANITIZED)
        skip(); /* the other thread uses the heap: see wait_until_others_sleep */
    assert_int_equal(pthread_create(&thread, NULL, make_and_free_sets, NULL), 0);
    wait_for(atomic_load(&sets_made) > 0);
    for (unsigned i = 0; i < FORKS; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);
            struct tw_runtime *rt = new_runtime((struct tw_runtime_options){.driver = "sleep"});
            expect(is_as_new(rt, new_set(rt, (struct tw_set_options){.capacity = CAPACITY})));
            leave(0);
        }
        assert_child_is_well(child);
    }
    atomic_store(&forks_are_over, true);
    pthread_join(thread, NULL);
}

static int visit_at_gate(UNUSED const struct tw_entry *entry, UNUSED void *visit_arg) {
    pass(&gate);
    return 0;
}

static void *cancel_all_at_gate(void *cancelled) {
    *(int64_t *)cancelled = tw_timers_cancel_all(set_at_gate, visit_at_gate, NULL);
    return NULL;
}

static void assert_child_leaves_it_alone(struct tw_runtime *rt, const struct probe *probe) {
    const pid_t child = fork();
    if (child == 0) {
        expect(tw_runtime_free(rt) == 0);
        expect(probe->drops == 0); /* the visitor may have left the argument half changed */
        leave(0);
    }
    assert_child_is_well(child);
}

TEST(p13_what_a_cancel_all_visits_on_another_thread_is_not_dropped) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = "sleep"});
    struct tw_workers *pool;
    assert_int_equal(tw_workers_new(&pool, rt, &(struct tw_workers_options){.threads = 1}), 0);
    for (int with_workers = 0; with_workers < 2; ++with_workers) {
        struct probe probe = {.rt = rt};
        int64_t cancelled = 0;
        pthread_t thread;
        shut(&gate);
        set_at_gate = new_set(rt, (struct tw_set_options){.workers = with_workers ? pool : NULL});
        start_after(set_at_gate, &probe, 3600 * TW_SECOND);
        assert_int_equal(pthread_create(&thread, NULL, cancel_all_at_gate, &cancelled), 0);
        wait_for(gate.inside == 1);
        wait_until_others_sleep();
        assert_child_leaves_it_alone(rt, &probe);
        atomic_store(&gate.open, true);
        pthread_join(thread, NULL);
        assert_int_equal(cancelled, 1);
        assert_int_equal(probe.drops, 1);
        assert_int_equal(tw_timers_free(set_at_gate), 0);
    }
    tw_runtime_free(rt);
}

static void *free_set_at_gate(void *result) {
    *(int *)result = tw_timers_free(set_at_gate);
    return NULL;
}

/* In the child the set is empty. The child calls tw_timers_cancel_all more often than the set can tell the
 * calls apart, and frees it. */
static void child_uses_the_set(struct tw_runtime *rt) {
    tw_handle id;
    alarm(60);
    expect(tw_runtime_after_fork(rt) == 0);
    expect(tw_timers_count(set_at_gate) == 0);
    expect(tw_timer_after(set_at_gate, &id, TW_SECOND, note_fire, NULL) == 0);
    for (unsigned i = 0; i < 130; ++i)
        expect(tw_timers_cancel_all(set_at_gate, NULL, NULL) == (i == 0));
    expect(tw_timers_free(set_at_gate) == 0);
    expect(tw_runtime_free(rt) == 0);
    leave(0);
}

TEST(p13_a_child_can_use_a_set_that_another_thread_was_freeing) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = "sleep"});
    struct probe running = {.rt = rt, .inside = callback_at_gate}, idle = {.rt = rt};
    pthread_t thread;
    int freed = 99;
    shut(&gate);
    set_at_gate = new_set(rt, (struct tw_set_options){0});
    start_after(set_at_gate, &idle, 3600 * TW_SECOND);
    start_after(set_at_gate, &running, 0);
    wait_for(gate.inside == 1);
    assert_int_equal(pthread_create(&thread, NULL, free_set_at_gate, &freed), 0);
    wait_for(idle.drops == 1);
    wait_until_others_sleep();
    const pid_t child = fork();
    if (child == 0)
        child_uses_the_set(rt);
    assert_child_is_well(child);
    atomic_store(&gate.open, true);
    pthread_join(thread, NULL);
    assert_int_equal(freed, 0);
    tw_runtime_free(rt);
}

/* --- in the middle of the wheel's own work ---------------------------------------------------------- */

enum { CROWD = 2000, ROUNDS = SLOW ? 50 : 300 };

static struct probe crowd[CROWD];

static void start_crowd(struct tw_runtime *rt, struct tw_timers *set, int64_t most_ms) {
    uint64_t seed = 5;
    for (unsigned i = 0; i < CROWD; ++i) {
        crowd[i] = (struct probe){.rt = rt};
        start_after(set, &crowd[i], (1 + (int64_t)random_below(&seed, (uint64_t)most_ms)) * MS);
    }
}

/* Runs in the child. Each argument must have been dropped once, here or before the fork, and the wheel must
 * be as new. */
static void go_on_in_child(struct tw_runtime *rt, struct tw_timers *set) {
    struct probe probes[100];
    expect(tw_runtime_after_fork(rt) == 0);
    expect(tw_timers_count(set) == 0 && tw_runtime_count(rt) == 0);
    for (unsigned i = 0; i < CROWD; ++i)
        expect(crowd[i].drops == 1);
    for (unsigned i = 0; i < COUNT_OF(probes); ++i) {
        probes[i] = (struct probe){.rt = rt};
        start_after(set, &probes[i], (1 + i) * MS);
        if (i % 2)
            expect(tw_timer_move(set, probes[i].id, 2 * TW_SECOND) == 0);
    }
    expect(tw_runtime_advance(rt, TW_SECOND) == 0);
    expect(tw_timers_count(set) == COUNT_OF(probes) / 2);
    expect(tw_runtime_advance(rt, TW_SECOND) == 0);
    for (unsigned i = 0; i < COUNT_OF(probes); ++i)
        expect(probes[i].fires == 1 && probes[i].drops == 1);
    expect(tw_runtime_free(rt) == 0);
    leave(0);
}

static pid_t child_of_callback;
static unsigned fires_before_fork;

static void fork_in_node(UNUSED struct tw_node *node, UNUSED void *arg) { child_of_callback = fork(); }

static void fork_in_its_turn(UNUSED struct probe *probe) {
    if (fires_before_fork-- == 0)
        child_of_callback = fork();
}

/* Moves all timers to one tick, in another order than that of arming. Either a node of that tick forks while
 * the wheel sorts them, or the timer that fires after `fires_before` others forks. */
static void fork_in_crowd(bool in_node, unsigned fires_before) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_timers *set = new_set(rt, (struct tw_set_options){0});
    struct tw_node node;
    start_crowd(rt, set, 50);
    for (unsigned i = CROWD; i-- != 0;) {
        assert_int_equal(tw_timer_move(set, crowd[i].id, 60 * MS), 0);
        crowd[i].inside = in_node ? NULL : fork_in_its_turn;
    }
    fires_before_fork = fires_before;
    child_of_callback = -1;
    assert_ok(tw_node_init(&node, fork_in_node, NULL));
    if (in_node)
        assert_ok(tw_runtime_after(rt, &node, 60 * MS));
    const int result = tw_runtime_advance(rt, 60 * MS);
    if (child_of_callback == 0) {
        expect(result == -ECHILD);
        for (unsigned i = 0; i < CROWD; ++i) /* the argument of the timer that forked is not dropped */
            crowd[i].drops += !in_node && CROWD - 1 - i == fires_before;
        go_on_in_child(rt, set);
    }
    assert_child_is_well(child_of_callback);
    for (unsigned i = 0; i < CROWD; ++i)
        assert_true(crowd[i].fires == 1 && crowd[i].drops == 1);
    tw_runtime_free(rt);
}

TEST(p13_a_fork_while_late_timers_are_sorted_and_fired) {
    fork_in_crowd(true, 0);
    for (unsigned fires = 0; fires < CROWD; fires += 333)
        fork_in_crowd(false, fires);
}

static struct tw_runtime *driven;
static atomic_uint rounds;

static void *fire_all_of(UNUSED void *arg) {
    while (atomic_fetch_add(&rounds, 1) < ROUNDS) {
        start_crowd(driven, set_at_gate, 50);
        for (unsigned k = CROWD; k-- != 0;)
            (void)tw_timer_move(set_at_gate, crowd[k].id, 60 * MS);
        (void)tw_runtime_advance(driven, 60 * MS);
    }
    return NULL;
}

/* The firing thread releases the lock between the steps of a sort, and the fork comes in between. */
TEST(p13_forks_while_another_thread_sorts_sweeps_and_fires) {
    pthread_t thread;
    unsigned forks = 0;
    driven = virtual_runtime();
    set_at_gate = new_set(driven, (struct tw_set_options){.capacity = CROWD});
    assert_int_equal(pthread_create(&thread, NULL, fire_all_of, NULL), 0);
    wait_for(atomic_load(&rounds) > 0); /* the thread runs, and no longer uses the heap */
    for (; atomic_load(&rounds) < ROUNDS; ++forks) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);
            expect(tw_runtime_after_fork(driven) == 0);
            expect(tw_timers_count(set_at_gate) == 0);
            expect(tw_runtime_free(driven) == 0);
            leave(0);
        }
        assert_child_is_well(child);
    }
    pthread_join(thread, NULL);
    assert_true(forks > 0);
    assert_int_equal(tw_timers_count(set_at_gate), 0);
    tw_runtime_free(driven);
}
