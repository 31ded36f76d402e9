/* tw_runtime_start when system calls fail: it returns the error of the call that failed, and
 * leaks nothing. */
#include "support/faults.h"
#include "support/gate.h"
#include "support/meaning.h"

#include <sched.h>
#include <signal.h>

static struct tw_runtime *demanding_runtime(const char *driver) {
    struct tw_runtime *rt = NULL;
    const struct tw_runtime_options options = {.driver = driver, .cpus = 1, .priority = 1};
    assert_int_equal(tw_runtime_new(&rt, &options), 0);
    return rt;
}

#define CALLS_OF_START \
    (ONLY(CALL_MALLOC) | ONLY(CALL_CALLOC) | ONLY(CALL_REALLOC) | ONLY(CALL_ATTR_INIT) | \
     ONLY(CALL_ATTR_AFFINITY) | ONLY(CALL_ATTR_SCHEDPARAM) | ONLY(CALL_PTHREAD_CREATE))

static bool is_refused(struct tw_runtime *rt, int spared) {
    inject(CALLS_OF_START, USUAL_ERROR, spared, 1);
    const int result = tw_runtime_start(rt);
    const bool failed = injected() != 0;
    inject_nothing();
    if (failed)
        assert_int_equal(result, -injected_error());
    return failed;
}

/* Fails each of the four calls: attributes, CPU, priority, thread. The fifth attempt injects nothing, because
 * a sanitizer may make one of these calls on the new thread. It need not succeed, because the system may
 * really deny the priority. */
TEST_BY_EACH_THREAD(start_returns_the_error_of_each_call_that_fails) {
    const struct holdings before = holdings_now();
    struct tw_runtime *rt = demanding_runtime(WAY->driver);
    struct counter node;
    const struct holdings with_a_runtime = holdings_now();
    init_counter(&node);
    assert_int_equal(tw_runtime_after(rt, &node.node, TW_MILLISECOND), 0);
    for (int spared = 0; spared < 4; ++spared) {
        assert_true(is_refused(rt, spared));
        assert_nothing_leaked(with_a_runtime);
        assert_int_equal(tw_runtime_count(rt), 1);
        assert_int_equal(tw_runtime_stop(rt), 0);
    }
    const int result = tw_runtime_start(rt);
    assert_true(result == 0 || result == -EPERM);
    assert_int_equal(tw_runtime_free(rt), 0);
    assert_nothing_leaked(before);
}

TEST_BY_EACH_THREAD(start_that_failed_leaves_nodes_pending_and_can_be_tried_again) {
    const struct holdings before = holdings_now();
    struct tw_runtime *rt = runtime_on(WAY->driver);
    struct counter pending;
    init_counter(&pending);
    assert_int_equal(tw_runtime_after(rt, &pending.node, 0), 0);
    inject(ONLY(CALL_PTHREAD_CREATE), USUAL_ERROR, 0, 3);
    for (int i = 0; i < 3; ++i)
        assert_int_equal(tw_runtime_start(rt), -EAGAIN);
    inject_nothing();
    assert_int_equal(pending.fires, 0);
    assert_int_equal(tw_runtime_start(rt), 0);
    wait_for(pending.fires != 0);
    assert_int_equal(tw_runtime_free(rt), 0);
    assert_nothing_leaked(before);
}

