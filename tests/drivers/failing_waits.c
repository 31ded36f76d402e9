/* Waits that fail, are interrupted or do not exist on the kernel, and processes that are stopped: no timer is
 * lost, none is early, and nothing spins. */
#include "core/door.h"
#include "support/child.h"
#include "support/faults.h"

#include <signal.h>
#include <sys/time.h>

#include <tickwheel/observe.h>

#define SLEEPS_WITH_ERRORS \
    (ONLY(CALL_EPOLL_WAIT) | ONLY(CALL_EPOLL_PWAIT2) | ONLY(CALL_POLL) | ONLY(CALL_URING_ENTER))
#define WAITS (SLEEPS_WITH_ERRORS | ONLY(CALL_TIMERFD_SETTIME))
#define SLEEPS (SLEEPS_WITH_ERRORS | ONLY(CALL_FUTEX_WAIT))

/* A periodic node that judges each of its fires. */
struct judge {
    struct tw_node node;
    struct tw_runtime *rt;
    int64_t next; /* its next deadline */
    int64_t period;
    atomic_uint fires, early, astray, unblocked_signals;
    atomic_ullong most_overruns;
    _Atomic pthread_t on;
};

static struct judge judge;

static unsigned count_unblocked_signals(void) {
    sigset_t blocked;
    unsigned unblocked = 0;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    for (int signal = 1; signal < SIGSYS; ++signal)
        unblocked += signal != SIGKILL && signal != SIGSTOP && sigismember(&blocked, signal) == 0;
    return unblocked;
}

static void judge_fire(UNUSED struct tw_node *node, void *arg) {
    struct judge *self = arg;
    const int64_t due = tw_runtime_due(self->rt);
    if (monotonic() < due)
        atomic_fetch_add(&self->early, 1);
    if (self->next != 0 && due != self->next)
        atomic_fetch_add(&self->astray, 1);
    self->next = due + self->period;
    if (tw_runtime_overruns(self->rt) > self->most_overruns)
        self->most_overruns = tw_runtime_overruns(self->rt);
    self->on = pthread_self();
    atomic_store(&self->unblocked_signals, count_unblocked_signals());
    atomic_fetch_add(&self->fires, 1);
}

static void arm_judge(struct tw_runtime *rt, int64_t period) {
    memset(&judge, 0, sizeof judge);
    judge.rt = rt;
    judge.period = period;
    tw_node_init(&judge.node, judge_fire, &judge);
    assert_int_equal(tw_runtime_every(rt, &judge.node, period, TW_BURST), 0);
}

static void assert_judged_well(void) {
    assert_int_equal(judge.early, 0);
    assert_int_equal(judge.astray, 0);
}

static bool twenty_fires(void) { return atomic_load(&judge.fires) >= 20; }

TEST_THREE_WAYS(waits_that_always_fail_stop_no_timer_and_do_not_spin, 1, 2, 5) {
    struct tw_stats stats;
    struct tw_runtime *rt = runtime_on(WAY->driver);
    const int64_t period = 3 * TW_MILLISECOND;
    arm_judge(rt, period);
    const int64_t began = monotonic();
    inject(WAITS, ENOMEM, 0, FOREVER);
    assert_int_equal(tw_runtime_start(rt), 0);
    wait_for(twenty_fires());
    const int failed = injected();
    const int64_t took = monotonic() - began;
    inject_nothing();
    assert_int_equal(tw_runtime_stats(rt, &stats), 0);
    assert_true(stats.wait_errors > 0);
    /* After a failed wait, the runtime pauses for a millisecond unless a timer is due by then. */
    assert_true(failed > 0 && failed <= took / TW_MILLISECOND + 1 + took / period + 1);
    tw_runtime_free(rt);
    assert_judged_well();
}

/* --- a call fails once --------------------------------------------------------------- */

static struct counter sole;

static bool sole_has_fired(void) { return atomic_load(&sole.fires) != 0; }

