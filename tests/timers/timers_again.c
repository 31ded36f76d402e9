/* tw_timer_move and tw_timer_again, mostly on virtual time: what order.c does not
 * play. */
#define _GNU_SOURCE
#include "timers_test.h"

#include "support/child.h"
#include "support/gate.h"

static struct tw_runtime *rt;
static struct tw_timers *set;

static int make(UNUSED void **state) {
    rt = virtual_runtime();
    set = new_set(rt, (struct tw_set_options){0});
    return 0;
}

static int end(UNUSED void **state) { return tw_runtime_free(rt); }

/* For the end of tests whose timers are still pending, because their arguments are on the stack. */
static void stop_all(void) { assert_true(tw_timers_cancel_all(set, NULL, NULL) >= 0); }

static void go_on(int64_t ns) { assert_ok(tw_runtime_advance(rt, ns)); }

FIXTURE(make, end);

/* The first start has slack, by which the timer joins another one. */
TEST(again_is_without_slack) {
    struct probe probe = {.rt = rt}, other = {.rt = rt};
    set = new_set(rt, (struct tw_set_options){.capacity = 2}); /* all in one lane */
    start_after(set, &other, 50 * MS);
    start(set, &probe, (struct tw_when){.due_ns = 10 * MS, .slack_ns = 100 * MS});
    assert_int_equal(timer_remaining(set, probe.id), 50 * MS);
    assert_int_equal(tw_timer_again(set, probe.id), 0);
    assert_int_equal(timer_remaining(set, probe.id), 10 * MS);
    stop_all();
}

TEST(again_starts_the_first_delay_also_after_a_move) {
    struct probe probe = {.rt = rt};
    start_after(set, &probe, 10 * MS);
    assert_int_equal(tw_timer_move(set, probe.id, 20 * MS), 0);
    assert_int_equal(timer_remaining(set, probe.id), 20 * MS);
    assert_int_equal(tw_timer_again(set, probe.id), 0);
    assert_int_equal(timer_remaining(set, probe.id), 10 * MS);
    stop_all();
    start(set, &probe, (struct tw_when){.due_ns = tw_runtime_now(rt) + 10 * MS, .absolute = 1});
    assert_int_equal(tw_timer_move(set, probe.id, 20 * MS), 0);
    assert_int_equal(tw_timer_again(set, probe.id), -EINVAL);
    stop_all();
}

/* The period is no multiple of the tick, so each deadline rounds up by itself. */
TEST(again_begins_a_new_grid_of_a_fine_period) {
    static const int64_t parts_of_tick[] = {MS / 4, 1};
    for (unsigned i = 0; i < COUNT_OF(parts_of_tick); ++i) {
        struct probe probe = {.rt = rt};
        const int64_t began = tw_runtime_now(rt);
        start_every(set, &probe, 10 * MS + parts_of_tick[i]);
        go_on(25 * MS);
        assert_int_equal(probe.fires, 2); /* at 11 and 21 */
        assert_int_equal(tw_timer_again(set, probe.id), 0);
        go_on(21 * MS);
        /* The grid begins at `again`: 46 would be too early. */
        assert_int_equal(probe.due_ns, began + 36 * MS);
        go_on(31 * MS);
        /* At 46.25, 56.5, 66.75 and 77; or a little after 46, 56, 66 and 76. */
        assert_int_equal(probe.fires, 7);
        assert_int_equal(probe.due_ns, began + 77 * MS);
        stop_all();
    }
}

/* The call comes at half a tick. The first deadline is the present, which rounds up to the next tick. */
TEST(a_fine_period_that_begins_at_once_counts_from_the_call) {
    struct probe probe = {.rt = rt};
    go_on(MS / 2);
    start(set, &probe, (struct tw_when){.period_ns = 10 * MS + MS / 4});
    go_on(MS / 2);
    assert_int_equal(probe.fires, 1);
    assert_int_equal(probe.due_ns, MS);
    go_on(20 * MS);
    assert_int_equal(probe.fires, 3); /* at 10.75 and 21 */
    assert_int_equal(probe.due_ns, 21 * MS);
    stop_all();
}

