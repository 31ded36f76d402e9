/* tw_keyed_cancel_all: calls that `each` makes, and other threads meanwhile. tw_keyed_each: the timers and
 * keys that it visits, and calls that the visitor makes. Calls of cancel_all and walks in and outside
 * callbacks: fuzz/play.c. */
#include "keyed_test.h"
#include "support/counted_walk.h"

#include <pthread.h>

#include <tickwheel/workers.h>

/* The calls of `each`, by the number of the key. */
enum { KEYS = 300 };
static struct cancelled {
    struct bench bench;
    unsigned calls[KEYS];
    struct probe probes[KEYS];
} now;

static int note(const struct tw_entry *entry, void *visit_arg) {
    assert_ptr_equal(visit_arg, &now);
    assert_true(entry->key->is_number && entry->key->number < KEYS);
    assert_ptr_equal(entry->arg, &now.probes[entry->key->number]);
    assert_int_equal(now.probes[entry->key->number].drops, 0);
    ++now.calls[entry->key->number];
    return 0;
}

static int make(UNUSED void **state) {
    now = (struct cancelled){.bench = plain_bench()};
    return 0;
}

static int end(UNUSED void **state) {
    tw_keyed_free(now.bench.keyed);
    return tw_runtime_free(now.bench.rt);
}

static int64_t each_millisecond(int64_t due, UNUSED void *arg) { return due + TW_MILLISECOND; }

/* Timers of every sort: due at once and later, periodic, with a schedule. */
static void set_all(void) {
    for (unsigned i = 0; i < KEYS; ++i) {
        const struct tw_when when = i % 3 == 1 ? every_ms(1 + i) : in_ms(i);
        struct tw_task task = counting(&now.probes[i]);
        task.next = i % 3 == 2 ? each_millisecond : NULL;
        assert_int_equal(tw_keyed_set(now.bench.keyed, tw_key_number(i), &when, &task), 0);
    }
}

static void assert_all_cancelled_once(void) {
    for (unsigned i = 0; i < KEYS; ++i) {
        assert_int_equal(now.calls[i], 1);
        assert_probe(now.probes[i], 0, 1);
        assert_int_equal(tw_keyed_get(now.bench.keyed, tw_key_number(i), NULL), -ENOENT);
    }
    assert_int_equal(tw_keyed_count(now.bench.keyed), 0);
}

FIXTURE(make, end);

TEST(cancel_all_more_often_than_its_marks_have_values_leaves_a_table_usable) {
    for (unsigned i = 0; i < 1000; ++i) {
        const unsigned used = i % 3 != 0;
        struct probe probe = {0, 0};
        if (used)
            assert_int_equal(set_in_ms(now.bench.keyed, tw_key_number(0), 5, &probe), 0);
        assert_int_equal(tw_keyed_cancel_all(now.bench.keyed, NULL, NULL), used);
        assert_int_equal(probe.drops, used);
    }
    set_all();
    pass_ms(now.bench, KEYS);
    for (unsigned i = 0; i < KEYS; ++i)
        assert_true(now.probes[i].fires >= 1);
    assert_int_equal(tw_keyed_cancel_all(now.bench.keyed, note, &now), 2 * KEYS / 3);
}

/* --- from inside -------------------------------------------------------------------------- */

static struct probe set_meanwhile;
static int set_as_well(const struct tw_entry *entry, void *visit_arg) {
    note(entry, visit_arg);
    assert_int_equal(set_in_ms(now.bench.keyed, *entry->key, 5, &set_meanwhile), 0);
    assert_int_equal(set_in_ms(now.bench.keyed, tw_key_number(KEYS + entry->key->number), 5, &set_meanwhile),
                     0);
    return 0;
}

TEST(what_each_sets_stays_and_fires) {
    set_meanwhile = (struct probe){0, 0};
    set_all();
    assert_int_equal(tw_keyed_cancel_all(now.bench.keyed, set_as_well, &now), KEYS);
    for (unsigned i = 0; i < KEYS; ++i)
        assert_int_equal(now.calls[i], 1);
    assert_int_equal(tw_keyed_count(now.bench.keyed), 2 * KEYS);
    assert_probe(set_meanwhile, 0, 0);
    pass_ms(now.bench, 5);
    assert_probe(set_meanwhile, 2 * KEYS, 2 * KEYS);
}

