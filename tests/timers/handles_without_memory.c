/* Sets of handles without memory: the call that needs memory returns the error, changes
 * nothing and loses nothing. */
#include "support/faults.h"

#include <tickwheel/handle.h>

enum { SLABS_OF_1000 = 5, TAGS = 255 }; /* slabs have 64 cells, 128, 256, and so on */

static unsigned fires, drops, copies;

static void count_fire(UNUSED const struct tw_event *event, UNUSED void *arg) { ++fires; }
static void count_drop(UNUSED void *arg) { ++drops; }
static void count_copy(UNUSED void *to, UNUSED void *from) { ++copies; }

static int new_set(struct tw_runtime *rt, uint32_t capacity, struct tw_handles **set) {
    const struct tw_handles_options options = {.capacity = capacity, .storage = 8};
    return tw_handles_new(set, rt, &options);
}

static int start(struct tw_handles *set, tw_handle *id) {
    static char argument[8];
    const struct tw_when soon = {.due_ns = TW_MILLISECOND};
    const struct tw_task task = {
        .fn = count_fire, .arg = argument, .drop = count_drop, .arg_size = 8, .copy = count_copy};
    return tw_handle_start(set, id, &soon, &task);
}

/* Asserts that exactly `timers` of them fire and are dropped. */
static void assert_all_fire(struct tw_runtime *rt, struct tw_handles *set, unsigned timers) {
    fires = drops = 0;
    assert_int_equal(tw_handles_count(set), timers);
    assert_int_equal(tw_runtime_advance(rt, TW_MILLISECOND), 0);
    assert_int_equal(fires, timers);
    assert_int_equal(drops, timers);
    assert_int_equal(tw_handles_count(set), 0);
}

/* Returns how many calls failed until it worked. */
static int fail_each_in_turn(struct tw_runtime *rt, uint32_t capacity, struct tw_handles **set) {
    struct tw_handles *const untouched = (struct tw_handles *)(uintptr_t)16;
    const struct holdings before = holdings_now();
    for (int spared = 0; spared < 100; ++spared) {
        *set = untouched;
        inject(EVERY_CALL, USUAL_ERROR, spared, 1);
        const int result = new_set(rt, capacity, set);
        const int failed = injected();
        inject_nothing();
        if (failed == 0) {
            assert_int_equal(result, 0);
            return spared;
        }
        assert_int_equal(result, -ENOMEM);
        assert_ptr_equal(*set, untouched);
        assert_nothing_leaked(before);
    }
    fail_msg("no end of failing calls");
    return 0;
}

TEST(a_set_is_made_or_not_and_leaks_nothing) {
    struct tw_runtime *rt = runtime_on("manual");
    const struct {
        uint32_t capacity;
        int allocations;
    } kinds[] = {{0, 1}, {1, 2}, {64, 2}, {65, 3}, {1000, 1 + SLABS_OF_1000}};
    for (size_t i = 0; i < COUNT_OF(kinds); ++i) {
        struct tw_handles *set;
        const struct holdings before = holdings_now();
        tw_handle id;
        assert_int_equal(fail_each_in_turn(rt, kinds[i].capacity, &set), kinds[i].allocations);
        assert_int_equal(start(set, &id), 0);
        assert_all_fire(rt, set, 1);
        assert_int_equal(tw_handles_free(set), 0);
        assert_nothing_leaked(before);
    }
    tw_runtime_free(rt);
}

/* The set's tag is released too. */
TEST(sets_that_were_not_made_do_not_count) {
    struct tw_runtime *rt = runtime_on("manual");
    struct tw_handles *set = NULL;
    inject(ONLY(CALL_POSIX_MEMALIGN), USUAL_ERROR, 0, FOR_EVER);
    for (unsigned i = 0; i < 2 * TAGS; ++i)
        assert_int_equal(new_set(rt, 10, &set), -ENOMEM);
    inject_nothing();
    assert_null(set);
    for (unsigned i = 0; i < TAGS; ++i)
        assert_int_equal(new_set(rt, 0, &set), 0);
    tw_runtime_free(rt);
}

/* Each slab that a set would grow by is refused at first. */
TEST(a_set_that_cannot_grow_says_so_and_grows_later) {
    struct tw_runtime *rt = runtime_on("manual");
    struct tw_handles *set = NULL;
    const struct holdings before = holdings_now();
    assert_int_equal(new_set(rt, 0, &set), 0);
    int refusals = 0;
    copies = drops = 0;
    for (unsigned i = 0; i < 1000; ++i) {
        tw_handle id = 99;
        inject(EVERY_CALL, USUAL_ERROR, 0, 1);
        const int result = start(set, &id);
        const int failed = injected();
        inject_nothing();
        assert_int_equal(result, failed ? -ENOMEM : 0);
        refusals += failed;
        if (failed) {
            assert_int_equal(id, 99);
            assert_int_equal(tw_handles_count(set), i);
            assert_int_equal(start(set, &id), 0);
        }
        assert_int_equal(copies, i + 1); /* copied only when there was room */
    }
    assert_int_equal(refusals, SLABS_OF_1000);
    assert_int_equal(drops, 0);
    assert_all_fire(rt, set, 1000);
    assert_int_equal(tw_handles_free(set), 0);
    assert_nothing_leaked(before);
    tw_runtime_free(rt);
}

/* No other call allocates: they work without any memory. */
TEST(a_set_with_a_capacity_needs_no_memory_any_more) {
    struct tw_runtime *rt = runtime_on("manual");
    struct tw_handles *set = NULL;
    assert_int_equal(new_set(rt, 100, &set), 0);
    inject(EVERY_CALL, USUAL_ERROR, 0, FOR_EVER);
    for (unsigned round = 0; round < 3; ++round) {
        tw_handle ids[100];
        for (unsigned i = 0; i < 100; ++i)
            assert_int_equal(start(set, &ids[i]), 0);
        assert_int_equal(tw_handle_move(set, ids[50], 0), 0);
        assert_int_equal(tw_handle_stop(set, ids[7]), 1);
        assert_all_fire(rt, set, 99);
    }
    assert_int_equal(injected(), 0);
    inject_nothing();
    tw_runtime_free(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_is_made_or_not_and_leaks_nothing),
        cmocka_unit_test(sets_that_were_not_made_do_not_count),
        cmocka_unit_test(a_set_that_cannot_grow_says_so_and_grows_later),
        cmocka_unit_test(a_set_with_a_capacity_needs_no_memory_any_more),
    };
    return cmocka_run_group_tests_name("Handles, when there is no memory", tests, NULL, NULL);
}
