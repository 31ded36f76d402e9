/* The checking build reports nothing about a correct program, however unusual: nodes in memory that the
 * program frees and uses again, copies of idle nodes, and wheels that end while nodes are pending on them. A
 * false alarm ends this program. */
#include <stdbool.h>

#include "core/door.h"
#include "support/runtime_test.h"
#include "support/sanitized.h"

enum { NODES = 64, OPERATIONS = SLOW ? 20000 : 200000 };

static uint64_t fires;

static void count(UNUSED struct tw_node *node, UNUSED void *arg) { ++fires; }

static struct tw_node *new_node(tw_callback *fn, void *arg) {
    struct tw_node *const node = malloc(sizeof *node);
    assert_non_null(node);
    assert_int_equal(tw_node_init(node, fn, arg), 0);
    return node;
}

static struct tw *wheel;
static struct tw_node *nodes[NODES];

static void begin_a_wheel(void) {
    wheel = malloc(sizeof *wheel);
    assert_non_null(wheel);
    assert_int_equal(tw_init(wheel, 0, 0), 0);
}

/* Frees the wheel and begins another one, usually in the same memory. Unless `cancels_all`, nodes are still
 * pending on the old wheel. */
static void drop_the_wheel(bool cancels_all) {
    if (cancels_all)
        tw_cancel_all(wheel, NULL, NULL);
    free(wheel);
    begin_a_wheel();
    for (int i = 0; i < NODES && !cancels_all; ++i)
        assert_int_equal(tw_node_init(nodes[i], count, NULL), 0);
}

static void replace(struct tw_node **node) {
    tw_cancel(wheel, *node);
    struct tw_node *const moved = malloc(sizeof *moved);
    assert_non_null(moved);
    *moved = **node;
    free(*node);
    *node = moved;
}

static void do_one(uint64_t *seed) {
    struct tw_node **const node = &nodes[random_below(seed, NODES)];
    const uint64_t now = tw_now(wheel);
    switch (random_below(seed, 12)) {
    case 0:
        tw_cancel(wheel, *node);
        break;
    case 1:
        replace(node);
        break;
    case 2:
        tw_arm_every(wheel, *node, now + 3, 1 + random_below(seed, 50), (enum tw_missed)random_below(seed, 3),
                     0);
        break;
    case 3:
        tw_move(wheel, *node, now + random_below(seed, 5000));
        break;
    case 4:
        tw_postpone(wheel, *node, now + 70000 + random_below(seed, 5000));
        break;
    case 5:
        tw_core_shift(wheel, random_below(seed, 10));
        break;
    case 6:
        assert_true(tw_advance(wheel, now + random_below(seed, 300), TW_UNBOUNDED) == 0);
        break;
    case 7:
        tw_advance(wheel, now + 1, 3);
        break;
    case 8:
        tw_arm_within(wheel, *node, now + 10, random_below(seed, 100));
        break;
    case 9:
        if (random_below(seed, 200) == 0)
            drop_the_wheel(random_below(seed, 2) == 0);
        break;
    default:
        tw_arm_after(wheel, *node, 1 + random_below(seed, UINT64_C(1) << random_below(seed, 30)));
        break;
    }
}

TEST(checks_are_silent_of_correct_programs) {
    uint64_t seed = 1;
    begin_a_wheel();
    for (int i = 0; i < NODES; ++i)
        nodes[i] = new_node(count, NULL);
    for (int i = 0; i < OPERATIONS; ++i)
        do_one(&seed);
    tw_cancel_all(wheel, NULL, NULL);
    for (int i = 0; i < NODES; ++i)
        free(nodes[i]);
    free(wheel);
    assert_true(fires > 1000);
}
