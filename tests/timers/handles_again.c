/* tw_handle_postpone and tw_handle_again on virtual time: what order.c does not play. */
#include "handles_test.h"

#include "support/gate.h"

static struct tw_runtime *rt;
static struct tw_handles *set;

static int make(UNUSED void **state) {
    rt = virtual_runtime();
    set = new_set(rt, (struct tw_handles_options){0});
    return 0;
}

static int end(UNUSED void **state) { return tw_runtime_free(rt); }

/* At the end of tests whose timers are still pending: their arguments are on the stack. */
static void stop_all(void) { assert_true(tw_handles_drain(set, NULL, NULL) >= 0); }

static void go_on(int64_t ns) { assert_ok(tw_runtime_advance(rt, ns)); }

FIXTURE(make, end);

TEST(again_is_without_slack) {
    struct probe it = {.rt = rt};
    start(set, &it, (struct tw_when){.due_ns = 10 * MS, .slack_ns = 100 * MS});
    assert_int_equal(tw_handle_again(set, it.id), 0);
    assert_int_equal(tw_handle_remaining(set, it.id), 10 * MS);
    stop_all();
}

/* A period that is no multiple of the tick: each deadline rounds up by itself. */
TEST(again_begins_the_grid_of_a_fine_period_anew) {
    struct probe it = {.rt = rt};
    start_every(set, &it, 10 * MS + MS / 4);
    go_on(25 * MS);
    assert_int_equal(it.fires, 2); /* at 11 and 21 */
    assert_int_equal(tw_handle_again(set, it.id), 0);
    go_on(11 * MS);
    assert_int_equal(it.due_ns, 36 * MS);
    go_on(41 * MS);
    assert_int_equal(it.fires, 7); /* at 46.25, 56.5, 66.75 and 77, from a grid that began at 36 */
    assert_int_equal(it.due_ns, 77 * MS);
    stop_all();
}

/* --- on workers ---------------------------------------------------------------------------------- */

static struct gate gate;

static void wait_inside(UNUSED struct probe *it) { pass(&gate); }
static void only_look(UNUSED tw_handle id, UNUSED void *arg, UNUSED void *visit_arg) {}

/* A stop still prevents it, also if the timer was visited before. */
TEST(a_last_fire_that_waits_for_a_worker_is_too_late_for_both) {
    struct tw_handles_options options = {0};
    struct probe running = {.rt = rt, .inside = wait_inside}, waiting = {.rt = rt}, stopped = {.rt = rt};
    assert_int_equal(tw_workers_new(&options.workers, rt, &(struct tw_workers_options){.threads = 1}), 0);
    struct tw_handles *of_workers = new_set(rt, options);
    start_after(of_workers, &running, 10 * MS);
    start_after(of_workers, &waiting, 10 * MS);
    start_after(of_workers, &stopped, 10 * MS);
    go_on(9 * MS);
    assert_int_equal(tw_handle_postpone(of_workers, running.id, 2 * MS), 0);
    assert_int_equal(tw_handle_again(of_workers, running.id), 0);
    assert_int_equal(tw_handle_again(of_workers, waiting.id), 0);
    assert_int_equal(tw_handle_again(of_workers, stopped.id), 0);
    assert_int_equal(tw_handles_each(of_workers, only_look, NULL), 3);
    go_on(10 * MS);
    wait_for(gate.inside == 1);
    assert_int_equal(tw_handle_again(of_workers, running.id), -EBUSY);
    assert_int_equal(tw_handle_postpone(of_workers, running.id, TW_SECOND), -EBUSY);
    assert_int_equal(tw_handle_again(of_workers, waiting.id), -EBUSY);
    assert_int_equal(tw_handle_stop(of_workers, stopped.id), 1);
    assert_int_equal(tw_handle_stop(of_workers, running.id), 0);
    atomic_store(&gate.open, true);
    wait_for(tw_handles_count(of_workers) == 0);
    assert_int_equal(running.fires, 1);
    assert_int_equal(waiting.fires, 1);
    assert_int_equal(stopped.fires, 0);
    stop_all();
}

