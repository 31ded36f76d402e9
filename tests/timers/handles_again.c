/* tw_handle_postpone and tw_handle_again on virtual time: what handles_order.c does not play. */
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

TEST(postpone_makes_a_timer_due_later_and_never_earlier) {
    struct probe it = {.rt = rt};
    start_after(set, &it, 10 * MS);
    go_on(4 * MS);
    assert_int_equal(tw_handle_postpone(set, it.id, 0), 0);
    assert_int_equal(tw_handle_postpone(set, it.id, 6 * MS - 1), 0);
    assert_int_equal(tw_handle_remaining(set, it.id), 6 * MS);
    assert_int_equal(tw_handle_postpone(set, it.id, 10 * MS), 0);
    assert_int_equal(tw_handle_postpone(set, it.id, 9 * MS), 0);
    assert_int_equal(tw_handle_remaining(set, it.id), 10 * MS);
    go_on(10 * MS - 1);
    assert_int_equal(it.fires, 0);
    go_on(1);
    assert_int_equal(it.fires, 1);
    assert_int_equal(it.due_ns, 14 * MS);
    assert_int_equal(tw_handle_postpone(set, it.id, MS), -ESTALE);
    stop_all();
}

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

static int64_t ten_later(int64_t due_ns, UNUSED void *arg) { return due_ns + 10 * MS; }

/* Its first deadline may be a delay. Those of `next` are not, until the timer is moved. */
TEST(a_schedule_is_postponed_and_goes_on_from_there) {
    struct probe it = {.rt = rt};
    struct tw_task task = task_of(&it);
    const struct tw_when when = {.due_ns = 5 * MS};
    task.next = ten_later;
    assert_int_equal(tw_handle_start(set, &it.id, &when, &task), 0);
    go_on(3 * MS);
    assert_int_equal(tw_handle_again(set, it.id), 0);
    go_on(5 * MS);
    assert_int_equal(it.due_ns, 8 * MS);
    assert_int_equal(tw_handle_again(set, it.id), -EINVAL);
    assert_int_equal(tw_handle_postpone(set, it.id, 15 * MS), 0);
    go_on(15 * MS);
    assert_int_equal(it.due_ns, 23 * MS);
    assert_int_equal(tw_handle_remaining(set, it.id), 10 * MS);
    assert_int_equal(tw_handle_move(set, it.id, 2 * MS), 0);
    go_on(MS);
    assert_int_equal(tw_handle_again(set, it.id), 0);
    go_on(2 * MS);
    assert_int_equal(it.due_ns, 26 * MS);
    assert_int_equal(it.fires, 3);
    stop_all();
}

/* --- from inside ------------------------------------------------------------------------------- */

static int answers[4];

static void try_both(struct probe *it) {
    answers[0] = tw_handle_postpone(it->set, it->id, 50 * MS);
    answers[1] = tw_handle_again(it->set, it->id);
}

TEST(inside_its_last_callback_a_timer_is_too_late_for_both) {
    struct probe it = {.rt = rt, .inside = try_both}, absolute = {.rt = rt, .inside = try_both};
    start_after(set, &it, 10 * MS);
    go_on(10 * MS);
    assert_int_equal(answers[0], -EBUSY);
    assert_int_equal(answers[1], -EBUSY);
    answers[1] = 0;
    start(set, &absolute, (struct tw_when){.due_ns = 20 * MS, .absolute = 1});
    go_on(10 * MS);
    assert_int_equal(answers[1], -EBUSY); /* rather than that it has no delay */
    assert_int_equal(tw_handles_count(set), 0);
    stop_all();
}

TEST(inside_its_callback_before_next_a_schedule_is_busy) {
    struct probe it = {.rt = rt, .set = set, .inside = try_both};
    struct tw_task task = task_of(&it);
    task.next = ten_later;
    assert_int_equal(tw_handle_start(set, &it.id, NULL, &task), 0); /* at 10 */
    for (unsigned fires = 1; fires <= 3; ++fires) {
        memset(answers, 0, sizeof answers);
        go_on(10 * MS);
        assert_int_equal(it.fires, fires);
        assert_int_equal(answers[0], -EBUSY);
        assert_int_equal(answers[1], -EBUSY);
    }
    stop_all();
}

static void start_period_again(struct probe *it) {
    if (it->due_ns == 10 * MS)
        it->answer = tw_handle_postpone(it->set, it->id, 25 * MS);
    else
        it->answer = tw_handle_again(it->set, it->id);
}

