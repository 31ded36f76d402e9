/* What six known timing wheels do for their users, with Tickwheel: one section for each. The cooldown demo of
 * the C wheel is examples/cooldown.c; tests/cpp/ttl_map covers go-zero's cache. */
#include "support/runtime_test.h"

#include <tickwheel/keyed.h>
#include <tickwheel/timers.h>
#include <tickwheel/workers.h>

#define DAY (INT64_C(86400) * TW_SECOND)
#define YEAR (365 * DAY)

static struct tw_runtime *rt;

/* Virtual time in ticks of a second, from 0. */
static int at_zero(UNUSED void **state) {
    rt = new_runtime((struct tw_runtime_options){.driver = "manual", .tick_ns = TW_SECOND});
    return 0;
}

static int freed(UNUSED void **state) { return tw_runtime_free(rt); }

static void let_pass(int64_t ns) { assert_ok(tw_runtime_advance(rt, ns)); }

/* What a timer records of its fires. */
struct noted {
    struct tw_node node;
    atomic_uint fires, drops;
    int64_t due_ns[3]; /* of the latest fires, in turn */
};

static void note(struct noted *noted, int64_t due_ns) {
    noted->due_ns[noted->fires % COUNT_OF(noted->due_ns)] = due_ns;
    atomic_fetch_add(&noted->fires, 1);
}

static void note_fire(UNUSED struct tw_node *node, void *arg) { note(arg, tw_runtime_due(rt)); }
static void note_event(const struct tw_event *event, void *arg) { note(arg, event->due_ns); }
static void note_drop(void *arg) { atomic_fetch_add(&((struct noted *)arg)->drops, 1); }

FIXTURE(at_zero, freed);

/* The simple Go wheel: a program adds tasks at any time. That wheel has no delays longer than one round; here
 * they are exact. */
TEST(simple_delays_of_any_length_added_at_any_time) {
    static struct noted tasks[500];
    static int64_t due[COUNT_OF(tasks)];
    uint64_t seed = 18;
    for (size_t i = 0; i < COUNT_OF(tasks); ++i) {
        let_pass((int64_t)random_below(&seed, 3) * TW_SECOND);
        const int64_t delay = 1 + (int64_t)random_below(&seed, UINT64_C(1) << random_below(&seed, 34));
        due[i] = tw_runtime_now(rt) + delay * TW_SECOND;
        assert_ok(tw_node_init(&tasks[i].node, note_fire, &tasks[i]));
        assert_ok(tw_runtime_after(rt, &tasks[i].node, delay * TW_SECOND));
    }
    let_pass((INT64_C(1) << 33) * TW_SECOND);
    for (size_t i = 0; i < COUNT_OF(tasks); ++i) {
        assert_int_equal(tasks[i].fires, 1);
        assert_int_equal(tasks[i].due_ns[0], due[i]);
    }
}

/* The Java wheel with rounds: it counts all time from one start, standstill included, so nothing drifts. */
TEST(rounds_a_periodic_task_does_not_drift_in_a_hundred_years) {
    static struct noted hourly, daily;
    let_pass(1234567 * TW_SECOND);
    const int64_t start = tw_runtime_now(rt);
    assert_ok(tw_node_init(&hourly.node, note_fire, &hourly));
    assert_ok(tw_runtime_every(rt, &hourly.node, 3600 * TW_SECOND, TW_BURST));
    let_pass(100 * YEAR);
    assert_int_equal(hourly.fires, 100 * 365 * 24);
    assert_int_equal(hourly.due_ns[(hourly.fires - 1) % 3], start + 100 * YEAR);
    assert_int_equal(tw_runtime_cancel(rt, &hourly.node), 1);
    assert_ok(tw_node_init(&daily.node, note_fire, &daily));
    assert_ok(tw_runtime_every(rt, &daily.node, DAY, TW_COALESCE));
    assert_ok(tw_runtime_leap(rt, YEAR + DAY / 2));
    assert_int_equal(daily.fires, 1);
    assert_int_equal(tw_runtime_remaining(rt, &daily.node), DAY / 2);
}

/* The Kafka-like wheel in Go: ScheduleFunc follows a list of intervals, and Stop says whether it stopped. */
static const int64_t intervals[] = {1 * TW_SECOND, 2 * TW_SECOND, 5 * TW_SECOND};
static size_t intervals_left;

static int64_t next_interval(int64_t due_ns, UNUSED void *arg) {
    return intervals_left == 0 ? TW_NO_DEADLINE : due_ns + intervals[COUNT_OF(intervals) - intervals_left--];
}

TEST(kafka_schedule_func_follows_a_list_of_intervals_until_its_end_or_a_stop) {
    for (int stops = 0; stops < 2; ++stops) {
        struct noted list = {.fires = 0};
        struct tw_timers *timers;
        tw_handle handle;
        const struct tw_task task = {
            .fn = note_event, .arg = &list, .next = next_interval, .drop = note_drop};
        const int64_t start = tw_runtime_now(rt);
        intervals_left = COUNT_OF(intervals);
        assert_ok(tw_timers_new(&timers, rt, NULL));
        assert_ok(tw_timer_start(timers, &handle, NULL, &task));
        let_pass(3 * TW_SECOND);
        assert_int_equal(list.drops, 0);
        if (stops)
            assert_int_equal(tw_timer_cancel(timers, handle), 1);
        let_pass(1000 * TW_SECOND);
        assert_int_equal(list.fires, stops ? 2 : 3);
        assert_int_equal(list.drops, 1);
        assert_int_equal(list.due_ns[1], start + 3 * TW_SECOND);
        assert_int_equal(list.due_ns[2], stops ? 0 : start + 8 * TW_SECOND);
        assert_int_equal(tw_timer_cancel(timers, handle), -ESTALE);
    }
}

