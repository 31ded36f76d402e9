/* The functions of core/door.h: arming without validating the wheel, labels and their counts, and fires that
 * a caller makes in the wheel's place. */
#include "promise.h"

static struct timer one, other;

static int fresh(void **state) {
    fresh_wheel(state);
    init(&one);
    init(&other);
    return 0;
}

/* --- labels ------------------------------------------------------------------------------ */

FIXTURE(fresh, NULL);

TEST(a_label_stays_until_the_node_is_initialised) {
    assert_int_equal(tw_core_label(&one.node, 7), 0);
    arm(&one, 3);
    advance(3);
    assert_int_equal(one.fires, 1);
    arm(&one, 5);
    tw_cancel(&wheel, &one.node);
    assert_int_equal(tw_core_cancelled(&wheel, 7), 1);
    init(&one);
    arm(&one, 9);
    tw_cancel(&wheel, &one.node);
    assert_int_equal(tw_core_cancelled(&wheel, 7), 1);
    assert_int_equal(tw_core_cancelled(&wheel, 0), 1);
}

TEST(a_label_is_refused_if_it_is_out_of_range_or_the_node_is_pending) {
    assert_int_equal(tw_core_label(NULL, 1), -EINVAL);
    assert_int_equal(tw_core_label(&(struct tw_node){0}, 1), -EINVAL);
    assert_int_equal(tw_core_label(&one.node, TW_LABELS), -EINVAL);
    assert_int_equal(tw_core_label(&one.node, TW_LABELS - 1), 0);
    arm(&one, 3);
    assert_int_equal(tw_core_label(&one.node, 1), -EBUSY);
    tw_cancel(&wheel, &one.node);
    assert_int_equal(tw_core_cancelled(&wheel, TW_LABELS - 1), 1);
    assert_int_equal(tw_core_cancelled(&wheel, TW_LABELS), 0);
    assert_int_equal(tw_core_cancelled(NULL, 0), 0);
}

static uint64_t missed;
static void note_missed(UNUSED struct tw_node *node, UNUSED void *arg) { missed = tw_overruns(&wheel); }

/* A label and a policy share a byte. */
TEST(a_label_and_the_policy_for_missed_fires_do_not_disturb_each_other) {
    for (unsigned label = 0; label < TW_LABELS; label += 21) {
        for (int policy = TW_COALESCE; policy <= TW_BURST; ++policy) {
            struct tw_node node;
            const uint64_t now = tw_now(&wheel), grid = tw_core_cancelled(&wheel, label);
            assert_int_equal(tw_node_init(&node, note_missed, NULL), 0);
            assert_int_equal(tw_core_label(&node, label), 0);
            assert_int_equal(tw_arm_every(&wheel, &node, now + 10, 10, (enum tw_missed)policy, 0), 0);
            advance(now + 35);
            assert_int_equal(missed, policy == TW_BURST ? 0 : 2);
            assert_int_equal(tw_expiry(&wheel, &node), now + (policy == TW_DELAY ? 45 : 40));
            assert_int_equal(tw_cancel(&wheel, &node), 1);
            assert_int_equal(tw_core_cancelled(&wheel, label), grid + 1);
        }
    }
}

TEST(only_fires_that_were_prevented_are_counted) {
    assert_int_equal(tw_cancel(&wheel, &one.node), 0);
    assert_int_equal(tw_core_cancelled(&wheel, 0), 0);
    arm(&one, 3);
    assert_int_equal(tw_retire(&wheel, &one.node), 1);
    assert_int_equal(tw_core_cancelled(&wheel, 0), 1);
    assert_int_equal(tw_retire(&wheel, &one.node), 0);
    arm(&other, 4);
    tw_cancel_all(&wheel, NULL, NULL);
    assert_int_equal(tw_core_cancelled(&wheel, 0), 1);
}

TEST(a_wheel_without_a_lock_does_not_count) {
    assert_int_equal(tw_init(&wheel, 0, TW_UNLOCKED), 0);
    arm(&one, 3);
    assert_int_equal(tw_cancel(&wheel, &one.node), 1);
    assert_int_equal(tw_core_cancelled(&wheel, 0), 0);
}

