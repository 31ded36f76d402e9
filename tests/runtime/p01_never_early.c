/* P1: no callback runs before its deadline. The callback reads the clock directly, not through
 * the library. Rounding a deadline down would show at once, because some ticks are far longer than a wake-up
 * takes, and deadlines lie anywhere between two ticks. */
#include "support/runtime_test.h"

#include <stdbool.h>

enum { DEADLINES = 500 };

struct deadline {
    struct tw_node node;
    clockid_t clock;
    int64_t asked;        /* the deadline, counted from a reading before the call */
    _Atomic int64_t seen; /* in the callback */
};

static struct deadline deadlines[DEADLINES];
static atomic_uint fires;

static void see(UNUSED struct tw_node *node, void *arg) {
    struct deadline *deadline = arg;
    deadline->seen = reading_of(deadline->clock);
    atomic_fetch_add(&fires, 1);
}

typedef void arm_function(struct tw_runtime *rt, struct deadline *deadline, int64_t distance);

static void arm_at(struct tw_runtime *rt, struct deadline *deadline, int64_t distance) {
    deadline->asked = reading_of(deadline->clock) + distance;
    assert_int_equal(tw_runtime_at(rt, &deadline->node, deadline->asked), 0);
}

static void arm_after(struct tw_runtime *rt, struct deadline *deadline, int64_t distance) {
    deadline->asked = monotonic() + distance;
    assert_int_equal(tw_runtime_after(rt, &deadline->node, distance), 0);
}

static void arm_with_slack(struct tw_runtime *rt, struct deadline *deadline, int64_t distance) {
    deadline->asked = monotonic() + distance;
    const struct tw_when when = {.due_ns = distance, .slack_ns = distance / 3};
    assert_int_equal(tw_runtime_arm(rt, &deadline->node, &when), 0);
}

static void arm_and_move_earlier(struct tw_runtime *rt, struct deadline *deadline, int64_t distance) {
    assert_int_equal(tw_runtime_after(rt, &deadline->node, 3600 * TW_SECOND), 0);
    deadline->asked = monotonic() + distance;
    assert_int_equal(tw_runtime_move(rt, &deadline->node, distance), 0);
}

/* If this thread is delayed in between, the node may have fired before it is postponed. */
static void arm_and_postpone(struct tw_runtime *rt, struct deadline *deadline, int64_t distance) {
    deadline->asked = monotonic() + distance;
    assert_int_equal(tw_runtime_after(rt, &deadline->node, distance), 0);
    const int64_t postponed_to = monotonic() + 2 * distance;
    const int result = tw_runtime_postpone(rt, &deadline->node, 2 * distance);
    if (result == 0)
        deadline->asked = postponed_to;
    else
        assert_int_equal(result, -ENOENT);
}

/* Arms each deadline in another of the ways, in turn. */
static void none_is_early(struct tw_runtime_options options, clockid_t clock, arm_function *const *ways,
                          unsigned count) {
    uint64_t seed = 1;
    struct tw_runtime *rt = started_runtime(options);
    atomic_store(&fires, 0);
    for (unsigned i = 0; i < DEADLINES; ++i) {
        deadlines[i].clock = clock;
        tw_node_init(&deadlines[i].node, see, &deadlines[i]);
        ways[i % count](rt, &deadlines[i], 50000 + (int64_t)random_below(&seed, 40000000));
    }
    wait_for(fires == DEADLINES);
    assert_int_equal(tw_runtime_free(rt), 0);
    for (unsigned i = 0; i < DEADLINES; ++i)
        if (deadlines[i].seen < deadlines[i].asked)
            fail_msg("%lld ns early, with ticks of %lld ns",
                     (long long)(deadlines[i].asked - deadlines[i].seen), (long long)options.tick_ns);
}

/* In real time, by readings outside the library: 40 to 80 ms for each driver and tick. */
TEST(p1_never_early_whatever_way_it_was_armed_on_any_driver) {
    static arm_function *const ways[] = {arm_at, arm_after, arm_with_slack, arm_and_move_earlier,
                                         arm_and_postpone};
    static const int64_t ticks[] = {1, 1000, 77777, TW_MILLISECOND, 10 * TW_MILLISECOND};
    for (unsigned d = 0; d < thread_drivers_here(); ++d)
        for (unsigned t = 0; t < COUNT_OF(ticks); ++t)
            none_is_early((struct tw_runtime_options){.driver = thread_drivers[d], .tick_ns = ticks[t]},
                          CLOCK_MONOTONIC, ways, COUNT_OF(ways));
}