static int let_time_pass(const struct tw_entry *entry, void *visit_arg) {
    note(entry, visit_arg);
    pass_ms(now.bench, 10);
    return 0;
}

TEST(what_is_due_while_each_runs_does_not_fire_and_is_visited_too) {
    set_all();
    assert_int_equal(tw_keyed_cancel_all(now.bench.keyed, let_time_pass, &now), KEYS);
    assert_all_cancelled_once();
}

static int removed[3];
static int use_own_key(const struct tw_entry *entry, void *visit_arg) {
    note(entry, visit_arg);
    ++removed[0];
    removed[1] += tw_keyed_cancel(now.bench.keyed, *entry->key) == -ENOENT;
    removed[2] += tw_keyed_free(now.bench.keyed) == -EBUSY;
    return 0;
}

TEST(inside_each_the_key_is_free_and_the_table_is_not_freed) {
    memset(removed, 0, sizeof removed);
    set_all();
    assert_int_equal(tw_keyed_cancel_all(now.bench.keyed, use_own_key, &now), KEYS);
    for (unsigned i = 0; i < COUNT_OF(removed); ++i)
        assert_int_equal(removed[i], KEYS);
    assert_all_cancelled_once();
}

static int64_t nested;
static int cancel_the_rest(const struct tw_entry *entry, void *visit_arg) {
    note(entry, visit_arg);
    const int64_t further = tw_keyed_cancel_all(now.bench.keyed, note, &now);
    assert_true(further >= 0);
    nested += further;
    return 0;
}

TEST(inside_each_a_cancel_all_does_the_rest) {
    nested = 0;
    set_all();
    assert_int_equal(tw_keyed_cancel_all(now.bench.keyed, cancel_the_rest, &now), 1);
    assert_int_equal(nested, KEYS - 1);
    assert_all_cancelled_once();
}

static unsigned depth, refusals;
static int cancel_all_deeper(const struct tw_entry *entry, void *visit_arg) {
    note(entry, visit_arg);
    ++depth;
    refusals += tw_keyed_cancel_all(now.bench.keyed, cancel_all_deeper, &now) == -EBUSY;
    return 0;
}

TEST(the_65th_cancel_all_at_a_time_is_refused_and_the_others_do_it_all) {
    depth = refusals = 0;
    set_all();
    assert_true(tw_keyed_cancel_all(now.bench.keyed, cancel_all_deeper, &now) > 0);
    assert_true(depth == KEYS && refusals > 0);
    assert_all_cancelled_once();
    pass_ms(now.bench, 1000);
    assert_all_cancelled_once();
}

/* Calls tw_keyed_cancel_all on an empty table repeatedly, then sets a timer that must stay. */
static int cancel_all_often_and_set(const struct tw_entry *entry, void *visit_arg) {
    if (entry->key->number != 0)
        return 0;
    note(entry, &now);
    for (unsigned i = 0; i < *(unsigned *)visit_arg; ++i)
        refusals += tw_keyed_cancel_all(now.bench.keyed, NULL, NULL) == -EBUSY;
    assert_int_equal(set_in_ms(now.bench.keyed, tw_key_number(1), 5, &now.probes[1]), 0);
    return 0;
}

TEST(what_is_set_in_a_cancel_all_stays_however_many_have_followed) {
    for (unsigned count = 60; count < 140; ++count) {
        refusals = 0;
        now.probes[0] = now.probes[1] = (struct probe){0};
        assert_int_equal(set_in_ms(now.bench.keyed, tw_key_number(0), 5, &now.probes[0]), 0);
        assert_int_equal(tw_keyed_cancel_all(now.bench.keyed, cancel_all_often_and_set, &count), 1);
        assert_int_equal(refusals, count < 64 ? 0 : count - 63);
        pass_ms(now.bench, 5);
        assert_probe(now.probes[0], 0, 1);
        assert_probe(now.probes[1], 1, 1);
    }
}

/* --- a walk, by tw_keyed_each; see also timers_walk.c ---------------------------------------- */