/* --- a caller ----------------------------------------------------------------------------- */

#define MOST 8
static struct tw_fire made[MOST];
static unsigned labels[MOST];
static unsigned made_count;
static unsigned made_before_pause[MOST];
static unsigned pauses;
static int token;

static void make(const struct tw_fire *fire, unsigned label, void *arg) {
    assert_ptr_equal(arg, &token);
    if (fire == NULL) {
        assert_true(pauses < MOST);
        made_before_pause[pauses++] = made_count;
        return;
    }
    assert_true(made_count < MOST);
    labels[made_count] = label;
    made[made_count++] = *fire;
    fire->fn(fire->node, fire->arg);
}

static int fresh_with_caller(void **state) {
    fresh(state);
    made_count = pauses = 0;
    tw_core_set_caller(&wheel, make, &token);
    return 0;
}

FIXTURE(fresh_with_caller, NULL);

TEST(a_caller_makes_each_fire_and_knows_it) {
    tw_core_label(&one.node, 5);
    arm(&one, 3);
    arm(&other, 3);
    advance(10);
    assert_int_equal(made_count, 2);
    assert_ptr_equal(made[0].node, &one.node);
    assert_true(made[0].fn == fire && made[0].arg == &one);
    assert_int_equal(made[0].due, 3);
    assert_int_equal(labels[0], 5);
    assert_int_equal(labels[1], 0);
    assert_int_equal(one.fires + other.fires, 2);
}

/* The second fire of a tick follows the first at once; a fire in a later round comes after the wheel has
 * moved on. */
TEST(a_caller_is_told_when_no_fire_follows_at_once) {
    struct timer third;
    arm(&one, 3);
    arm(&other, 3);
    init_and_arm(&third, 2 * ROUND + 4);
    advance(3 * ROUND);
    assert_int_equal(made_count, 3);
    assert_int_equal(pauses, 2);
    assert_int_equal(made_before_pause[0], 2);
    assert_int_equal(made_before_pause[1], 3);
}

TEST(a_caller_is_told_of_fires_that_were_missed) {
    tw_node_init(&one.node, note_missed, NULL);
    tw_arm_every(&wheel, &one.node, 10, 10, TW_COALESCE, 0);
    advance(45);
    assert_int_equal(made_count, 1);
    assert_int_equal(made[0].due, 10);
    assert_int_equal(made[0].overruns, 3);
}

static void free_itself(struct tw_node *node, UNUSED void *arg) { free(node); }

TEST(a_callback_that_a_caller_calls_may_free_its_node) {
    struct tw_node *node = malloc(sizeof *node);
    tw_node_init(node, free_itself, NULL);
    tw_arm_at(&wheel, node, 3);
    advance(10);
    assert_int_equal(made_count, 1);
}

TEST(without_its_caller_a_wheel_makes_fires_itself) {
    tw_core_set_caller(&wheel, NULL, NULL);
    arm(&one, 3);
    advance(10);
    assert_int_equal(made_count, 0);
    assert_int_equal(one.fires, 1);
}

/* --- arming on a wheel that is known to be valid ----------------------------------------- */

FIXTURE(fresh, NULL);

TEST(a_node_is_armed_through_the_door_as_by_tw_arm_at) {
    assert_int_equal(tw_core_arm_at(&wheel, &one.node, 3, 0), 0);
    assert_int_equal(tw_core_arm_at(&wheel, &one.node, 5, 0), 0);
    advance(4);
    assert_int_equal(one.fires, 0);
    advance(5);
    assert_int_equal(one.fires, 1);
}

