/* P14: bad input returns its documented error and changes nothing. Each REFUSED line is a row
 * of a table: a call and its error. Everything that the call could have touched is compared
 * byte by byte. One run has wheels with a lock. Another one, `unlocked`, has wheels without: their calls may
 * have code of their own. */
#include "promise.h"

static struct tw elsewhere; /* another wheel */
static struct tw zero_wheel;
static struct tw_node idle, pending, periodic, away, raw, dead; /* away: pending elsewhere; raw: all zeroes */
static struct timer crowd[20];

static struct everything {
    struct tw wheels[3];
    struct tw_node nodes[6];
    struct timer crowd[COUNT_OF(crowd)];
} saved, found;

static void copy_everything(struct everything *to) {
    const struct tw *wheels[] = {&wheel, &elsewhere, &zero_wheel};
    const struct tw_node *nodes[] = {&idle, &pending, &periodic, &away, &raw, &dead};
    for (size_t i = 0; i < COUNT_OF(wheels); ++i)
        memcpy(&to->wheels[i], wheels[i], sizeof *wheels[i]);
    for (size_t i = 0; i < COUNT_OF(nodes); ++i)
        memcpy(&to->nodes[i], nodes[i], sizeof *nodes[i]);
    memcpy(to->crowd, crowd, sizeof crowd);
}

static void never_called(UNUSED struct tw_node *node, UNUSED void *arg) { fail_msg("a callback was called"); }

static void start(uint64_t now) {
    start_at(now);
    tw_init(&wheel, now, wheels_are_unlocked ? TW_UNLOCKED : 0);
    tw_init(&elsewhere, now, 0);
    memset(&zero_wheel, 0, sizeof zero_wheel);
    memset(&raw, 0, sizeof raw);
    tw_node_init(&idle, never_called, NULL);
    tw_node_init(&pending, never_called, NULL);
    tw_node_init(&periodic, never_called, NULL);
    tw_node_init(&away, never_called, NULL);
    tw_node_init(&dead, never_called, NULL);
    tw_arm_at(&wheel, &pending, now + 50);
    tw_arm_every(&wheel, &periodic, now + 60, 70, TW_COALESCE, 9);
    tw_arm_at(&elsewhere, &away, now + 50);
    tw_retire(&wheel, &dead);
}

static int fresh(UNUSED void **state) {
    start(100);
    for (size_t i = 0; i < COUNT_OF(crowd); ++i)
        init_and_arm(&crowd[i], 101 + i * i * i * BLOCK);
    return 0;
}

FIXTURE(fresh, NULL);

static void assert_nothing_changed(const char *call) {
    copy_everything(&found);
    if (memcmp(&saved, &found, sizeof saved) != 0)
        fail_msg("%s changed something", call);
    assert_whole();
    assert_int_equal(tw_check(&elsewhere, print_broken, NULL), 0);
}

