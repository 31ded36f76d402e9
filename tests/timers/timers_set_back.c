/* One thread sets the wall clock back and forth while another fires timers: none is lost, none
 * is early, and each callback reads its own deadline. The clock is virtual, so that it can be
 * set a hundred thousand times a second. */
#include "timers_test.h"

#include <pthread.h>

#include "support/sanitized.h"

#define US TW_MICROSECOND
#define NOON (12 * 3600 * TW_SECOND)

enum { TIMERS = 20, BACK_MOST = 299 };

static const int64_t how_long = SLOW ? 2 * TW_SECOND : TW_SECOND;

static struct tw_runtime *rt;
static int64_t until;    /* the clock's reading at which the other thread ends */
static atomic_bool over; /* the other thread has ended */

static int at_noon(UNUSED void **state) {
    rt = new_runtime((struct tw_runtime_options){.driver = "manual", .clock = TW_CLOCK_WALL, .tick_ns = US});
    atomic_store(&over, false);
    assert_ok(tw_runtime_set_wall(rt, NOON));
    return 0;
}

static int gone(UNUSED void **state) { return tw_runtime_free(rt); }

/* Runs `other` on another thread while this thread drives the runtime in steps of `step`. A step ends only
 * when nothing more is due. */
static void drive_beside(void *(*other)(void *), int64_t step) {
    pthread_t thread;
    until = monotonic() + how_long;
    assert_int_equal(pthread_create(&thread, NULL, other, NULL), 0);
    while (!atomic_load(&over))
        assert_ok(tw_runtime_leap(rt, step));
    pthread_join(thread, NULL);
}

static bool goes_on(void) {
    if (monotonic() < until)
        return true;
    atomic_store(&over, true);
    return false;
}

/* --- a grid --------------------------------------------------------------------------- */

struct on_grid {
    tw_handle id;
    int64_t first, period;
    atomic_uint fires, off_grid, drops;
};

static void check_grid(const struct tw_event *event, void *arg) {
    struct on_grid *timer = arg;
    atomic_fetch_add(&timer->fires, 1);
    if (event->due_ns < timer->first || (event->due_ns - timer->first) % timer->period != 0)
        atomic_fetch_add(&timer->off_grid, 1);
}

static void count_drop(void *arg) { atomic_fetch_add(&((struct on_grid *)arg)->drops, 1); }

static void nothing(UNUSED struct tw_node *node, UNUSED void *arg) {}

/* Sets the clock by an odd number of ticks. All periods are even, so a deadline that is wrong by as much is
 * off the grid. */
static void *set_to_and_fro(UNUSED void *arg) {
    struct tw_node notices;
    uint64_t seed = 11;
    tw_node_init(&notices, nothing, NULL);
    while (goes_on()) {
        const int64_t back = (int64_t)(random_below(&seed, BACK_MOST) | 1) * US;
        tw_runtime_set_wall(rt, tw_runtime_now(rt) - back);
        tw_runtime_at(rt, &notices, NOON + 3600 * TW_SECOND);
        tw_runtime_set_wall(rt, tw_runtime_now(rt) + back);
    }
    tw_runtime_cancel_wait(rt, &notices);
    return NULL;
}

static void keep_all(struct tw_set_options options) {
    static struct on_grid timers[TIMERS];
    struct tw_timers *const set = new_set(rt, options);
    for (int i = 0; i < TIMERS; ++i) {
        struct on_grid *const timer = &timers[i];
        memset(timer, 0, sizeof *timer);
        timer->period = (2 * i + 2) * 10 * US;
        timer->first = NOON + timer->period;
        const struct tw_when when = {.due_ns = timer->first,
                                     .absolute = 1,
                                     .period_ns = timer->period,
                                     /* a late fire of TW_DELAY would leave the grid */
                                     .missed = i % 2 == 0 ? TW_BURST : TW_COALESCE};
        const struct tw_task task = {.fn = check_grid, .arg = timer, .drop = count_drop};
        assert_int_equal(tw_timer_start(set, &timer->id, &when, &task), 0);
    }
    drive_beside(set_to_and_fro, 50 * US);
    assert_int_equal(tw_timers_count(set), TIMERS);
    for (int i = 0; i < TIMERS; ++i) {
        assert_true(timers[i].fires > 0);
        assert_int_equal(timers[i].drops, 0);
        assert_int_equal(timers[i].off_grid, 0);
        assert_int_equal(tw_timer_cancel_wait(set, timers[i].id), 1);
        assert_int_equal(timers[i].drops, 1);
    }
    assert_int_equal(tw_runtime_count(rt), 0);
    assert_int_equal(tw_timers_free(set), 0);
}

FIXTURE(at_noon, gone);

TEST(p4_no_timer_is_lost_while_the_wall_clock_is_set_back) { keep_all((struct tw_set_options){0}); }

TEST(p4_no_timer_on_workers_is_lost_while_the_wall_clock_is_set_back) {
    struct tw_workers *workers = NULL;
    assert_int_equal(tw_workers_new(&workers, rt, &(struct tw_workers_options){.threads = 2}), 0);
    keep_all((struct tw_set_options){.workers = workers});
    assert_int_equal(tw_workers_free(workers), 0);
}

/* --- a reading that was superseded ----------------------------------------------------------- */

static atomic_uint early;
static atomic_bool has_passed; /* set when the deadline of the only timer has passed */

static void count_early(UNUSED struct tw_node *node, UNUSED void *arg) {
    if (!atomic_load(&has_passed))
        atomic_fetch_add(&early, 1);
}

