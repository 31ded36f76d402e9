/* P13 for handles: in the child of a fork nothing fires and every call is refused until
 * tw_runtime_after_fork. Then the set is empty, and each argument was dropped once. */
#define _GNU_SOURCE
#include "handles_test.h"
#include "support/child.h"
#include "support/gate.h"

#include <pthread.h>

enum { CAPACITY = 3 };

static bool all_fire(struct tw_runtime *rt, const struct probe *it) {
    if (tw_runtime_start(rt) != 0)
        return false;
    for (unsigned i = 0; i < CAPACITY; ++i)
        while (it[i].drops == 0)
            doze();
    for (unsigned i = 0; i < CAPACITY; ++i)
        if (it[i].fires != 1 || it[i].drops != 1)
            return false;
    return true;
}

static bool all_are_stopped(struct tw_handles *set, const struct probe *it) {
    for (unsigned i = 0; i < CAPACITY; ++i)
        if (tw_handle_stop_wait(set, it[i].id) != 1 || it[i].fires != 0 || it[i].drops != 1)
            return false;
    return tw_handles_count(set) == 0;
}

/* Returns true if all of the capacity is available and works. */
static bool is_as_new(struct tw_runtime *rt, struct tw_handles *set) {
    struct probe it[CAPACITY + 1];
    memset(it, 0, sizeof it);
    if (tw_handles_count(set) != 0)
        return false;
    for (unsigned i = 0; i <= CAPACITY; ++i) {
        const struct tw_task task = task_of(&it[i]);
        const struct tw_when at_once = {0};
        if (tw_handle_start(set, &it[i].id, &at_once, &task) != (i < CAPACITY ? 0 : -ENOSPC))
            return false;
    }
    if (!(THREADS_AFTER_FORK ? all_fire(rt, it) : all_are_stopped(set, it)))
        return false;
    return tw_handles_free(set) == 0 && tw_runtime_free(rt) == 0;
}

static void everything_is_refused(struct tw_handles *set, struct probe *it) {
    struct tw_handles *another = NULL;
    const struct tw_when when = {0};
    const struct tw_task task = task_of(it);
    tw_handle id = 99;
    expect(tw_handles_new(&another, it->rt, NULL) == -ECHILD && another == NULL);
    expect(tw_handle_start(set, &id, &when, &task) == -ECHILD);
    expect(tw_handle_after(set, &id, 0, note_fire, it) == -ECHILD);
    expect(tw_handle_every(set, &id, MS, TW_SKIP, note_fire, it) == -ECHILD);
    expect(id == 99);
    expect(tw_handle_stop(set, it->id) == -ECHILD);
    expect(tw_handle_stop_wait(set, it->id) == -ECHILD);
    expect(tw_handle_move(set, it->id, 0) == -ECHILD);
    expect(tw_handle_remaining(set, it->id) == TW_NO_DEADLINE);
    expect(tw_handles_count(set) == 0);
    expect(tw_handles_free(set) == -ECHILD);
}

TEST(p13_a_child_gets_an_empty_set_back) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = "epoll"});
    struct tw_handles *set = new_set(rt, (struct tw_handles_options){.capacity = CAPACITY});
    struct probe it[CAPACITY] = {{.rt = rt}, {.rt = rt}, {.rt = rt}};
    for (unsigned i = 0; i < CAPACITY; ++i)
        (i == 0 ? start_every : start_after)(set, &it[i], 3600 * TW_SECOND);
    wait_until_others_sleep();
    const pid_t child = fork();
    if (child == 0) {
        everything_is_refused(set, &it[0]);
        expect(it[0].drops + it[1].drops + it[2].drops == 0);
        expect(tw_runtime_after_fork(rt) == 0);
        for (unsigned i = 0; i < CAPACITY; ++i) {
            expect(it[i].drops == 1 && it[i].fires == 0);
            expect(tw_handle_stop(set, it[i].id) == -ESTALE);
        }
        expect(is_as_new(rt, set));
        expect(it[0].drops + it[1].drops + it[2].drops == 3);
        leave(0);
    }
    assert_child_is_well(child);
    for (unsigned i = 0; i < CAPACITY; ++i) { /* the parent is unaffected */
        assert_int_equal(it[i].drops, 0);
        assert_true(tw_handle_remaining(set, it[i].id) <= 3600 * TW_SECOND + MS); /* rounded up to a tick */
    }
    tw_runtime_free(rt);
}