/* --- on workers ---------------------------------------------------------------------------------- */

static struct gate gate;

static void wait_inside(UNUSED struct probe *probe) { pass(&gate); }
static int only_look(UNUSED const struct tw_entry *entry, UNUSED void *visit_arg) { return 0; }

/* A cancel still prevents the fire, also if the timer was visited before. */
TEST(a_last_fire_that_waits_for_a_worker_is_too_late_for_both) {
    struct tw_set_options options = {0};
    struct probe running = {.rt = rt, .inside = wait_inside}, waiting = {.rt = rt}, stopped = {.rt = rt};
    assert_int_equal(tw_workers_new(&options.workers, rt, &(struct tw_workers_options){.threads = 1}), 0);
    struct tw_timers *of_workers = new_set(rt, options);
    start_after(of_workers, &running, 10 * MS);
    start_after(of_workers, &waiting, 10 * MS);
    start_after(of_workers, &stopped, 10 * MS);
    go_on(9 * MS);
    assert_int_equal(tw_timer_move(of_workers, running.id, 2 * MS), 0);
    assert_int_equal(tw_timer_again(of_workers, running.id), 0);
    assert_int_equal(tw_timer_again(of_workers, waiting.id), 0);
    assert_int_equal(tw_timer_again(of_workers, stopped.id), 0);
    assert_int_equal(tw_timers_each(of_workers, only_look, NULL), 0);
    go_on(10 * MS);
    wait_for(gate.inside == 1);
    assert_int_equal(tw_timer_again(of_workers, running.id), -EBUSY);
    assert_int_equal(tw_timer_move(of_workers, running.id, TW_SECOND), -EBUSY);
    assert_int_equal(tw_timer_again(of_workers, waiting.id), -EBUSY);
    assert_int_equal(tw_timer_cancel(of_workers, stopped.id), 1);
    assert_int_equal(tw_timer_cancel(of_workers, running.id), 0);
    atomic_store(&gate.open, true);
    wait_for(tw_timers_count(of_workers) == 0);
    assert_int_equal(running.fires, 1);
    assert_int_equal(waiting.fires, 1);
    assert_int_equal(stopped.fires, 0);
    stop_all();
}

/* --- on the wall clock --------------------------------------------------------------------------- */

static int make_on_wall(UNUSED void **state) {
    rt = new_runtime((struct tw_runtime_options){.driver = "manual", .clock = TW_CLOCK_WALL});
    assert_ok(tw_runtime_set_wall(rt, 1000 * TW_SECOND));
    set = new_set(rt, (struct tw_set_options){0});
    return 0;
}

FIXTURE(make_on_wall, end);

TEST(an_absolute_timer_that_is_moved_keeps_following_the_wall_clock) {
    struct probe probe = {.rt = rt};
    start(set, &probe, (struct tw_when){.due_ns = 1010 * TW_SECOND, .absolute = 1});
    assert_int_equal(tw_timer_again(set, probe.id), -EINVAL);
    assert_int_equal(tw_timer_move(set, probe.id, 20 * TW_SECOND), 0); /* to 1020 */
    assert_ok(tw_runtime_set_wall(rt, 500 * TW_SECOND));
    assert_int_equal(timer_remaining(set, probe.id), 520 * TW_SECOND);
    assert_int_equal(tw_timer_move(set, probe.id, 521 * TW_SECOND), 0); /* to 1021 */
    assert_ok(tw_runtime_set_wall(rt, 1021 * TW_SECOND - 1));
    go_on(0);
    assert_int_equal(probe.fires, 0);
    go_on(1);
    assert_int_equal(probe.fires, 1);
    assert_int_equal(probe.due_ns, 1021 * TW_SECOND);
    stop_all();
}

static void set_back_and_move_other(struct probe *timer) {
    assert_ok(tw_runtime_set_wall(timer->rt, 900 * TW_SECOND));
    timer->answer = tw_timer_move(timer->set, timer->other->id, 5 * TW_SECOND);
}