TEST_BY_EACH_THREAD(start_leaves_the_callers_signals_as_they_were) {
    sigset_t before, after;
    struct tw_runtime *rt = runtime_on(WAY->driver);
    sigemptyset(&before);
    sigaddset(&before, SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    for (int fail = 1; fail >= 0; --fail) {
        inject(ONLY(CALL_PTHREAD_CREATE), USUAL_ERROR, 0, fail);
        assert_int_equal(tw_runtime_start(rt), fail ? -EAGAIN : 0);
        inject_nothing();
        pthread_sigmask(SIG_SETMASK, NULL, &after);
        for (int signal = 1; signal < NSIG; ++signal)
            assert_int_equal(sigismember(&after, signal), sigismember(&before, signal));
    }
    tw_runtime_free(rt);
    sigemptyset(&before);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

TEST_BY_EACH_THREAD(start_on_a_cpu_that_is_not_there_is_refused) {
    struct tw_runtime *rt = NULL;
    const struct holdings before = holdings_now();
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    if (cpus > 63) {
        print_message("skipped: there is a CPU 63\n");
        skip();
    }
    const struct tw_runtime_options options = {.driver = WAY->driver, .cpus = UINT64_C(1) << 63};
    assert_int_equal(tw_runtime_new(&rt, &options), 0);
    assert_int_equal(tw_runtime_start(rt), -EINVAL);
    assert_non_null(strstr(tw_explain(-EINVAL), "cpus"));
    assert_int_equal(tw_runtime_start(rt), -EINVAL); /* and not -EALREADY */
    assert_int_equal(tw_runtime_stop(rt), 0);
    tw_runtime_free(rt);
    assert_nothing_leaked(before);
}

/* The explanation names the option at fault, if any, also right after a refusal with the same error for
 * another reason. */
TEST(start_says_which_option_the_system_refuses) {
    static const struct {
        struct tw_runtime_options options;
        int error;
        const char *words; /* NULL: what the number means */
    } refused[] = {
        {{.priority = 1}, EPERM, "priority"}, {{.priority = 0}, EPERM, NULL}, {{.cpus = 1}, EINVAL, "cpus"},
        {{.priority = 0}, EINVAL, NULL},      {{.cpus = 1}, EAGAIN, NULL},    {{.priority = 1}, EAGAIN, NULL},
    };
    for (unsigned i = 0; i < COUNT_OF(refused); ++i) {
        struct tw_runtime *rt = new_runtime(refused[i].options);
        inject(ONLY(CALL_PTHREAD_CREATE), refused[i].error, 0, 1);
        assert_int_equal(tw_runtime_start(rt), -refused[i].error);
        inject_nothing();
        const char *const said = tw_explain(-refused[i].error);
        if (refused[i].words != NULL)
            assert_non_null(strstr(said, refused[i].words));
        else
            assert_string_equal(said, meaning_of(-refused[i].error));
        tw_runtime_free(rt);
    }
}

static struct gate gate;

static void *dispatch(void *rt) { return tw_runtime_dispatch(rt) == 0 ? rt : NULL; }

TEST(start_and_dispatch_are_refused_while_another_thread_drives) {
    struct tw_runtime *rt = runtime_on("timerfd");
    struct tw_node node;
    pthread_t dispatcher;
    void *dispatched;
    shut(&gate);
    tw_node_init(&node, wait_in_gate, &gate);
    assert_int_equal(tw_runtime_after(rt, &node, 0), 0);
    assert_int_equal(pthread_create(&dispatcher, NULL, dispatch, rt), 0);
    wait_for(gate.inside == 1);
    assert_int_equal(tw_runtime_start(rt), -EBUSY);
    assert_int_equal(tw_runtime_dispatch(rt), -EBUSY);
    assert_int_equal(tw_runtime_fd(rt), -EBUSY);
    atomic_store(&gate.open, true);
    pthread_join(dispatcher, &dispatched);
    assert_ptr_equal(dispatched, rt);
    assert_int_equal(tw_runtime_start(rt), 0);
    assert_int_equal(tw_runtime_start(rt), -EALREADY);
    tw_runtime_free(rt);
}

static cpu_set_t seen;
static int policy_seen;
static struct sched_param priority_seen;
static struct counter looker;

static void look(UNUSED struct tw_node *node, UNUSED void *arg) {
    sched_getaffinity(0, sizeof seen, &seen);
    pthread_getschedparam(pthread_self(), &policy_seen, &priority_seen);
    atomic_store(&looker.fires, 1);
}

static void look_on(struct tw_runtime *rt) {
    init_counter(&looker);
    assert_int_equal(tw_node_init(&looker.node, look, NULL), 0);
    assert_int_equal(tw_runtime_after(rt, &looker.node, 0), 0);
    wait_for(looker.fires == 1);
}

TEST_BY_EACH_THREAD(start_puts_the_thread_on_the_processors_that_it_was_asked_for) {
    cpu_set_t all;
    unsigned cpu = 63;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    while (cpu > 0 && !CPU_ISSET(cpu, &all))
        --cpu;
    struct tw_runtime *rt =
        started_runtime((struct tw_runtime_options){.driver = WAY->driver, .cpus = UINT64_C(1) << cpu});
    look_on(rt);
    assert_int_equal(CPU_COUNT(&seen), 1);
    assert_true(CPU_ISSET(cpu, &seen));
    tw_runtime_free(rt);
}

TEST(start_gives_the_thread_its_priority_or_is_refused) {
    struct tw_runtime *rt = new_runtime((struct tw_runtime_options){.priority = 1});
    const int result = tw_runtime_start(rt);
    if (result == 0) {
        look_on(rt);
        assert_int_equal(policy_seen, SCHED_FIFO);
        assert_int_equal(priority_seen.sched_priority, 1);
    } else {
        assert_int_equal(result, -EPERM);
    }
    tw_runtime_free(rt);
}
