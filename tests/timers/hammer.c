/* Threads start, cancel, move, postpone, start again, walk, cancel all and wait for timers of one set or
 * table, also each other's timers and timers that are gone, while another thread or workers fire them. At the
 * end everything must add up: each timer had all its fires or a call prevented one, a one-shot timer never
 * both, and each argument was dropped once. The set has few cells, and the table few keys, so that the
 * library reuses them all the time. Also meant for sanitizers. */
#include "timers_test.h"

#include <pthread.h>
#include <sched.h>

#include <tickwheel/keyed.h>

enum { THREADS = 3, STARTS = 100000, BOARD = 48, CAPACITY = 64 };
static const int64_t round_ns = TW_SECOND; /* how long a round lasts: races need time */

/* One timer's life. The test uses a life once, but a cell of the set or a key of the table many times. */
struct life {
    tw_handle id;
    uint64_t place; /* index on the board; for a table, the key */
    unsigned fires_at_most;
    int64_t not_before; /* for timers that are never moved */
    atomic_uint fires, running, prevented, drops;
    char *memory; /* freed by drop */
};

static struct life *lives;
static atomic_uint lives_used;
static atomic_uint board[BOARD]; /* lives that all threads know, gone or not */
static struct tw_timers *set;
static struct tw_keyed *table; /* null if the round is one of a set */
static bool may_overlap;

static atomic_uint early, misused, wrong_answers, not_over, refused_for_room;
static atomic_uint removed, set_by_key; /* for a table, where a call cannot tell which life it ends */
static atomic_bool is_over;

static bool is_moved(uint64_t place) { return place % 4 == 0; }
static uint64_t owner_of(uint64_t place) { return place % THREADS; } /* the thread that sets this key */
static struct tw_key key_of(const struct life *life) { return tw_key_number(life->place); }

static struct life *random_life(uint64_t *seed) {
    return &lives[atomic_load(&board[random_below(seed, BOARD)])];
}

/* Delays for keys are shorter, because keys are reused sooner than cells. */
static int64_t random_delay(uint64_t *seed) {
    return (int64_t)random_below(seed, table != NULL ? 20 : 300) * TW_MICROSECOND;
}

static void expect(atomic_uint *violations, bool condition) { atomic_fetch_add(violations, !condition); }

/* --- calls, by handle or by key --------------------------------------------------------------- */

/* Only the owner of a key knows which life a cancel has ended. */
static void stop_one(struct life *life, bool waits, bool is_known) {
    const int answer = table != NULL ? (waits ? tw_keyed_cancel_wait : tw_keyed_cancel)(table, key_of(life))
                                     : (waits ? tw_timer_cancel_wait : tw_timer_cancel)(set, life->id);
    if (answer == 1)
        atomic_fetch_add(table != NULL ? &removed : &life->prevented, 1);
    const int gone = table != NULL ? -ENOENT : -ESTALE;
    expect(&wrong_answers, answer == 0 || answer == 1 || answer == gone);
    if (waits && is_known && (table == NULL || answer != gone))
        expect(&not_over, atomic_load(&life->running) == 0 && atomic_load(&life->drops) == 1);
}

static void move_one(struct life *life, uint64_t *seed) {
    const int64_t delay = random_delay(seed);
    const bool is_again = random_below(seed, 3) == 0;
    const int answer =
        table == NULL
            ? (is_again ? tw_timer_again(set, life->id) : tw_timer_move(set, life->id, delay))
            : (is_again ? tw_keyed_again(table, key_of(life)) : tw_keyed_move(table, key_of(life), delay));
    expect(&wrong_answers, answer == 0 || answer == -EBUSY || answer == (table != NULL ? -ENOENT : -ESTALE));
}

/* The argument must not be dropped during the visit. */
static void visit(struct life *life, uint64_t *seed) {
    expect(&misused, life->memory[0] == 1);
    if (random_below(seed, 8) == 0)
        stop_one(life, false, false);
    expect(&misused, life->memory[0] == 1 && atomic_load(&life->drops) == 0);
}

static int visit_handle(const struct tw_entry *entry, void *seed) {
    visit(entry->arg, seed);
    return 0;
}
static int visit_key(const struct tw_entry *entry, void *seed) {
    visit(entry->arg, seed);
    return 0;
}

static void note_cancelled(struct life *life) {
    expect(&misused, life->memory[0] == 1 && atomic_load(&life->drops) == 0);
    atomic_fetch_add(&life->prevented, 1);
}