static void set_all_sorts_of_keys(void) {
    char text[40];
    for (unsigned i = 0; i < KEYS; ++i)
        assert_int_equal(set_in_ms(now.bench.keyed, key_of_any_sort(i, text), 10, &now.probes[i]), 0);
}

/* Returns the number of visits, or the result that ended the walk. */
static int64_t walk(tw_visitor *visitor) {
    struct counted_walk walk = {.visitor = visitor, .arg = &now};
    return counted(tw_keyed_each(now.bench.keyed, count_and_visit, &walk), &walk);
}

static void assert_visited_once(unsigned fires, unsigned drops) {
    for (unsigned i = 0; i < KEYS; ++i) {
        assert_int_equal(now.calls[i], 1);
        assert_probe(now.probes[i], fires, drops);
    }
}

static int visit(const struct tw_entry *entry, void *visit_arg) {
    char text[40];
    assert_ptr_equal(visit_arg, &now);
    const unsigned i = (unsigned)((struct probe *)entry->arg - now.probes);
    assert_true(i < KEYS);
    const struct tw_key expected = key_of_any_sort(i, text);
    assert_int_equal(entry->key->is_number, expected.is_number);
    assert_int_equal(entry->key->number, expected.number);
    assert_int_equal(entry->key->size, expected.size);
    if (entry->key->size != 0)
        assert_memory_equal(entry->key->bytes, expected.bytes, entry->key->size);
    assert_int_equal(now.probes[i].drops, 0);
    ++now.calls[i];
    return 0;
}

TEST(each_key_is_visited_once_and_stays) {
    assert_int_equal(tw_keyed_each(now.bench.keyed, NULL, NULL), -EINVAL); /* P14 */
    assert_int_equal(tw_keyed_each(NULL, visit, NULL), -EINVAL);
    assert_int_equal(walk(visit), 0);
    set_all_sorts_of_keys();
    assert_int_equal(walk(visit), KEYS);
    pass_ms(now.bench, 10);
    assert_visited_once(1, 1);
    assert_int_equal(walk(visit), 0);
}

static int remove_it(const struct tw_entry *entry, void *visit_arg) {
    const bool waits = ((struct probe *)entry->arg - now.probes) % 2 == 0;
    assert_int_equal((waits ? tw_keyed_cancel_wait : tw_keyed_cancel)(now.bench.keyed, *entry->key), 1);
    assert_int_equal(tw_keyed_get(now.bench.keyed, *entry->key, NULL), -ENOENT);
    assert_int_equal(tw_keyed_free(now.bench.keyed), -EBUSY);
    visit(entry, visit_arg); /* the key and the argument are still there */
    return 0;
}

TEST(a_visitor_may_cancel_its_key) {
    set_all_sorts_of_keys();
    assert_int_equal(walk(remove_it), KEYS);
    assert_int_equal(tw_keyed_count(now.bench.keyed), 0);
    assert_visited_once(0, 1);
}

/* The walk may visit the new timers, too; they have other arguments. */
static struct probe replacing;
static int replace_it(const struct tw_entry *entry, void *visit_arg) {
    if (entry->arg == &replacing)
        return 0;
    assert_int_equal(set_in_ms(now.bench.keyed, *entry->key, 20, &replacing), 0);
    visit(entry, visit_arg);
    return 0;
}

static int end_the_walk(const struct tw_entry *entry, void *visit_arg) {
    visit(entry, visit_arg);
    return -77;
}

TEST(a_visitor_ends_the_walk_with_its_result) {
    set_all_sorts_of_keys();
    assert_int_equal(walk(end_the_walk), -77);
    unsigned visits = 0;
    for (unsigned i = 0; i < KEYS; ++i)
        visits += now.calls[i];
    assert_int_equal(visits, 1);
    assert_int_equal(tw_keyed_count(now.bench.keyed), KEYS);
}

