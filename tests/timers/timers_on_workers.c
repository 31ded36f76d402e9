/* Timers whose callbacks run on workers, on virtual time: the runs of one timer, and fires that wait while
 * tw_timers_cancel_all empties their set or the runtime stops. */
#include "timers_test.h"
#include "workers/workers_test.h"

static void wait_at_gate(UNUSED struct probe *timer) { pass(&gate); }

static struct tw_timers *set_on(struct tw_workers_options of_pool, struct tw_set_options options) {
    shut(&gate);
    rt = new_runtime(by_hand);
    options.workers = pool = new_pool(rt, of_pool);
    return new_set(rt, options);
}

/* Brings the only worker into the timer's callback, which waits at the gate. */
static void hold_the_worker(struct tw_timers *set, struct probe *timer) {
    timer->inside = wait_at_gate;
    start_after(set, timer, MS);
    assert_ok(tw_runtime_advance(rt, MS));
    wait_for(gate.inside == 1);
}

static bool is_at_rest(void) {
    const struct tw_worker_stats now = stats_of(pool);
    return now.running + now.waiting == 0;
}

/* Waits at the gate. Unlike note_fire, its runs may overlap. */
static void meet_at_gate(UNUSED const struct tw_event *event, void *arg) {
    wait_at_gate(arg);
    atomic_fetch_add(&((struct probe *)arg)->fires, 1);
}

/* If the set is concurrent, the second worker takes the second fire before it takes `other`. */
TEST(runs_of_one_timer_meet_only_if_the_set_is_concurrent) {
    for (int concurrent = 0; concurrent < 2; ++concurrent) {
        struct probe probe = {.fires = 0}, other = {.fires = 0};
        const struct tw_task meets = {.fn = meet_at_gate, .arg = &probe};
        struct tw_timers *set = set_on((struct tw_workers_options){.threads = 2},
                                       (struct tw_set_options){.concurrent = concurrent});
        assert_ok(tw_timer_start(
            set, &probe.id, &(struct tw_when){.due_ns = MS, .period_ns = MS, .missed = TW_BURST, .fires = 2},
            &meets));
        assert_ok(tw_runtime_advance(rt, 2 * MS));
        start_after(set, &other, 0);
        assert_ok(tw_runtime_advance(rt, 0));
        if (concurrent)
            wait_for(gate.inside == 2);
        else
            wait_for(other.fires == 1 && gate.inside != 0);
        assert_int_equal(gate.inside, 1 + concurrent);
        atomic_store(&gate.open, true);
        assert_ok(tw_workers_wait(pool));
        assert_int_equal(probe.fires, 2);
        tw_runtime_free(rt);
    }
}

/* --- fires that wait -------------------------------------------------------------------------------- */

static void stop_runtime(struct probe *timer) { timer->answer = tw_runtime_stop(timer->rt); }

static unsigned visits;

/* During the first visit, the worker takes all fires that wait. */
static int let_the_worker_go(const struct tw_entry *entry, UNUSED void *visit_arg) {
    assert_int_equal(((struct probe *)entry->arg)->drops, 0);
    if (++visits > 1)
        return 0;
    assert_ok(tw_runtime_advance(rt, MS)); /* fires `stopper`, if that was started */
    atomic_store(&gate.open, true);
    wait_for(is_at_rest());
    return 0;
}