static void *arm_after_setting_back(UNUSED void *arg) {
    struct tw_node node;
    tw_node_init(&node, count_early, NULL);
    for (int64_t reading = NOON; goes_on(); reading += 3 * TW_SECOND) {
        tw_runtime_set_wall(rt, reading + 2 * TW_SECOND);
        sched_yield();
        tw_runtime_set_wall(rt, reading);
        tw_runtime_at(rt, &node, reading + TW_SECOND);
        sched_yield();
        tw_runtime_cancel_wait(rt, &node);
    }
    return NULL;
}

/* Also if the driving thread has read the clock before it was set back, and tells the wheel that reading
 * afterwards. */
TEST(p1_what_is_armed_after_the_clock_was_set_back_does_not_fire_by_the_former_reading) {
    atomic_store(&early, 0);
    atomic_store(&has_passed, false);
    drive_beside(arm_after_setting_back, 0);
    assert_int_equal(early, 0);
}

/* No timer was due yet, so the runtime has not acted on the reading. */
TEST(p1_a_reading_from_when_the_set_was_made_may_be_withdrawn) {
    struct tw_timers *const set = new_set(rt, (struct tw_set_options){0});
    struct probe probe = {.rt = rt};
    assert_ok(tw_runtime_set_wall(rt, NOON - 3600 * TW_SECOND));
    start(set, &probe, (struct tw_when){.due_ns = NOON - 3590 * TW_SECOND, .absolute = 1});
    assert_ok(tw_runtime_advance(rt, 10 * TW_SECOND - 1));
    assert_int_equal(probe.fires, 0);
    assert_ok(tw_runtime_advance(rt, 1));
    assert_int_equal(probe.fires, 1);
}

/* --- a hundred thousand timers at once ------------------------------------------------------------ */

enum { MANY = 100000 };

static struct absolute {
    tw_handle id;
    int64_t deadline;
    unsigned fires;
} many[MANY];
static unsigned off_time;

static void check_reading(const struct tw_event *event, void *arg) {
    struct absolute *timer = arg;
    ++timer->fires;
    off_time += event->due_ns != timer->deadline || tw_runtime_now(rt) != timer->deadline;
}

/* Each kind of call's least processor time. tw_timer_move, the first call after the clock was set back,
 * finishes the shift of the wheel: that takes 2 ms here, and twice as long on a busy processor. */
static struct { int64_t set, move, at, cancel, leap; } least;

#define measure(call, time) \
    do { \
        const int64_t began = reading_of(CLOCK_THREAD_CPUTIME_ID); \
        assert_ok(call); \
        const int64_t took = reading_of(CLOCK_THREAD_CPUTIME_ID) - began; \
        (time) = (time) < took ? (time) : took; \
    } while (0)

/* The clock was set back, which the next call notices, whichever it is. */
static void measure_calls_after_setting_back(struct tw_timers *set, int64_t reading) {
    struct tw_node node;
    assert_ok(tw_node_init(&node, nothing, NULL));
    measure(tw_runtime_set_wall(rt, reading), least.set);
    measure(tw_timer_move(set, many[0].id, many[0].deadline - reading), least.move);
    measure(tw_runtime_at(rt, &node, reading + TW_SECOND), least.at);
    measure(tw_runtime_cancel(rt, &node), least.cancel);
    measure(tw_runtime_leap(rt, 0), least.leap);
}

static void assert_calls_took_no_time(void) {
    const int64_t most = (SLOW ? 50 : 5) * MS;
    assert_in_range(least.set, 0, most);
    assert_in_range(least.move, 0, most);
    assert_in_range(least.at, 0, most);
    assert_in_range(least.cancel, 0, most);
    assert_in_range(least.leap, 0, most);
}

static unsigned count_fired(void) {
    unsigned fired = 0;
    for (unsigned i = 0; i < MANY; ++i) {
        assert_in_range(many[i].fires, 0, 1);
        fired += many[i].fires;
    }
    return fired;
}

/* The timer that was armed first fires last. */
TEST(p12_many_timers_follow_a_clock_that_is_set_back_and_no_call_takes_long) {
    struct tw_timers *const set = new_set(rt, (struct tw_set_options){0});
    uint64_t seed = 12;
    memset(many, 0, sizeof many);
    off_time = 0;
    for (unsigned i = 0; i < MANY; ++i) {
        struct absolute *const timer = &many[i];
        const struct tw_task task = {.fn = check_reading, .arg = timer};
        timer->deadline = NOON + (i == 0 ? 4000 * TW_SECOND : (int64_t)random_below(&seed, 2000000) * MS);
        const struct tw_when when = {.due_ns = timer->deadline, .absolute = 1};
        assert_int_equal(tw_timer_start(set, &timer->id, &when, &task), 0);
    }
    assert_ok(tw_runtime_advance(rt, 1000 * TW_SECOND));
    const unsigned fired = count_fired();
    assert_in_range(fired, MANY / 3, 2 * MANY / 3);
    memset(&least, 0x7f, sizeof least);
    for (unsigned times = 1; times <= 3; ++times) /* by 8,000 s each time */
        measure_calls_after_setting_back(set, NOON + (1000 - (int64_t)times * 8000) * TW_SECOND);
    assert_calls_took_no_time();
    assert_ok(tw_runtime_advance(rt, 23000 * TW_SECOND + 999 * TW_SECOND));
    assert_int_equal(count_fired(), fired);
    assert_ok(tw_runtime_advance(rt, 1001 * TW_SECOND));
    assert_int_equal(count_fired(), MANY - 1);
    assert_int_equal(off_time, 0);
    assert_ok(tw_runtime_advance(rt, 2000 * TW_SECOND));
    assert_int_equal(count_fired(), MANY);
    assert_int_equal(off_time, 0);
}
