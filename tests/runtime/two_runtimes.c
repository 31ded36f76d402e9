/* Two runtimes in one process arm nodes on each other, stop each other and free each other. */
#include "support/faults.h"

/* A runtime with a node whose callback acts on the other one. */
struct side {
    struct tw_runtime *rt;
    struct tw_node node;
    struct side *other;
    atomic_uint fires;
    atomic_int refused;
};

static struct side left, right;

static void make_side(struct side *side, struct side *other, const char *driver, tw_callback *fn) {
    const struct tw_runtime_options options = {.driver = driver, .tick_ns = 50 * TW_MICROSECOND};
    memset(side, 0, sizeof *side);
    side->other = other;
    assert_int_equal(tw_runtime_new(&side->rt, &options), 0);
    assert_int_equal(tw_node_init(&side->node, fn, side), 0);
}

static void make_both(const struct way *way, tw_callback *of_left, tw_callback *of_right) {
    make_side(&left, &right, way->driver, of_left);
    make_side(&right, &left, way->driver, of_right);
}

static void start_both(void) {
    assert_int_equal(tw_runtime_start(left.rt), 0);
    assert_int_equal(tw_runtime_start(right.rt), 0);
}

static void note(struct side *side, int result) {
    atomic_fetch_add(&side->refused, result < 0);
    atomic_fetch_add(&side->fires, 1);
}

/* --- arming -------------------------------------------------------------------------- */

static void pass_on(UNUSED struct tw_node *node, void *arg) {
    struct side *self = arg;
    note(self, tw_runtime_after(self->other->rt, &self->other->node, atomic_load(&self->fires) % 2));
}

#define PASSES 2000

/* A lost wake-up would hang this test. */
TEST_BY_EACH_THREAD(a_node_of_each_arms_that_of_the_other) {
    const struct holdings before = holdings_now();
    make_both(WAY, pass_on, pass_on);
    start_both();
    assert_int_equal(tw_runtime_after(left.rt, &left.node, 0), 0);
    wait_for(right.fires >= PASSES);
    tw_runtime_stop(left.rt);
    tw_runtime_stop(right.rt);
    assert_int_equal(left.refused + right.refused, 0);
    assert_in_range(left.fires - right.fires, 0, 1);
    assert_int_equal(tw_runtime_count(left.rt) + tw_runtime_count(right.rt), 1);
    tw_runtime_free(left.rt);
    tw_runtime_free(right.rt);
    assert_nothing_leaked(before);
}

/* --- stopping -------------------------------------------------------------------------- */

static void stop_the_other(UNUSED struct tw_node *node, void *arg) {
    struct side *self = arg;
    note(self, tw_runtime_stop(self->other->rt));
}

/* A node of left stops right, whose callbacks keep arming on left. */
static struct counter visitor;

static void visit_left(UNUSED struct tw_node *node, void *arg) {
    struct side *self = arg;
    note(self, tw_runtime_after(self->other->rt, &visitor.node, 0));
}

static unsigned stops_to_see, visits_to_see;

TEST_BY_EACH_THREAD(one_stops_the_other_while_that_arms_on_it) {
    make_both(WAY, stop_the_other, visit_left);
    init_counter(&visitor);
    assert_int_equal(tw_runtime_every(right.rt, &right.node, 50 * TW_MICROSECOND, TW_SKIP), 0);
    assert_int_equal(tw_runtime_start(left.rt), 0);
    for (unsigned i = 1; i <= 300; ++i) {
        visits_to_see = atomic_load(&right.fires) + 1;
        stops_to_see = i;
        assert_int_equal(tw_runtime_start(right.rt), 0);
        wait_for(right.fires >= visits_to_see);
        assert_int_equal(tw_runtime_after(left.rt, &left.node, 0), 0);
        wait_for(left.fires >= stops_to_see);
        const unsigned fires = atomic_load(&right.fires);
        pause_ms(i % 16 == 0);
        assert_int_equal(right.fires, fires);
    }
    assert_int_equal(left.refused + right.refused, 0);
    tw_runtime_free(right.rt);
    tw_runtime_free(left.rt);
    assert_true(visitor.fires > 0);
}

/* --- freeing ----------------------------------------------------------------------------- */

static void free_the_other(UNUSED struct tw_node *node, void *arg) {
    struct side *self = arg;
    note(self, tw_runtime_free(self->other->rt));
}

static void just_count(UNUSED struct tw_node *node, void *arg) { note(arg, 0); }

TEST_BY_EACH_THREAD(one_frees_the_other_which_runs) {
    const struct holdings before = holdings_now();
    for (unsigned i = 0; i < 100; ++i) {
        make_both(WAY, free_the_other, just_count);
        start_both();
        assert_int_equal(tw_runtime_every(right.rt, &right.node, 50 * TW_MICROSECOND, TW_SKIP), 0);
        wait_for(right.fires > 0);
        assert_int_equal(tw_runtime_after(left.rt, &left.node, 0), 0);
        wait_for(left.fires == 1);
        const unsigned fires = atomic_load(&right.fires);
        tw_runtime_free(left.rt);
        assert_int_equal(right.fires, fires);
        assert_nothing_leaked(before);
    }
}

/* --- nested: a callback of left moves the virtual time of right ------------------------------ */

static int result_of_inner, result_of_inner_start;

static void stop_and_free_left(UNUSED struct tw_node *node, void *arg) {
    struct side *self = arg;
    result_of_inner = tw_runtime_stop(left.rt); /* does not wait for itself */
    result_of_inner_start = tw_runtime_start(left.rt);
    note(self, tw_runtime_free(left.rt));
}

static void advance_right(UNUSED struct tw_node *node, void *arg) {
    note(arg, tw_runtime_advance(right.rt, TW_SECOND));
}

static struct holdings without_left;

static bool left_is_gone(void) {
    return live_allocations() == without_left.allocations && count_descriptors() == without_left.descriptors;
}

TEST_BY_EACH_THREAD(a_callback_inside_a_callback_stops_and_frees_the_outer_runtime) {
    make_side(&right, &left, "manual", stop_and_free_left);
    without_left = holdings_now();
    make_side(&left, &right, WAY->driver, advance_right);
    assert_int_equal(tw_runtime_after(right.rt, &right.node, 1), 0);
    assert_int_equal(tw_runtime_after(left.rt, &left.node, TW_MILLISECOND), 0);
    assert_int_equal(tw_runtime_start(left.rt), 0);
    wait_for(left_is_gone());
    assert_int_equal(left.fires, 1);
    assert_int_equal(right.fires, 1);
    assert_int_equal(left.refused + right.refused, 0);
    assert_int_equal(result_of_inner, 0);
    assert_int_equal(result_of_inner_start, -EBUSY);
    tw_runtime_free(right.rt);
}
