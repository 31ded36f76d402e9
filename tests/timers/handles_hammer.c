/* Threads start, stop, move, postpone, start again, walk and wait for timers of one set, also each other's
 * and deliberately stale ones, while another thread fires them. At the end everything must add up: each timer
 * had all its fires or was prevented, a oneshot never both, and each argument was dropped
 * once. The set has few cells, so that they are reused all the time. Also meant for
 * sanitizers. */
#include "handles_test.h"

#include <pthread.h>
#include <sched.h>

#include <tickwheel/workers.h>

enum { THREADS = 3, STARTS = 100000, BOARD = 48, CAPACITY = 64 };
static const int64_t round_ns = 2 * TW_SECOND, longest_delay_ns = 300 * TW_MICROSECOND;

/* One timer's life. A life is used once, a cell of the set many times. */
struct life {
    tw_handle id;
    unsigned fires_at_most;
    int64_t not_before; /* for timers that are never moved */
    atomic_uint fires, running, prevented, drops;
    char *memory; /* freed by drop */
};

static struct life *lives;
static atomic_uint lives_used;
static atomic_uint board[BOARD]; /* lives whose handles all threads know, stale or not */
static struct tw_handles *set;

static atomic_uint early, misused, wrong_answers, not_over, refused_for_room;
static atomic_bool is_over;

static bool is_moved(uint64_t place) { return place % 3 == 0; }

static struct life *random_life(uint64_t *seed, uint64_t *place) {
    *place = random_below(seed, BOARD);
    return &lives[atomic_load(&board[*place])];
}

/* --- what timers do ---------------------------------------------------------------------- */

static void fire(const struct tw_event *event, void *arg) {
    struct life *it = arg;
    atomic_fetch_add(&it->running, 1);
    atomic_fetch_add(&early, monotonic() < it->not_before);
    atomic_fetch_add(&misused, it->memory[0] != 1 || atomic_load(&it->drops) != 0 || event->handle == 0);
    const unsigned fires = atomic_fetch_add(&it->fires, 1);
    uint64_t seed = event->handle + fires, place;
    if (random_below(&seed, 4) == 0) {
        struct life *other = random_life(&seed, &place);
        if (tw_handle_stop(set, other->id) == 1)
            atomic_fetch_add(&other->prevented, 1);
    }
    atomic_fetch_sub(&it->running, 1);
}

static void drop(void *arg) {
    struct life *it = arg;
    atomic_fetch_add(&misused, atomic_load(&it->running) != 0);
    free(it->memory);
    atomic_fetch_add(&it->drops, 1);
}

/* --- what threads do --------------------------------------------------------------------- */

/* A refused start keeps its life for another attempt. Returns false if no lives are left. */
static bool start_one(uint64_t *seed, unsigned *number) {
    if (*number == 0)
        *number = atomic_fetch_add(&lives_used, 1);
    if (*number >= STARTS)
        return false;
    struct life *it = &lives[*number];
    const uint64_t place = random_below(seed, BOARD);
    const int64_t delay = (int64_t)random_below(seed, (uint64_t)longest_delay_ns);
    struct tw_when when = {.due_ns = delay};
    it->fires_at_most = random_below(seed, 2) == 0 ? 1 : 1 + (unsigned)random_below(seed, 5);
    if (it->fires_at_most > 1) {
        when.period_ns = 20 * TW_MICROSECOND;
        when.fires = it->fires_at_most;
    }
    it->not_before = is_moved(place) ? 0 : monotonic() + delay;
    it->memory = malloc(1);
    it->memory[0] = 1;
    const struct tw_task task = {.fn = fire, .arg = it, .drop = drop};
    const int error = tw_handle_start(set, &it->id, &when, &task);
    if (error == 0) {
        atomic_store(&board[place], *number);
        *number = 0;
        return true;
    }
    atomic_fetch_add(&wrong_answers, error != -ENOSPC);
    atomic_fetch_add(&refused_for_room, 1);
    free(it->memory);
    it->memory = NULL;
    sched_yield();
    return true;
}

static void stop_one(struct life *it, int (*stop)(struct tw_handles *, tw_handle)) {
    const int answer = stop(set, it->id);
    if (answer == 1)
        atomic_fetch_add(&it->prevented, 1);
    atomic_fetch_add(&wrong_answers, answer != 0 && answer != 1 && answer != -ESTALE);
    if (stop == tw_handle_stop_wait)
        atomic_fetch_add(&not_over, atomic_load(&it->running) != 0 || atomic_load(&it->drops) != 1);
}

static void move_one(struct life *it, uint64_t *seed) {
    const int64_t delay = (int64_t)random_below(seed, (uint64_t)longest_delay_ns);
    const uint64_t how = random_below(seed, 3);
    const int answer = how == 0   ? tw_handle_move(set, it->id, delay)
                       : how == 1 ? tw_handle_postpone(set, it->id, delay)
                                  : tw_handle_again(set, it->id);
    atomic_fetch_add(&wrong_answers, answer != 0 && answer != -ESTALE && answer != -EBUSY);
}

/* The argument is there while it is visited. */
static void visit(tw_handle id, void *arg, void *seed) {
    struct life *it = arg;
    atomic_fetch_add(&misused, it->memory[0] != 1);
    if (random_below(seed, 8) == 0 && tw_handle_stop(set, id) == 1)
        atomic_fetch_add(&it->prevented, 1);
    atomic_fetch_add(&misused, it->memory[0] != 1 || atomic_load(&it->drops) != 0);
}

