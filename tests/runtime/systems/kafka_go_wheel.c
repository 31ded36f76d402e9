/* The features of the Kafka-like hierarchy in Go: AfterFunc, a Stop that tells whether it
 * prevented the fire, overdue timers that run at once, ScheduleFunc with a custom schedule,
 * tasks that run concurrently, and idle time that costs nothing. */
#include "support/gate.h"
#include "systems.h"

#include <tickwheel/handle.h>
#include <tickwheel/workers.h>

/* --- AfterFunc, Stop ------------------------------------------------------------------- */

FIXTURE(at_zero, freed);

TEST(kafka_after_func_runs_once_after_its_delay) {
    static const int64_t delays[] = {1, 5, 10, 50, 100, 500, 1000, 20000}; /* s */
    static struct noted timers[COUNT_OF(delays)];
    for (size_t i = 0; i < COUNT_OF(delays); ++i)
        start_after(&timers[i], delays[i] * TW_SECOND);
    let_pass(100000 * TW_SECOND);
    for (size_t i = 0; i < COUNT_OF(delays); ++i)
        assert_fired(&timers[i], 1, delays[i] * TW_SECOND);
}

TEST(kafka_stop_says_whether_it_stopped) {
    static struct noted stopped, fired;
    start_after(&stopped, 10 * TW_SECOND);
    start_after(&fired, 5 * TW_SECOND);
    let_pass(9 * TW_SECOND);
    assert_int_equal(tw_runtime_cancel(rt, &stopped.node), 1);
    assert_int_equal(tw_runtime_cancel(rt, &stopped.node), 0);
    assert_int_equal(tw_runtime_cancel(rt, &fired.node), 0);
    let_pass(100 * TW_SECOND);
    assert_int_equal(stopped.fires, 0);
    assert_int_equal(fired.fires, 1);
}

/* The Go wheel's Timer is an object that may outlive its fire. Here a handle does the same. */
static unsigned handle_fires;

static void count_event(UNUSED const struct tw_event *event, void *arg) { ++*(unsigned *)arg; }

TEST(kafka_stop_of_a_timer_that_is_gone_is_told_so) {
    struct tw_handles *timers;
    tw_handle fired, stopped;
    handle_fires = 0;
    assert_int_equal(tw_handles_new(&timers, rt, NULL), 0);
    assert_int_equal(tw_handle_after(timers, &fired, TW_SECOND, count_event, &handle_fires), 0);
    assert_int_equal(tw_handle_after(timers, &stopped, 2 * TW_SECOND, count_event, &handle_fires), 0);
    assert_int_equal(tw_handle_stop(timers, stopped), 1);
    assert_int_equal(tw_handle_stop(timers, stopped), -ESTALE);
    let_pass(3 * TW_SECOND);
    assert_int_equal(tw_handle_stop(timers, fired), -ESTALE);
    assert_int_equal(handle_fires, 1);
    assert_int_equal(tw_handles_count(timers), 0);
}

TEST(kafka_an_overdue_timer_runs_at_once) {
    static struct noted overdue, at_once;
    let_pass(100 * TW_SECOND);
    init(&overdue);
    init(&at_once);
    assert_int_equal(tw_runtime_at(rt, &overdue.node, 40 * TW_SECOND), 0);
    assert_int_equal(tw_runtime_after(rt, &at_once.node, 0), 0);
    let_pass(0);
    assert_int_equal(overdue.fires, 1);
    assert_int_equal(overdue.now_ns, 100 * TW_SECOND);
    assert_int_equal(at_once.fires, 1);
}

/* --- ScheduleFunc ---------------------------------------------------------------------- */

struct intervals {
    const int64_t *next, *end;
    int64_t due_ns[8];
    unsigned fires, drops;
};

static int64_t next_interval(int64_t due_ns, void *arg) {
    struct intervals *list = arg;
    return list->next == list->end ? TW_NO_DEADLINE : due_ns + *list->next++;
}

static void note_event(const struct tw_event *event, void *arg) {
    struct intervals *list = arg;
    list->due_ns[list->fires++] = event->due_ns;
}

static void count_drop(void *arg) { ++((struct intervals *)arg)->drops; }

static const int64_t three_intervals[] = {1 * TW_SECOND, 2 * TW_SECOND, 5 * TW_SECOND};

static tw_handle schedule(struct tw_handles *timers, struct intervals *list, size_t count) {
    const struct tw_task task = {.fn = note_event, .arg = list, .next = next_interval, .drop = count_drop};
    tw_handle handle = TW_NO_HANDLE;
    *list = (struct intervals){.next = three_intervals, .end = three_intervals + count};
    assert_int_equal(tw_handle_start(timers, &handle, NULL, &task), count > 0 ? 0 : -ENOENT);
    return handle;
}

