/* The memory of sets of handles. Without any, the call that needs memory returns the error, changes nothing
 * and loses nothing. Sets by the hundred thousand, and sets that are made and freed forever, take no more
 * than they need. */
#include "support/faults.h"

#include "handles_test.h"
#include "support/sanitized.h"

/* Of cells: from 64 on, each doubles their number. Of rests, which timers with `drop` need: the first comes
 * with the first cells. */
enum { GROWTHS_TO_1000 = 5, RESTS_OF_A_GROWTH = 63, FURTHER_RESTS_TO_1000 = 999 / RESTS_OF_A_GROWTH };

static unsigned fires, drops, copies;

static void count_fire(UNUSED const struct tw_event *event, UNUSED void *arg) { ++fires; }
static void count_drop(UNUSED void *arg) { ++drops; }
static void count_copy(UNUSED void *to, UNUSED void *from) { ++copies; }

static int open_set(struct tw_runtime *rt, uint32_t capacity, struct tw_handles **set) {
    const struct tw_handles_options options = {.capacity = capacity, .storage = 8};
    return tw_handles_new(set, rt, &options);
}

static int start_copied(struct tw_handles *set, tw_handle *id) {
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
    assert_int_equal(open_set(rt, 1, &set), 0);
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
    const int result = open_set(rt, capacity, &set);
    const int failed = injected();
    inject_nothing();
    assert_int_equal(result, failed ? -ENOMEM : 0);
    assert_true((set == untouched) == (failed != 0));
    if (failed)
        assert_int_equal(open_set(rt, capacity, &set), 0);
    assert_int_equal(start_copied(set, &id), 0);
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
        assert_int_equal(open_set(rt, 10, &set), -ENOMEM);
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
    assert_int_equal(open_set(rt, 0, &set), 0);
    int refusals = 0;
    copies = drops = 0;
    for (unsigned i = 0; i < 1000; ++i) {
        tw_handle id = 99;
        inject(EVERY_CALL, USUAL_ERROR, 0, 1);
        const int result = start_copied(set, &id);
        const int failed = injected();
        inject_nothing();
        assert_int_equal(result, failed ? -ENOMEM : 0);
        refusals += failed;
        if (failed) {
            assert_int_equal(id, 99);
            assert_int_equal(tw_handles_count(set), i);
            assert_int_equal(start_copied(set, &id), 0);
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

/* --- many sets ----------------------------------------------------------------------------------- */

enum { SETS = SLOW ? 5000 : 100000 };

TEST(a_hundred_thousand_sets_have_a_timer_each) {
    static struct tw_handles *sets[SETS];
    static struct probe its[SETS];
    uint64_t seed = 1;
    struct tw_runtime *rt = virtual_runtime();
    for (unsigned s = 0; s < SETS; ++s) {
        sets[s] = new_set(rt, (struct tw_handles_options){0});
        assert_int_equal(
            tw_handle_after(sets[s], &its[s].id, (int64_t)(1 + s % 100) * MS, note_fire, &its[s]), 0);
    }
    assert_int_equal(tw_runtime_count(rt), SETS);
    for (unsigned tries = 0; tries < SETS; ++tries) {
        const uint64_t s = random_below(&seed, SETS), other = random_below(&seed, SETS);
        assert_int_equal(tw_handle_remaining(sets[s], its[s].id), (int64_t)(1 + s % 100) * MS);
        if (s != other)
            assert_int_equal(tw_handle_stop(sets[s], its[other].id), -ENOENT);
    }
    for (unsigned s = 0; s < SETS; s += 3)
        assert_int_equal(tw_handles_free(sets[s]), 0);
    assert_ok(tw_runtime_advance(rt, 100 * MS));
    for (unsigned s = 0; s < SETS; ++s)
        assert_int_equal(its[s].fires, s % 3 != 0);
    tw_runtime_free(rt);
}

static struct tw_runtime *churned;

static void use_and_free(uint32_t capacity, size_t storage, unsigned timers) {
    struct tw_handles *set =
        new_set(churned, (struct tw_handles_options){.capacity = capacity, .storage = storage});
    tw_handle id;
    for (unsigned i = 0; i < timers; ++i)
        assert_int_equal(tw_handle_after(set, &id, (int64_t)(1 + i) * MS, note_fire, NULL), 0);
    if (timers % 2)
        assert_int_equal(tw_handle_stop(set, id), 1);
    assert_int_equal(tw_handles_free(set), 0);
}

/* Their timers leave entries on the wheel, which names their cells. */
TEST(sets_that_are_made_and_freed_for_ever_do_not_take_more_and_more_memory) {
    int64_t after_first = 0;
    churned = virtual_runtime();
    for (unsigned round = 0; round < (SLOW ? 2000 : 20000); ++round) {
        use_and_free(round % 2 ? 100 : 0, 0, 77 + round % 2);
        use_and_free(0, 24, 3);
        if (round == 1)
            after_first = live_allocations();
    }
    assert_int_equal(live_allocations(), after_first);
    tw_runtime_free(churned);
}

/* Sets reuse the stores of freed sets of other sizes, so the memory is bounded by that of AT_A_TIME sets of
 * the largest size. Each growth of a store makes two allocations; up to 2,048 cells it grows six times. */
TEST(sets_of_changing_sizes_take_no_more_memory_than_as_many_of_the_largest) {
    enum { AT_A_TIME = 10, LARGEST = 2000 };
    struct tw_handles *sets[AT_A_TIME] = {NULL};
    uint64_t seed = 7;
    churned = virtual_runtime();
    const int64_t before = live_allocations();
    for (unsigned round = 0; round < (SLOW ? 500 : 3000); ++round) {
        const uint64_t which = random_below(&seed, AT_A_TIME);
        assert_int_equal(tw_handles_free(sets[which]), 0);
        sets[which] = new_set(
            churned, (struct tw_handles_options){.capacity = 1 + (uint32_t)random_below(&seed, LARGEST)});
    }
    assert_in_range(live_allocations() - before, 0, 1 + AT_A_TIME * (3 + 2 * 6 + 1));
    tw_runtime_free(churned);
}

/* Memory of a large set that was freed goes to whatever set grows, and not as a whole to a small one. Only
 * the first 1,024 cells may, which a large set then allocates in four pieces more. */
TEST(small_sets_do_not_keep_the_memory_of_large_ones) {
    enum { SMALL = 60, LARGE = 8000 };
    struct tw_handles *small[SMALL];
    tw_handle id;
    churned = virtual_runtime();
    for (unsigned s = 0; s < SMALL; ++s)
        small[s] = new_set(churned, (struct tw_handles_options){0});
    use_and_free(0, 0, LARGE);
    const int64_t of_large = live_allocations();
    for (unsigned s = 0; s < SMALL; ++s) {
        assert_int_equal(tw_handles_free(small[s]), 0);
        small[s] = new_set(churned, (struct tw_handles_options){0});
        assert_int_equal(tw_handle_after(small[s], &id, MS, note_fire, NULL), 0);
        use_and_free(0, 0, LARGE);
    }
    assert_in_range(live_allocations() - of_large, 0, 4 * SMALL);
    tw_runtime_free(churned);
}
