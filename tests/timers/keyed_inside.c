/* keyed.h from inside: what a callback, `next` or `drop` may do to its own key and to others,
 * and what other threads' calls return while one is running. Records are the same under a handle, which
 * fuzz/play.c stops and moves from everywhere. */
#include "keyed_test.h"

#include <pthread.h>

#include <tickwheel/workers.h>

#define KEY tw_key_string("a key of more than 16 bytes")

/* The test's callback, and the result of its call. */
static struct bench bench;
static int answer;
static struct probe own, latter;

static void note_and(const struct tw_event *event, void *arg, int (*what)(const struct tw_event *)) {
    count_fire(event, arg);
    answer = what(event);
}

#define CALLBACK(name, expression) \
    static int name##_what(UNUSED const struct tw_event *event) { return expression; } \
    static void name(const struct tw_event *event, void *arg) { note_and(event, arg, name##_what); }

CALLBACK(set_own_key, set_in_ms(bench.keyed, KEY, 5, &latter))
CALLBACK(set_events_key, set_in_ms(bench.keyed, *event->key, 5, &latter))
CALLBACK(set_other_key, set_in_ms(bench.keyed, tw_key_number(1), 5, &latter))
CALLBACK(remove_own_key, tw_keyed_remove(bench.keyed, *event->key))
CALLBACK(remove_own_key_and_wait, tw_keyed_remove_wait(bench.keyed, *event->key))
CALLBACK(move_own_key, tw_keyed_move(bench.keyed, *event->key, 7 * TW_MILLISECOND))
CALLBACK(postpone_own_key, tw_keyed_postpone(bench.keyed, *event->key, 7 * TW_MILLISECOND))
CALLBACK(start_own_key_again, tw_keyed_again(bench.keyed, *event->key))
CALLBACK(free_table, tw_keyed_free(bench.keyed))
CALLBACK(get_own_key, tw_keyed_get(bench.keyed, *event->key, NULL))

/* Sets a timer with this callback and lets it fire once. */
static void fire_once(struct tw_when when, tw_task_callback *fn) {
    const struct tw_task task = {.fn = fn, .arg = &own, .drop = count_drop};
    own = latter = (struct probe){0, 0};
    answer = -1000;
    assert_int_equal(tw_keyed_set(bench.keyed, KEY, &when, &task), 0);
    pass_ms(bench, 1);
    assert_int_equal(own.fires, 1);
}

static int make(UNUSED void **state) {
    bench = plain_bench();
    return 0;
}

static int end(UNUSED void **state) {
    tw_keyed_free(bench.keyed);
    return tw_runtime_free(bench.rt);
}

FIXTURE(make, end);

TEST(inside_its_last_callback_setting_its_own_key_replaces_it) {
    tw_task_callback *const callbacks[] = {set_own_key, set_events_key};
    for (unsigned i = 0; i < COUNT_OF(callbacks); ++i) {
        fire_once(in_ms(1), callbacks[i]);
        assert_int_equal(answer, 1);
        assert_probe(own, 1, 1);
        assert_int_equal(tw_keyed_count(bench.keyed), 1);
        pass_ms(bench, 4);
        assert_probe(latter, 0, 0);
        pass_ms(bench, 1);
        assert_probe(latter, 1, 1);
    }
}

TEST(inside_its_callback_a_periodic_timer_is_replaced) {
    fire_once(every_ms(1), set_own_key);
    assert_int_equal(answer, 1);
    assert_probe(own, 1, 1);
    pass_ms(bench, 100);
    assert_probe(own, 1, 1);
    assert_probe(latter, 1, 1);
}

TEST(inside_a_callback_another_key_is_set) {
    fire_once(in_ms(1), set_other_key);
    assert_int_equal(answer, 0);
    assert_probe(own, 1, 1);
    assert_int_equal(tw_keyed_get(bench.keyed, tw_key_number(1), NULL), 0);
    pass_ms(bench, 5);
    assert_probe(latter, 1, 1);
}

TEST(inside_its_last_callback_a_timer_is_there_but_cannot_be_prevented_or_moved) {
    fire_once(in_ms(1), get_own_key);
    assert_int_equal(answer, 0);
    fire_once(in_ms(1), move_own_key);
    assert_int_equal(answer, -EBUSY);
    fire_once(in_ms(1), postpone_own_key);
    assert_int_equal(answer, -EBUSY);
    fire_once(in_ms(1), start_own_key_again);
    assert_int_equal(answer, -EBUSY);
    fire_once(in_ms(1), remove_own_key);
    assert_int_equal(answer, 0);
    assert_probe(own, 1, 1);
    fire_once(in_ms(1), remove_own_key_and_wait);
    assert_int_equal(answer, 0);
    assert_probe(own, 1, 1);
    assert_int_equal(tw_keyed_count(bench.keyed), 0);
}

TEST(a_table_is_not_freed_inside_a_callback_of_it) {
    fire_once(in_ms(1), free_table);
    assert_int_equal(answer, -EBUSY);
    assert_int_equal(set_in_ms(bench.keyed, KEY, 1, &own), 0);
    assert_int_equal(tw_keyed_remove(bench.keyed, KEY), 1);
}

/* --- inside `next` and `drop` ------------------------------------------------------------- */

static int in_next;
static int64_t next_and_remove(int64_t due, UNUSED void *arg) {
    in_next = tw_keyed_remove(bench.keyed, KEY);
    return due + TW_MILLISECOND;
}

static int64_t next_and_move(int64_t due, UNUSED void *arg) {
    in_next = tw_keyed_move(bench.keyed, KEY, 1);
    return due + TW_MILLISECOND;
}

static int64_t next_and_replace(int64_t due, UNUSED void *arg) {
    in_next = set_in_ms(bench.keyed, KEY, 3, &latter);
    return due + TW_MILLISECOND;
}

static void fire_schedule_once(tw_next_deadline *next) {
    struct tw_task task = counting(&own);
    const struct tw_when when = in_ms(1);
    own = latter = (struct probe){0, 0};
    task.next = next;
    assert_int_equal(tw_keyed_set(bench.keyed, KEY, &when, &task), 0);
    pass_ms(bench, 1);
    assert_int_equal(own.fires, 1);
}

TEST(inside_next_a_timer_is_removed_or_replaced_but_not_moved) {
    fire_schedule_once(next_and_remove);
    assert_int_equal(in_next, 1);
    assert_probe(own, 1, 1);
    fire_schedule_once(next_and_replace);
    assert_int_equal(in_next, 1);
    assert_probe(own, 1, 1);
    pass_ms(bench, 10);
    assert_probe(own, 1, 1);
    assert_probe(latter, 1, 1);
    fire_schedule_once(next_and_move);
    assert_int_equal(in_next, -EBUSY);
    pass_ms(bench, 1);
    assert_probe(own, 2, 0);
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
            assert_int_equal(tw_keyed_remove(bench.keyed, KEY), 1);
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
    assert_int_equal(set_in_ms(bench.keyed, KEY, 1, &middle), 1);
    assert_int_equal(in_drop, 1);
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
    struct threads it = {.rt = started_runtime((struct tw_runtime_options){.driver = "epoll"})};
    if (on_worker)
        assert_int_equal(tw_workers_new(&it.workers, it.rt, NULL), 0);
    const struct tw_keyed_options options = {.workers = it.workers};
    const struct tw_task task = staying(&guest);
    guest = (struct guest){.drops = 0};
    it.guest = &guest;
    assert_int_equal(tw_keyed_new(&it.keyed, it.rt, &options), 0);
    assert_int_equal(tw_keyed_set(it.keyed, KEY, &when, &task), 0);
    wait_for(guest.gate.inside == 1);
    return it;
}

static struct guest *guest_of(struct threads *it) {
    struct tw_keyed_timer timer;
    assert_int_equal(tw_keyed_get(it->keyed, KEY, &timer), 0);
    assert_ptr_equal(timer.arg, it->guest);
    return it->guest;
}

static void end_threads(struct threads *it) {
    assert_int_equal(tw_keyed_free(it->keyed), 0);
    assert_int_equal(tw_workers_free(it->workers), 0);
    assert_int_equal(tw_runtime_free(it->rt), 0);
}

FIXTURE(NULL, NULL);

TEST(remove_and_replace_wait_for_no_callback) {
    for (int i = 0; i < 4; ++i) {
        struct threads it = threads_with_guest(i % 2 != 0, in_ms(0));
        struct guest *guest = guest_of(&it);
        struct probe probe = {0, 0};
        assert_int_equal(tw_keyed_move(it.keyed, KEY, 1), -EBUSY);
        if (i < 2)
            assert_int_equal(tw_keyed_remove(it.keyed, KEY), 0);
        else
            assert_int_equal(set_in_ms(it.keyed, KEY, 1000000, &probe), 1);
        assert_int_equal(guest->gate.passed, 0);
        assert_int_equal(tw_keyed_get(it.keyed, KEY, NULL), i < 2 ? -ENOENT : 0);
        atomic_store(&guest->gate.open, true);
        wait_for(guest->drops == 1);
        assert_int_equal(guest->drops_before_it_left, 0);
        end_threads(&it);
    }
}

TEST(a_replaced_timers_callback_on_a_worker_goes_on_beside_the_new_ones) {
    struct threads it = threads_with_guest(true, in_ms(0));
    struct guest *guest = guest_of(&it);
    struct probe probe = {0, 0};
    assert_int_equal(set_in_ms(it.keyed, KEY, 0, &probe), 1);
    wait_for(probe.drops == 1);
    assert_probe(probe, 1, 1);
    assert_int_equal(guest->gate.passed, 0);
    atomic_store(&guest->gate.open, true);
    end_threads(&it);
    assert_int_equal(guest->drops, 1);
}

/* Waits long enough for a call that does not wait to have returned. */
static void let_leave_soon(struct guest *guest) {
    for (int i = 0; i < 20; ++i)
        doze();
    atomic_store(&guest->gate.open, true);
}

/* Waits until the timer is being removed: then its key is free. */
static void *let_the_removed_leave(void *arg) {
    struct threads *it = arg;
    struct guest *guest = it->guest;
    wait_for(tw_keyed_get(it->keyed, KEY, NULL) == -ENOENT);
    let_leave_soon(guest);
    return NULL;
}

static void *let_the_freed_leave(void *arg) {
    let_leave_soon(((struct threads *)arg)->guest);
    return NULL;
}

TEST(remove_wait_and_free_return_when_the_callback_has_and_its_argument_is_dropped) {
    for (int i = 0; i < 6; ++i) {
        const bool is_periodic = i / 2 == 1, frees = i / 2 == 2;
        struct threads it = threads_with_guest(i % 2 != 0, is_periodic ? every_ms(1) : in_ms(0));
        struct guest *guest = guest_of(&it);
        pthread_t helper;
        assert_int_equal(
            pthread_create(&helper, NULL, frees ? let_the_freed_leave : let_the_removed_leave, &it), 0);
        if (frees)
            assert_int_equal(tw_keyed_free(it.keyed), 0);
        else
            assert_int_equal(tw_keyed_remove_wait(it.keyed, KEY), is_periodic);
        assert_true(guest->gate.passed > 0);
        assert_int_equal(guest->drops, 1);
        assert_int_equal(guest->drops_before_it_left, 0);
        pthread_join(helper, NULL);
        it.keyed = frees ? NULL : it.keyed;
        end_threads(&it);
    }
}

/* The thread sleeps; the new timer's callback lets the old one's drop return. */
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
        doze(); /* so that the thread most likely sleeps by now */
    assert_int_equal(tw_keyed_after(keyed, KEY, TW_MILLISECOND, let_it_leave, NULL), 1);
    assert_int_equal(tw_keyed_free(keyed), 0);
    assert_int_equal(tw_runtime_free(rt), 0);
}

TEST(workers_of_another_runtime_are_refused_and_used_ones_stay) {
    struct tw_runtime *mine = new_runtime((struct tw_runtime_options){.driver = "manual"});
    struct tw_runtime *other = new_runtime((struct tw_runtime_options){.driver = "manual"});
    struct tw_keyed_options options = {.capacity = 0};
    struct tw_keyed *keyed = NULL;
    assert_int_equal(tw_workers_new(&options.workers, other, NULL), 0);
    assert_int_equal(tw_keyed_new(&keyed, mine, &options), -EINVAL);
    assert_null(keyed);
    assert_int_equal(tw_keyed_new(&keyed, other, &options), 0);
    assert_int_equal(tw_workers_free(options.workers), -EBUSY);
    assert_int_equal(tw_keyed_free(keyed), 0);
    assert_int_equal(tw_workers_free(options.workers), 0);
    tw_runtime_free(other);
    tw_runtime_free(mine);
}
