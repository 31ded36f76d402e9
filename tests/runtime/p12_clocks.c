/* P12: the choice of clock. Tests that real clocks tick as promised, and how deadlines move when the program
 * sets a virtual wall clock. With TW_MAY_SET_CLOCK=1 in the environment (and the privilege to do so) the
 * system's own clock is also set, by an hour and back, within milliseconds. */
#include "support/runtime_test.h"

#include <stdbool.h>

#include <tickwheel/observe.h>

#define HOUR (3600 * TW_SECOND)
#define NOON (12 * HOUR)

static struct tw_runtime *rt;

struct timer {
    struct tw_node node;
    int64_t fired_at_wall; /* at the latest fire */
    int64_t due_wall;
    atomic_uint fires;
};

static void note(UNUSED struct tw_node *node, void *arg) {
    struct timer *timer = arg;
    timer->fired_at_wall = tw_runtime_now(rt);
    timer->due_wall = tw_runtime_due(rt);
    atomic_fetch_add(&timer->fires, 1);
}

static void init(struct timer *timer) {
    memset(timer, 0, sizeof *timer);
    tw_node_init(&timer->node, note, timer);
}

/* --- real clocks --------------------------------------------------------------------- */

static void fires_on(const char *driver, enum tw_clock clock, clockid_t id) {
    struct timer at, after;
    rt = new_runtime((struct tw_runtime_options){.driver = driver, .clock = clock});
    init(&at);
    init(&after);
    const int64_t before = reading_of(id);
    const int64_t now = tw_runtime_now(rt);
    assert_true(now >= before && now <= reading_of(id));
    assert_int_equal(tw_runtime_at(rt, &at.node, now + 3 * TW_MILLISECOND), 0);
    assert_int_equal(tw_runtime_after(rt, &after.node, 3 * TW_MILLISECOND), 0);
    assert_ok(tw_runtime_start(rt));
    wait_for(at.fires == 1 && after.fires == 1);
    tw_runtime_free(rt);
    assert_true(at.fired_at_wall >= now + 3 * TW_MILLISECOND);
}

TEST(p12_every_driver_on_every_clock_that_it_knows) {
    static const struct {
        enum tw_clock clock;
        clockid_t id;
    } clocks[] = {{TW_CLOCK_MONOTONIC, CLOCK_MONOTONIC},
                  {TW_CLOCK_BOOT, CLOCK_BOOTTIME},
                  {TW_CLOCK_WALL, CLOCK_REALTIME}};
    for (unsigned d = 0; d < thread_drivers_here(); ++d)
        for (unsigned c = 0; c < COUNT_OF(clocks); ++c)
            if ((tw_driver_named(thread_drivers[d])->clocks & TW_CLOCK_BIT(clocks[c].clock)) != 0)
                fires_on(thread_drivers[d], clocks[c].clock, clocks[c].id);
}

/* --- a wall clock that is set. Random cases: simulation/ ------------------------------------- */

static int at_noon(UNUSED void **state) {
    rt = new_runtime((struct tw_runtime_options){.driver = "manual", .clock = TW_CLOCK_WALL});
    assert_int_equal(tw_runtime_set_wall(rt, NOON), 0);
    assert_int_equal(tw_runtime_set_wall(rt, -1), -EINVAL);
    assert_int_equal(tw_runtime_advance(rt, 0), 0);
    return 0;
}

static int gone(UNUSED void **state) { return tw_runtime_free(rt); }

static void set_wall(int64_t reading) { assert_int_equal(tw_runtime_set_wall(rt, reading), 0); }
static void advance(int64_t ns) { assert_int_equal(tw_runtime_advance(rt, ns), 0); }

FIXTURE(at_noon, gone);

TEST(p12_set_forwards_a_deadline_that_was_passed_fires_and_a_delay_does_not) {
    struct timer at, after;
    init(&at);
    init(&after);
    tw_runtime_at(rt, &at.node, NOON + HOUR / 2);
    tw_runtime_after(rt, &after.node, HOUR / 2);
    set_wall(NOON + HOUR);
    advance(0);
    assert_int_equal(at.fires, 1);
    assert_int_equal(at.due_wall, NOON + HOUR / 2);
    assert_int_equal(after.fires, 0);
    assert_int_equal(tw_runtime_remaining(rt, &after.node), HOUR / 2);
    advance(HOUR / 2 - TW_MILLISECOND);
    assert_int_equal(after.fires, 0);
    advance(TW_MILLISECOND);
    assert_int_equal(after.fires, 1);
}