static void walk(uint64_t *seed) { atomic_fetch_add(&wrong_answers, tw_handles_each(set, visit, seed) < 0); }

static void count_drained(UNUSED tw_handle id, void *arg, UNUSED void *drain_arg) {
    struct life *it = arg;
    atomic_fetch_add(&misused, it->memory[0] != 1 || atomic_load(&it->drops) != 0);
    atomic_fetch_add(&it->prevented, 1);
}

static void drain_all(void) {
    atomic_fetch_add(&wrong_answers, tw_handles_drain(set, count_drained, NULL) < 0);
}

static void *hammer(void *arg) {
    uint64_t seed = *(uint64_t *)arg, place;
    unsigned next_life = 0;
    while (!atomic_load(&is_over)) {
        struct life *it = random_life(&seed, &place);
        const uint64_t what = random_below(&seed, 16);
        if (what < 7 && !start_one(&seed, &next_life))
            break;
        else if (what < 10)
            stop_one(it, tw_handle_stop);
        else if (what < 13)
            stop_one(it, tw_handle_stop_wait);
        else if (what < 15 && is_moved(place))
            move_one(it, &seed);
        else if (random_below(&seed, 100) == 0)
            walk(&seed);
        else if (random_below(&seed, 1000) == 0)
            drain_all();
        else
            IGNORE(tw_handle_remaining(set, it->id));
    }
    return NULL;
}

/* --- a round and its accounting -------------------------------------------------------------- */

static void begin_round(void) {
    lives = calloc(STARTS, sizeof *lives);
    assert_non_null(lives);
    lives[0].drops = 1; /* shared before anything is started; never a timer */
    atomic_store(&lives_used, 1);
    for (unsigned i = 0; i < BOARD; ++i)
        atomic_store(&board[i], 0);
    early = misused = wrong_answers = not_over = refused_for_room = 0;
    atomic_store(&is_over, false);
}

/* Gives life 0 a handle that belongs to this set and is stale. */
static void make_first_stale(void) {
    assert_int_equal(tw_handle_after(set, &lives[0].id, TW_SECOND, fire, &lives[0]), 0);
    assert_int_equal(tw_handle_stop(set, lives[0].id), 1);
}

static void run_threads(uint64_t seed) {
    pthread_t threads[THREADS];
    uint64_t seeds[THREADS];
    for (unsigned t = 0; t < THREADS; ++t) {
        seeds[t] = seed + t;
        assert_int_equal(pthread_create(&threads[t], NULL, hammer, &seeds[t]), 0);
    }
    const int64_t end = monotonic() + round_ns;
    while (monotonic() < end && atomic_load(&lives_used) < STARTS)
        doze();
    atomic_store(&is_over, true);
    for (unsigned t = 0; t < THREADS; ++t)
        pthread_join(threads[t], NULL);
}

static void account(unsigned started) {
    uint64_t timers = 0, fires = 0, prevented = 0;
    for (unsigned i = 1; i < started; ++i) {
        const struct life *it = &lives[i];
        if (it->memory == NULL) {
            assert_int_equal(it->fires + it->drops, 0);
            continue; /* was refused until the end */
        }
        assert_int_equal(it->drops, 1);
        assert_int_equal(it->running, 0);
        assert_in_range(it->prevented, 0, 1);
        assert_true(it->fires == it->fires_at_most || (it->fires < it->fires_at_most && it->prevented == 1));
        ++timers;
        fires += it->fires;
        prevented += it->prevented;
    }
    assert_int_equal(early, 0);
    assert_int_equal(misused, 0);
    assert_int_equal(wrong_answers, 0);
    assert_int_equal(not_over, 0);
    assert_true(fires > 0 && prevented > 0);
    print_message("%llu timers: %llu fires, %llu prevented; %u refused for room\n",
                  (unsigned long long)timers, (unsigned long long)fires, (unsigned long long)prevented,
                  refused_for_room);
}

static void hammer_on(const char *driver, const struct tw_workers_options *pool, bool concurrent) {
    struct tw_runtime *rt =
        new_runtime((struct tw_runtime_options){.driver = driver, .tick_ns = 10 * TW_MICROSECOND});
    struct tw_handles_options options = {.capacity = CAPACITY, .concurrent = concurrent};
    if (pool != NULL)
        assert_int_equal(tw_workers_new(&options.workers, rt, pool), 0);
    set = new_set(rt, options);
    begin_round();
    make_first_stale();
    assert_ok(tw_runtime_start(rt));
    run_threads((uint64_t)monotonic());
    const unsigned used = atomic_load(&lives_used), started = used < STARTS ? used : STARTS;
    wait_for(tw_handles_count(set) == 0); /* the rest must fire */
    account(started);
    assert_int_equal(tw_handles_free(set), 0);
    tw_runtime_free(rt);
    free(lives);
}

TEST(hammered_on_the_runtimes_thread) {
    hammer_on("sleep", NULL, false);
    hammer_on("timerfd", NULL, false);
}

TEST(hammered_on_workers) {
    const struct tw_workers_options pool = {.threads = 2, .queue = 8};
    hammer_on("epoll", &pool, false);
}

TEST(hammered_on_workers_that_run_one_timer_at_the_same_time) {
    const struct tw_workers_options pool = {.threads = 3, .queue = 100, .when_full = TW_FULL_BLOCK};
    hammer_on("sleep", &pool, true);
}
