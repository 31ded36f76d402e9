/* tw_runtime_report_slow: a callback that takes too long is reported while it runs. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>

#include "support/child.h"
#include "support/gate.h"
#include "support/threads.h"

#include <tickwheel/keyed.h>
#include <tickwheel/observe.h>
#include <tickwheel/timers.h>
#include <tickwheel/workers.h>

#define LIMIT TW_MILLISECOND

static struct tw_runtime *rt;
static struct gate gate;

/* The lookout's last report, and the number of its reports. */
static struct tw_slow_callback reported;
static _Atomic unsigned reports;
static _Atomic bool ran_then; /* the callback was still running at the last report */

static void note(const struct tw_slow_callback *slow, void *arg) {
    reported = *slow;
    ran_then = atomic_load(&((struct gate *)arg)->inside) != 0;
    ++reports;
}

static int fresh(UNUSED void **state) {
    shut(&gate);
    reports = 0;
    rt = started_runtime((struct tw_runtime_options){.thread_name = "fires"});
    assert_ok(tw_runtime_report_slow(rt, LIMIT, note, &gate));
    return 0;
}

static long lookout(void) { return thread_named("tickwheel-slow"); }

/* The system lists a thread for a while after it was joined. */
static void wait_until_lookout_is_gone(void) { wait_for(lookout() == -1); }

static int done(UNUSED void **state) {
    gate.open = true;
    const int result = tw_runtime_free(rt);
    wait_until_lookout_is_gone();
    return result;
}

static void wait_as_task(UNUSED const struct tw_event *event, void *arg) { pass(arg); }

FIXTURE(fresh, done);

TEST(a_slow_callback_is_reported_while_it_runs_once) {
    struct tw_node node;
    tw_node_init(&node, wait_in_gate, &gate);
    assert_ok(tw_runtime_label(rt, &node, "stuck"));
    tw_runtime_after(rt, &node, 0);
    wait_for(reports == 1);
    assert_true(ran_then);
    assert_string_equal(reported.label, "stuck");
    assert_ptr_equal(reported.node, &node);
    assert_int_equal(reported.handle, TW_NO_HANDLE);
    assert_true(reported.function == (const void *)(uintptr_t)wait_in_gate);
    assert_true(reported.running_ns >= LIMIT);
    assert_int_equal(reported.on_worker, 0);
    pause_ms(20); /* twenty times the limit: a second report of the same callback would come by then */
    assert_int_equal(reports, 1);
    gate.open = true;
    tw_runtime_cancel_wait(rt, &node);
}

static void assert_task_is_reported(tw_handle id, int on_worker) {
    wait_for(reports == 1);
    assert_int_equal(reported.handle, id);
    assert_null(reported.node);
    assert_string_equal(reported.label, "task");
    assert_int_equal(reported.on_worker, on_worker);
    gate.open = true;
    wait_for(gate.passed == 1);
    shut(&gate);
    reports = 0;
}

TEST(a_slow_timer_by_handle_or_key_is_reported_wherever_it_runs) {
    struct tw_workers *workers;
    assert_ok(tw_workers_new(&workers, rt, NULL));
    for (int on_worker = 0; on_worker < 2; ++on_worker) {
        struct tw_workers *const used = on_worker ? workers : NULL;
        struct tw_timers *handles;
        struct tw_keyed *keyed;
        tw_handle id;
        assert_ok(tw_timers_new(&handles, rt, &(struct tw_set_options){.workers = used, .label = "task"}));
        assert_ok(tw_keyed_new(&keyed, rt, &(struct tw_set_options){.workers = used, .label = "task"}));
        assert_ok(tw_timer_after(handles, &id, 0, wait_as_task, &gate));
        assert_task_is_reported(id, on_worker);
        assert_ok(tw_keyed_after(keyed, tw_key_number(1), 0, wait_as_task, &gate));
        assert_task_is_reported(TW_NO_HANDLE, on_worker);
    }
}