/* go-zero's TimingWheel: a program moves a timer by its key, and its drain calls a function for each
 * remaining timer. */
static int cancel_one(const struct tw_entry *entry, void *cancelled) {
    assert_int_equal(((struct noted *)entry->arg)->fires, 0);
    *(uint64_t *)cancelled += entry->key->number;
    return 0;
}

TEST(go_zero_keys_are_moved_and_cancelled) {
    struct tw_keyed *wheel;
    static struct noted moved, left[10];
    uint64_t cancelled = 0;
    assert_ok(tw_keyed_new(&wheel, rt, NULL));
    assert_ok(tw_keyed_after(wheel, tw_key_number(1000), 5 * TW_SECOND, note_event, &moved));
    for (unsigned i = 0; i < COUNT_OF(left); ++i)
        assert_ok(tw_keyed_after(wheel, tw_key_number(i), YEAR, note_event, &left[i]));
    assert_ok(tw_keyed_move(wheel, tw_key_number(1000), 70000 * TW_SECOND));
    assert_ok(tw_keyed_move(wheel, tw_key_number(1000), TW_SECOND / 2));
    let_pass(TW_SECOND);
    assert_int_equal(moved.fires, 1);
    assert_int_equal(tw_keyed_move(wheel, tw_key_number(1000), TW_SECOND), -ENOENT);
    assert_int_equal(tw_keyed_cancel_all(wheel, cancel_one, &cancelled), COUNT_OF(left));
    assert_int_equal(cancelled, 45);
    let_pass(2 * YEAR);
    assert_int_equal(left[0].fires, 0);
}

/* --- on real time: a few milliseconds, because other threads take part ---------------------------- */

static int running(UNUSED void **state) {
    rt = started_runtime((struct tw_runtime_options){0});
    return 0;
}

FIXTURE(running, freed);

/* The C wheel: a custom task decides when it fires next, and frees its own memory. */
struct custom {
    struct tw_node node;
    unsigned runs;
};

static int64_t custom_due[3];
static atomic_bool custom_is_gone;

static void back_off(struct tw_node *node, void *arg) {
    struct custom *task = arg;
    custom_due[task->runs++] = tw_runtime_due(rt);
    if (task->runs < COUNT_OF(custom_due)) {
        tw_runtime_after(rt, node, (1 << task->runs) * TW_MILLISECOND);
        return;
    }
    free(task);
    atomic_store(&custom_is_gone, true);
}

TEST(c_wheel_a_custom_task_chooses_its_times_and_frees_itself) {
    struct custom *task = calloc(1, sizeof *task);
    assert_non_null(task);
    assert_ok(tw_node_init(&task->node, back_off, task));
    assert_ok(tw_runtime_after(rt, &task->node, TW_MILLISECOND));
    wait_for(custom_is_gone);
    assert_true(custom_due[1] - custom_due[0] >= 2 * TW_MILLISECOND);
    assert_true(custom_due[2] - custom_due[1] >= 4 * TW_MILLISECOND);
    assert_int_equal(tw_runtime_count(rt), 0);
}

/* godis: a job under a key replaces the previous job of this key; jobs run concurrently. (godis catches a
 * job's panic; tests/cpp covers exceptions from callbacks.) */
static atomic_uint met;

static void meet(const struct tw_event *event, void *arg) {
    atomic_fetch_add(&met, 1);
    wait_for(met == 2);
    note_event(event, arg);
}

TEST(godis_jobs_replace_by_key_and_run_concurrently) {
    static struct noted former, jobs[2];
    struct tw_workers *workers;
    struct tw_keyed *wheel;
    assert_ok(tw_workers_new(&workers, rt, &(struct tw_workers_options){.threads = 2}));
    assert_ok(tw_keyed_new(&wheel, rt, &(struct tw_set_options){.workers = workers}));
    const struct tw_when later = {.due_ns = YEAR}, soon = {.due_ns = TW_MILLISECOND};
    const struct tw_task replaced = {.fn = note_event, .arg = &former, .drop = note_drop};
    assert_int_equal(tw_keyed_set(wheel, tw_key_string("a"), &later, &replaced), 0);
    for (int i = 0; i < 2; ++i) {
        const struct tw_task task = {.fn = meet, .arg = &jobs[i], .drop = note_drop};
        assert_int_equal(tw_keyed_set(wheel, tw_key_string(i == 0 ? "a" : "b"), &soon, &task), 0);
    }
    wait_for(jobs[0].drops == 1 && jobs[1].drops == 1);
    assert_int_equal(jobs[0].fires + jobs[1].fires, 2);
    assert_int_equal(former.drops, 1);
    assert_int_equal(former.fires, 0);
}