/* Arms the node on the runtime's thread, so that it is armed before the failure. */
static void fail_one_wait(const struct tw_runtime_options *options, int64_t delay, int error, int spared) {
    struct tw_runtime *rt = NULL;
    assert_int_equal(tw_runtime_new(&rt, options), 0);
    init_counter(&sole);
    assert_int_equal(tw_runtime_at(rt, &sole.node, tw_runtime_now(rt) + delay), 0);
    inject(WAITS, error, spared, 1);
    assert_int_equal(tw_runtime_start(rt), 0);
    wait_for(sole_has_fired());
    inject_nothing();
    tw_runtime_free(rt);
    assert_int_equal(sole.fires, 1);
}

TEST_THREE_WAYS(a_wait_that_fails_once_loses_no_timer, 1, 2, 5) {
    const int64_t delays[] = {400 * TW_MICROSECOND, 20 * TW_MILLISECOND};
    for (size_t i = 0; i < COUNT_OF(delays); ++i) {
        for (int spared = 0; spared < 4; ++spared) {
            const struct tw_runtime_options options = {.driver = WAY->driver,
                                                       .tick_ns = 100 * TW_MICROSECOND};
            fail_one_wait(&options, delays[i], ENOMEM, spared);
        }
    }
}

/* The kernel's one-time answer after the wall clock was set. */
TEST_THREE_WAYS(a_timer_that_was_cancelled_by_a_set_clock_is_not_lost, 1, 2, 5) {
    for (int spared = 0; spared < 4; ++spared) {
        const struct tw_runtime_options options = {.driver = WAY->driver, .clock = TW_CLOCK_WALL};
        fail_one_wait(&options, 20 * TW_MILLISECOND, ECANCELED, spared);
    }
}

TEST(dispatch_tells_what_failed_and_works_when_called_again) {
    const struct way *const by_loop = &ways[3];
    struct tw_runtime *rt = runtime_on("timerfd");
    init_counter(&sole);
    inject(ONLY(CALL_TIMERFD_SETTIME), USUAL_ERROR, 0, 1);
    assert_int_equal(tw_runtime_fd(rt), -ENOMEM);
    inject_nothing();
    assert_true(tw_runtime_fd(rt) >= 0);
    assert_int_equal(tw_runtime_after(rt, &sole.node, TW_MILLISECOND), 0);
    inject(ONLY(CALL_TIMERFD_SETTIME), USUAL_ERROR, 0, 1);
    assert_int_equal(tw_runtime_dispatch(rt), -ENOMEM);
    inject_nothing();
    assert_true(go_on_until(by_loop, rt, sole_has_fired));
    assert_works_and_free(by_loop, rt);
}

/* --- interruptions ---------------------------------------------------------------------- */

#define STORM 5000

TEST_BY_EACH_THREAD(a_storm_of_eintr_is_no_error_and_disturbs_no_timer) {
    struct tw_stats stats;
    struct tw_runtime *rt = runtime_on(WAY->driver);
    arm_judge(rt, TW_MILLISECOND);
    inject(SLEEPS, EINTR, 0, STORM);
    assert_int_equal(tw_runtime_start(rt), 0);
    wait_for(injected() == STORM && twenty_fires());
    inject_nothing();
    assert_int_equal(tw_runtime_stats(rt, &stats), 0);
    assert_int_equal(stats.wait_errors, 0);
    tw_runtime_free(rt);
    assert_judged_well();
}

static atomic_uint signals, signals_on_its_thread;

static void on_signal(UNUSED int signal) {
    atomic_fetch_add(&signals, 1);
    if (atomic_load(&judge.fires) != 0 && pthread_equal(judge.on, pthread_self()))
        atomic_fetch_add(&signals_on_its_thread, 1);
}

static void send_alarms(bool send) {
    const struct itimerval every = {{0, send ? 300 : 0}, {0, send ? 300 : 0}};
    struct sigaction action = {0};
    action.sa_handler = on_signal;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
}

