/* P5 in nanoseconds, for periods that are no multiple of the tick. The n-th deadline is start
 * + n * period, and each is rounded up to a tick separately. So no fire is early or more than
 * a tick late, and there is no drift, for work items, handles and keys. Nodes, fires that were missed, and a
 * wall clock that is set: simulation/. */
#include "support/runtime_test.h"

#include <tickwheel/keyed.h>
#include <tickwheel/timers.h>
#include <tickwheel/workers.h>

#define START 123457000 /* on no tick of milliseconds, but on a whole microsecond */

static struct tw_runtime *rt;

/* A grid, and the next fire on it. */
struct grid {
    int64_t first, period, tick; /* ns */
    int64_t next;                /* n */
    enum tw_missed missed;
    atomic_uint fires, off;
};

static int64_t due_of(const struct grid *grid, int64_t n) {
    return up_to_tick(grid->first + n * grid->period, grid->tick);
}

static void judge(struct grid *grid, int64_t due, uint64_t overruns) {
    if (due != due_of(grid, grid->next++) || due > tw_runtime_now(rt) || overruns != 0)
        atomic_fetch_add(&grid->off, 1);
    atomic_fetch_add(&grid->fires, 1);
}

static void on_node(UNUSED struct tw_node *node, void *arg) {
    judge(arg, tw_runtime_due(rt), tw_runtime_overruns(rt));
}

static void on_event(const struct tw_event *event, void *arg) { judge(arg, event->due_ns, event->overruns); }

static struct tw_when when_of(const struct grid *grid) {
    return (struct tw_when){
        .due_ns = grid->first, .absolute = 1, .period_ns = grid->period, .missed = grid->missed};
}

static void run_on(int64_t tick, enum tw_clock clock) {
    rt = new_runtime((struct tw_runtime_options){.driver = "manual", .tick_ns = tick, .clock = clock});
    assert_ok(tw_runtime_advance(rt, START));
}

static struct grid new_grid(int64_t tick, int64_t period, enum tw_missed missed) {
    return (struct grid){
        .first = tw_runtime_now(rt) + period, .period = period, .tick = tick, .missed = missed};
}

/* --- a first fire at once ------------------------------------------------------------------- */

/* The period counts from the call, not from the tick that the call lies in. */
TEST(p5_a_period_that_begins_at_once_counts_from_the_call) {
    struct tw_timers *handles;
    static const int64_t periods[] = {TW_MILLISECOND, 3 * TW_MILLISECOND, 2500000};
    for (unsigned i = 0; i < COUNT_OF(periods); ++i) {
        struct tw_node node;
        tw_handle handle;
        run_on(TW_MILLISECOND, TW_CLOCK_DEFAULT);
        struct grid at_node = new_grid(TW_MILLISECOND, periods[i], TW_BURST), at_handle;
        at_node.first -= periods[i];
        at_handle = at_node;
        const struct tw_when when = {.period_ns = periods[i], .missed = TW_BURST};
        const struct tw_task task = {.fn = on_event, .arg = &at_handle};
        assert_ok(tw_timers_new(&handles, rt, NULL));
        assert_ok(tw_node_init(&node, on_node, &at_node));
        assert_ok(tw_runtime_arm(rt, &node, &when));
        assert_ok(tw_timer_start(handles, &handle, &when, &task));
        assert_ok(tw_runtime_advance(rt, 10 * periods[i]));
        assert_int_equal(at_node.fires, 10);
        assert_int_equal(at_handle.fires, 10);
        assert_int_equal(at_node.off + at_handle.off, 0);
        assert_ok(tw_runtime_free(rt));
    }
}

/* --- handles, keys and work items ------------------------------------------------------------ */

enum { RUNS = 500 };

static const struct {
    int64_t tick, periods[3];
} odd[] = {
    {TW_MILLISECOND, {16666667 /* 60 Hz */, 17 * TW_MILLISECOND + 3, 33333333}},
    /* counted in microseconds */
    {60 * TW_SECOND, {90 * TW_SECOND, 60 * TW_SECOND + 1000, 3600 * TW_SECOND + 1000}},
};

static void drive(struct grid *grid) {
    assert_ok(tw_runtime_advance(rt, grid->tick)); /* deadlines round up */
    for (unsigned n = 1; n <= RUNS; ++n) {
        assert_ok(tw_runtime_advance(rt, grid->period));
        wait_for(grid->fires == n); /* a worker may take a while */
    }
    assert_int_equal(grid->off, 0);
}