/* --- on the wall clock --------------------------------------------------------------------------- */

static int make_on_wall(UNUSED void **state) {
    rt = new_runtime((struct tw_runtime_options){.driver = "manual", .clock = TW_CLOCK_WALL});
    assert_ok(tw_runtime_set_wall(rt, 1000 * TW_SECOND));
    set = new_set(rt, (struct tw_handles_options){0});
    return 0;
}

FIXTURE(make_on_wall, end);

TEST(an_absolute_timer_that_is_postponed_keeps_following_the_wall_clock) {
    struct probe it = {.rt = rt};
    start(set, &it, (struct tw_when){.due_ns = 1010 * TW_SECOND, .absolute = 1});
    assert_int_equal(tw_handle_again(set, it.id), -EINVAL);
    assert_int_equal(tw_handle_postpone(set, it.id, 5 * TW_SECOND), 0);
    assert_int_equal(tw_handle_remaining(set, it.id), 10 * TW_SECOND);
    assert_int_equal(tw_handle_postpone(set, it.id, 20 * TW_SECOND), 0); /* to 1020 */
    assert_ok(tw_runtime_set_wall(rt, 500 * TW_SECOND));
    assert_int_equal(tw_handle_remaining(set, it.id), 520 * TW_SECOND);
    assert_int_equal(tw_handle_postpone(set, it.id, 519 * TW_SECOND), 0);
    assert_int_equal(tw_handle_remaining(set, it.id), 520 * TW_SECOND);
    assert_int_equal(tw_handle_postpone(set, it.id, 521 * TW_SECOND), 0); /* to 1021 */
    assert_ok(tw_runtime_set_wall(rt, 1021 * TW_SECOND - 1));
    go_on(0);
    assert_int_equal(it.fires, 0);
    go_on(1);
    assert_int_equal(it.fires, 1);
    assert_int_equal(it.due_ns, 1021 * TW_SECOND);
    stop_all();
}

TEST(a_delay_that_is_started_again_ignores_the_wall_clock) {
    struct probe it = {.rt = rt};
    start_after(set, &it, 10 * TW_SECOND);
    go_on(5 * TW_SECOND);
    assert_ok(tw_runtime_set_wall(rt, 0));
    assert_int_equal(tw_handle_again(set, it.id), 0);
    assert_ok(tw_runtime_set_wall(rt, 100000 * TW_SECOND));
    assert_int_equal(tw_handle_remaining(set, it.id), 10 * TW_SECOND);
    go_on(10 * TW_SECOND - 1);
    assert_int_equal(it.fires, 0);
    go_on(1);
    assert_int_equal(it.fires, 1);
    stop_all();
}

TEST(a_period_on_the_wall_clock_is_started_again_there) {
    struct probe it = {.rt = rt}, late = {.rt = rt};
    start(set, &it, (struct tw_when){.due_ns = 1010 * TW_SECOND, .absolute = 1, .period_ns = 10 * TW_SECOND});
    go_on(13 * TW_SECOND);
    assert_int_equal(it.fires, 1);
    assert_ok(tw_runtime_set_wall(rt, 900 * TW_SECOND));
    start(set, &late, (struct tw_when){.due_ns = 905 * TW_SECOND, .absolute = 1});
    assert_int_equal(tw_handle_remaining(set, late.id), 5 * TW_SECOND);
    assert_int_equal(tw_handle_again(set, it.id), 0);
    go_on(10 * TW_SECOND);
    assert_int_equal(it.fires, 2);
    assert_int_equal(it.due_ns, 910 * TW_SECOND);
    assert_int_equal(late.fires, 1);
    go_on(10 * TW_SECOND);
    assert_int_equal(it.due_ns, 920 * TW_SECOND);
    stop_all();
}
