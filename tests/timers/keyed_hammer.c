/* Threads set, replace, move, postpone, start again, remove, walk and drain a few hundred keys while their
 * timers fire. Every timer is accounted for. Arguments are allocated on the heap and freed by `drop`, so that
 * sanitizers find a later use. */
#include "keyed_test.h"

#include <pthread.h>

#include <tickwheel/workers.h>

enum { KEYS = 300, THREADS = 3 };
#define DURATION TW_SECOND /* of real time at least, for each of four pools: races need it */

/* Properties of a key, by its number. */
static bool is_periodic(uint64_t key) { return key % 10 == 9; }
static bool is_never_moved(uint64_t key) { return key % 4 == 0; }
static uint64_t owner_of(uint64_t key) { return key % THREADS; } /* the thread that sets it */

/* The argument of one timer. */
struct token {
    uint64_t key;
    unsigned serial; /* numbers the timers of one key */
    int64_t earliest;
    atomic_uint fires, runs;
};

static struct tw_keyed *keyed;
static bool may_overlap;
static atomic_bool over;
static atomic_uint dropped_serial[KEYS];
static atomic_ullong sets, replacements, fires, drops, errors;

/* Counts of oneshot timers: set; dropped after a fire and without one; of the latter, those
 * reported as removed or drained, and those that a replacement dropped at once. */
static atomic_ullong oneshots, fired, unfired, prevented, displaced;
static _Thread_local bool setting;

/* Counts violations, since only the main thread asserts. */
static void expect(bool condition) { atomic_fetch_add(&errors, !condition); }

static void on_fire(const struct tw_event *event, void *arg) {
    struct token *token = arg;
    const unsigned others = atomic_fetch_add(&token->runs, 1);
    expect(event->key->is_number && event->key->number == token->key);
    expect(may_overlap || others == 0);
    expect(is_periodic(token->key) || token->fires == 0);
    expect(!is_never_moved(token->key) || monotonic() >= token->earliest);
    atomic_fetch_add(&token->fires, 1);
    atomic_fetch_add(&fires, 1);
    atomic_fetch_sub(&token->runs, 1);
}

static void note_serial(const struct token *token) {
    atomic_uint *last = &dropped_serial[token->key];
    unsigned seen = *last;
    while (seen < token->serial && !atomic_compare_exchange_weak(last, &seen, token->serial)) {
    }
}

static void on_drop(void *arg) {
    struct token *token = arg;
    expect(token->runs == 0);
    atomic_fetch_add(&drops, 1);
    if (!is_periodic(token->key)) {
        atomic_fetch_add(token->fires != 0 ? &fired : &unfired, 1);
        atomic_fetch_add(&displaced, token->fires == 0 && setting);
    }
    note_serial(token);
    free(token);
}

static void set_key(uint64_t key, unsigned serial, int64_t delay) {
    struct token *token = malloc(sizeof *token);
    *token = (struct token){.key = key, .serial = serial, .earliest = monotonic() + delay};
    const struct tw_task task = {.fn = on_fire, .arg = token, .drop = on_drop};
    struct tw_when when = {.due_ns = delay};
    when.period_ns = is_periodic(key) ? 100 * TW_MICROSECOND : 0;
    setting = true;
    const int replaced = tw_keyed_set(keyed, tw_key_number(key), &when, &task);
    setting = false;
    expect(replaced == 0 || replaced == 1);
    atomic_fetch_add(&sets, 1);
    atomic_fetch_add(&replacements, replaced == 1);
    atomic_fetch_add(&oneshots, !is_periodic(key));
}

static int remove_key(uint64_t key, bool waits) {
    const int removed = (waits ? tw_keyed_remove_wait : tw_keyed_remove)(keyed, tw_key_number(key));
    expect(removed == 0 || removed == 1 || removed == -ENOENT);
    atomic_fetch_add(&prevented, removed == 1 && !is_periodic(key));
    return removed;
}

static void count_drained(const struct tw_key *key, void *arg, UNUSED void *drain_arg) {
    expect(((struct token *)arg)->key == key->number);
    atomic_fetch_add(&prevented, !is_periodic(key->number));
}

static void visit(const struct tw_key *key, void *arg, void *seed) {
    struct token *token = arg;
    expect(token->key == key->number);
    if (random_below(seed, 100) == 0)
        (void)remove_key(key->number, false);
    expect(token->key == key->number); /* not freed meanwhile */
}

static void move_key(uint64_t key, int64_t delay, unsigned how) {
    const struct tw_key name = tw_key_number(key);
    const int moved = how == 0   ? tw_keyed_move(keyed, name, delay)
                      : how == 1 ? tw_keyed_postpone(keyed, name, delay)
                                 : tw_keyed_again(keyed, name);
    expect(moved == 0 || moved == -ENOENT || moved == -EBUSY);
}

