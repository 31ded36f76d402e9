/* Sets by the hundred thousand, and sets that are made and freed for ever. */
#include "handles_test.h"

#include "support/inject.h"
#include "support/sanitized.h"

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

/* --- memory ---------------------------------------------------------------------------------- */

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

/* Stores are used again by sets of another size: the memory is bounded by as many of the largest as there
 * were at a time. A growth has two allocations, and there are six up to 2,048 cells. */
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

TEST(runtimes_that_are_made_and_freed_for_ever_leave_nothing) {
    int64_t after_first = 0;
    for (unsigned round = 0; round < (SLOW ? 500 : 3000); ++round) {
        churned = virtual_runtime();
        use_and_free(0, 0, 10);
        use_and_free(3000, 8, 10);
        tw_runtime_free(churned);
        if (round == 0)
            after_first = live_allocations();
        assert_int_equal(live_allocations(), after_first);
    }
}
