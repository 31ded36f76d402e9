/* keyed.h from inside, for what fuzz/play.c does not cover: what `drop` may do, and what other threads' calls
 * return while a callback is running. */
#include "keyed_test.h"

#include <pthread.h>

#include <tickwheel/workers.h>

#define KEY tw_key_string("a key of more than 16 bytes")

static struct bench bench;
static struct probe own, latter;

static int make(UNUSED void **state) {
    bench = plain_bench();
    own = latter = (struct probe){0, 0};
    return 0;
}

static int end(UNUSED void **state) {
    tw_keyed_free(bench.keyed);
    return tw_runtime_free(bench.rt);
}

static int replaced;
static void set_events_key(const struct tw_event *event, void *arg) {
    count_fire(event, arg);
    replaced = set_in_ms(bench.keyed, *event->key, 5, &latter);
}

FIXTURE(make, end);

/* The event's key points to bytes in the timer that the call replaces. */
TEST(inside_its_callback_a_timer_is_replaced_by_the_key_of_its_event) {
    const struct tw_task task = {.fn = set_events_key, .arg = &own, .drop = count_drop};
    const struct tw_when when = every_ms(1);
    assert_int_equal(tw_keyed_set(bench.keyed, KEY, &when, &task), 0);
    pass_ms(bench, 5);
    assert_int_equal(replaced, 0);
    assert_probe(own, 1, 1);
    assert_probe(latter, 0, 0);
    assert_int_equal(tw_keyed_get(bench.keyed, KEY, NULL), 0);
    pass_ms(bench, 1);
    assert_probe(latter, 1, 1);
}

static int in_drop;
static void drop_and_set(void *arg) {
    count_drop(arg);
    in_drop = set_in_ms(bench.keyed, KEY, 5, &latter);
}

TEST(inside_drop_the_key_is_free) {
    const struct tw_task task = {.fn = count_fire, .arg = &own, .drop = drop_and_set};
    const struct tw_when when = in_ms(1);
    for (int fires = 0; fires < 2; ++fires) {
        own = latter = (struct probe){0, 0};
        assert_int_equal(tw_keyed_set(bench.keyed, KEY, &when, &task), 0);
        if (fires != 0)
            pass_ms(bench, 1);
        else
            assert_int_equal(tw_keyed_cancel(bench.keyed, KEY), 1);
        assert_int_equal(in_drop, 0);
        assert_probe(own, fires, 1);
        pass_ms(bench, 5);
        assert_probe(latter, 1, 1);
    }
}

TEST(inside_the_drop_of_one_that_is_replaced_the_key_is_the_new_ones) {
    const struct tw_task task = {.fn = count_fire, .arg = &own, .drop = drop_and_set};
    const struct tw_when when = in_ms(1);
    struct probe middle = {0, 0};
    own = latter = (struct probe){0, 0};
    assert_int_equal(tw_keyed_set(bench.keyed, KEY, &when, &task), 0);
    assert_int_equal(set_in_ms(bench.keyed, KEY, 1, &middle), 0);
    assert_int_equal(in_drop, 0);
    pass_ms(bench, 10);
    assert_probe(own, 0, 1);
    assert_probe(middle, 0, 1);
    assert_probe(latter, 1, 1);
}

/* --- while the callback runs on another thread: the runtime's or a worker -------------------- */

struct threads {
    struct tw_runtime *rt;
    struct tw_workers *workers;
    struct tw_keyed *keyed;
    struct guest *guest;
};

/* When this returns, the callback of a timer under KEY is running. */
static struct threads threads_with_guest(bool on_worker, struct tw_when when) {
    static struct guest guest;
    struct threads threads = {.rt = started_runtime((struct tw_runtime_options){.driver = "epoll"})};
    if (on_worker)
        assert_int_equal(tw_workers_new(&threads.workers, threads.rt, NULL), 0);
    const struct tw_set_options options = {.workers = threads.workers};
    const struct tw_task task = staying(&guest);
    guest = (struct guest){.drops = 0};
    threads.guest = &guest;
    assert_int_equal(tw_keyed_new(&threads.keyed, threads.rt, &options), 0);
    assert_int_equal(tw_keyed_set(threads.keyed, KEY, &when, &task), 0);
    wait_for(guest.gate.inside == 1);
    return threads;
}

static struct guest *guest_of(struct threads *threads) {
    struct tw_entry timer;
    assert_int_equal(tw_keyed_get(threads->keyed, KEY, &timer), 0);
    assert_ptr_equal(timer.arg, threads->guest);
    return threads->guest;
}

static void end_threads(struct threads *threads) {
    assert_int_equal(tw_keyed_free(threads->keyed), 0);
    assert_int_equal(tw_workers_free(threads->workers), 0);
    assert_int_equal(tw_runtime_free(threads->rt), 0);
}

FIXTURE(NULL, NULL);