TEST(p14_the_door_refuses_a_node_as_tw_arm_at_does) {
    static struct tw elsewhere;
    assert_int_equal(tw_init(&elsewhere, 0, 0), 0);
    assert_int_equal(tw_core_arm_at(&wheel, NULL, 3, 0), -EINVAL);
    assert_int_equal(tw_core_arm_at(&wheel, &(struct tw_node){0}, 3, 0), -EINVAL);
    assert_int_equal(tw_core_arm_at(&wheel, &one.node, TW_NEVER, 0), -ERANGE);
    assert_int_equal(tw_core_arm_every(&wheel, &one.node, TW_NEVER, 1, TW_BURST, 0, 0), -ERANGE);
    assert_int_equal(tw_arm_at(&elsewhere, &one.node, 3), 0);
    assert_int_equal(tw_core_arm_at(&wheel, &one.node, 3, 0), -EBUSY);
    assert_int_equal(tw_core_arm_every(&wheel, &one.node, 3, 1, TW_BURST, 0, 0), -EBUSY);
    assert_int_equal(tw_retire(&elsewhere, &one.node), 1);
    assert_int_equal(tw_core_arm_at(&wheel, &one.node, 3, 0), -EPERM);
    assert_int_equal(tw_count(&wheel), 0);
}

/* --- again, by the delay that a node keeps ----------------------------------------------- */

static tw_tick due_in(const struct tw_node *node, void *told) {
    *(tw_tick *)told = node->part == TW_CORE_ONCE ? node->period - 1 : node->period;
    return node->expiry + 10;
}

TEST(a_node_remembers_the_delay_that_it_was_armed_with) {
    tw_tick told = 0;
    const tw_tick delays[] = {77, 0};
    for (unsigned i = 0; i < COUNT_OF(delays); ++i) {
        const unsigned before = one.fires;
        const tw_tick now = tw_now(&wheel);
        assert_int_equal(tw_core_arm_with_delay(&wheel, &one.node, now + 3, 78, 0), 0);
        assert_int_equal(tw_core_arm_with_delay(&wheel, &one.node, now + 5, delays[i], 0), 0);
        assert_int_equal(tw_move(&wheel, &one.node, now + 6), 0);                /* begins no grid */
        assert_int_equal(tw_core_again(&wheel, &one.node, due_in, &told, 0), 0); /* due at now + 16 */
        assert_int_equal(told, delays[i]);
        advance(now + 15);
        assert_int_equal(one.fires, before);
        advance(now + 16);
        assert_int_equal(one.fires, before + 1); /* once: its field `period` has the delay, and no period */
        assert_int_equal(tw_count(&wheel), 0);
        assert_int_equal(tw_core_again(&wheel, &one.node, due_in, &told, 0), 0); /* idle */
        assert_int_equal(tw_cancel(&wheel, &one.node), 1);
        assert_int_equal(tw_arm_at(&wheel, &one.node, now + 99), 0); /* forgets the delay */
        assert_int_equal(tw_core_again(&wheel, &one.node, due_in, &told, 0), -EINVAL);
        assert_int_equal(tw_cancel(&wheel, &one.node), 1);
    }
}

TEST(a_periodic_node_is_moved_again) {
    tw_tick told = 0;
    assert_int_equal(tw_arm_every(&wheel, &one.node, 5, 20, TW_COALESCE, 0), 0);
    assert_int_equal(tw_core_again(&wheel, &one.node, due_in, &told, 0), 0);
    assert_int_equal(told, 20);
    advance(14);
    assert_int_equal(one.fires, 0);
    advance(15);
    advance(35);
    assert_int_equal(one.fires, 2);
    assert_int_equal(tw_cancel(&wheel, &one.node), 1);
    assert_int_equal(tw_core_again(&wheel, &one.node, due_in, &told, 0), -ENOENT);
}