/* P1: a callback sets the clock back from 1020 s and then moves another timer to 905 s. */
TEST(a_timer_moved_after_the_clock_was_set_back_does_not_fire_by_the_former_reading) {
    struct probe late = {.rt = rt};
    struct probe probe = {.rt = rt, .inside = set_back_and_move_other, .other = &late, .answer = 99};
    start(set, &probe, (struct tw_when){.due_ns = 1010 * TW_SECOND, .absolute = 1});
    start(set, &late, (struct tw_when){.due_ns = 2000 * TW_SECOND, .absolute = 1});
    assert_ok(tw_runtime_leap(rt, 20 * TW_SECOND));
    assert_int_equal(probe.fires, 1);
    assert_int_equal(probe.answer, 0);
    assert_int_equal(late.fires, 0);
    go_on(5 * TW_SECOND);
    assert_int_equal(late.fires, 1);
    assert_int_equal(late.due_ns, 905 * TW_SECOND);
    stop_all();
}

TEST(a_delay_that_is_started_again_ignores_the_wall_clock) {
    struct probe probe = {.rt = rt};
    start_after(set, &probe, 10 * TW_SECOND);
    go_on(5 * TW_SECOND);
    assert_ok(tw_runtime_set_wall(rt, 0));
    assert_int_equal(tw_timer_again(set, probe.id), 0);
    assert_ok(tw_runtime_set_wall(rt, 100000 * TW_SECOND));
    assert_int_equal(timer_remaining(set, probe.id), 10 * TW_SECOND);
    go_on(10 * TW_SECOND - 1);
    assert_int_equal(probe.fires, 0);
    go_on(1);
    assert_int_equal(probe.fires, 1);
    stop_all();
}

TEST(a_period_on_the_wall_clock_is_started_again_there) {
    struct probe probe = {.rt = rt}, late = {.rt = rt};
    start(set, &probe,
          (struct tw_when){.due_ns = 1010 * TW_SECOND, .absolute = 1, .period_ns = 10 * TW_SECOND});
    go_on(13 * TW_SECOND);
    assert_int_equal(probe.fires, 1);
    assert_ok(tw_runtime_set_wall(rt, 900 * TW_SECOND));
    start(set, &late, (struct tw_when){.due_ns = 905 * TW_SECOND, .absolute = 1});
    assert_int_equal(timer_remaining(set, late.id), 5 * TW_SECOND);
    assert_int_equal(tw_timer_again(set, probe.id), 0);
    go_on(10 * TW_SECOND);
    assert_int_equal(probe.fires, 2);
    assert_int_equal(probe.due_ns, 910 * TW_SECOND);
    assert_int_equal(late.fires, 1);
    go_on(10 * TW_SECOND);
    assert_int_equal(probe.due_ns, 920 * TW_SECOND);
    stop_all();
}

/* --- on a thread that sleeps -------------------------------------------------------------------- */

FIXTURE(NULL, NULL);

/* Timers with a `drop` and without. */
TEST(p2_a_timer_that_is_moved_to_an_earlier_time_wakes_the_thread) {
    rt = started_runtime((struct tw_runtime_options){.driver = "sleep"});
    set = new_set(rt, (struct tw_set_options){0});
    struct probe far = {.rt = rt};
    start_after(set, &far, 3600 * TW_SECOND);
    for (int is_bare = 0; is_bare < 2; ++is_bare) {
        struct probe probe = {.rt = rt};
        if (!is_bare)
            start_after(set, &probe, MS);
        else
            assert_int_equal(tw_timer_after(set, &probe.id, MS, note_fire, &probe), 0);
        if (tw_timer_move(set, probe.id, 3600 * TW_SECOND) == 0) { /* else the timer has fired already */
            wait_until_others_sleep();
            assert_int_equal(tw_timer_move(set, probe.id, 0), 0);
        }
        wait_for(probe.fires == 1);
        (void)tw_timer_cancel_wait(set, probe.id); /* waits until its argument is dropped */
    }
    tw_runtime_free(rt);
}
