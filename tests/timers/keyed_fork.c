/* P13 for keys: in the child of a fork nothing fires and every call is refused until
 * tw_runtime_after_fork. Then the table is empty, and each argument was dropped once. */
#define _GNU_SOURCE
#include "keyed_test.h"
#include "support/child.h"
#include "support/sanitized.h"

#include <pthread.h>

#define LONG_KEY tw_key_string("a key of more than 16 bytes")
#define A_WHILE 1000000 /* ms */

static struct tw_runtime *rt;
static struct tw_keyed *keyed;
static struct probe probes[3];

static void make(uint32_t capacity) {
    const struct tw_set_options options = {.capacity = capacity};
    memset(probes, 0, sizeof probes);
    rt = started_runtime((struct tw_runtime_options){.driver = "epoll"});
    assert_int_equal(tw_keyed_new(&keyed, rt, &options), 0);
    assert_int_equal(set_in_ms(keyed, tw_key_number(1), A_WHILE, &probes[0]), 0);
    assert_int_equal(set_in_ms(keyed, tw_key_string("short"), A_WHILE, &probes[1]), 0);
    assert_int_equal(set_in_ms(keyed, LONG_KEY, A_WHILE, &probes[2]), 0);
}

static bool all_are(unsigned fires, unsigned drops) {
    for (unsigned i = 0; i < COUNT_OF(probes); ++i)
        if (probes[i].fires != fires || probes[i].drops != drops)
            return false;
    return true;
}

static int visit_nothing(UNUSED const struct tw_entry *entry, UNUSED void *visit_arg) {
    leave(1);
    return 0;
}

static void everything_is_refused(void) {
    struct tw_keyed *another = NULL;
    struct probe refused = {0, 0};
    expect(tw_keyed_new(&another, rt, NULL) == -ECHILD && another == NULL);
    expect(set_in_ms(keyed, LONG_KEY, 0, &refused) == -ECHILD);
    expect(tw_keyed_after(keyed, LONG_KEY, 0, count_fire, &refused) == -ECHILD);
    expect(tw_keyed_move(keyed, LONG_KEY, 0) == -ECHILD);
    expect(tw_keyed_move(keyed, LONG_KEY, 0) == -ECHILD);
    expect(tw_keyed_again(keyed, LONG_KEY) == -ECHILD);
    expect(tw_keyed_each(keyed, visit_nothing, NULL) == -ECHILD);
    expect(tw_keyed_cancel(keyed, LONG_KEY) == -ECHILD);
    expect(tw_keyed_cancel_wait(keyed, LONG_KEY) == -ECHILD);
    expect(tw_keyed_get(keyed, LONG_KEY, NULL) == -ECHILD);
    expect(tw_keyed_count(keyed) == 0);
    expect(tw_keyed_cancel_all(keyed, NULL, NULL) == -ECHILD);
    expect(tw_keyed_free(keyed) == -ECHILD);
    expect(all_are(0, 0) && refused.drops == 0);
}

static void table_is_as_new(void) {
    struct probe probe = {0, 0};
    expect(tw_keyed_count(keyed) == 0);
    expect(tw_keyed_get(keyed, LONG_KEY, NULL) == -ENOENT);
    for (unsigned i = 0; i < 3; ++i)
        expect(set_in_ms(keyed, tw_key_number(i), A_WHILE, &probe) == 0);
    expect(tw_keyed_cancel(keyed, tw_key_number(1)) == 1);
    expect(set_in_ms(keyed, LONG_KEY, A_WHILE, &probe) == 0);
    expect(tw_keyed_cancel_all(keyed, NULL, NULL) == 3);
    expect(probe.fires == 0 && probe.drops == 4);
}

static void child_is_revived(void) {
    everything_is_refused();
    expect(tw_runtime_after_fork(rt) == 0);
    expect(all_are(0, 1));
    table_is_as_new();
    expect(tw_keyed_free(keyed) == 0);
    expect(tw_runtime_free(rt) == 0);
    expect(all_are(0, 1));
    leave(0);
}

static void child_only_frees(void) {
    expect(tw_runtime_free(rt) == 0);
    expect(all_are(0, 1));
    leave(0);
}

static void forks(uint32_t capacity, void (*in_child)(void)) {
    make(capacity);
    wait_until_others_sleep();
    const pid_t child = fork();
    if (child == 0)
        in_child();
    assert_child_is_well(child);
    assert_true(all_are(0, 0)); /* the parent is unaffected */
    assert_int_equal(tw_keyed_count(keyed), 3);
    assert_int_equal(tw_keyed_move(keyed, LONG_KEY, 0), 0);
    wait_for(probes[2].fires == 1 && probes[2].drops == 1);
    assert_int_equal(tw_runtime_free(rt), 0);
    assert_int_equal(probes[0].drops, 1);
}

TEST(p13_a_child_that_is_revived_has_an_empty_table) {
    forks(0, child_is_revived);
    forks(3, child_is_revived);
}

TEST(p13_a_child_that_frees_the_runtime_drops_once) {
    forks(0, child_only_frees);
    forks(3, child_only_frees);
}

/* --- forks while other threads are in calls, callbacks and drops ----------------------------- */

static atomic_bool over;

/* The allocator detects a double free. */
static void give_back(void *arg) { free(arg); }
static void fire(UNUSED const struct tw_event *event, void *arg) { *(volatile char *)arg = 1; }

static void *hammer(void *arg) {
    uint64_t seed = (uintptr_t)arg;
    char name[64];
    while (!over) {
        const uint64_t number = random_below(&seed, 50);
        const size_t size =
            (size_t)snprintf(name, sizeof name, "a long name, for it is %lu", (unsigned long)number);
        const struct tw_key key = number % 2 != 0 ? tw_key_number(number) : tw_key_bytes(name, size);
        const struct tw_task task = {.fn = fire, .arg = malloc(32), .drop = give_back};
        const struct tw_when when = {.due_ns = (int64_t)random_below(&seed, 100) * TW_MICROSECOND};
        if (tw_keyed_set(keyed, key, &when, &task) < 0)
            free(task.arg);
        if (number % 3 == 0)
            (void)tw_keyed_cancel_wait(keyed, key);
        if (number == 0)
            (void)tw_keyed_cancel_all(keyed, NULL, NULL);
    }
    return NULL;
}

/* Under a sanitizer the child checks nothing, because it must not use the heap: other threads may have been
 * in the middle of allocations. */
static void child_finds_all_whole(void) {
    if (SANITIZED)
        leave(0);
    alarm(60); /* a lock that is never released must fail the test and not hang it */
    expect(tw_runtime_after_fork(rt) == 0);
    table_is_as_new();
    expect(tw_keyed_free(keyed) == 0);
    expect(tw_runtime_free(rt) == 0);
    leave(0);
}

TEST(p13_a_fork_finds_every_table_whole_whatever_other_threads_do) {
    pthread_t threads[2];
    rt = started_runtime((struct tw_runtime_options){.driver = "sleep", .tick_ns = 10 * TW_MICROSECOND});
    assert_int_equal(tw_keyed_new(&keyed, rt, NULL), 0);
    atomic_store(&over, false);
    for (uintptr_t i = 0; i < 2; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, (void *)i), 0);
    for (unsigned i = 0; i < (SANITIZED ? 25 : 100); ++i) {
        const pid_t child = fork();
        if (child == 0)
            child_finds_all_whole();
        assert_child_is_well(child);
    }
    atomic_store(&over, true);
    for (unsigned i = 0; i < 2; ++i)
        pthread_join(threads[i], NULL);
    assert_int_equal(tw_runtime_free(rt), 0);
}