static int cancelled_handle(const struct tw_entry *entry, UNUSED void *visit_arg) {
    note_cancelled(entry->arg);
    return 0;
}
static int cancelled_key(const struct tw_entry *entry, UNUSED void *visit_arg) {
    expect(&misused, entry->key->number == ((struct life *)entry->arg)->place);
    note_cancelled(entry->arg);
    return 0;
}

static void walk(uint64_t *seed) {
    expect(&wrong_answers, (table != NULL ? tw_keyed_each(table, visit_key, seed)
                                          : tw_timers_each(set, visit_handle, seed)) >= 0);
}

static void cancel_all(void) {
    expect(&wrong_answers, (table != NULL ? tw_keyed_cancel_all(table, cancelled_key, NULL)
                                          : tw_timers_cancel_all(set, cancelled_handle, NULL)) >= 0);
}

static size_t count_left(void) { return table != NULL ? tw_keyed_count(table) : tw_timers_count(set); }

/* --- what timers do ---------------------------------------------------------------------- */

static void fire(const struct tw_event *event, void *arg) {
    struct life *life = arg;
    const unsigned others = atomic_fetch_add(&life->running, 1);
    expect(&early, monotonic() >= life->not_before);
    expect(&misused, life->memory[0] == 1 && atomic_load(&life->drops) == 0 && (may_overlap || others == 0));
    expect(&misused, table != NULL ? event->key->number == life->place : event->handle != 0);
    uint64_t seed = life->place + 1 + atomic_fetch_add(&life->fires, 1) + (uint64_t)event->due_ns;
    if (random_below(&seed, 4) == 0)
        stop_one(random_life(&seed), false, false);
    atomic_fetch_sub(&life->running, 1);
}

static void drop(void *arg) {
    struct life *life = arg;
    expect(&misused, atomic_load(&life->running) == 0);
    free(life->memory);
    atomic_fetch_add(&life->drops, 1);
}

/* --- what threads do --------------------------------------------------------------------- */

/* A refused start keeps its life for another attempt. Returns false if no lives are left. */
static bool start_one(uint64_t *seed, uint64_t me, unsigned *number) {
    if (*number == 0)
        *number = atomic_fetch_add(&lives_used, 1);
    if (*number >= STARTS)
        return false;
    struct life *life = &lives[*number];
    const uint64_t place = random_below(seed, BOARD);
    const int64_t delay = random_delay(seed);
    struct tw_when when = {.due_ns = delay};
    life->place = place - owner_of(place) + me;
    life->fires_at_most = random_below(seed, 2) == 0 ? 1 : 1 + (unsigned)random_below(seed, 5);
    if (life->fires_at_most > 1) {
        when.period_ns = 20 * TW_MICROSECOND;
        when.missed = TW_BURST;
        when.fires = life->fires_at_most;
    }
    life->not_before = is_moved(life->place) ? 0 : monotonic() + delay;
    life->memory = malloc(1);
    life->memory[0] = 1;
    const struct tw_task task = {.fn = fire, .arg = life, .drop = drop};
    const int result = table != NULL ? tw_keyed_set(table, key_of(life), &when, &task)
                                     : tw_timer_start(set, &life->id, &when, &task);
    if (result == 0) {
        if (table != NULL)
            atomic_fetch_add(&set_by_key, 1);
        atomic_store(&board[life->place], *number);
        *number = 0;
        return true;
    }
    expect(&wrong_answers, result == -ENOSPC);
    atomic_fetch_add(&refused_for_room, 1);
    free(life->memory);
    life->memory = NULL;
    sched_yield();
    return true;
}

static void *hammer(void *arg) {
    uint64_t seed = *(uint64_t *)arg;
    const uint64_t me = seed % THREADS;
    unsigned next_life = 0;
    while (!atomic_load(&is_over)) {
        struct life *life = random_life(&seed);
        const uint64_t what = random_below(&seed, 16);
        const bool is_known = table == NULL || owner_of(life->place) == me;
        if (what < (table != NULL ? 1 : 7)) { /* a table has no bound, and each start replaces a timer */
            if (!start_one(&seed, me, &next_life))
                break;
        } else if (what >= 7 && what < 13) {
            stop_one(life, what >= 10, is_known);
        } else if (what >= 13 && what < 15 && is_moved(life->place)) {
            move_one(life, &seed);
        } else if (random_below(&seed, 100) == 0) {
            walk(&seed);
        } else if (random_below(&seed, 1000) == 0) {
            cancel_all();
        } else {
            IGNORE(table != NULL ? tw_keyed_get(table, key_of(life), NULL)
                                 : (int)timer_remaining(set, life->id));
        }
    }
    return NULL;
}