/* P6: tw_timers_cancel_all prevents the fire, whether the worker would then run or discard it. */
TEST(a_cancel_all_visits_timers_whose_fires_a_worker_takes_meanwhile) {
    for (int discards = 0; discards < 2; ++discards) {
        struct probe busy = {.fires = 0}, probes[3] = {{.fires = 0}};
        struct tw_timers *of_busy = set_on(
            (struct tw_workers_options){.threads = 1, .at_stop = discards ? TW_STOP_DISCARD : TW_STOP_DRAIN},
            (struct tw_set_options){0});
        struct tw_timers *set = /* with a capacity, so that the call begins with the first timer */
            new_set(rt, (struct tw_set_options){.workers = pool, .capacity = COUNT_OF(probes)});
        struct probe stopper = {.rt = rt, .inside = stop_runtime};
        hold_the_worker(of_busy, &busy);
        start_after(set, &probes[0], TW_SECOND);
        start_after(set, &probes[1], MS);
        start_every(set, &probes[2], MS);
        assert_ok(tw_runtime_advance(rt, 2 * MS));
        assert_int_equal(stats_of(pool).waiting, 3);
        visits = 0;
        if (discards)
            start_after(new_set(rt, (struct tw_set_options){0}), &stopper, MS);
        assert_int_equal(tw_timers_cancel_all(set, let_the_worker_go, NULL), 3);
        assert_int_equal(visits, 3);
        assert_int_equal(stats_of(pool).discarded, discards ? 3 : 0);
        for (unsigned i = 0; i < COUNT_OF(probes); ++i)
            assert_true(probes[i].fires == 0 && probes[i].drops == 1);
        assert_int_equal(tw_timers_count(set), 0);
        tw_runtime_free(rt);
    }
}

TEST(a_fire_that_a_stop_discards_ends_a_one_shot_timer_and_no_periodic_one) {
    struct probe busy = {.fires = 0}, once = {.fires = 0}, often = {.fires = 0};
    struct tw_timers *set = set_on((struct tw_workers_options){.threads = 1, .at_stop = TW_STOP_DISCARD},
                                   (struct tw_set_options){0});
    struct probe stopper = {.rt = rt, .inside = stop_runtime, .answer = 99};
    hold_the_worker(set, &busy);
    start_after(set, &once, MS);
    start_every(set, &often, MS);
    start_after(new_set(rt, (struct tw_set_options){0}), &stopper, 3 * MS);
    assert_ok(tw_runtime_advance(rt, 3 * MS));
    assert_int_equal(stopper.answer, 0);
    atomic_store(&gate.open, true);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(stats_of(pool).discarded, 3);
    assert_true(once.fires == 0 && once.drops == 1);
    assert_true(often.fires == 0 && often.drops == 0);
    assert_int_equal(tw_timers_count(set), 1);
    assert_int_equal(tw_timer_cancel(set, often.id), 1);
    assert_int_equal(often.drops, 1);
    tw_runtime_free(rt);
}

/* --- refused fires --------------------------------------------------------------------------------- */

static int64_t free_other_set(UNUSED int64_t due_ns, void *arg) {
    struct probe *timer = arg;
    timer->answer = tw_timers_free(timer->other->set);
    return TW_NO_DEADLINE;
}

/* The runtime's thread calls `next` after the callback of `plain`. */
TEST(the_schedule_of_a_refused_fire_may_free_another_set_whose_timer_has_just_fired) {
    struct probe busy = {.fires = 0}, waiting = {.fires = 0}, plain = {.fires = 0};
    struct probe refused = {.other = &plain, .answer = 99};
    struct tw_task task = task_of(&refused);
    const struct tw_when soon = {.due_ns = MS};
    struct tw_timers *set =
        set_on((struct tw_workers_options){.threads = 1, .queue = 1, .when_full = TW_FULL_REJECT},
               (struct tw_set_options){0});
    hold_the_worker(set, &busy);
    start_after(set, &waiting, MS);
    start_after(new_set(rt, (struct tw_set_options){0}), &plain, MS);
    task.next = free_other_set;
    assert_int_equal(tw_timer_start(set, &refused.id, &soon, &task), 0);
    assert_ok(tw_runtime_advance(rt, MS));
    assert_int_equal(stats_of(pool).rejected, 1);
    assert_int_equal(plain.fires, 1);
    assert_int_equal(refused.answer, 0);
    assert_true(refused.fires == 0 && refused.drops == 1);
    atomic_store(&gate.open, true);
    tw_runtime_free(rt);
}