TEST(kafka_schedule_func_follows_a_list_of_intervals_and_ends_with_it) {
    struct tw_handles *timers;
    struct intervals list;
    assert_int_equal(tw_handles_new(&timers, rt, NULL), 0);
    let_pass(7 * TW_SECOND);
    const tw_handle handle = schedule(timers, &list, 3);
    let_pass(8 * TW_SECOND - 1);
    assert_int_equal(list.fires, 2);
    assert_int_equal(list.drops, 0);
    let_pass(1000 * TW_SECOND);
    assert_int_equal(list.fires, 3);
    assert_int_equal(list.due_ns[0], 8 * TW_SECOND);
    assert_int_equal(list.due_ns[1], 10 * TW_SECOND);
    assert_int_equal(list.due_ns[2], 15 * TW_SECOND);
    assert_int_equal(list.drops, 1);
    assert_int_equal(tw_handle_stop(timers, handle), -ESTALE);
    assert_int_equal(tw_runtime_count(rt), 0);
}

TEST(kafka_schedule_func_is_stopped_half_way) {
    struct tw_handles *timers;
    struct intervals list;
    assert_int_equal(tw_handles_new(&timers, rt, NULL), 0);
    const tw_handle handle = schedule(timers, &list, 3);
    let_pass(3 * TW_SECOND);
    assert_int_equal(tw_handle_stop(timers, handle), 1);
    assert_int_equal(list.drops, 1);
    let_pass(1000 * TW_SECOND);
    assert_int_equal(list.fires, 2);
    assert_int_equal(list.drops, 1);
}

/* As in Go, where Next returns the zero time at its first call. */
TEST(kafka_schedule_func_without_any_interval_starts_nothing) {
    struct tw_handles *timers;
    struct intervals list;
    assert_int_equal(tw_handles_new(&timers, rt, NULL), 0);
    schedule(timers, &list, 0);
    assert_int_equal(tw_handles_count(timers), 0);
    assert_int_equal(list.fires, 0);
}

/* --- concurrent tasks: on real time ------------------------------------------------------ */

static int running(UNUSED void **state) {
    rt = started_runtime((struct tw_runtime_options){0});
    return 0;
}

static atomic_uint met;

/* Returns when as many others as form a crowd run at the same time. */
enum { CROWD = 4 };

static void meet(UNUSED struct tw_node *node, UNUSED void *arg) {
    atomic_fetch_add(&met, 1);
    wait_for(met >= CROWD);
}

FIXTURE(running, freed);

TEST(kafka_tasks_run_concurrently) {
    struct tw_workers *workers;
    static struct tw_job jobs[CROWD];
    atomic_store(&met, 0);
    assert_int_equal(tw_workers_new(&workers, rt, &(struct tw_workers_options){.threads = CROWD}), 0);
    for (int i = 0; i < CROWD; ++i) {
        assert_int_equal(tw_job_init(&jobs[i], workers, meet, NULL, 0), 0);
        assert_int_equal(tw_runtime_after(rt, &jobs[i].node, TW_MILLISECOND), 0);
    }
    wait_for(met == CROWD);
    assert_int_equal(tw_workers_wait(workers), 0);
    assert_int_equal(tw_workers_free(workers), 0);
}

TEST(kafka_a_slow_task_does_not_hold_up_the_wheel) {
    struct tw_workers *workers;
    static struct tw_job slow;
    static struct noted timer;
    static struct gate gate;
    assert_int_equal(tw_workers_new(&workers, rt, NULL), 0);
    assert_int_equal(tw_job_init(&slow, workers, wait_in_gate, &gate, 0), 0);
    assert_int_equal(tw_runtime_after(rt, &slow.node, 0), 0);
    wait_for(gate.inside == 1);
    start_after(&timer, TW_MILLISECOND);
    wait_for(timer.fires == 1); /* while the other still runs */
    atomic_store(&gate.open, true);
    assert_int_equal(tw_workers_wait(workers), 0);
    assert_int_equal(tw_workers_free(workers), 0);
}

/* --- empty time -------------------------------------------------------------------------- */

FIXTURE(NULL, freed);

/* A thousand years of milliseconds are 3 * 10^13 ticks, too many to visit. */
TEST(kafka_centuries_of_empty_time_cost_nothing) {
    static struct noted timer;
    rt = new_runtime((struct tw_runtime_options){.driver = "manual"});
    start_after(&timer, 200 * 365 * INT64_C(86400) * TW_SECOND);
    let_pass(250 * 365 * INT64_C(86400) * TW_SECOND);
    assert_fired(&timer, 1, 200 * 365 * INT64_C(86400) * TW_SECOND);
}

FIXTURE(running, freed);

/* No wake-up without a due timer: the tick is a millisecond, but the timers are far apart. */
TEST(kafka_the_thread_wakes_up_for_timers_only) {
    enum { TIMERS = 5 };
    static struct noted timers[TIMERS];
    struct tw_stats before, after;
    outlast(TW_MILLISECOND);
    assert_int_equal(tw_runtime_stats(rt, &before), 0);
    for (int i = 0; i < TIMERS; ++i)
        start_after(&timers[i], (TIMERS - i) * 40 * TW_MILLISECOND);
    wait_for(timers[0].fires == 1);
    assert_int_equal(tw_runtime_stats(rt, &after), 0);
    assert_true(after.wakeups - before.wakeups <= TIMERS + (after.wakes - before.wakes) + 1);
}