TEST(p1_never_early_on_boot_time_and_on_the_wall_clock) {
    arm_function *const at = arm_at, *const after = arm_after;
    for (unsigned d = 1; d < thread_drivers_here(); ++d) {
        struct tw_runtime_options options = {.driver = thread_drivers[d], .clock = TW_CLOCK_BOOT};
        none_is_early(options, CLOCK_BOOTTIME, &at, 1);
        options.clock = TW_CLOCK_WALL;
        none_is_early(options, CLOCK_REALTIME, &at, 1);
        none_is_early(options, CLOCK_MONOTONIC, &after, 1);
    }
}

/* The same in virtual time, where a slow machine makes no difference: deadlines around the boundary of each
 * tick. */
static struct tw_runtime *virtual_rt;
static int64_t fired_at, fired_due;

static void see_virtual(UNUSED struct tw_node *node, UNUSED void *arg) {
    fired_at = tw_runtime_now(virtual_rt);
    fired_due = tw_runtime_due(virtual_rt);
}

TEST(p1_a_deadline_rounds_up_to_the_next_tick_and_not_beyond) {
    static const int64_t ticks[] = {1, 2, 10, 1000, TW_MILLISECOND};
    for (unsigned t = 0; t < COUNT_OF(ticks); ++t)
        for (int64_t deadline = 1; deadline < 4 * ticks[t]; deadline += 1 + ticks[t] / 7) {
            struct tw_node node;
            virtual_rt = new_runtime((struct tw_runtime_options){.driver = "manual", .tick_ns = ticks[t]});
            tw_node_init(&node, see_virtual, NULL);
            assert_int_equal(tw_runtime_at(virtual_rt, &node, deadline), 0);
            assert_int_equal(tw_runtime_advance(virtual_rt, 5 * ticks[t]), 0);
            assert_int_equal(fired_at, up_to_tick(deadline, ticks[t]));
            tw_runtime_free(virtual_rt);
        }
}

/* --- the end of time, 292 years from 0 ------------------------------------------------- */

#define LAST_READING (INT64_MAX - 1) /* the last reading of any clock; INT64_MAX means "no deadline" */

static const int64_t all_ticks[] = {1,
                                    2,
                                    3,
                                    7, /* divides INT64_MAX, as does 337 */
                                    10,
                                    337,
                                    1000,
                                    4096,
                                    77777,
                                    TW_MILLISECOND,
                                    999999937,
                                    TW_SECOND,
                                    INT64_C(4294967296),
                                    3599999999999,
                                    3600 * TW_SECOND};

/* Ways to ask for the deadline. */
typedef int end_function(struct tw_node *node, int64_t present, int64_t deadline);

static int end_at(struct tw_node *node, UNUSED int64_t present, int64_t deadline) {
    return tw_runtime_at(virtual_rt, node, deadline);
}
static int end_after(struct tw_node *node, int64_t present, int64_t deadline) {
    return tw_runtime_after(virtual_rt, node, deadline - present);
}
static int end_within(struct tw_node *node, UNUSED int64_t present, int64_t deadline) {
    const struct tw_when when = {.due_ns = deadline, .absolute = 1, .slack_ns = INT64_MAX};
    return tw_runtime_arm(virtual_rt, node, &when);
}
static int end_within_after(struct tw_node *node, int64_t present, int64_t deadline) {
    const struct tw_when when = {.due_ns = deadline - present, .slack_ns = 5 * TW_SECOND};
    return tw_runtime_arm(virtual_rt, node, &when);
}
static int end_moved(struct tw_node *node, int64_t present, int64_t deadline) {
    assert_ok(tw_runtime_at(virtual_rt, node, LAST_READING / 2));
    return tw_runtime_move(virtual_rt, node, deadline - present);
}
static int end_postponed(struct tw_node *node, int64_t present, int64_t deadline) {
    assert_ok(tw_runtime_after(virtual_rt, node, 0));
    return tw_runtime_postpone(virtual_rt, node, deadline - present);
}