static bool enough_signals(void) { return atomic_load(&signals) >= 100 && twenty_fires(); }

/* Also in the user's own loop, whose thread takes signals. */
TEST_IN_REAL_TIME(real_signals_disturb_no_timer_and_no_thread_of_the_runtimes) {
    struct tw_runtime *rt = runtime_on(WAY->driver);
    atomic_store(&signals, 0);
    atomic_store(&signals_on_its_thread, 0);
    arm_judge(rt, TW_MILLISECOND);
    set_going(WAY, rt);
    send_alarms(true);
    const bool enough = go_on_until(WAY, rt, enough_signals);
    send_alarms(false);
    assert_true(enough);
    if (WAY->by == BY_THREAD) {
        assert_int_equal(judge.unblocked_signals, 0);
        assert_int_equal(signals_on_its_thread, 0);
    }
    tw_runtime_free(rt);
    assert_judged_well();
}

/* --- a process that is stopped, as by a debugger, by a terminal or with its container -------------- */

static bool has_caught_up(void) { return judge.most_overruns >= 20 && twenty_fires(); }

TEST_IN_REAL_TIME(a_process_that_was_stopped_fires_all_that_it_has_missed) {
    if (!THREADS_AFTER_FORK && WAY->by == BY_THREAD)
        skip();
    int ends[2];
    char byte = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        struct tw_runtime *rt = runtime_on(WAY->driver);
        arm_judge(rt, 10 * TW_MILLISECOND);
        set_going(WAY, rt);
        expect(go_on_until(WAY, rt, twenty_fires));
        expect(write(ends[1], &byte, 1) == 1);
        expect(go_on_until(WAY, rt, has_caught_up));
        expect(tw_runtime_free(rt) == 0);
        expect(judge.early == 0 && judge.astray == 0);
        leave(0);
    }
    close(ends[1]); /* so that the read ends if the child has died */
    const ssize_t got = read(ends[0], &byte, 1);
    close(ends[0]);
    if (got == 1) {
        assert_int_equal(kill(child, SIGSTOP), 0);
        pause_ms(300);
        assert_int_equal(kill(child, SIGCONT), 0);
    }
    assert_child_is_well(child);
}

/* --- kernels without epoll_pwait2 ---------------------------------------------------------- */

static atomic_uint exact, inexact;
static uint64_t sets_before;

/* If the thread has set its timerfd since the last fire, it must have set this exact deadline. */
static void compare_and_arm_again(struct tw_node *node, void *arg) {
    struct tw_runtime *rt = arg;
    const uint64_t sets = calls_of(CALL_TIMERFD_SETTIME);
    if (sets != sets_before)
        atomic_fetch_add(last_timerfd_deadline() == tw_runtime_due(rt) ? &exact : &inexact, 1);
    if (monotonic() < tw_runtime_due(rt))
        atomic_fetch_add(&inexact, 1);
    sets_before = sets;
    tw_runtime_after(rt, node, 300 * TW_MICROSECOND);
}

static void wait_without_pwait2(int error) {
    struct tw_runtime *rt = NULL;
    struct tw_node node;
    struct tw_stats stats;
    const struct tw_runtime_options options = {.driver = "epoll", .tick_ns = 10 * TW_MICROSECOND};
    assert_int_equal(tw_runtime_new(&rt, &options), 0);
    tw_node_init(&node, compare_and_arm_again, rt);
    const uint64_t asked_before = calls_of(CALL_EPOLL_PWAIT2);
    longest_epoll_timeout();
    atomic_store(&exact, 0);
    sets_before = calls_of(CALL_TIMERFD_SETTIME);
    inject(ONLY(CALL_EPOLL_PWAIT2), error, 0, FOREVER);
    assert_int_equal(tw_runtime_after(rt, &node, 300 * TW_MICROSECOND), 0);
    assert_int_equal(tw_runtime_start(rt), 0);
    wait_for(exact >= 30 || inexact != 0);
    inject_nothing();
    tw_runtime_stats(rt, &stats);
    tw_runtime_free(rt);
    assert_int_equal(inexact, 0);
    assert_int_equal(stats.wait_errors, 0);
    assert_true(longest_epoll_timeout() <= 0); /* whole milliseconds would be inexact */
    assert_true(calls_of(CALL_EPOLL_PWAIT2) - asked_before <= 1);
}