#define ANSWERS(call, answer) \
    do { \
        copy_everything(&saved); \
        assert_true((call) == (answer)); \
        assert_nothing_changed(#call); \
    } while (0)

#define REFUSED(call, error) ANSWERS(call, -(error))

static void refuse_wheel(struct tw *w) {
    REFUSED(tw_arm_after(w, &idle, 5), EINVAL);
    REFUSED(tw_arm_at(w, &idle, 5), EINVAL);
    if (!TW_SMALL)
        REFUSED(tw_arm_within(w, &idle, 5, 5), EINVAL);
    REFUSED(tw_arm_every(w, &idle, 5, 5, TW_COALESCE, 0), EINVAL);
    REFUSED(tw_arm_at(w, &pending, 5), EINVAL);
    REFUSED(tw_postpone(w, &pending, 500), EINVAL);
    REFUSED(tw_move(w, &pending, 500), EINVAL);
    REFUSED(tw_wait(w, &pending), EINVAL);
    ANSWERS(tw_due(w), TW_NEVER);
    REFUSED(tw_cancel(w, &pending), EINVAL);
    REFUSED(tw_retire(w, &pending), EINVAL);
    if (!TW_SMALL)
        REFUSED(tw_cancel_all(w, never_called, NULL), EINVAL);
#if TW_RUNTIME
    ANSWERS(tw_core_choose(w, 5, 5), TW_NEVER);
    REFUSED(tw_core_arm_grid(w, &idle, &(struct tw_core_grid){.parts = 1, .period = 1}), EINVAL);
#endif
    ANSWERS(tw_pending(w, &pending), 0);
    REFUSED(tw_advance(w, 500, TW_UNBOUNDED), EINVAL);
    if (!TW_SMALL)
        REFUSED(tw_take(w, 500, &(struct tw_fire){0}), EINVAL);
    REFUSED(tw_update(w), EINVAL);
    REFUSED(tw_idle(w, 5), EINVAL);
    REFUSED(tw_check(w, NULL, NULL), EINVAL);
    ANSWERS(tw_expiry(w, &pending), TW_NEVER);
    ANSWERS(tw_count(w), 0);
    ANSWERS(tw_now(w), TW_NEVER);
    ANSWERS(tw_next(w), TW_NEVER);
    if (!TW_SMALL)
        ANSWERS(tw_overruns(w), 0);
    ANSWERS(tw_running(w), NULL);
}

TEST(p14_a_null_wheel_is_refused) {
    REFUSED(tw_init(NULL, 0, 0), EINVAL);
    refuse_wheel(NULL);
}

TEST(p14_an_all_zero_wheel_is_refused) { refuse_wheel(&zero_wheel); }

TEST(p14_a_copy_of_a_wheel_is_refused) {
    static struct tw copy;
    copy = wheel;
    refuse_wheel(&copy);
}

static void refuse_to_arm(struct tw_node *node) {
    REFUSED(tw_arm_after(&wheel, node, 5), EINVAL);
    REFUSED(tw_arm_at(&wheel, node, 500), EINVAL);
    if (!TW_SMALL)
        REFUSED(tw_arm_within(&wheel, node, 500, 5), EINVAL);
    REFUSED(tw_arm_every(&wheel, node, 500, 5, TW_COALESCE, 0), EINVAL);
}

static void is_not_pending(struct tw_node *node) {
    ANSWERS(tw_pending(&wheel, node), 0);
    ANSWERS(tw_expiry(&wheel, node), TW_NEVER);
}

TEST(p14_a_null_node_is_refused) {
    struct tw_node *const node = NULL;
    REFUSED(tw_node_init(NULL, never_called, NULL), EINVAL);
    refuse_to_arm(node);
    REFUSED(tw_postpone(&wheel, node, 500), EINVAL);
    REFUSED(tw_move(&wheel, node, 500), EINVAL);
    REFUSED(tw_wait(&wheel, node), EINVAL);
    REFUSED(tw_cancel(&wheel, node), EINVAL);
    REFUSED(tw_retire(&wheel, node), EINVAL);
    is_not_pending(node);
}

TEST(p14_a_node_of_zeroes_is_idle_and_cannot_be_armed) {
    refuse_to_arm(&raw);
    REFUSED(tw_postpone(&wheel, &raw, 500), ENOENT);
    REFUSED(tw_move(&wheel, &raw, 500), ENOENT);
    ANSWERS(tw_wait(&wheel, &raw), 0);
    ANSWERS(tw_cancel(&wheel, &raw), 0);
    is_not_pending(&raw);
    assert_int_equal(tw_retire(&wheel, &raw), 0);
    tw_node_init(&raw, never_called, NULL);
    assert_int_equal(tw_arm_after(&wheel, &raw, 5), 0);
}

TEST(p14_a_null_callback_is_refused) {
    REFUSED(tw_node_init(&raw, NULL, NULL), EINVAL);
    REFUSED(tw_node_init(&idle, NULL, NULL), EINVAL);
}

TEST(p14_a_move_that_cannot_be_is_refused) {
    REFUSED(tw_move(&wheel, &pending, TW_NEVER), ERANGE);
    REFUSED(tw_move(&wheel, &idle, 500), ENOENT);
    REFUSED(tw_move(&wheel, &dead, 500), ENOENT);
    if (NODES_NAME_WHEELS)
        REFUSED(tw_move(&wheel, &away, 500), EBUSY);
}

#if TW_RUNTIME
TEST(p14_no_tick_is_chosen_beyond_the_end_of_time) {
    ANSWERS(tw_core_choose(&wheel, TW_NEVER, 0), TW_NEVER);
    ANSWERS(tw_core_choose(&wheel, TW_NEVER - 5, 5), TW_NEVER);
    ANSWERS(tw_core_choose(&wheel, TW_NEVER - 5, 0), TW_NEVER - 5);
}
#endif

TEST(p14_a_start_or_flag_out_of_range_is_refused) {
    REFUSED(tw_init(&wheel, TW_NEVER, 0), EINVAL);
    REFUSED(tw_init(&wheel, TW_NEVER, TW_UNLOCKED), EINVAL);
    REFUSED(tw_init(&wheel, 0, 2), EINVAL);
    REFUSED(tw_init(&wheel, 0, TW_UNLOCKED | 4), EINVAL);
    REFUSED(tw_init(&wheel, 0, ~0u), EINVAL);
    REFUSED(tw_init(&zero_wheel, TW_NEVER, 0), EINVAL);
}

TEST(p14_a_delay_of_zero_is_refused) {
    REFUSED(tw_arm_after(&wheel, &idle, 0), EINVAL);
    REFUSED(tw_arm_after(&wheel, &pending, 0), EINVAL);
}

TEST(p14_a_period_of_zero_is_refused) {
    REFUSED(tw_arm_every(&wheel, &idle, 500, 0, TW_COALESCE, 0), EINVAL);
    REFUSED(tw_arm_every(&wheel, &periodic, 500, 0, TW_COALESCE, 1), EINVAL);
}

TEST(p14_a_budget_of_zero_is_refused) {
    REFUSED(tw_advance(&wheel, 500, 0), EINVAL);
    REFUSED(tw_advance(&wheel, 100, 0), EINVAL);
    REFUSED(tw_idle(&wheel, 0), EINVAL);
}

TEST(p14_an_unknown_policy_for_missed_fires_is_refused) {
    REFUSED(tw_arm_every(&wheel, &idle, 500, 5, (enum tw_missed)4, 0), EINVAL);
    REFUSED(tw_arm_every(&wheel, &periodic, 500, 5, (enum tw_missed)4, 0), EINVAL);
}

TEST_IF(TW_SMALL, p14_a_policy_that_is_left_out_is_refused) {
    REFUSED(tw_arm_every(&wheel, &idle, 500, 5, TW_BURST, 0), EINVAL);
    REFUSED(tw_arm_every(&wheel, &periodic, 500, 5, TW_DELAY, 0), EINVAL);
}

TEST_IF(TW_SMALL, p14_a_budget_is_refused_where_there_is_none) {
    REFUSED(tw_advance(&wheel, 500, 1), EINVAL);
    REFUSED(tw_advance(&wheel, 100, TW_UNBOUNDED - 1), EINVAL);
}

TEST_IF(TW_SMALL, p14_doing_without_the_lock_is_refused_where_there_is_no_choice) {
    REFUSED(tw_init(&wheel, 0, TW_UNLOCKED), EINVAL);
}

TEST(p14_more_fires_than_can_be_counted_are_refused) {
    REFUSED(tw_arm_every(&wheel, &idle, 500, 5, TW_COALESCE, TW_FIRES_MAX + 1), EINVAL);
    REFUSED(tw_arm_every(&wheel, &periodic, 500, 5, TW_COALESCE, UINT32_MAX), EINVAL);
    assert_int_equal(tw_arm_every(&wheel, &idle, 500, 5, TW_COALESCE, TW_FIRES_MAX), 0);
}

TEST(p14_delays_beyond_the_end_of_time_are_refused) {
    REFUSED(tw_arm_after(&wheel, &idle, TW_NEVER), ERANGE);
    REFUSED(tw_arm_after(&wheel, &idle, LAST_TICK), ERANGE);
    REFUSED(tw_arm_after(&wheel, &pending, LAST_TICK - 99), ERANGE);
    assert_int_equal(tw_arm_after(&wheel, &pending, LAST_TICK - 100), 0);
    assert_true(tw_expiry(&wheel, &pending) == LAST_TICK);
}

TEST(p14_ticks_beyond_the_end_of_time_are_refused) {
    REFUSED(tw_arm_at(&wheel, &idle, TW_NEVER), ERANGE);
    REFUSED(tw_arm_at(&wheel, &pending, TW_NEVER), ERANGE);
    REFUSED(tw_arm_every(&wheel, &idle, TW_NEVER, 5, TW_COALESCE, 0), ERANGE);
    REFUSED(tw_arm_every(&wheel, &periodic, TW_NEVER, 5, TW_COALESCE, 0), ERANGE);
    assert_int_equal(tw_arm_at(&wheel, &pending, LAST_TICK), 0);
    assert_int_equal(tw_arm_every(&wheel, &periodic, LAST_TICK, TW_NEVER, TW_COALESCE, 0), 0);
}

TEST_IF(!TW_SMALL, p14_windows_beyond_the_end_of_time_are_refused) {
    REFUSED(tw_arm_within(&wheel, &idle, TW_NEVER, 0), ERANGE);
    REFUSED(tw_arm_within(&wheel, &idle, 500, TW_NEVER), ERANGE);
    REFUSED(tw_arm_within(&wheel, &idle, 500, LAST_TICK - 499), ERANGE);
    REFUSED(tw_arm_within(&wheel, &pending, LAST_TICK, 1), ERANGE);
    assert_int_equal(tw_arm_within(&wheel, &idle, 500, LAST_TICK - 500), 0);
    assert_int_equal(tw_arm_within(&wheel, &pending, LAST_TICK, 0), 0);
}

TEST(p14_postponing_to_never_is_refused_and_to_an_earlier_tick_changes_nothing) {
    REFUSED(tw_postpone(&wheel, &pending, TW_NEVER), ERANGE);
    assert_int_equal(tw_postpone(&wheel, &pending, 149), 0);
    assert_int_equal(tw_postpone(&wheel, &pending, 0), 0);
    assert_int_equal(tw_expiry(&wheel, &pending), 150);
    assert_int_equal(tw_postpone(&wheel, &periodic, 159), 0);
    assert_int_equal(tw_expiry(&wheel, &periodic), 160);
    assert_int_equal(tw_postpone(&wheel, &pending, 150), 0);
    assert_int_equal(tw_postpone(&wheel, &pending, LAST_TICK), 0);
}

TEST(p14_postponing_what_is_not_pending_is_refused) {
    REFUSED(tw_postpone(&wheel, &idle, 500), ENOENT);
    REFUSED(tw_postpone(&wheel, &dead, 500), ENOENT);
}

TEST_IF(NODES_NAME_WHEELS, p14_a_node_on_another_wheel_is_refused) {
    REFUSED(tw_arm_after(&wheel, &away, 5), EBUSY);
    REFUSED(tw_arm_at(&wheel, &away, 500), EBUSY);
    if (!TW_SMALL)
        REFUSED(tw_arm_within(&wheel, &away, 500, 5), EBUSY);
    REFUSED(tw_arm_every(&wheel, &away, 500, 5, TW_COALESCE, 0), EBUSY);
    REFUSED(tw_postpone(&wheel, &away, 500), EBUSY);
    REFUSED(tw_cancel(&wheel, &away), EBUSY);
    REFUSED(tw_retire(&wheel, &away), EBUSY);
    ANSWERS(tw_pending(&wheel, &away), 0);
    ANSWERS(tw_expiry(&wheel, &away), TW_NEVER);
}

TEST(p14_a_retired_node_is_refused) {
    REFUSED(tw_arm_after(&wheel, &dead, 5), EPERM);
    REFUSED(tw_arm_at(&wheel, &dead, 500), EPERM);
    if (!TW_SMALL)
        REFUSED(tw_arm_within(&wheel, &dead, 500, 5), EPERM);
    REFUSED(tw_arm_every(&wheel, &dead, 500, 5, TW_COALESCE, 0), EPERM);
    REFUSED(tw_arm_at(&elsewhere, &dead, 500), EPERM);
}

TEST(p14_time_running_backwards_is_refused) {
    REFUSED(tw_advance(&wheel, 99, TW_UNBOUNDED), EINVAL);
    REFUSED(tw_advance(&wheel, 0, TW_UNBOUNDED), EINVAL);
    REFUSED(tw_advance(&wheel, TW_NEVER, TW_UNBOUNDED), EINVAL);
    assert_int_equal(tw_advance(&wheel, 100, TW_UNBOUNDED), 0);
    REFUSED(tw_advance(&wheel, 99, TW_UNBOUNDED), EINVAL); /* also when the wheel has no work for some time */
}

static unsigned callbacks;

static void update_in_callback(UNUSED struct tw_node *node, UNUSED void *arg) {
    ++callbacks;
    REFUSED(tw_update(&wheel), EBUSY);
}

TEST(p14_time_running_on_beyond_its_end_is_refused) {
    static struct tw_node last;
    start(LAST_TICK - 90);
    forget_all();
    tw_node_init(&last, update_in_callback, NULL);
    tw_arm_at(&wheel, &last, LAST_TICK);
    advance(LAST_TICK - 1);
    callbacks = 0;
    assert_int_equal(tw_update(&wheel), 0);
    assert_int_equal(callbacks, 1);
    REFUSED(tw_update(&wheel), ERANGE);
    REFUSED(tw_advance(&wheel, TW_NEVER, TW_UNBOUNDED), EINVAL);
    REFUSED(tw_arm_after(&wheel, &idle, 1), ERANGE);
    assert_int_equal(tw_arm_at(&wheel, &idle, LAST_TICK), 0);
}

static void refuse_in_callback(UNUSED struct tw_node *node, UNUSED void *arg) {
    ++callbacks;
    REFUSED(tw_advance(&wheel, 500, TW_UNBOUNDED), EBUSY);
    REFUSED(tw_advance(&wheel, 120, bite(1)), EBUSY);
    REFUSED(tw_update(&wheel), EBUSY);
    REFUSED(tw_arm_after(&wheel, &idle, 0), EINVAL);
    if (NODES_NAME_WHEELS)
        REFUSED(tw_arm_at(&wheel, &away, 500), EBUSY);
    REFUSED(tw_cancel(&wheel, NULL), EINVAL);
    REFUSED(tw_idle(&wheel, 0), EINVAL);
}

TEST(p14_bad_calls_in_a_callback_change_nothing_either) {
    static struct tw_node caller, neighbour;
    tw_node_init(&caller, refuse_in_callback, NULL);
    tw_node_init(&neighbour, refuse_in_callback, NULL);
    tw_arm_at(&wheel, &caller, 120);
    tw_arm_every(&wheel, &neighbour, 120, 5, TW_COALESCE, 1);
    callbacks = 0;
    advance(120);
    assert_int_equal(callbacks, 2);
}

/* Refused calls left the rest alone: everything fires as if they had never been made. */
TEST(p14_refused_calls_do_not_disturb_what_is_pending) {
    tw_cancel(&wheel, &pending);
    tw_cancel(&wheel, &periodic);
    for (size_t i = 0; i < COUNT_OF(crowd); ++i) {
        (void)tw_arm_after(&wheel, &crowd[i].node, 0);
        (void)tw_arm_at(&wheel, &crowd[i].node, TW_NEVER);
        (void)tw_postpone(&wheel, &crowd[i].node, 0);
        if (NODES_NAME_WHEELS) {
            (void)tw_cancel(&elsewhere, &crowd[i].node);
            (void)tw_arm_at(&elsewhere, &crowd[i].node, 7);
        }
    }
    advance(LAST_TICK);
    assert_int_equal(fires, COUNT_OF(crowd));
    assert_int_equal(tw_count(&wheel), 0);
}

#if TW_RUNTIME
TEST(p14_grids_out_of_range) {
    static const struct tw_core_grid bad[] = {
        {.parts = 0, .period = 10},
        {.parts = UINT32_MAX, .period = TW_NEVER},
        {.parts = 10, .early = 10, .period = 10},
        {.parts = 10, .period = 9}, /* shorter than a tick */
        {.parts = 10, .period = 0},
        {.parts = 10, .period = 15, .missed = (enum tw_missed)(TW_BURST + 1)},
        {.parts = 10, .period = 15, .fires = TW_FIRES_MAX + 1},
        {.parts = 11, .period = 15}, /* the wheel's earlier grids have other parts */
    };
    struct tw_core_grid good = {.first = 300, .parts = 10, .early = 9, .period = 10, .fires = TW_FIRES_MAX};
    const struct tw_core_grid parts_of_no_number = {.parts = UINT32_MAX, .period = UINT32_MAX};
    REFUSED(tw_core_arm_grid(&wheel, &idle, &parts_of_no_number), EINVAL);
    assert_int_equal(tw_core_arm_grid(&wheel, &idle, &good), 0);
    assert_int_equal(tw_cancel(&wheel, &idle), 1);
    for (size_t i = 0; i < COUNT_OF(bad); ++i) {
        REFUSED(tw_core_arm_grid(&wheel, &idle, &bad[i]), EINVAL);
        REFUSED(tw_core_arm_grid(&wheel, &pending, &bad[i]), EINVAL);
    }
    REFUSED(tw_core_arm_grid(&wheel, &idle, NULL), EINVAL);
    REFUSED(tw_core_arm_grid(&wheel, NULL, &good), EINVAL);
    REFUSED(tw_core_arm_grid(&wheel, &dead, &good), EPERM);
    REFUSED(tw_core_arm_grid(&wheel, &away, &good), EBUSY);
    good.first = TW_NEVER;
    REFUSED(tw_core_arm_grid(&wheel, &idle, &good), ERANGE);
}
#endif
