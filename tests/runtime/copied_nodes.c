/* P14: the library refuses calls with the copy of a pending node. The checking build stops the program
 * instead: checks_of_nodes.c. */
#include <stdlib.h>
#include <sys/mman.h>

#include "support/runtime_test.h"

enum { SOON = 5 };

static struct tw wheel;
static struct tw_node node, copy;

static void pend(struct tw *w, struct tw_node *each) {
    assert_int_equal(tw_node_init(each, no_callback, NULL), 0);
    assert_int_equal(tw_arm_at(w, each, SOON), 0);
}

static void assert_copies_are_refused(struct tw *w, struct tw_node *each) {
    assert_int_equal(tw_cancel(w, each), -EBUSY);
    assert_int_equal(tw_move(w, each, 10 * SOON), -EBUSY);
    assert_int_equal(tw_arm_after(w, each, 1), -EBUSY);
    assert_int_equal(tw_pending(w, each), 0);
}

/* Also if the original's neighbour has since been unmapped. */
TEST(p14_the_copy_of_a_pending_node_is_refused_and_changes_nothing) {
    struct tw_node *const before =
        mmap(NULL, sizeof *before, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(before != MAP_FAILED);
    assert_int_equal(tw_init(&wheel, 0, 0), 0);
    pend(&wheel, before);
    pend(&wheel, &node);
    copy = node;
    assert_copies_are_refused(&wheel, &copy);
    assert_int_equal(tw_count(&wheel), 2);
    tw_advance(&wheel, SOON, TW_UNBOUNDED);
    assert_int_equal(tw_count(&wheel), 0);
    munmap(before, sizeof *before);
    assert_copies_are_refused(&wheel, &copy);
    assert_int_equal(tw_check(&wheel, NULL, NULL), 0);
}

/* The copy is at the same distance from the other wheel as the original from its own. Tried in both
 * directions. */
TEST(p14_a_copy_beside_another_wheel_is_refused_there_too) {
    enum { APART = 1 << 16 };
    struct shard {
        struct tw wheel;
        struct tw_node node;
    };
    char *const memory = aligned_alloc(APART, 2 * APART);
    struct shard *const one = (struct shard *)memory, *const other = (struct shard *)(memory + APART);
    assert_non_null(memory);
    for (int crosswise = 0; crosswise < 2; ++crosswise) {
        struct tw_node *const original = crosswise ? &other->node : &one->node;
        struct tw_node *const its_copy = crosswise ? &one->node : &other->node;
        assert_int_equal(tw_init(&one->wheel, 0, 0), 0);
        assert_int_equal(tw_init(&other->wheel, 0, 0), 0);
        pend(&one->wheel, original);
        *its_copy = *original;
        assert_copies_are_refused(&other->wheel, its_copy);
        assert_int_equal(tw_count(&one->wheel), 1);
    }
    free(memory);
}
