/* A real-time thread needs the lock, which a preempted thread of normal priority holds on the
 * same processor. If the real-time thread spun, the holder could not run until Linux throttled the real-time
 * thread, after most of a second. So the waiter has to sleep, which the kernel counts as a voluntary context
 * switch.
 *
 * The waiter's processor time would be no proof: on a virtual machine it includes time in which the machine
 * did not run. */
#include "support/faults.h"

#include <sched.h>
#include <sys/resource.h>

#include "core/door.h"

#define ROUNDS 50
#define HELD_NS (TW_MILLISECOND / 2)

static struct tw_runtime *rt;
static struct counter node;
static struct tw *wheel; /* the node's wheel: node.wheel may only be read with the lock held */

static void skip_without_real_time(void) {
    struct sched_param priority = {.sched_priority = 1};
    const int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
    priority.sched_priority = 0;
    pthread_setschedparam(pthread_self(), SCHED_OTHER, &priority);
    if (error != 0) {
        print_message("skipped: SCHED_FIFO is not permitted here (%s)\n", strerror(error));
        skip();
    }
}

static unsigned cpu; /* a processor that this process may use */

static void choose_cpu(void) {
    cpu_set_t all;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    for (cpu = 0; cpu < 64 && !CPU_ISSET(cpu, &all);)
        ++cpu;
    assert_true(cpu < 64);
}

static pthread_t begin_on_the_cpu(void *(*fn)(void *), int priority) {
    pthread_t thread;
    pthread_attr_t attributes;
    const struct sched_param parameters = {.sched_priority = priority};
    cpu_set_t before, one_cpu; /* a thread inherits the processors of its creator */
    CPU_ZERO(&one_cpu);
    CPU_SET(cpu, &one_cpu);
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, priority != 0 ? SCHED_FIFO : SCHED_OTHER);
    pthread_attr_setschedparam(&attributes, &parameters);
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_int_equal(sched_setaffinity(0, sizeof one_cpu, &one_cpu), 0);
    const int error = pthread_create(&thread, &attributes, fn, NULL);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(error, 0);
    pthread_attr_destroy(&attributes);
    return thread;
}

/* --- the thread that holds the lock repeatedly, as a fork does ------------------------------- */

static atomic_int rounds;
static atomic_bool held;

static void spend_cpu(int64_t ns) {
    const int64_t until = reading_of(CLOCK_THREAD_CPUTIME_ID) + ns;
    while (reading_of(CLOCK_THREAD_CPUTIME_ID) < until) {
    }
}

static void *hold_again_and_again(UNUSED void *arg) {
    while (atomic_load(&rounds) > 0) {
        tw_core_fork(wheel, TW_CORE_FORK_PREPARE);
        atomic_store(&held, true);
        spend_cpu(HELD_NS);
        atomic_store(&held, false);
        tw_core_fork(wheel, TW_CORE_FORK_PARENT);
        spend_cpu(HELD_NS / 10);
    }
    return NULL;
}

/* --- the thread that must not starve --------------------------------------------------------- */

/* Returns how often this thread has gone to sleep so far. */
static long sleeps(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

static unsigned met, slept; /* how often the waiter found the lock held, and how often it then slept */

/* Sleeps; when it wakes up, it preempts the holder at any point. */
static void *arm_again_and_again(UNUSED void *arg) {
    struct timespec pause = {0, 0};
    for (unsigned i = 0; atomic_load(&rounds) > 0; ++i) {
        pause.tv_nsec = (long)(1000000 + i % 7 * 150000);
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        const bool meets = atomic_load(&held);
        const long before = sleeps();
        tw_runtime_after(rt, &node.node, TW_SECOND);
        const bool sleeps_for_it = sleeps() > before;
        met += meets;
        slept += meets && sleeps_for_it;
        atomic_fetch_sub(&rounds, meets);
        if (slept < met) /* it spun, and each further round would take a second */
            atomic_store(&rounds, 0);
    }
    return NULL;
}

TEST(a_real_time_thread_gets_the_lock_from_a_preempted_holder) {
    skip_without_real_time();
    choose_cpu();
    rt = runtime_on("manual");
    init_counter(&node);
    assert_int_equal(tw_runtime_after(rt, &node.node, TW_SECOND), 0);
    wheel = tw_wheel_of(&node.node);
    atomic_store(&rounds, ROUNDS);
    const pthread_t waiter = begin_on_the_cpu(arm_again_and_again, 10);
    const pthread_t holder = begin_on_the_cpu(hold_again_and_again, 0);
    pthread_join(waiter, NULL);
    pthread_join(holder, NULL);
    tw_runtime_free(rt);
    assert_int_equal(slept, met);
    assert_int_equal(met, ROUNDS);
}

static atomic_int policy_of_the_thread;

static void note_policy(UNUSED struct tw_node *timer, UNUSED void *arg) {
    struct sched_param parameters;
    int policy;
    pthread_getschedparam(pthread_self(), &policy, &parameters);
    atomic_store(&policy_of_the_thread, parameters.sched_priority == 10 ? policy : -1);
}

TEST_BY_EACH_THREAD(a_runtime_with_a_priority_has_a_real_time_thread) {
    skip_without_real_time();
    const struct tw_runtime_options options = {.driver = WAY->driver, .priority = 10};
    assert_int_equal(tw_runtime_new(&rt, &options), 0);
    tw_node_init(&node.node, note_policy, NULL);
    assert_int_equal(tw_runtime_after(rt, &node.node, 0), 0);
    atomic_store(&policy_of_the_thread, SCHED_OTHER);
    assert_int_equal(tw_runtime_start(rt), 0);
    wait_for(policy_of_the_thread != SCHED_OTHER);
    assert_int_equal(tw_runtime_free(rt), 0);
    assert_int_equal(policy_of_the_thread, SCHED_FIFO);
}