static void reach_the_end(int64_t tick, enum tw_clock clock, int64_t present, int64_t deadline,
                          end_function *arm) {
    struct tw_node node;
    const bool is_wall = clock == TW_CLOCK_WALL;
    const int64_t last_tick = LAST_READING / tick * tick;
    const bool comes = deadline <= last_tick;
    virtual_rt =
        new_runtime((struct tw_runtime_options){.driver = "manual", .clock = clock, .tick_ns = tick});
    assert_ok(is_wall ? tw_runtime_set_wall(virtual_rt, present) : tw_runtime_leap(virtual_rt, present));
    tw_node_init(&node, see_virtual, NULL);
    fired_at = -1;
    assert_ok(arm(&node, present, deadline));
    assert_ok(tw_runtime_leap(virtual_rt, deadline - 1 - present));
    assert_int_equal(fired_at, -1);
    assert_int_equal(tw_runtime_count(virtual_rt), 1);
    assert_ok(tw_runtime_advance(virtual_rt, LAST_READING - (deadline - 1)));
    if (fired_at != -1 ? fired_due < deadline || fired_at < fired_due : comes)
        fail_msg("ticks of %lld ns: what is due at %lld fired at %lld, for %lld", (long long)tick,
                 (long long)deadline, (long long)fired_at, (long long)fired_due);
    assert_int_equal(tw_runtime_count(virtual_rt), comes ? 0 : 1);
    assert_int_equal(tw_runtime_cancel(virtual_rt, &node), comes ? 0 : 1);
    tw_runtime_free(virtual_rt);
}

static void reach_every_end(enum tw_clock clock, end_function *arm, int64_t tick) {
    const int64_t last_tick = LAST_READING / tick * tick;
    const int64_t presents[] = {12345, LAST_READING / 3, last_tick - 3 * tick - 1};
    const int64_t ends[] = {last_tick - tick, last_tick - 1, last_tick,
                            last_tick + 1,    LAST_READING,  INT64_MAX};
    for (unsigned p = 0; p < COUNT_OF(presents); ++p)
        for (unsigned d = 0; d < COUNT_OF(ends); ++d)
            if (ends[d] > presents[p])
                reach_the_end(tick, clock, presents[p], ends[d], arm);
}

TEST(p1_at_the_end_of_time_nothing_is_early_and_what_is_out_of_reach_never_fires) {
    end_function *const ways[] = {end_at, end_within, end_after, end_within_after, end_moved, end_postponed};
    for (unsigned t = 0; t < COUNT_OF(all_ticks); ++t)
        for (unsigned w = 0; w < COUNT_OF(ways); ++w) {
            reach_every_end(TW_CLOCK_VIRTUAL, ways[w], all_ticks[t]);
            if (w < 2) /* these name the deadline itself */
                reach_every_end(TW_CLOCK_WALL, ways[w], all_ticks[t]);
        }
}

/* The library does not cut a delay that reaches beyond the end of time. */
TEST(p1_a_delay_beyond_the_end_of_time_never_fires) {
    for (unsigned t = 0; t < COUNT_OF(all_ticks); ++t) {
        struct tw_node node;
        virtual_rt = new_runtime((struct tw_runtime_options){.driver = "manual", .tick_ns = all_ticks[t]});
        tw_node_init(&node, see_virtual, NULL);
        fired_at = -1;
        assert_int_equal(tw_runtime_after(virtual_rt, &node, INT64_MAX), 0);
        assert_true(tw_runtime_remaining(virtual_rt, &node) ==
                    LAST_READING); /* INT64_MAX would say that it is not pending */
        assert_ok(tw_runtime_advance(virtual_rt, 12345));
        assert_int_equal(tw_runtime_after(virtual_rt, &node, INT64_MAX), 0);
        assert_int_equal(tw_runtime_after(virtual_rt, &node, INT64_MAX - 12345), 0);
        assert_ok(tw_runtime_advance(virtual_rt, LAST_READING - 12345));
        assert_int_equal(tw_runtime_count(virtual_rt), 1);
        assert_int_equal(fired_at, -1);
        tw_runtime_free(virtual_rt);
    }
}