static void keep_to_grid(int64_t tick, const int64_t periods[3], enum tw_missed missed) {
    struct grid grid;
    struct tw_timers *handles = NULL;
    struct tw_keyed *keyed = NULL;
    struct tw_workers *workers = NULL;
    tw_handle id;
    struct tw_work item;
    const struct tw_task task = {.fn = on_event, .arg = &grid};
    const struct tw_key key = tw_key_number(1);
    run_on(tick, TW_CLOCK_WALL);
    assert_ok(tw_timers_new(&handles, rt, NULL));
    assert_ok(tw_keyed_new(&keyed, rt, NULL));
    assert_ok(tw_workers_new(&workers, rt, NULL));
    assert_ok(tw_work_init(&item, workers, on_node, &grid, 0));

    grid = new_grid(tick, periods[0], missed);
    struct tw_when when = when_of(&grid);
    assert_int_equal(tw_timer_start(handles, &id, &when, &task), 0);
    drive(&grid);
    assert_int_equal(tw_timer_cancel(handles, id), 1);

    grid = new_grid(tick, periods[1], missed);
    when = when_of(&grid);
    assert_int_equal(tw_keyed_set(keyed, key, &when, &task), 0);
    drive(&grid);
    assert_int_equal(tw_keyed_cancel(keyed, key), 1);

    grid = new_grid(tick, periods[2], missed);
    when = when_of(&grid);
    assert_int_equal(tw_runtime_arm(rt, &item.node, &when), 0);
    drive(&grid);
    assert_int_equal(tw_runtime_cancel_wait(rt, &item.node), 1);
    tw_runtime_free(rt);
}

TEST(p5_handles_keys_and_work_items_keep_to_it) {
    for (unsigned i = 0; i < COUNT_OF(odd); ++i)
        for (int missed = TW_BURST; missed <= TW_DELAY; ++missed)
            keep_to_grid(odd[i].tick, odd[i].periods, (enum tw_missed)missed);
}

/* --- fires that were missed ------------------------------------------------------------------ */

enum { LEAP = 1000, LATE_PERIOD = 10 }; /* ms */

/* How often a late node fired, the overruns of its first fire, and the time to its next one. */
struct outcome {
    unsigned fires;
    uint64_t overruns;
    int64_t remaining;
};

static struct outcome outcome;
static void note_outcome(UNUSED struct tw_node *node, UNUSED void *arg) {
    if (outcome.fires++ == 0)
        outcome.overruns = tw_runtime_overruns(rt);
}

/* Leaps past many deadlines of a node while so many handles are due, too. */
static struct outcome leap_beside(unsigned handles, enum tw_missed missed) {
    struct tw_timers *set = NULL;
    struct tw_node node;
    rt = virtual_runtime();
    outcome = (struct outcome){0};
    tw_node_init(&node, note_outcome, NULL);
    assert_int_equal(tw_runtime_every(rt, &node, LATE_PERIOD * TW_MILLISECOND, missed), 0);
    if (handles != 0)
        assert_ok(tw_timers_new(&set, rt, NULL));
    for (unsigned i = 0; i < handles; ++i) {
        tw_handle id;
        assert_ok(tw_timer_after(set, &id, (i + 1) * LEAP / (handles + 1) * TW_MILLISECOND, no_task, NULL));
    }
    assert_ok(tw_runtime_leap(rt, LEAP * TW_MILLISECOND));
    outcome.remaining = tw_runtime_remaining(rt, &node);
    tw_runtime_free(rt);
    return outcome;
}

TEST(p5_handles_that_are_due_too_change_nothing_for_a_late_node) {
    for (int missed = TW_BURST; missed <= TW_DELAY; ++missed) {
        const struct outcome alone = leap_beside(0, (enum tw_missed)missed);
        assert_int_equal(alone.fires, missed == TW_BURST ? LEAP / LATE_PERIOD : 1);
        assert_int_equal(alone.overruns, LEAP / LATE_PERIOD - 1);
        for (unsigned handles = 1; handles <= 1000; handles *= 10) {
            const struct outcome beside = leap_beside(handles, (enum tw_missed)missed);
            assert_int_equal(beside.fires, alone.fires);
            assert_int_equal(beside.overruns, alone.overruns);
            assert_int_equal(beside.remaining, alone.remaining);
        }
    }
}

/* --- refused -------------------------------------------------------------------------------------- */

static int every(int64_t tick, int64_t period) {
    struct tw_node node;
    run_on(tick, TW_CLOCK_DEFAULT);
    tw_node_init(&node, on_node, NULL);
    const int result = tw_runtime_every(rt, &node, period, TW_BURST);
    assert_int_equal(tw_runtime_count(rt), result == 0 ? 1 : 0);
    tw_runtime_free(rt);
    return result;
}

TEST(p14_a_period_that_no_grid_can_keep_is_refused) {
    assert_int_equal(every(TW_MILLISECOND, TW_MILLISECOND - 1), -EINVAL);
    assert_int_equal(every(TW_MILLISECOND, 1), -EINVAL);
    assert_int_equal(every(4294967294, 4294967293), -EINVAL);
    assert_int_equal(every(4294967294, 4294967295), 0); /* the longest tick whose periods count in ns */
    assert_int_equal(every(4294967295, 4294967296), -EINVAL);
    assert_int_equal(every(5 * TW_SECOND, 7 * TW_SECOND), 0);
    assert_int_equal(every(5 * TW_SECOND, 7 * TW_SECOND + 1), -EINVAL);
    assert_int_equal(every(5000000001, 7 * TW_SECOND), -EINVAL);
    assert_int_equal(every(5000000001, 10000000002), 0);
}