TEST(slow_runs_on_workers_are_reported_each) {
    enum { RUNS = 3 };
    struct tw_workers *workers;
    struct tw_work items[RUNS];
    assert_ok(tw_workers_new(&workers, rt, &(struct tw_workers_options){.threads = RUNS}));
    for (unsigned i = 0; i < RUNS; ++i) {
        assert_ok(tw_work_init(&items[i], workers, wait_in_gate, &gate, 0));
        assert_ok(tw_runtime_label(rt, &items[i].node, "work item"));
        tw_runtime_after(rt, &items[i].node, 0);
    }
    wait_for(reports == RUNS);
    assert_string_equal(reported.label, "work item");
    assert_int_equal(reported.on_worker, 1);
    gate.open = true;
    assert_ok(tw_workers_wait(workers));
    pause_ms(5);
    assert_int_equal(reports, RUNS);
    for (unsigned i = 0; i < RUNS; ++i)
        tw_runtime_cancel_wait(rt, &items[i].node);
}

/* Workers that wake up wait until this is false. */
static _Atomic bool workers_are_held_up;

int __real_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    const int result = __real_pthread_cond_wait(condition, mutex);
    if (workers_are_held_up) {
        pthread_mutex_unlock(mutex);
        while (workers_are_held_up)
            doze();
        pthread_mutex_lock(mutex);
    }
    return result;
}

TEST(a_run_that_begins_long_after_its_turn_is_reported) {
    struct tw_workers *workers;
    struct tw_work item;
    assert_ok(tw_workers_new(&workers, rt, &(struct tw_workers_options){.threads = 1}));
    assert_ok(tw_work_init(&item, workers, wait_in_gate, &gate, 0));
    gate.open = true;
    tw_runtime_after(rt, &item.node, 0);
    wait_for(gate.passed == 1);
    assert_ok(tw_workers_wait(workers));
    shut(&gate);
    workers_are_held_up = true;
    tw_runtime_after(rt, &item.node, 0);
    pause_ms(50); /* two hundred looks: the lookout would park if no run waited */
    workers_are_held_up = false;
    wait_for(reports == 1);
    gate.open = true;
    tw_runtime_cancel_wait(rt, &item.node);
}

static long switches_of_lookout(void) {
    struct thread_look look;
    assert_true(look_at_thread(lookout(), &look));
    return (long)look.voluntary;
}

/* Checks both: a lookout that waits for a processor all the time does not switch, either, but is not
 * asleep. */
static bool lookout_is_parked(void) {
    const long before = switches_of_lookout();
    pause_ms(50); /* two hundred looks, if it were not parked */
    return is_asleep(lookout()) && switches_of_lookout() == before;
}

/* P9. The lookout sees later callbacks all the same. */
TEST(the_lookout_sleeps_while_the_runtime_does_and_misses_nothing_after_that) {
    wait_for(lookout() != -1); /* the lookout has set its name */
    for (unsigned i = 1; i <= 3; ++i) {
        struct tw_node node;
        wait_for(lookout_is_parked());
        const long before = switches_of_lookout();
        pause_ms(200);
        assert_int_equal(switches_of_lookout(), before);
        tw_node_init(&node, wait_in_gate, &gate);
        tw_runtime_after(rt, &node, 0);
        wait_for(reports == i);
        gate.open = true;
        tw_runtime_cancel_wait(rt, &node);
        shut(&gate);
    }
    assert_null(reported.label);
}

static void drop_slowly(UNUSED void *arg) { pause_ms(10); } /* forty looks */

/* The lookout parks before the timers are due, and must not park between two callbacks of a turn. On a busy
 * machine it may not have parked, and then the test proves less. */
TEST(a_slow_callback_behind_a_slow_drop_is_reported) {
    struct tw_timers *handles;
    tw_handle id;
    const struct tw_when when = {.due_ns = tw_runtime_now(rt) + 50 * TW_MILLISECOND, .absolute = 1};
    assert_ok(tw_timers_new(&handles, rt, NULL));
    assert_ok(tw_timer_start(handles, &id, &when, &(struct tw_task){.fn = no_task, .drop = drop_slowly}));
    assert_ok(tw_timer_start(handles, &id, &when, &(struct tw_task){.fn = wait_as_task, .arg = &gate}));
    wait_for(reports == 1);
    assert_int_equal(reported.handle, id);
    gate.open = true;
}

static unsigned others;
static void note_other(UNUSED const struct tw_slow_callback *slow, UNUSED void *arg) { ++others; }