TEST(p12_set_back_a_deadline_waits_for_the_new_time_and_a_delay_does_not) {
    struct timer at, after;
    init(&at);
    init(&after);
    tw_runtime_at(rt, &at.node, NOON + HOUR / 2);
    tw_runtime_after(rt, &after.node, HOUR / 2);
    set_wall(NOON - HOUR);
    assert_int_equal(tw_runtime_remaining(rt, &at.node), 3 * HOUR / 2);
    advance(HOUR / 2);
    assert_int_equal(after.fires, 1);
    assert_int_equal(at.fires, 0);
    advance(HOUR - TW_MILLISECOND);
    assert_int_equal(at.fires, 0);
    advance(TW_MILLISECOND);
    assert_int_equal(at.fires, 1);
    assert_int_equal(at.fired_at_wall, NOON + HOUR / 2);
    struct tw_stats stats;
    assert_int_equal(tw_runtime_stats(rt, &stats), 0);
    assert_int_equal(stats.clock_sets, 1);
}

/* The end of time is 292 years from 0. */
TEST(p12_a_clock_that_is_set_to_the_end_of_time_stops_there) {
    set_wall(INT64_MAX - 1 - 5);
    advance(10);
    assert_true(tw_runtime_now(rt) == INT64_MAX - 1);
    set_wall(NOON);
    advance(10);
    assert_int_equal(tw_runtime_now(rt), NOON + 10);
}

/* A window of slack may reach to the end of time, even after the clock was set back. */
TEST(p12_slack_still_counts_after_the_clock_was_set_back_by_a_century) {
    const struct tw_when when = {.due_ns = INT64_MAX / 2 + 12345, .absolute = 1, .slack_ns = HOUR};
    struct timer at;
    init(&at);
    set_wall(INT64_MAX / 3);
    advance(0);
    set_wall(NOON);
    assert_int_equal(tw_runtime_arm(rt, &at.node, &when), 0);
    assert_in_range(tw_runtime_remaining(rt, &at.node), when.due_ns - NOON + TW_MILLISECOND,
                    when.due_ns - NOON + HOUR);
    assert_int_equal(tw_runtime_cancel(rt, &at.node), 1);
}

static struct timer other;

static void set_back_and_arm(struct tw_node *node, void *arg) {
    set_wall(NOON - HOUR);
    assert_int_equal(tw_runtime_at(rt, &other.node, NOON - HOUR / 2), 0);
    note(node, arg);
}

TEST(p12_a_callback_that_sets_the_clock_back_still_knows_what_it_was_due_at) {
    struct timer timer;
    init(&timer);
    init(&other);
    tw_node_init(&timer.node, set_back_and_arm, &timer);
    tw_runtime_at(rt, &timer.node, NOON + HOUR);
    advance(HOUR);
    assert_int_equal(timer.fires, 1);
    assert_int_equal(timer.due_wall, NOON + HOUR);
    assert_int_equal(other.fires, 0);
    advance(HOUR / 2);
    assert_int_equal(other.fires, 1);
    assert_int_equal(other.due_wall, NOON - HOUR / 2);
}

/* --- the system's own clock ------------------------------------------------------------ */

static void shift_system_clock(int64_t by) {
    const int64_t to = reading_of(CLOCK_REALTIME) + by;
    const struct timespec setting = {to / TW_SECOND, (long)(to % TW_SECOND)};
    assert_int_equal(clock_settime(CLOCK_REALTIME, &setting), 0);
}

static void notices_that_the_clock_is_set(const char *driver) {
    struct timer at, after;
    rt = started_runtime((struct tw_runtime_options){.driver = driver, .clock = TW_CLOCK_WALL});
    init(&at);
    init(&after);
    tw_runtime_at(rt, &at.node, reading_of(CLOCK_REALTIME) + HOUR / 2);
    tw_runtime_after(rt, &after.node, HOUR / 2);
    doze();
    shift_system_clock(HOUR);
    wait_for(at.fires == 1);
    tw_runtime_at(rt, &at.node, reading_of(CLOCK_REALTIME) + 100 * TW_MILLISECOND);
    doze();
    shift_system_clock(-HOUR);
    for (unsigned i = 0; i < 200; ++i)
        doze();
    assert_int_equal(at.fires, 1);
    assert_true(tw_runtime_remaining(rt, &at.node) > HOUR / 2);
    assert_int_equal(after.fires, 0);
    struct tw_stats stats;
    tw_runtime_stats(rt, &stats);
    assert_int_equal(stats.clock_sets, 1);
    assert_int_equal(stats.wait_errors, 0);
    tw_runtime_free(rt);
}

FIXTURE(NULL, NULL);

TEST(p12_the_drivers_notice_that_the_system_clock_is_set) {
    if (getenv("TW_MAY_SET_CLOCK") == NULL) {
        print_message("the system's clock is left alone; TW_MAY_SET_CLOCK=1 sets it for some milliseconds\n");
        skip();
    }
    notices_that_the_clock_is_set("epoll");
    notices_that_the_clock_is_set("timerfd");
    if (has_uring())
        notices_that_the_clock_is_set("uring");
}
