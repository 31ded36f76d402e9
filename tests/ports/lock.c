/* The Linux port's lock: it excludes, and no waiter sleeps forever. */
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tickwheel/port.h>

#include "support/runtime_test.h"
#include "support/threads.h"

#define ROUNDS 1000000

static uint32_t word;
static uint64_t counter; /* guarded by `word` */
static unsigned inside, crowded;

static unsigned dawdle; /* iterations for which a holder keeps the lock */

static void *count(void *rounds) {
    for (uint64_t i = *(const uint64_t *)rounds; i > 0; --i) {
        tw_port_lock(&word);
        crowded += inside++ != 0;
        ++counter;
        for (volatile unsigned turn = 0; turn < dawdle; ++turn) {
        }
        --inside;
        tw_port_unlock(&word);
    }
    return NULL;
}

static void count_in_threads(unsigned threads, uint64_t rounds, unsigned turns) {
    pthread_t ids[8];
    dawdle = turns;
    counter = crowded = inside = 0;
    tw_port_lock_init(&word);
    for (unsigned i = 0; i < threads; ++i)
        assert_int_equal(pthread_create(&ids[i], NULL, count, &rounds), 0);
    for (unsigned i = 0; i < threads; ++i)
        pthread_join(ids[i], NULL);
    assert_int_equal(counter, threads * rounds);
    assert_int_equal(crowded, 0);
    assert_int_equal(word, 0);
}

TEST(lock_is_free_after_init_and_after_unlock) {
    word = 99;
    tw_port_lock_init(&word);
    assert_int_equal(word, 0);
    tw_port_lock(&word);
    assert_int_not_equal(word, 0);
    tw_port_unlock(&word);
    assert_int_equal(word, 0);
}

TEST(lock_lets_two_threads_count_a_million_each) { count_in_threads(2, ROUNDS, 0); }

/* More threads than cores, so that holders are preempted and waiters sleep. */
TEST(lock_lets_eight_threads_count) { count_in_threads(8, ROUNDS / 20, 0); }

/* Holds the lock longer than a waiter insists, so that waiters keep going to sleep. A lost
 * wake-up would hang this test. */
TEST(lock_wakes_every_waiter_of_slow_holders) { count_in_threads(4, ROUNDS / 2000, 100000); }

/* For some microseconds, so that waiters insist on being next. */
TEST(lock_lets_waiters_in_that_insist) { count_in_threads(4, ROUNDS / 200, 4000); }

/* The lock is free, but a thread that insists on being next was preempted before it could take it. */
TEST(lock_passes_a_thread_that_insists_and_does_not_come) {
    const unsigned char wanted[4] = {0, 1, 0, 0};
    memcpy(&word, wanted, sizeof word);
    tw_port_lock(&word);
    assert_int_equal(word, TW_PORT_HELD << (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 16));
    tw_port_unlock(&word);
    assert_int_equal(word, 0);
}

static void *take_and_leave(void *error) {
    errno = 1234;
    tw_port_lock(&word);
    ++counter;
    tw_port_unlock(&word);
    *(int *)error = errno;
    return NULL;
}

static void wait_for_waiters(unsigned expected) {
    while (__atomic_load_n(tw_port_waiters(&word), __ATOMIC_RELAXED) != expected) {
    }
}

/* Unlocks when the waiters have stopped spinning. */
TEST(lock_wakes_waiters_that_gave_up_spinning_and_leaves_errno_alone) {
    for (unsigned i = 0; i < 100; ++i) {
        pthread_t waiters[3];
        int errors[3];
        counter = 0;
        tw_port_lock_init(&word);
        tw_port_lock(&word);
        for (unsigned k = 0; k < 3; ++k)
            assert_int_equal(pthread_create(&waiters[k], NULL, take_and_leave, &errors[k]), 0);
        wait_for_waiters(3);
        assert_int_equal(counter, 0);
        tw_port_unlock(&word);
        for (unsigned k = 0; k < 3; ++k) {
            pthread_join(waiters[k], NULL);
            assert_int_equal(errors[k], 1234);
        }
        assert_int_equal(counter, 3);
        assert_int_equal(word, 0);
    }
}

static atomic_long waiter;

static void *take_and_leave_by_name(void *error) {
    atomic_store(&waiter, syscall(SYS_gettid));
    return take_and_leave(error);
}

/* One waiter more than can be counted must not make the count zero. */
TEST(lock_lets_a_waiter_in_for_whom_the_count_has_no_room) {
    const unsigned most = 0x7fff, waking = 0x8000; /* of the waiters half; see lock.cpp */
    pthread_t thread;
    int error;
    counter = 0;
    tw_port_lock_init(&word);
    tw_port_lock(&word);
    *tw_port_waiters(&word) = (tw_port_half)most;
    assert_int_equal(pthread_create(&thread, NULL, take_and_leave_by_name, &error), 0);
    while (!is_asleep(atomic_load(&waiter)))
        sched_yield();
    assert_int_equal(__atomic_load_n(tw_port_waiters(&word), __ATOMIC_RELAXED), most);
    tw_port_unlock(&word);
    pthread_join(thread, NULL);
    assert_int_equal(error, 1234);
    assert_int_equal(counter, 1);
    assert_int_equal(*tw_port_held(&word), 0);
    assert_int_equal(*tw_port_waiters(&word) & ~waking, most);
}