/* --- a round and its accounting -------------------------------------------------------------- */

/* All threads know life 0 before any timer is started. In a set, its handle is stale. */
static void begin_round(void) {
    lives = calloc(STARTS, sizeof *lives);
    assert_non_null(lives);
    atomic_store(&lives_used, 1);
    for (unsigned i = 0; i < BOARD; ++i)
        atomic_store(&board[i], 0);
    early = misused = wrong_answers = not_over = refused_for_room = removed = set_by_key = 0;
    atomic_store(&is_over, false);
    lives[0].drops = 1;
    if (table == NULL) {
        assert_int_equal(tw_timer_after(set, &lives[0].id, TW_SECOND, fire, &lives[0]), 0);
        assert_int_equal(tw_timer_cancel(set, lives[0].id), 1);
    }
}

static void run_threads(void) {
    pthread_t threads[THREADS];
    uint64_t seeds[THREADS];
    const uint64_t seed = (uint64_t)monotonic() / THREADS * THREADS;
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

/* In a table, a life without all its fires was cancelled or replaced. */
static void account(unsigned started) {
    uint64_t timers = 0, fires = 0, prevented = removed, unfinished = 0;
    for (unsigned i = 1; i < started; ++i) {
        const struct life *life = &lives[i];
        if (life->memory == NULL) {
            assert_int_equal(life->fires + life->drops, 0);
            continue; /* its start was refused until the end */
        }
        assert_int_equal(life->drops, 1);
        assert_int_equal(life->running, 0);
        assert_in_range(life->prevented, 0, 1);
        assert_in_range(life->fires, 0, life->fires_at_most);
        assert_true(table != NULL || life->fires == life->fires_at_most || life->prevented == 1);
        unfinished += life->fires < life->fires_at_most;
        ++timers;
        fires += life->fires;
        prevented += life->prevented;
    }
    print_message("%llu timers: %llu fires, %llu prevented; %u refused for room\n",
                  (unsigned long long)timers, (unsigned long long)fires, (unsigned long long)prevented,
                  refused_for_room);
    assert_int_equal(early + misused + wrong_answers + not_over, 0);
    assert_true(fires > 0 && prevented > 0);
    assert_in_range(unfinished, table != NULL ? prevented : 0, prevented + set_by_key);
}

static void hammer_on(struct tw_runtime_options of_runtime, const struct tw_workers_options *pool,
                      bool concurrent) {
    of_runtime.tick_ns = 10 * TW_MICROSECOND;
    for (int by_key = 0; by_key < 2; ++by_key) {
        struct tw_runtime *rt = new_runtime(of_runtime);
        struct tw_workers *workers = NULL;
        if (pool != NULL)
            assert_int_equal(tw_workers_new(&workers, rt, pool), 0);
        table = NULL;
        may_overlap = concurrent;
        if (by_key)
            assert_ok(tw_keyed_new(&table, rt,
                                   &(struct tw_set_options){.workers = workers, .concurrent = concurrent}));
        else
            set = new_set(rt, (struct tw_set_options){
                                  .capacity = CAPACITY, .workers = workers, .concurrent = concurrent});
        begin_round();
        assert_ok(tw_runtime_start(rt));
        run_threads();
        const unsigned used = atomic_load(&lives_used), started = used < STARTS ? used : STARTS;
        wait_for(count_left() == 0); /* the remaining timers must fire */
        assert_int_equal(tw_runtime_count(rt), 0);
        account(started);
        assert_int_equal(table != NULL ? tw_keyed_free(table) : tw_timers_free(set), 0);
        tw_runtime_free(rt);
        free(lives);
    }
}

TEST(hammered_on_the_runtimes_thread) {
    hammer_on((struct tw_runtime_options){.driver = "sleep"}, NULL, false);
    hammer_on((struct tw_runtime_options){.driver = "timerfd", .clock = TW_CLOCK_WALL}, NULL, false);
}

TEST(hammered_on_workers) {
    const struct tw_workers_options pool = {.threads = 2, .queue = 8};
    hammer_on((struct tw_runtime_options){.driver = "epoll"}, &pool, false);
}

TEST(hammered_on_workers_that_run_one_timer_at_the_same_time) {
    const struct tw_workers_options pool = {.threads = 3, .queue = 100, .when_full = TW_FULL_BLOCK};
    hammer_on((struct tw_runtime_options){.driver = "sleep"}, &pool, true);
}