TEST(a_lookout_can_be_replaced_and_ended) {
    struct tw_node node;
    tw_node_init(&node, wait_in_gate, &gate);
    assert_ok(tw_runtime_report_slow(rt, LIMIT, note_other, NULL));
    assert_ok(tw_runtime_report_slow(rt, 0, NULL, NULL));
    wait_until_lookout_is_gone();
    assert_ok(tw_runtime_report_slow(rt, 0, NULL, NULL));
    others = 0;
    tw_runtime_after(rt, &node, 0);
    wait_for(gate.inside == 1);
    pause_ms(10);
    gate.open = true;
    tw_runtime_cancel_wait(rt, &node);
    assert_int_equal(reports + others, 0);
}

static _Atomic int answer;
static void replace_from_callback(UNUSED struct tw_node *node, UNUSED void *arg) {
    answer = tw_runtime_report_slow(rt, LIMIT, note, &gate);
}
static void replace_from_report(UNUSED const struct tw_slow_callback *slow, UNUSED void *arg) {
    answer = tw_runtime_report_slow(rt, 0, NULL, NULL);
}

TEST(a_lookout_cannot_be_replaced_from_callbacks_and_reports) {
    struct tw_node node;
    answer = 1;
    tw_node_init(&node, replace_from_callback, NULL);
    tw_runtime_after(rt, &node, 0);
    wait_for(answer == -EBUSY);
    assert_ok(tw_runtime_report_slow(rt, LIMIT, replace_from_report, NULL));
    answer = 1;
    tw_node_init(&node, wait_in_gate, &gate);
    tw_runtime_after(rt, &node, 0);
    wait_for(answer == -EBUSY);
    gate.open = true;
    tw_runtime_cancel_wait(rt, &node);
    assert_int_equal(tw_runtime_report_slow(NULL, LIMIT, note, NULL), -EINVAL);
    assert_int_equal(tw_runtime_report_slow(rt, LIMIT - 1, note, NULL), -EINVAL);
}

/* P13: the child has no lookout until it is revived. The new lookout sleeps (P9) until the child fires,
 * because the callback that ran at the fork is the parent's. */
TEST(a_revived_child_has_a_lookout) {
    if (!THREADS_AFTER_FORK)
        skip();
    struct tw_node node;
    tw_node_init(&node, wait_in_gate, &gate);
    tw_runtime_after(rt, &node, 0);
    wait_for(reports == 1);
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        if (tw_runtime_after_fork(rt) != 0)
            leave(2);
        while (lookout() == -1 || !lookout_is_parked())
            doze();
        shut(&gate);
        if (tw_runtime_start(rt) != 0)
            leave(3);
        tw_runtime_after(rt, &node, 0);
        while (reports == 1)
            doze();
        gate.open = true;
        leave(tw_runtime_free(rt) == 0 ? 0 : 1);
    }
    assert_child_is_well(child);
    assert_int_equal(reports, 1);
    gate.open = true;
    tw_runtime_cancel_wait(rt, &node);
}

static _Atomic pid_t forked;
static pid_t parent;

static void fork_in_report(UNUSED const struct tw_slow_callback *slow, UNUSED void *arg) {
    if (getpid() != parent)
        leave(1); /* a second report in the child */
    if (forked != 0)
        return;
    const pid_t child = fork();
    if (child != 0) {
        forked = child;
        return;
    }
    sigset_t none; /* threads of the library block all signals */
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    alarm(60);
    expect(tw_runtime_free(rt) == 0);
    leave_with_the_thread();
}

/* The lookout has two slow runs to report, and forks in the first report. */
TEST(p13_a_report_may_fork_and_return_in_the_child) {
    if (!THREADS_AFTER_FORK)
        skip();
    struct tw_workers *workers;
    struct tw_work items[2];
    assert_ok(tw_runtime_report_slow(rt, 0, NULL, NULL));
    assert_ok(tw_workers_new(&workers, rt, NULL));
    for (unsigned i = 0; i < COUNT_OF(items); ++i) {
        assert_ok(tw_work_init(&items[i], workers, wait_in_gate, &gate, 0));
        tw_runtime_after(rt, &items[i].node, 0);
    }
    wait_for(gate.inside == COUNT_OF(items));
    pause_ms(2 * LIMIT / TW_MILLISECOND);
    parent = getpid();
    assert_ok(tw_runtime_report_slow(rt, LIMIT, fork_in_report, NULL));
    wait_for(forked != 0);
    assert_child_is_well(forked);
    gate.open = true;
    assert_ok(tw_workers_wait(workers));
}
