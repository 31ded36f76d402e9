/* P10: no call allocates; the caller provides all storage. */
#include "promise.h"
#include "support/counted_heap.h"

#define NODES 1000

static struct tw_node nodes[NODES];

static void count_fire(UNUSED struct tw_node *node, UNUSED void *arg) { ++fires; }

static void ignore_report(UNUSED const char *invariant, UNUSED const struct tw_node *node, UNUSED void *arg) {
}

static void arm_in_every_way(size_t i) {
    struct tw_node *node = &nodes[i];
    const uint64_t distance = 1 + i * i * 37;
    tw_node_init(node, count_fire, NULL);
    tw_arm_after(&wheel, node, distance);
    tw_arm_at(&wheel, node, tw_now(&wheel) + distance);
    tw_arm_within(&wheel, node, tw_now(&wheel) + distance, distance);
    if (i % 3 == 0)
        tw_arm_every(&wheel, node, tw_now(&wheel) + distance, distance, (enum tw_missed)(i / 3 % 3), 0);
    if (i % 5 == 0)
        tw_postpone(&wheel, node, tw_expiry(&wheel, node) + distance);
    if (i % 13 == 0)
        tw_move(&wheel, node, tw_expiry(&wheel, node) + distance);
}

static void ask_everything(size_t i) {
    IGNORE(tw_pending(&wheel, &nodes[i]));
    IGNORE(tw_expiry(&wheel, &nodes[i]));
    IGNORE(tw_count(&wheel));
    IGNORE(tw_now(&wheel));
    IGNORE(tw_next(&wheel));
    IGNORE(tw_overruns(&wheel));
    IGNORE(tw_running(&wheel));
    IGNORE(tw_due(&wheel));
    (void)tw_wait(&wheel, &nodes[i]);
    IGNORE(tw_version());
    IGNORE(tw_node_size());
    IGNORE(tw_wheel_size());
}

static void use_everything(unsigned flags) {
    tw_init(&wheel, 0, flags);
    for (size_t i = 0; i < NODES; ++i) {
        arm_in_every_way(i);
        ask_everything(i);
        if (i % 7 == 0)
            tw_cancel(&wheel, &nodes[i]);
        if (i % 11 == 0)
            tw_retire(&wheel, &nodes[i]);
        tw_update(&wheel);
        tw_idle(&wheel, 5);
    }
    for (unsigned step = 0; step < 100; ++step) {
        tw_advance(&wheel, tw_now(&wheel) + 1000 * step, 100);
        tw_idle(&wheel, TW_UNBOUNDED);
    }
    tw_advance(&wheel, tw_now(&wheel), TW_UNBOUNDED);
    assert_int_equal(tw_check(&wheel, ignore_report, NULL), 0);
    tw_cancel_all(&wheel, count_fire, NULL);
}

FIXTURE(fresh_wheel, NULL);

TEST(p10_no_call_allocates) {
    allocations = 0;
    use_everything(0);
    use_everything(TW_UNLOCKED);
    assert_true(fires > NODES);
    assert_int_equal(allocations, 0);
}

TEST(p10_no_refused_call_allocates) {
    static struct tw none;
    static struct tw_node raw;
    allocations = 0;
    (void)tw_init(NULL, 0, 0);
    (void)tw_node_init(&raw, NULL, NULL);
    (void)tw_arm_at(&none, &raw, 5);
    (void)tw_arm_after(&wheel, &raw, 5);
    (void)tw_cancel(&wheel, NULL);
    (void)tw_advance(&wheel, 0, 0);
    (void)tw_advance(&none, 0, 1);
    assert_int_equal(allocations, 0);
}

/* Tests the test itself. */
TEST(p10_an_allocation_would_be_noticed) {
    allocations = 0;
    void *volatile memory = malloc(1);
    free(memory);
    assert_int_equal(allocations, 2);
}