TEST(one_key_is_visited_and_its_argument_stays_for_that_long) {
    set_all_sorts_of_keys();
    char text[40];
    for (unsigned i = 0; i < KEYS; ++i)
        assert_int_equal(tw_keyed_visit(now.bench.keyed, key_of_any_sort(i, text), visit, &now), 0);
    for (unsigned i = 0; i < KEYS; ++i)
        assert_int_equal(tw_keyed_visit(now.bench.keyed, key_of_any_sort(i, text), remove_it, &now), 0);
    for (unsigned i = 0; i < KEYS; ++i) {
        assert_int_equal(now.calls[i], 2);
        assert_probe(now.probes[i], 0, 1);
    }
    assert_int_equal(tw_keyed_count(now.bench.keyed), 0);
    memset(now.probes, 0, sizeof now.probes);
    set_all_sorts_of_keys();
    assert_int_equal(tw_keyed_visit(now.bench.keyed, key_of_any_sort(0, text), end_the_walk, &now), -77);
    assert_int_equal(tw_keyed_visit(now.bench.keyed, tw_key_string("none"), visit, &now), -ENOENT);
    assert_int_equal(tw_keyed_visit(now.bench.keyed, tw_key_string(NULL), visit, &now), -EINVAL);
    assert_int_equal(tw_keyed_visit(now.bench.keyed, tw_key_number(1), NULL, &now), -EINVAL);
    assert_int_equal(tw_keyed_visit(NULL, tw_key_number(1), visit, &now), -EINVAL);
}

TEST(a_visitor_may_replace_its_timer) {
    replacing = (struct probe){0, 0};
    set_all_sorts_of_keys();
    assert_in_range(walk(replace_it), KEYS, 2 * KEYS);
    assert_int_equal(tw_keyed_count(now.bench.keyed), KEYS);
    pass_ms(now.bench, 20);
    assert_visited_once(0, 1);
    assert_probe(replacing, KEYS, KEYS);
}

/* --- with callbacks on other threads ------------------------------------------------------- */

static void *let_leave_soon(void *arg) {
    for (int i = 0; i < 20; ++i)
        doze();
    atomic_store(&((struct guest *)arg)->gate.open, true);
    return NULL;
}

static unsigned visits;
static int count_visit(UNUSED const struct tw_entry *entry, UNUSED void *visit_arg) {
    ++visits;
    return 0;
}

/* For a one-shot timer, whose last fire has begun, tw_keyed_cancel_all only waits for the callback. For a
 * periodic timer, the function also calls `each`. */
static void cancel_all_while_a_callback_runs(bool on_worker, bool is_periodic) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = "sleep"});
    struct tw_set_options options = {.capacity = 0};
    struct guest guest = {.drops = 0};
    struct tw_keyed *keyed;
    pthread_t helper;
    const struct tw_task task = staying(&guest);
    const struct tw_when when = is_periodic ? every_ms(1) : in_ms(0);
    if (on_worker)
        assert_int_equal(tw_workers_new(&options.workers, rt, NULL), 0);
    assert_int_equal(tw_keyed_new(&keyed, rt, &options), 0);
    assert_int_equal(tw_keyed_set(keyed, tw_key_number(1), &when, &task), 0);
    wait_for(guest.gate.inside == 1);
    assert_int_equal(pthread_create(&helper, NULL, let_leave_soon, &guest), 0);
    visits = 0;
    assert_int_equal(tw_keyed_cancel_all(keyed, count_visit, NULL), is_periodic);
    assert_true(guest.gate.passed > 0);
    assert_int_equal(guest.drops, 1);
    assert_int_equal(guest.drops_before_it_left, 0);
    assert_int_equal(visits, is_periodic);
    pthread_join(helper, NULL);
    assert_int_equal(tw_runtime_free(rt), 0);
}

FIXTURE(NULL, NULL);

TEST(cancel_all_waits_for_a_callback_that_runs) {
    for (int i = 0; i < 4; ++i)
        cancel_all_while_a_callback_runs(i % 2 != 0, i / 2 != 0);
}

struct cancelled_on_worker {
    struct tw_workers *workers;
    struct guest *guest;
};

/* Returns when tw_keyed_cancel_all has cancelled the waiting fires. */
static void *let_leave_once_cancelled(void *arg) {
    const struct cancelled_on_worker *cancelled = arg;
    struct tw_worker_stats stats;
    wait_for(tw_workers_stats(cancelled->workers, &stats) == 0 && stats.waiting == 0);
    return let_leave_soon(cancelled->guest);
}

