/* P11 when nearly all numbers of cells are taken, so that sets reuse the numbers of freed sets. In this test,
 * there are only 1,024 blocks of cells (few_cells.cpp), and the library never uses the first and the last. */
#include "timers_test.h"

enum { BLOCKS = 1022, CELLS_OF_BLOCK = 1024 };

static unsigned fires;

static void count(UNUSED const struct tw_event *event, UNUSED void *arg) { ++fires; }

/* A set needs a block for its first timer, and so does a capacity of one. */
static struct tw_timers *set_of(struct tw_runtime *rt, uint32_t capacity) {
    return new_set(rt, (struct tw_set_options){.capacity = capacity});
}

static struct tw_runtime *owner_of_blocks(unsigned blocks) {
    struct tw_runtime *rt = virtual_runtime();
    for (unsigned i = 0; i < blocks; ++i)
        set_of(rt, 1);
    return rt;
}

static tw_handle started(struct tw_timers *set) {
    tw_handle id = TW_NO_HANDLE;
    assert_int_equal(tw_timer_after(set, &id, TW_SECOND, count, NULL), 0);
    assert_true(id != TW_NO_HANDLE);
    return id;
}

static void assert_none_is_left(struct tw_runtime *rt, struct tw_timers *without_cells) {
    struct tw_timers *one_more = NULL;
    tw_handle id = TW_NO_HANDLE;
    assert_int_equal(tw_timers_new(&one_more, rt, &(struct tw_set_options){.capacity = 1}), -EMFILE);
    assert_null(one_more);
    assert_int_equal(tw_timer_after(without_cells, &id, 0, count, NULL), -EMFILE);
    assert_true(id == TW_NO_HANDLE);
    assert_int_equal(tw_timers_count(without_cells), 0);
}

/* --- handles of freed sets, in later sets ------------------------------------------------------- */

enum { LEFT = 7, ROUNDS = 30 };
static tw_handle gone[ROUNDS * LEFT + LEFT / 2][2];

static void use_and_free(struct tw_timers *set, unsigned s) {
    for (unsigned reuses = 0; reuses < s % 5; ++reuses)
        assert_int_equal(tw_timer_cancel(set, started(set)), 1);
    gone[s][0] = started(set);
    assert_int_equal(tw_timer_cancel(set, gone[s][0]), 1);
    gone[s][1] = started(set); /* ends with its set */
    for (unsigned earlier = 0; earlier < s; ++earlier)
        for (unsigned i = 0; i < 2; ++i)
            assert_refused(set, gone[earlier][i], -ENOENT);
    assert_int_equal(tw_timers_count(set), 1);
    assert_int_equal(tw_timers_free(set), 0);
}

/* Each set gets the memory of the previous set of the runtime. */
TEST(p11_handles_of_sets_that_were_freed_are_refused_by_later_sets) {
    struct tw_runtime *others = owner_of_blocks(BLOCKS - LEFT), *rt = virtual_runtime();
    for (unsigned s = 0; s < COUNT_OF(gone); ++s)
        use_and_free(set_of(rt, 1), s);
    for (unsigned s = 1; s < COUNT_OF(gone); ++s) /* a generation for each reuse, and one for the set */
        assert_int_equal((gone[s][0] >> 32) - (gone[s - 1][1] >> 32), s % 5 + 2);
    tw_runtime_free(rt);
    tw_runtime_free(others);
    assert_int_equal(fires, 0);
}

TEST(p11_handles_of_runtimes_that_were_freed_are_refused_by_later_sets) {
    struct tw_runtime *others = owner_of_blocks(BLOCKS - LEFT);
    for (unsigned s = 0; s < COUNT_OF(gone); ++s) {
        struct tw_runtime *rt = virtual_runtime();
        use_and_free(set_of(rt, 1), s);
        tw_runtime_free(rt);
    }
    tw_runtime_free(others);
    assert_int_equal(fires, 0);
}