TEST(p14_the_door_refuses_a_node_with_a_delay_as_tw_arm_at_does) {
    static struct tw elsewhere;
    tw_tick told;
    assert_int_equal(tw_init(&elsewhere, 0, 0), 0);
    assert_int_equal(tw_core_arm_with_delay(&wheel, NULL, 3, 1, 0), -EINVAL);
    assert_int_equal(tw_core_arm_with_delay(&wheel, &(struct tw_node){0}, 3, 1, 0), -EINVAL);
    assert_int_equal(tw_core_arm_with_delay(&wheel, &one.node, TW_NEVER, 1, 0), -ERANGE);
    assert_int_equal(tw_core_again(&wheel, NULL, due_in, &told, 0), -EINVAL);
    assert_int_equal(tw_core_again(&wheel, &(struct tw_node){0}, due_in, &told, 0), -EINVAL);
    assert_int_equal(tw_core_again(&wheel, &one.node, due_in, &told, 0), -EINVAL);
    assert_int_equal(tw_core_arm_with_delay(&elsewhere, &one.node, 3, 1, 0), 0);
    assert_int_equal(tw_core_again(&wheel, &one.node, due_in, &told, 0), -EBUSY);
    assert_int_equal(tw_core_arm_with_delay(&wheel, &one.node, 3, 1, 0), -EBUSY);
    assert_int_equal(tw_retire(&elsewhere, &one.node), 1);
    assert_int_equal(tw_core_arm_with_delay(&wheel, &one.node, 3, 1, 0), -EPERM);
    assert_int_equal(tw_core_again(&wheel, &one.node, due_in, &told, 0), -EPERM);
    assert_int_equal(tw_count(&wheel), 0);
}

/* On the library's own wheel: the tests of walk.c use those of shapes. */
TEST(the_library_walks_and_goes_back) {
    struct tw_walk walk = {0};
    assert_int_equal(tw_arm_at(&wheel, &one.node, 9), 0);
    advance(5);
    assert_int_equal(tw_set_back(&wheel, 2), 0);
    assert_ptr_equal(tw_walk_next(&wheel, &walk), &one.node);
    assert_int_equal(walk.was.expiry, 9);
    assert_int_equal(tw_walk_end(&wheel, &walk), 0);
    assert_ptr_equal(tw_first(&wheel, 1), &one.node);
    assert_ptr_equal(tw_wheel_of(&one.node), &wheel);
    struct tw_fire fire;
    assert_int_equal(tw_take(&wheel, 9, &fire), 1);
    assert_ptr_equal(fire.node, &one.node);
}

/* --- walking in single holds of the lock ---------------------------------------------------- */

TEST(a_walk_by_single_holds_meets_each_node_and_ends) {
    struct tw_walk walk = {0};
    struct tw_node *met = NULL;
    unsigned holds = 0, nodes = 0;
    arm(&one, 3);
    arm(&other, ROUND + 4);
    for (; tw_core_walk_some(&wheel, &walk, &met) != 0; ++holds)
        nodes += met == &one.node || met == &other.node ? 1 : 0;
    assert_null(met);
    assert_int_equal(nodes, 2);
    assert_true(holds >= nodes);
    assert_int_equal(tw_core_walk_some(&wheel, &walk, &met), 0);
    assert_int_equal(tw_check(&wheel, NULL, NULL), 0);
}

/* A walk leaves its place in a slot. A hold that meets only places ends after some of them. */
TEST(a_walk_passes_the_places_of_many_others_in_several_holds) {
    enum { WALKS = 200 };
    static struct tw_walk walks[WALKS];
    struct tw_walk last = {0};
    struct tw_node *met = NULL;
    unsigned holds_without_a_node = 0, nodes = 0;
    memset(walks, 0, sizeof walks);
    arm(&one, 3);
    arm(&other, 3);
    for (unsigned i = 0; i < WALKS; ++i)
        assert_ptr_equal(tw_walk_next(&wheel, &walks[i]), &one.node);
    while (tw_core_walk_some(&wheel, &last, &met) != 0) {
        nodes += met != NULL;
        holds_without_a_node += met == NULL;
    }
    assert_int_equal(nodes, 2);
    assert_true(holds_without_a_node > 0);
    for (unsigned i = 0; i < WALKS; ++i)
        assert_int_equal(tw_walk_end(&wheel, &walks[i]), 0);
    assert_int_equal(tw_count(&wheel), 2);
}