TEST(cancel_and_replace_wait_for_no_callback) {
    for (int i = 0; i < 4; ++i) {
        struct threads threads = threads_with_guest(i % 2 != 0, in_ms(0));
        struct guest *guest = guest_of(&threads);
        struct probe probe = {0, 0};
        assert_int_equal(tw_keyed_move(threads.keyed, KEY, 1), -EBUSY);
        if (i < 2)
            assert_int_equal(tw_keyed_cancel(threads.keyed, KEY), 0);
        else
            assert_int_equal(set_in_ms(threads.keyed, KEY, 1000000, &probe), 0);
        assert_int_equal(guest->gate.passed, 0);
        assert_int_equal(tw_keyed_get(threads.keyed, KEY, NULL), i < 2 ? -ENOENT : 0);
        atomic_store(&guest->gate.open, true);
        wait_for(guest->drops == 1);
        assert_int_equal(guest->drops_before_it_left, 0);
        end_threads(&threads);
    }
}

TEST(a_replaced_timers_callback_on_a_worker_goes_on_beside_the_new_ones) {
    struct threads threads = threads_with_guest(true, in_ms(0));
    struct guest *guest = guest_of(&threads);
    struct probe probe = {0, 0};
    assert_int_equal(set_in_ms(threads.keyed, KEY, 0, &probe), 0);
    wait_for(probe.drops == 1);
    assert_probe(probe, 1, 1);
    assert_int_equal(guest->gate.passed, 0);
    atomic_store(&guest->gate.open, true);
    end_threads(&threads);
    assert_int_equal(guest->drops, 1);
}

/* Lets the callback return when the timer's key is free, because a call is cancelling the timer, but so late
 * that a call that did not wait would have returned. */
static void *let_the_removed_leave(void *arg) {
    struct threads *threads = arg;
    wait_for(tw_keyed_get(threads->keyed, KEY, NULL) == -ENOENT);
    for (int i = 0; i < 20; ++i)
        doze();
    atomic_store(&threads->guest->gate.open, true);
    return NULL;
}

TEST(cancel_wait_returns_when_the_callback_has_and_its_argument_is_dropped) {
    for (int i = 0; i < 4; ++i) {
        const bool is_periodic = i / 2 == 1;
        struct threads threads = threads_with_guest(i % 2 != 0, is_periodic ? every_ms(1) : in_ms(0));
        struct guest *guest = guest_of(&threads);
        pthread_t helper;
        assert_int_equal(pthread_create(&helper, NULL, let_the_removed_leave, &threads), 0);
        assert_int_equal(tw_keyed_cancel_wait(threads.keyed, KEY), is_periodic);
        assert_true(guest->gate.passed > 0);
        assert_int_equal(guest->drops, 1);
        assert_int_equal(guest->drops_before_it_left, 0);
        pthread_join(helper, NULL);
        end_threads(&threads);
    }
}

/* Most likely the runtime's thread sleeps. The new timer's callback lets the drop of the replaced timer
 * return. */
static struct gate waiter;
static void wait_for_the_new_one(UNUSED void *arg) { pass(&waiter); }
static void let_it_leave(UNUSED const struct tw_event *event, UNUSED void *arg) {
    atomic_store(&waiter.open, true);
}

TEST(p2_the_drop_of_one_that_is_replaced_does_not_delay_the_new_one) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = "sleep"});
    struct tw_keyed *keyed;
    const struct tw_task former = {.fn = let_it_leave, .drop = wait_for_the_new_one};
    const struct tw_when long_after = in_ms(1000000);
    assert_int_equal(tw_keyed_new(&keyed, rt, NULL), 0);
    assert_int_equal(tw_keyed_set(keyed, KEY, &long_after, &former), 0);
    for (int i = 0; i < 20; ++i)
        doze();
    assert_int_equal(tw_keyed_after(keyed, KEY, TW_MILLISECOND, let_it_leave, NULL), 0);
    assert_int_equal(tw_keyed_free(keyed), 0);
    assert_int_equal(tw_runtime_free(rt), 0);
}

TEST(workers_of_another_runtime_are_refused_and_used_ones_stay) {
    struct bench mine = plain_bench(), other = plain_bench();
    struct tw_set_options options = {.capacity = 0};
    struct tw_keyed *keyed = NULL;
    assert_int_equal(tw_workers_new(&options.workers, other.rt, NULL), 0);
    assert_int_equal(tw_keyed_new(&keyed, mine.rt, &options), -EINVAL);
    assert_null(keyed);
    assert_int_equal(tw_keyed_new(&keyed, other.rt, &options), 0);
    assert_int_equal(tw_workers_free(options.workers), -EBUSY);
    assert_int_equal(tw_keyed_free(keyed), 0);
    assert_int_equal(tw_workers_free(options.workers), 0);
    end_bench(other);
    end_bench(mine);
}