/* Only this thread sets this key, so remove_wait removed the timer set last, which must be
 * dropped by now. */
static void remove_own_and_check(uint64_t key, unsigned serial) {
    if (remove_key(key, true) >= 0)
        expect(dropped_serial[key] >= serial);
}

static void *hammer(void *arg) {
    const unsigned me = *(const unsigned *)arg;
    uint64_t seed = me + 1;
    static unsigned serials[KEYS]; /* of each key, used by its owner only */
    while (!over) {
        const uint64_t key = random_below(&seed, KEYS), own = key - owner_of(key) + me;
        const int64_t delay = (int64_t)random_below(&seed, 300) * TW_MICROSECOND;
        const unsigned what = (unsigned)random_below(&seed, 1000);
        struct tw_keyed_timer timer;
        if (what < 500)
            set_key(own, ++serials[own], delay);
        else if (what < 650)
            remove_own_and_check(own, serials[own]);
        else if (what < 800)
            (void)remove_key(key, what < 700);
        else if (what < 900 && !is_never_moved(key))
            move_key(key, delay, what % 3);
        else if (what < 910)
            expect(tw_keyed_each(keyed, visit, &seed) >= 0);
        else if (what < 998)
            IGNORE(tw_keyed_get(keyed, tw_key_number(key), &timer));
        else
            expect(tw_keyed_drain(keyed, count_drained, NULL) >= 0);
    }
    return NULL;
}

static void reset(void) {
    atomic_ullong *const counts[] = {&sets,     &replacements, &fires,   &drops,     &errors,
                                     &oneshots, &fired,        &unfired, &prevented, &displaced};
    for (unsigned i = 0; i < COUNT_OF(counts); ++i)
        atomic_store(counts[i], 0);
    for (unsigned i = 0; i < KEYS; ++i)
        atomic_store(&dropped_serial[i], 0);
    atomic_store(&over, false);
}

static bool all_has_happened(void) { return fired > 0 && prevented > 0 && displaced > 0; }

/* On a busy machine it may take longer until a timer is not replaced before it can fire. */
static void let_them_hammer(void) {
    static const unsigned numbers[THREADS] = {0, 1, 2};
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, (void *)(uintptr_t)&numbers[i]), 0);
    const int64_t end = monotonic() + DURATION;
    while (monotonic() < end || !all_has_happened())
        doze();
    atomic_store(&over, true);
    for (unsigned i = 0; i < THREADS; ++i)
        pthread_join(threads[i], NULL);
}

/* A timer that is replaced while it is visited, or about to run on a worker, is dropped by that thread. */
static void assert_all_accounted_for(void) {
    print_message("%llu set, %llu replaced, %llu fires, %llu prevented\n", sets, replacements, fires,
                  prevented);
    assert_int_equal(errors, 0);
    assert_int_equal(drops, sets);
    assert_int_equal(fired + unfired, oneshots);
    assert_in_range(unfired, prevented + displaced, prevented + replacements);
}

static void hammered(const char *driver, enum tw_clock clock, bool on_workers, bool concurrent) {
    struct tw_runtime *rt = started_runtime(
        (struct tw_runtime_options){.driver = driver, .clock = clock, .tick_ns = 10 * TW_MICROSECOND});
    struct tw_keyed_options options = {.concurrent = concurrent};
    const struct tw_workers_options two = {.threads = 2};
    reset();
    may_overlap = concurrent;
    if (on_workers)
        assert_int_equal(tw_workers_new(&options.workers, rt, &two), 0);
    assert_int_equal(tw_keyed_new(&keyed, rt, &options), 0);
    let_them_hammer();
    assert_true(tw_keyed_drain(keyed, count_drained, NULL) >= 0);
    assert_int_equal(tw_keyed_count(keyed), 0);
    assert_int_equal(tw_runtime_count(rt), 0);
    assert_int_equal(tw_keyed_free(keyed), 0);
    assert_int_equal(tw_runtime_free(rt), 0);
    assert_all_accounted_for();
}

TEST(on_the_runtimes_thread) { hammered("sleep", TW_CLOCK_DEFAULT, false, false); }
TEST(on_the_wall_clock) { hammered("timerfd", TW_CLOCK_WALL, false, false); }
TEST(on_workers) { hammered("epoll", TW_CLOCK_DEFAULT, true, false); }
TEST(on_workers_concurrently) { hammered("sleep", TW_CLOCK_DEFAULT, true, true); }