/* The last of three fires waits behind the first. tw_keyed_cancel_all prevents that fire, so it calls `each`.
 */
TEST(cancel_all_visits_a_timer_whose_last_fire_waits_for_a_worker) {
    struct bench bench = {virtual_runtime(), NULL};
    struct tw_set_options options = {.capacity = 0};
    struct guest guest = {.drops = 0};
    const struct tw_task task = staying(&guest);
    struct tw_when when = every_ms(1);
    struct tw_worker_stats stats = {0};
    pthread_t helper;
    when.fires = 3;
    assert_int_equal(tw_workers_new(&options.workers, bench.rt, NULL), 0);
    assert_int_equal(tw_keyed_new(&bench.keyed, bench.rt, &options), 0);
    assert_int_equal(tw_keyed_set(bench.keyed, tw_key_number(1), &when, &task), 0);
    pass_ms(bench, 3);
    wait_for(guest.gate.inside == 1);
    assert_int_equal(tw_workers_stats(options.workers, &stats), 0);
    assert_int_equal(stats.waiting, 2);
    struct cancelled_on_worker cancelled = {options.workers, &guest};
    assert_int_equal(pthread_create(&helper, NULL, let_leave_once_cancelled, &cancelled), 0);
    visits = 0;
    assert_int_equal(tw_keyed_cancel_all(bench.keyed, count_visit, NULL), 1);
    assert_int_equal(visits, 1);
    assert_int_equal(guest.drops, 1);
    pthread_join(helper, NULL);
    assert_int_equal(tw_keyed_free(bench.keyed), 0);
    assert_int_equal(tw_runtime_free(bench.rt), 0);
}

/* Two threads call tw_keyed_cancel_all while the runtime's thread fires. Each timer fires, or one of the two
 * threads gets it. After both calls nothing fires. */
static struct tw_keyed *shared;
static struct probe shared_probes[KEYS];
static atomic_uint shared_visits;
static pthread_barrier_t both;

static int count_shared(UNUSED const struct tw_entry *entry, UNUSED void *visit_arg) {
    atomic_fetch_add(&shared_visits, 1);
    return 0;
}

static void *cancel_all_shared(void *arg) {
    pthread_barrier_wait(&both);
    *(int64_t *)arg = tw_keyed_cancel_all(shared, count_shared, NULL);
    return NULL;
}

static void cancel_all_twice_at_once(void) {
    pthread_t thread;
    int64_t mine, others;
    memset(shared_probes, 0, sizeof shared_probes);
    atomic_store(&shared_visits, 0);
    for (unsigned i = 0; i < KEYS; ++i) {
        const struct tw_when when = {.due_ns = (i % 5) * 50 * TW_MICROSECOND};
        const struct tw_task task = counting(&shared_probes[i]);
        assert_int_equal(tw_keyed_set(shared, tw_key_number(i), &when, &task), 0);
    }
    assert_int_equal(pthread_create(&thread, NULL, cancel_all_shared, &others), 0);
    cancel_all_shared(&mine);
    pthread_join(thread, NULL);
    unsigned fires = 0;
    for (unsigned i = 0; i < KEYS; ++i) {
        assert_int_equal(shared_probes[i].drops, 1);
        fires += shared_probes[i].fires;
    }
    assert_int_equal(fires + shared_visits, KEYS);
    assert_int_equal(mine + others, shared_visits);
    assert_int_equal(tw_keyed_count(shared), 0);
}

TEST(two_threads_that_cancel_all_share_the_timers) {
    struct tw_runtime *rt =
        started_runtime((struct tw_runtime_options){.driver = "epoll", .tick_ns = 10 * TW_MICROSECOND});
    assert_int_equal(tw_keyed_new(&shared, rt, NULL), 0);
    pthread_barrier_init(&both, NULL, 2);
    for (int i = 0; i < 200; ++i)
        cancel_all_twice_at_once();
    pthread_barrier_destroy(&both);
    assert_int_equal(tw_keyed_free(shared), 0);
    assert_int_equal(tw_runtime_free(rt), 0);
}
