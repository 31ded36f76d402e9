/* Sets of handles without memory: the call that needs memory returns the error, changes
 * nothing and loses nothing. */
#include "support/faults.h"

#include <tickwheel/handle.h>

/* Of cells: from 64 on, each doubles their number. Of rests, which timers with `drop` need: the first comes
 * with the first cells. */
enum { GROWTHS_TO_1000 = 5, RESTS_OF_A_GROWTH = 63, FURTHER_RESTS_TO_1000 = 999 / RESTS_OF_A_GROWTH };

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

/* The directory of all cells stays with the process once there is one. */
static int make_directory(UNUSED void **state) {
    struct tw_runtime *rt = runtime_on("manual");
    struct tw_handles *set;
    assert_int_equal(new_set(rt, 1, &set), 0);
    return tw_runtime_free(rt);
}

/* Makes a set on a new runtime while one call fails. Returns false if no call has failed: then the set works.
 * What a set has allocated stays with the runtime, for the next one, and is freed with that. */
static bool fail_one(int spared, uint32_t capacity) {
    struct tw_handles *const untouched = (struct tw_handles *)(uintptr_t)16, *set = untouched;
    const struct holdings before = holdings_now();
    struct tw_runtime *rt = runtime_on("manual");
    tw_handle id;
    inject(EVERY_CALL, USUAL_ERROR, spared, 1);
    const int result = new_set(rt, capacity, &set);
    const int failed = injected();
    inject_nothing();
    assert_int_equal(result, failed ? -ENOMEM : 0);
    assert_true((set == untouched) == (failed != 0));
    if (failed)
        assert_int_equal(new_set(rt, capacity, &set), 0);
    assert_int_equal(start(set, &id), 0);
    assert_all_fire(rt, set, 1);
    if (spared % 2)
        assert_int_equal(tw_handles_free(set), 0);
    tw_runtime_free(rt);
    assert_nothing_leaked(before);
    return failed != 0;
}

GROUP_FIXTURE(make_directory, NULL);

TEST(a_set_is_made_or_not_and_leaks_nothing) {
    const struct {
        uint32_t capacity;
        int allocations; /* at least: the set, the keeper, the store; its cells, their entries, their table */
    } kinds[] = {{0, 3}, {1, 6}, {64, 6}, {65, 6}, {1000, 6}, {5000, 6}};
    for (size_t i = 0; i < COUNT_OF(kinds); ++i) {
        int spared = 0;
        while (fail_one(spared, kinds[i].capacity))
            ++spared;
        assert_in_range(spared, kinds[i].allocations, 100);
    }
}

/* Else the directory would grow. */
TEST(sets_that_were_not_made_give_back_their_cells) {
    struct tw_runtime *rt = runtime_on("manual");
    struct tw_handles *set = NULL;
    int64_t after_first = 0;
    inject(ONLY(CALL_POSIX_MEMALIGN), USUAL_ERROR, 0, FOR_EVER);
    for (unsigned i = 0; i < 5000; ++i) {
        assert_int_equal(new_set(rt, 10, &set), -ENOMEM);
        if (i == 0)
            after_first = live_allocations();
    }
    inject_nothing();
    assert_null(set);
    assert_int_equal(live_allocations(), after_first);
    tw_runtime_free(rt);
}

/* Each growth is refused at first. */
TEST(a_set_that_cannot_grow_says_so_and_grows_later) {
    const struct holdings before = holdings_now();
    struct tw_runtime *rt = runtime_on("manual");
    struct tw_handles *set = NULL;
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
    assert_int_equal(refusals, GROWTHS_TO_1000 + FURTHER_RESTS_TO_1000);
    assert_int_equal(drops, 0);
    assert_all_fire(rt, set, 1000);
    assert_int_equal(tw_handles_free(set), 0);
    tw_runtime_free(rt);
    assert_nothing_leaked(before);
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
        assert_int_equal(tw_handle_postpone(set, ids[51], TW_MILLISECOND), 0);
        assert_int_equal(tw_handle_again(set, ids[52]), 0);
        assert_int_equal(tw_handle_stop(set, ids[7]), 1);
        assert_all_fire(rt, set, 99);
    }
    assert_int_equal(injected(), 0);
    inject_nothing();
    tw_runtime_free(rt);
}