TEST(inside_its_callback_a_periodic_timer_is_postponed_and_started_again) {
    struct probe it = {.rt = rt, .set = set, .inside = start_period_again, .answer = 99};
    assert_int_equal(tw_handle_every(set, &it.id, 10 * MS, TW_BURST, note_fire, &it), 0);
    go_on(34 * MS);
    assert_int_equal(it.answer, 0);
    assert_int_equal(it.fires, 1);
    go_on(MS);
    assert_int_equal(it.due_ns, 35 * MS);
    go_on(10 * MS);
    assert_int_equal(it.due_ns, 45 * MS);
    stop_all();
}

/* --- on workers ---------------------------------------------------------------------------------- */

static struct gate gate;

static void wait_inside(UNUSED struct probe *it) { pass(&gate); }

TEST(a_last_fire_that_waits_for_a_worker_is_too_late_for_both) {
    struct tw_handles_options options = {0};
    struct probe running = {.rt = rt, .inside = wait_inside}, waiting = {.rt = rt};
    assert_int_equal(tw_workers_new(&options.workers, rt, &(struct tw_workers_options){.threads = 1}), 0);
    struct tw_handles *of_workers = new_set(rt, options);
    start_after(of_workers, &running, 10 * MS);
    start_after(of_workers, &waiting, 10 * MS);
    go_on(9 * MS);
    assert_int_equal(tw_handle_postpone(of_workers, running.id, 2 * MS), 0);
    assert_int_equal(tw_handle_again(of_workers, running.id), 0);
    assert_int_equal(tw_handle_again(of_workers, waiting.id), 0);
    go_on(10 * MS);
    wait_for(gate.inside == 1);
    assert_int_equal(tw_handle_again(of_workers, running.id), -EBUSY);
    assert_int_equal(tw_handle_postpone(of_workers, running.id, TW_SECOND), -EBUSY);
    assert_int_equal(tw_handle_again(of_workers, waiting.id), -EBUSY);
    atomic_store(&gate.open, true);
    wait_for(tw_handles_count(of_workers) == 0);
    assert_int_equal(running.fires, 1);
    assert_int_equal(waiting.fires, 1);
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
    struct probe it = {.rt = rt};
    start(set, &it, (struct tw_when){.due_ns = 1010 * TW_SECOND, .absolute = 1, .period_ns = 10 * TW_SECOND});
    go_on(13 * TW_SECOND);
    assert_int_equal(it.fires, 1);
    assert_ok(tw_runtime_set_wall(rt, 900 * TW_SECOND));
    assert_int_equal(tw_handle_again(set, it.id), 0);
    go_on(10 * TW_SECOND);
    assert_int_equal(it.fires, 2);
    assert_int_equal(it.due_ns, 910 * TW_SECOND);
    go_on(10 * TW_SECOND);
    assert_int_equal(it.due_ns, 920 * TW_SECOND);
    stop_all();
}

/* --- refused ------------------------------------------------------------------------------------- */

FIXTURE(make, end);

TEST(p14_bad_input_is_refused_and_changes_nothing) {
    struct tw_handles *other = new_set(rt, (struct tw_handles_options){0});
    struct probe it = {.rt = rt};
    start_after(set, &it, 10 * MS);
    assert_int_equal(tw_handle_postpone(NULL, it.id, 1), -EINVAL);
    assert_int_equal(tw_handle_again(NULL, it.id), -EINVAL);
    assert_int_equal(tw_handle_postpone(set, it.id, -1), -EINVAL);
    assert_int_equal(tw_handle_postpone(set, it.id, INT64_MIN), -EINVAL);
    assert_int_equal(tw_handle_postpone(other, it.id, TW_SECOND), -ENOENT);
    assert_int_equal(tw_handle_again(other, it.id), -ENOENT);
    assert_int_equal(tw_handle_postpone(set, TW_NO_HANDLE, TW_SECOND), -ENOENT);
    assert_int_equal(tw_handle_again(set, TW_NO_HANDLE), -ENOENT);
    assert_int_equal(tw_handle_remaining(set, it.id), 10 * MS);
    assert_int_equal(tw_handle_stop(set, it.id), 1);
    assert_int_equal(tw_handle_postpone(set, it.id, TW_SECOND), -ESTALE);
    assert_int_equal(tw_handle_again(set, it.id), -ESTALE);
    stop_all();
}

TEST(the_longest_delay_is_postponed_to_and_started_again) {
    struct probe it = {.rt = rt};
    start_after(set, &it, 10 * MS);
    go_on(5 * MS);
    assert_int_equal(tw_handle_postpone(set, it.id, INT64_MAX), 0);
    assert_int_equal(tw_handle_move(set, it.id, INT64_MAX), 0);
    go_on(TW_SECOND);
    assert_int_equal(tw_handle_again(set, it.id), 0);
    assert_true(tw_handle_remaining(set, it.id) > INT64_MAX / 2);
    assert_int_equal(tw_handle_move(set, it.id, 0), 0);
    go_on(0);
    assert_int_equal(it.fires, 1);
    stop_all();
}