TEST(without_pwait2_short_waits_are_exact_all_the_same) { wait_without_pwait2(ENOSYS); }

/* Some sandboxes refuse unknown calls with these errors. */
TEST(with_pwait2_forbidden_short_waits_are_exact_all_the_same) {
    static const int errors[] = {EPERM, EACCES, EINVAL, EOPNOTSUPP};
    for (unsigned i = 0; i < COUNT_OF(errors); ++i)
        wait_without_pwait2(errors[i]);
}

/* --- the lock's waits ------------------------------------------------------------------------ */

static struct tw_runtime *contended;
static atomic_bool came_through;

static void *count_nodes(UNUSED void *arg) {
    IGNORE(tw_runtime_count(contended));
    atomic_store(&came_through, true);
    return NULL;
}

static uint64_t parks_to_see;

/* Holds the wheel's lock, as a fork does, while another thread waits for it. */
static void wait_for_a_held_lock(unsigned calls) {
    struct counter node;
    pthread_t waiter;
    contended = runtime_on("manual");
    init_counter(&node);
    assert_int_equal(tw_runtime_after(contended, &node.node, 1), 0);
    atomic_store(&came_through, false);
    inject(calls, USUAL_ERROR, 0, FOREVER);
    tw_core_fork(tw_wheel_of(&node.node), TW_CORE_FORK_PREPARE);
    parks_to_see = calls_of(CALL_FUTEX_WAIT) + 10;
    assert_int_equal(pthread_create(&waiter, NULL, count_nodes, NULL), 0);
    wait_for(calls_of(CALL_FUTEX_WAIT) >= parks_to_see);
    assert_false(came_through);
    tw_core_fork(tw_wheel_of(&node.node), TW_CORE_FORK_PARENT);
    pthread_join(waiter, NULL);
    inject_nothing();
    assert_true(came_through);
    tw_runtime_free(contended);
}

TEST(a_wait_for_the_lock_outlasts_interruptions) { wait_for_a_held_lock(ONLY(CALL_FUTEX_WAIT)); }

/* Without membarrier, the waiter sleeps for a millisecond at a time. */
TEST(a_wait_for_the_lock_needs_no_membarrier) { wait_for_a_held_lock(ONLY(CALL_MEMBARRIER)); }

static atomic_bool may_return;

static void block(UNUSED struct tw_node *node, UNUSED void *arg) {
    atomic_store(&judge.fires, 1);
    while (!may_return)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static atomic_bool has_waited;

static void *cancel_and_wait(void *node) {
    tw_runtime_cancel_wait(judge.rt, node);
    atomic_store(&has_waited, true);
    return NULL;
}

TEST(cancel_wait_outlasts_interruptions) {
    struct tw_node node;
    pthread_t waiter;
    memset(&judge, 0, sizeof judge);
    judge.rt = runtime_on("timerfd");
    atomic_store(&may_return, false);
    atomic_store(&has_waited, false);
    tw_node_init(&node, block, NULL);
    assert_int_equal(tw_runtime_start(judge.rt), 0);
    assert_int_equal(tw_runtime_after(judge.rt, &node, 0), 0);
    wait_for(judge.fires == 1);
    inject(ONLY(CALL_FUTEX_WAIT), EINTR, 0, FOREVER);
    assert_int_equal(pthread_create(&waiter, NULL, cancel_and_wait, &node), 0);
    wait_for(injected() >= 10);
    assert_false(has_waited);
    atomic_store(&may_return, true);
    pthread_join(waiter, NULL);
    inject_nothing();
    tw_runtime_free(judge.rt);
}