TEST(p13_a_child_that_frees_the_runtime_drops_once) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = "sleep"});
    struct tw_handles *set = new_set(rt, (struct tw_handles_options){0});
    struct probe it = {.rt = rt};
    start_after(set, &it, 3600 * TW_SECOND);
    wait_until_others_sleep();
    const pid_t child = fork();
    if (child == 0) {
        expect(tw_runtime_free(rt) == 0);
        expect(it.fires == 0 && it.drops == 1);
        leave(0);
    }
    assert_child_is_well(child);
    assert_int_equal(it.drops, 0);
    tw_runtime_free(rt);
    assert_int_equal(it.drops, 1);
}

/* --- while another thread runs a user's function --------------------------------------------- */

static struct gate gate;

static void callback_at_gate(UNUSED struct probe *it) { pass(&gate); }

static void drop_at_gate(void *arg) {
    note_drop(arg);
    pass(&gate);
}

static void copy_at_gate(UNUSED void *to, UNUSED void *from) { pass(&gate); }

static struct tw_handles *set_at_gate;

static void *copy_in_start(void *arg) {
    struct probe *it = arg;
    struct tw_task task = task_of(it);
    const struct tw_when when = {.due_ns = 3600 * TW_SECOND};
    task.arg_size = 1;
    task.copy = copy_at_gate;
    task.drop = NULL;
    it->answer = tw_handle_start(set_at_gate, &it->id, &when, &task);
    return NULL;
}

static void *drop_in_stop(void *arg) {
    struct probe *it = arg;
    it->answer = tw_handle_stop(set_at_gate, it->id);
    return NULL;
}

static void child_with_threads_at_the_gate(struct tw_runtime *rt, struct probe *it, bool revives) {
    if (revives) {
        expect(tw_runtime_after_fork(rt) == 0);
        expect(is_as_new(rt, set_at_gate));
    } else {
        expect(tw_runtime_free(rt) == 0);
    }
    /* its callback was cut short: its argument may be half changed, and must not be dropped */
    expect(it[0].drops == 0);
    expect(it[1].drops == 1); /* in the parent, before the fork; not a second time */
    leave(0);
}

/* A callback, a drop and a copy, each on a thread that the child does not have. */
TEST(p13_what_ran_on_another_thread_is_neither_gone_on_with_nor_dropped_twice) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = "sleep"});
    struct probe it[CAPACITY] = {{.rt = rt, .inside = callback_at_gate}, {.rt = rt}, {.rt = rt}};
    set_at_gate = new_set(rt, (struct tw_handles_options){.capacity = CAPACITY, .storage = 1});
    const struct tw_task dropped_slowly = {.fn = note_fire, .arg = &it[1], .drop = drop_at_gate};
    const struct tw_when later = {.due_ns = 3600 * TW_SECOND};
    pthread_t threads[2];
    assert_int_equal(tw_handle_start(set_at_gate, &it[1].id, &later, &dropped_slowly), 0);
    start_after(set_at_gate, &it[0], 0);
    assert_int_equal(pthread_create(&threads[0], NULL, drop_in_stop, &it[1]), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, copy_in_start, &it[2]), 0);
    wait_for(gate.inside == 3);
    wait_until_others_sleep();
    for (int revives = 0; revives < 2; ++revives) {
        const pid_t child = fork();
        if (child == 0)
            child_with_threads_at_the_gate(rt, it, revives);
        assert_child_is_well(child);
    }
    atomic_store(&gate.open, true);
    for (unsigned t = 0; t < 2; ++t)
        pthread_join(threads[t], NULL);
    assert_int_equal(it[1].answer, 1);
    assert_int_equal(it[2].answer, 0);
    tw_runtime_free(rt);
    assert_int_equal(it[0].drops, 1);
    assert_int_equal(it[1].drops, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p13_a_child_gets_an_empty_set_back),
        cmocka_unit_test(p13_a_child_that_frees_the_runtime_drops_once),
        cmocka_unit_test(p13_what_ran_on_another_thread_is_neither_gone_on_with_nor_dropped_twice),
    };
    return cmocka_run_group_tests_name("P13, handles", tests, NULL, NULL);
}
