/* P10: a set with a capacity allocates when it is made, and never again. */
#include "handles_test.h"

#include "support/counted_heap.h"

enum { CAPACITY = 500 };

static void copy_probe(void *to, void *from) { memcpy(to, from, sizeof(struct probe)); }
static int64_t once_more(int64_t due_ns, UNUSED void *arg) {
    return due_ns > TW_SECOND ? TW_NO_DEADLINE : due_ns + MS;
}

static void use_every_call(struct tw_runtime *rt, struct tw_handles *set) {
    static struct probe it[CAPACITY];
    for (unsigned i = 0; i < CAPACITY; ++i) {
        struct tw_task task = task_of(&it[i]);
        task.drop = NULL; /* a drop would call free with null pointers */
        if (i % 3 == 0)
            task.next = once_more;
        if (i % 5 == 0)
            task.arg_size = sizeof it[i];
        if (i % 10 == 0)
            task.copy = copy_probe;
        const struct tw_when when = {
            .due_ns = i * MS, .period_ns = i % 3 != 0 && i % 2 ? MS : 0, .fires = i % 7};
        assert_int_equal(tw_handle_start(set, &it[i].id, i % 9 == 0 ? NULL : &when, &task), 0);
    }
    assert_int_equal(tw_handle_after(set, &(tw_handle){0}, 0, note_fire, it), -ENOSPC);
    assert_int_equal(tw_handles_count(set), CAPACITY);
    assert_ok(tw_runtime_advance(rt, 100 * MS));
    for (unsigned i = 0; i < CAPACITY; ++i) {
        (void)tw_handle_remaining(set, it[i].id);
        (void)tw_handle_move(set, it[i].id, i * MS);
        (void)(i % 2 ? tw_handle_stop : tw_handle_stop_wait)(set, it[i].id);
    }
    assert_int_equal(tw_handles_count(set), 0);
}

TEST(p10_a_set_with_a_capacity_does_not_allocate) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_handles *set =
        new_set(rt, (struct tw_handles_options){.capacity = CAPACITY, .storage = sizeof(struct probe)});
    allocations = 0;
    for (unsigned round = 0; round < 3; ++round)
        use_every_call(rt, set);
    assert_int_equal(allocations, 0);
    tw_runtime_free(rt);
}

/* A set without a capacity does not allocate either, as long as it has no more timers than
 * before. */
TEST(p10_a_set_that_has_grown_does_not_allocate) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_handles *set = new_set(rt, (struct tw_handles_options){.storage = sizeof(struct probe)});
    struct probe it[CAPACITY];
    memset(it, 0, sizeof it);
    allocations = 0;
    for (unsigned round = 0; round < 3; ++round) {
        for (unsigned i = 0; i < CAPACITY; ++i)
            start_after(set, &it[i], MS);
        assert_ok(tw_runtime_advance(rt, MS));
        assert_true(round > 0 || allocations > 0);
        allocations = 0;
    }
    for (unsigned i = 0; i < CAPACITY; ++i)
        start_after(set, &it[i], MS);
    assert_int_equal(allocations, 0);
    tw_runtime_free(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p10_a_set_with_a_capacity_does_not_allocate),
        cmocka_unit_test(p10_a_set_that_has_grown_does_not_allocate),
    };
    return cmocka_run_group_tests_name("P10, handles", tests, NULL, NULL);
}
