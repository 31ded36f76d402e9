/* tw_take: the caller makes the fires that it takes, and the wheel does everything else as in tw_advance. */
#include "promise.h"

#define NODES 300

/* A fire of a turn, to compare the two ways to advance. */
struct told {
    unsigned node;
    tw_tick due, overruns, now;
};

static struct tw_node nodes[NODES];
static struct told told[2][60000];
static size_t told_count[2];
static unsigned way;           /* 0: tw_advance, 1: tw_take */
static struct tw_fire present; /* the fire that is being made, if it was taken */
static uint64_t seed;

static uint64_t any_distance(void) {
    return random_below(&seed, UINT64_C(1) << random_below(&seed, shape_round_bits() + 2));
}

/* Arms a random node, from outside or from a callback, also for the tick that is firing. */
static void arm_any(void) {
    struct tw_node *const node = &nodes[random_below(&seed, NODES)];
    const tw_tick at = tw_now(&wheel) + any_distance();
    switch (random_below(&seed, 5)) {
    case 0:
        tw_cancel(&wheel, node);
        break;
    case 1:
        tw_arm_every(&wheel, node, at, 1 + any_distance(), (enum tw_missed)random_below(&seed, 3),
                     (uint32_t)random_below(&seed, 9));
        break;
    case 2:
        if (tw_pending(&wheel, node))
            tw_move(&wheel, node, at);
        break;
    default:
        tw_arm_at(&wheel, node, at);
        break;
    }
}

static void tell(struct tw_node *node, UNUSED void *arg) {
    struct told *const next = &told[way][told_count[way]++];
    assert_true(told_count[way] < COUNT_OF(told[way]));
    const bool is_taken = way == 1;
    next->node = (unsigned)(node - nodes);
    next->due = is_taken ? present.due : tw_due(&wheel);
    next->overruns = is_taken ? present.overruns : tw_overruns(&wheel);
    next->now = tw_now(&wheel);
    if (random_below(&seed, 3) == 0)
        arm_any();
}

static void turn_to(tw_tick now) {
    if (way == 0) {
        assert_int_equal(tw_advance(&wheel, now, TW_UNBOUNDED), 0);
        return;
    }
    while (tw_take(&wheel, now, &present) == 1) {
        assert_null(tw_running(&wheel));
        assert_int_equal(tw_due(&wheel), TW_NEVER);
        present.fn(present.node, present.arg);
    }
}

static void play(uint64_t game) {
    seed = game;
    told_count[way] = 0;
    fresh_wheel(NULL);
    for (unsigned i = 0; i < NODES; ++i)
        tw_node_init(&nodes[i], tell, NULL);
    for (unsigned step = 0; step < 400; ++step) {
        for (unsigned i = 0; i < 3; ++i)
            arm_any();
        turn_to(tw_now(&wheel) + any_distance() / 4);
        assert_whole();
    }
}

TEST_IF(!TW_SMALL, take_fires_what_an_advance_fires_and_in_its_order) {
    for (uint64_t game = 1; game <= 20; ++game) {
        for (way = 0; way < 2; ++way)
            play(game);
        assert_int_equal(told_count[0], told_count[1]);
        assert_true(told_count[0] > 100);
        for (size_t i = 0; i < told_count[0]; ++i) {
            const struct told *const a = &told[0][i], *const b = &told[1][i];
            if (a->node != b->node || a->due != b->due || a->overruns != b->overruns || a->now != b->now)
                fail_msg("game %u: fire %u differs", (unsigned)game, (unsigned)i);
        }
    }
}

static void take_inside(UNUSED struct tw_node *node, UNUSED void *arg) {
    assert_int_equal(tw_take(&wheel, 10, &present), -EBUSY);
    ++fires;
}

TEST_IF(!TW_SMALL, take_refuses_a_wheel_that_is_advanced_and_bad_arguments) {
    struct timer timer;
    struct tw_node node;
    present.node = NULL;
    if (TW_VALIDATION) {
        assert_int_equal(tw_take(NULL, 1, &present), -EINVAL);
        assert_int_equal(tw_take(&wheel, 1, NULL), -EINVAL);
        assert_int_equal(tw_take(&wheel, TW_NEVER, &present), -EINVAL);
    }
    fresh_wheel(NULL);
    tw_node_init(&node, take_inside, NULL);
    tw_arm_at(&wheel, &node, 5);
    assert_int_equal(tw_advance(&wheel, 5, TW_UNBOUNDED), 0);
    assert_int_equal(fires, 1);
    init_and_arm(&timer, 9);
    if (TW_VALIDATION)
        assert_int_equal(tw_take(&wheel, 4, &present), -EINVAL);
    assert_int_equal(tw_take(&wheel, 8, &present), 0);
    assert_null(present.node); /* tw_take stores nothing if it returns 0 */
    assert_int_equal(tw_take(&wheel, 20, &present), 1);
    assert_ptr_equal(present.node, &timer.node);
    assert_ptr_equal(present.arg, &timer);
    assert_int_equal(tw_now(&wheel), 20);
    assert_int_equal(tw_pending(&wheel, &timer.node), 0);
    assert_int_equal(tw_cancel(&wheel, &timer.node), 0); /* it has fired */
}