/* --- the end --------------------------------------------------------------------------------------- */

TEST(p11_there_are_no_more_timers_than_can_be_told_apart) {
    static struct tw_timers *sets[BLOCKS];
    static tw_handle ids[BLOCKS];
    uint64_t seed = 3;
    for (unsigned round = 0; round < 2; ++round) { /* the runtime gives its blocks back when it is freed */
        struct tw_runtime *rt = virtual_runtime();
        struct tw_timers *without_cells = set_of(rt, 0);
        for (unsigned s = 0; s < BLOCKS; ++s) {
            sets[s] = set_of(rt, 1);
            ids[s] = started(sets[s]);
        }
        assert_none_is_left(rt, without_cells);
        for (unsigned s = 0; s < BLOCKS; ++s)
            for (unsigned tries = 0; tries < 8; ++tries) {
                const uint64_t other = random_below(&seed, BLOCKS);
                assert_int_equal(tw_timer_move(sets[s], ids[other], TW_SECOND), other == s ? 0 : -ENOENT);
            }
        assert_int_equal(tw_timers_free(sets[128]), 0);
        sets[128] = set_of(rt, 1);
        assert_none_is_left(rt, without_cells);
        assert_refused(sets[128], ids[128], -ENOENT);
        tw_runtime_free(rt); /* with its sets */
    }
    assert_int_equal(fires, 0);
}

TEST(p11_a_set_does_not_grow_by_a_block_that_cannot_be_told_apart) {
    struct tw_runtime *others = owner_of_blocks(BLOCKS - 1), *rt = virtual_runtime_with_one_lane();
    struct tw_timers *set = set_of(rt, 0);
    tw_handle id = TW_NO_HANDLE;
    for (unsigned i = 0; i < CELLS_OF_BLOCK; ++i)
        started(set);
    assert_int_equal(tw_timer_after(set, &id, 0, count, NULL), -EMFILE);
    assert_true(id == TW_NO_HANDLE);
    assert_int_equal(tw_timers_count(set), CELLS_OF_BLOCK);
    tw_runtime_free(others);
    id = started(set);
    assert_int_equal(tw_timer_cancel(set, id), 1);
    assert_refused(set, id, -ESTALE);
    fires = 0;
    assert_ok(tw_runtime_advance(rt, TW_SECOND));
    assert_int_equal(fires, CELLS_OF_BLOCK);
    tw_runtime_free(rt);
}

/* A growing set takes the blocks of a freed set, and no further ones. */
TEST(p11_sets_that_come_and_go_use_the_same_blocks) {
    enum { OWN = 4 };
    struct tw_runtime *others = owner_of_blocks(BLOCKS - OWN), *rt = virtual_runtime_with_one_lane();
    for (unsigned round = 0; round < 10; ++round) {
        struct tw_timers *set = set_of(rt, 0);
        for (unsigned i = 0; i < OWN * CELLS_OF_BLOCK; ++i)
            started(set);
        assert_int_equal(tw_timers_free(set), 0);
    }
    tw_runtime_free(rt);
    tw_runtime_free(others);
}

/* A refused tw_timers_new gives back the blocks that it has taken. */
TEST(p11_sets_that_were_refused_take_nothing) {
    struct tw_runtime *others = owner_of_blocks(BLOCKS - 2), *rt = virtual_runtime();
    const struct tw_set_options too_large = {.capacity = 3 * CELLS_OF_BLOCK};
    struct tw_timers *none = NULL;
    for (unsigned tries = 0; tries < 10; ++tries)
        assert_int_equal(tw_timers_new(&none, rt, &too_large), -EMFILE);
    assert_null(none);
    tw_timers_free(set_of(rt, 2 * CELLS_OF_BLOCK));
    tw_runtime_free(rt);
    rt = virtual_runtime();
    set_of(rt, 1);
    set_of(rt, 1);
    tw_runtime_free(rt);
    tw_runtime_free(others);
}
