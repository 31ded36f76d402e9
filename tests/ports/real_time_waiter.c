/* A real-time thread needs the lock, which a preempted thread of normal priority holds on the
 * same processor. If it spun, the holder could not run. Linux intervenes after most of a
 * second, so the test measures the waiter's processor time. */
#include "support/faults.h"

#include <sched.h>

#define ROUNDS 50
#define HELD_NS (TW_MILLISECOND / 2)

/* For the whole call. Spinning until Linux intervenes would take several times as much. */
#define MOST_CPU_NS (100 * TW_MILLISECOND)

static struct tw_runtime *rt;
static struct counter node;
static struct tw *wheel; /* the node's, noted here because node.wheel may be read only with the lock held */

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
        tw_fork(wheel, TW_FORK_PREPARE);
        atomic_store(&held, true);
        spend_cpu(HELD_NS);
        atomic_store(&held, false);
        tw_fork(wheel, TW_FORK_PARENT);
        spend_cpu(HELD_NS / 10);
    }
    return NULL;
}

/* --- the thread that must not starve --------------------------------------------------------- */

static int64_t worst_cpu_ns;
static unsigned met; /* counts how often it found the lock held */

/* Sleeps; when it wakes up, it preempts the holder at any point. */
static void *arm_again_and_again(UNUSED void *arg) {
    struct timespec pause = {0, 0};
    for (unsigned i = 0; atomic_load(&rounds) > 0; ++i) {
        pause.tv_nsec = (long)(1000000 + i % 7 * 150000);
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        const bool meets = atomic_load(&held);
        const int64_t before = reading_of(CLOCK_THREAD_CPUTIME_ID);
        tw_runtime_after(rt, &node.node, TW_SECOND);
        const int64_t took = reading_of(CLOCK_THREAD_CPUTIME_ID) - before;
        worst_cpu_ns = worst_cpu_ns > took ? worst_cpu_ns : took;
        met += meets;
        atomic_fetch_sub(&rounds, meets);
    }
    return NULL;
}

TEST(a_real_time_thread_gets_the_lock_from_a_preempted_holder) {
    skip_without_real_time();
    choose_cpu();
    rt = runtime_on("manual");
    init_counter(&node);
    assert_int_equal(tw_runtime_after(rt, &node.node, TW_SECOND), 0);
    wheel = node.node.wheel;
    atomic_store(&rounds, ROUNDS);
    const pthread_t waiter = begin_on_the_cpu(arm_again_and_again, 10);
    const pthread_t holder = begin_on_the_cpu(hold_again_and_again, 0);
    pthread_join(waiter, NULL);
    pthread_join(holder, NULL);
    tw_runtime_free(rt);
    assert_int_equal(met, ROUNDS);
    assert_true(worst_cpu_ns < MOST_CPU_NS);
}

/* The same for a runtime's own thread with a real-time priority. */
static int64_t cpu_of_the_thread;
static int policy_of_the_thread;

static void note_cpu(UNUSED struct tw_node *timer, UNUSED void *arg) {
    struct sched_param parameters;
    pthread_getschedparam(pthread_self(), &policy_of_the_thread, &parameters);
    cpu_of_the_thread = reading_of(CLOCK_THREAD_CPUTIME_ID);
    atomic_fetch_sub(&rounds, atomic_load(&rounds) > 0);
}

static bool no_round_is_left(void) { return atomic_load(&rounds) == 0; }

TEST_BY_EACH_THREAD(a_real_time_runtime_gets_the_lock_from_a_preempted_holder) {
    skip_without_real_time();
    choose_cpu();
    const struct tw_runtime_options options = {
        .driver = WAY->driver, .cpus = UINT64_C(1) << cpu, .priority = 10};
    assert_int_equal(tw_runtime_new(&rt, &options), 0);
    tw_node_init(&node.node, note_cpu, NULL);
    atomic_store(&rounds, ROUNDS);
    assert_int_equal(tw_runtime_every(rt, &node.node, TW_MILLISECOND, TW_SKIP), 0);
    wheel = node.node.wheel;
    const uint64_t parks = calls_of(CALL_MEMBARRIER); /* a wait for the lock that sleeps begins with one */
    assert_int_equal(tw_runtime_start(rt), 0);
    const pthread_t holder = begin_on_the_cpu(hold_again_and_again, 0);
    wait_for(no_round_is_left());
    pthread_join(holder, NULL);
    tw_runtime_free(rt);
    assert_int_equal(policy_of_the_thread, SCHED_FIFO);
    assert_true(calls_of(CALL_MEMBARRIER) > parks);
    assert_true(cpu_of_the_thread < MOST_CPU_NS);
}
