/* Cancelling everything: tw_runtime_clear for nodes and jobs, tw_handles_drain for handles.
 * Each timer is reported once, in order, and other threads may arm meanwhile. */
#include "support/gate.h"
#include "support/random.h"
#include "support/runtime_test.h"
#include "support/sanitized.h"

#include <pthread.h>
#include <stdbool.h>

#include <tickwheel/handle.h>
#include <tickwheel/keyed.h>
#include <tickwheel/workers.h>

#define MS TW_MILLISECOND

static struct tw_runtime *rt;
static atomic_uint fires, drops;

static void count_node(UNUSED struct tw_node *node, UNUSED void *arg) { atomic_fetch_add(&fires, 1); }
static void count_fire(UNUSED const struct tw_event *event, UNUSED void *arg) { atomic_fetch_add(&fires, 1); }
static void count_drop(UNUSED void *arg) { atomic_fetch_add(&drops, 1); }

static void make(struct tw_runtime_options options) {
    atomic_store(&fires, 0);
    atomic_store(&drops, 0);
    rt = new_runtime(options);
}

/* --- what the caller of clear is told -------------------------------------------------------- */

enum { NODES = 300 };

static struct tw_node nodes[NODES], *told[2 * NODES];
static size_t times_told;

static void note(struct tw_node *node, void *arg) {
    assert_int_equal(tw_runtime_remaining(rt, node), TW_NO_DEADLINE);
    assert_ptr_equal(arg, &times_told);
    told[times_told++] = node;
}

static void clear(void) {
    times_told = 0;
    assert_int_equal(tw_runtime_clear(rt, note, &times_told), 0);
}

/* Alternates delays, deadlines and periods, on every third tick. */
static void arm_nodes(void) {
    for (unsigned i = 0; i < NODES; ++i) {
        tw_node_init(&nodes[i], count_node, NULL);
        const struct tw_when when = {.due_ns =
                                         (1 + i / 9) * TW_SECOND + (i % 3 == 2 ? tw_runtime_now(rt) : 0),
                                     .absolute = i % 3 == 2,
                                     .period_ns = i % 3 == 1 ? 5 * MS : 0};
        assert_int_equal(tw_runtime_arm(rt, &nodes[i], &when), 0);
    }
}

static void assert_each_was_told_once(void) {
    assert_int_equal(times_told, NODES);
    for (unsigned i = 0; i < NODES; ++i) {
        unsigned times = 0;
        for (unsigned t = 0; t < times_told; ++t)
            times += told[t] == &nodes[i];
        assert_int_equal(times, 1);
    }
}

/* Nodes of one tick of one timeline are reported in the order they were armed. */
static void assert_told_in_order(void) {
    for (unsigned t = 1; t < times_told; ++t)
        for (unsigned s = 0; s < t; ++s) {
            const size_t earlier = (size_t)(told[s] - nodes), later = (size_t)(told[t] - nodes);
            const bool is_one_tick = earlier / 9 == later / 9 && (earlier % 3 == 2) == (later % 3 == 2);
            assert_true(!is_one_tick || earlier < later);
        }
}

TEST(every_node_of_both_timelines_is_told_once_and_idle) {
    const enum tw_clock clocks[] = {TW_CLOCK_VIRTUAL, TW_CLOCK_WALL};
    for (unsigned c = 0; c < COUNT_OF(clocks); ++c) {
        make((struct tw_runtime_options){.driver = "manual", .clock = clocks[c]});
        arm_nodes();
        clear();
        assert_each_was_told_once();
        assert_told_in_order();
        assert_int_equal(tw_runtime_count(rt), 0);
        clear();
        assert_int_equal(times_told, 0);
        assert_int_equal(tw_runtime_clear(rt, NULL, NULL), 0);
        assert_int_equal(tw_runtime_advance(rt, 3600 * TW_SECOND), 0);
        assert_int_equal(fires, 0);
        arm_nodes(); /* they can be armed again */
        assert_int_equal(tw_runtime_count(rt), NODES);
        tw_runtime_free(rt);
    }
    assert_int_equal(tw_runtime_clear(NULL, note, NULL), -EINVAL);
}

static void arm_again_or_cancel_next(struct tw_node *node, void *arg) {
    note(node, arg);
    if (node == &nodes[0])
        assert_int_equal(tw_runtime_after(rt, node, 0), 0); /* stays pending */
    else if (node + 1 < nodes + NODES)
        tw_runtime_cancel(rt, node + 1);
}

TEST(what_each_arms_stays_and_what_it_cancels_is_not_told) {
    make((struct tw_runtime_options){.driver = "manual"});
    arm_nodes();
    times_told = 0;
    assert_int_equal(tw_runtime_clear(rt, arm_again_or_cancel_next, &times_told), 0);
    assert_int_equal(times_told, 1 + NODES / 2);
    assert_int_equal(tw_runtime_count(rt), 1);
    assert_int_equal(tw_runtime_advance(rt, 0), 0);
    assert_int_equal(fires, 1);
    tw_runtime_free(rt);
}

static void clear_inside(UNUSED struct tw_node *node, UNUSED void *arg) { clear(); }

TEST(a_callback_may_clear_and_nothing_more_fires) {
    struct tw_node clears;
    make((struct tw_runtime_options){.driver = "manual"});
    tw_node_init(&clears, clear_inside, NULL);
    assert_int_equal(tw_runtime_every(rt, &clears, MS, TW_SKIP), 0);
    arm_nodes();
    assert_int_equal(tw_runtime_advance(rt, 3600 * TW_SECOND), 0);
    assert_int_equal(times_told, NODES + 1); /* it is periodic */
    assert_int_equal(fires, 0);
    tw_runtime_free(rt);
}

/* --- what clear does not change -------------------------------------------------------------- */

static int64_t due_by_order[4 * NODES];
static unsigned by_order;

static void note_due(const struct tw_event *event, UNUSED void *arg) {
    due_by_order[by_order++] = event->due_ns;
}

TEST(timers_of_handles_and_keys_stay_and_fire_as_they_would_have) {
    for (int on_wall = 0; on_wall <= 1; ++on_wall) {
        struct tw_handles *set = NULL;
        struct tw_keyed *table = NULL;
        tw_handle id;
        make((struct tw_runtime_options){.driver = "manual",
                                         .clock = on_wall ? TW_CLOCK_WALL : TW_CLOCK_VIRTUAL});
        assert_ok(tw_handles_new(&set, rt, NULL));
        assert_ok(tw_keyed_new(&table, rt, NULL));
        arm_nodes();
        by_order = 0;
        for (unsigned i = 0; i < NODES; ++i) {
            const struct tw_task task = {.fn = note_due, .drop = count_drop};
            const struct tw_when at = {.due_ns = (NODES - i) * TW_SECOND, .absolute = i % 2};
            const struct tw_when often = {.due_ns = TW_SECOND, .period_ns = TW_SECOND, .fires = 3};
            assert_int_equal(tw_handle_start(set, &id, i == 0 ? &often : &at, &task), 0);
            assert_int_equal(tw_keyed_after(table, tw_key_number(i), 3600 * TW_SECOND, note_due, NULL), 0);
        }
        assert_int_equal(tw_runtime_advance(rt, 1500 * MS), 0); /* in the middle of the period */
        clear();
        assert_int_equal(tw_runtime_advance(rt, NODES * TW_SECOND), 0);
        assert_int_equal(by_order, NODES + 2);
        for (unsigned i = 1; i < by_order && !on_wall; ++i)
            assert_true(due_by_order[i - 1] <= due_by_order[i]);
        assert_int_equal(drops, NODES);
        assert_int_equal(tw_handles_count(set), 0);
        assert_int_equal(tw_keyed_drain(table, NULL, NULL), NODES);
        tw_runtime_free(rt);
    }
}

/* Sets the clock back before any other node has been reported, and makes the runtime notice
 * it. */
static void note_and_set_back(struct tw_node *node, void *arg) {
    note(node, arg);
    if (times_told == 1) {
        assert_ok(tw_runtime_set_wall(rt, 1000 * TW_SECOND));
        assert_int_equal(tw_runtime_at(rt, node, 5000 * TW_SECOND), 0);
        assert_int_equal(tw_runtime_cancel(rt, node), 1);
    }
}

TEST(p1_a_clock_set_back_meanwhile_makes_nothing_that_stays_fire_early) {
    struct tw_handles *set = NULL;
    const struct tw_task task = {.fn = note_due};
    const struct tw_when when = {.due_ns = 2100 * TW_SECOND, .absolute = 1};
    tw_handle id;
    make((struct tw_runtime_options){.driver = "manual", .clock = TW_CLOCK_WALL});
    assert_ok(tw_runtime_set_wall(rt, 2000 * TW_SECOND));
    assert_ok(tw_handles_new(&set, rt, NULL));
    for (unsigned i = 0; i < NODES; ++i) {
        tw_node_init(&nodes[i], count_node, NULL);
        assert_ok(tw_runtime_at(rt, &nodes[i], 2001 * TW_SECOND));
    }
    assert_ok(tw_handle_start(set, &id, &when, &task));
    times_told = by_order = 0;
    assert_ok(tw_runtime_clear(rt, note_and_set_back, &times_told));
    assert_each_was_told_once();
    assert_int_equal(tw_runtime_count(rt), 1);
    assert_int_equal(tw_handle_remaining(set, id), 1100 * TW_SECOND);
    assert_ok(tw_runtime_advance(rt, 1100 * TW_SECOND - MS));
    assert_int_equal(by_order, 0);
    assert_ok(tw_runtime_advance(rt, MS));
    assert_int_equal(by_order, 1);
    assert_int_equal(due_by_order[0], 2100 * TW_SECOND);
    assert_int_equal(fires, 0);
    tw_runtime_free(rt);
}

/* --- jobs --------------------------------------------------------------------------------------- */

TEST(jobs_that_wait_are_taken_back) {
    enum { JOBS = 50 };
    static struct tw_job held, jobs[JOBS], often;
    struct gate gate = {0};
    struct tw_workers *pool = NULL;
    struct tw_handles *set = NULL;
    make((struct tw_runtime_options){.driver = "manual"});
    assert_ok(tw_workers_new(&pool, rt, &(struct tw_workers_options){.threads = 1}));
    assert_ok(tw_handles_new(&set, rt, &(struct tw_handles_options){.workers = pool}));
    assert_ok(tw_job_init(&held, pool, wait_in_gate, &gate, 0));
    assert_ok(tw_job_init(&often, pool, count_node, NULL, 0));
    assert_ok(tw_runtime_after(rt, &held.node, 0));
    assert_ok(tw_runtime_advance(rt, 0));
    wait_for(gate.inside == 1);
    assert_ok(tw_runtime_after(rt, &held.node, 0)); /* its own run keeps it waiting for a worker */
    assert_ok(tw_runtime_every(rt, &often.node, MS, TW_BURST));
    for (unsigned i = 0; i < JOBS; ++i) {
        tw_handle id;
        assert_ok(tw_job_init(&jobs[i], pool, count_node, NULL, i % 2 == 0 ? TW_CONCURRENT : 0));
        assert_ok(tw_runtime_after(rt, &jobs[i].node, 0));
        assert_ok(tw_handle_after(set, &id, 0, count_fire, NULL));
    }
    assert_ok(tw_runtime_advance(rt, 3 * MS));
    clear();
    /* each once, including the one that waits for a worker and is pending again */
    assert_int_equal(times_told, JOBS + 2);
    for (unsigned i = 0; i < JOBS; ++i)
        assert_int_equal(tw_runtime_cancel(rt, &jobs[i].node), 0);
    atomic_store(&gate.open, true);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(gate.passed, 1);
    assert_int_equal(fires, JOBS); /* of handles, which clear leaves alone */
    tw_runtime_free(rt);
}

/* --- against other threads ------------------------------------------------------------------- */

enum { THREADS = 3, OWN = 40 };

static atomic_bool over;
static struct tw_handles *hammered;
static atomic_uint started, dropped;

static void count_dropped(UNUSED void *arg) { atomic_fetch_add(&dropped, 1); }

/* Usable on any thread. */
#define check(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

/* Arms and frees nodes, starts and stops timers. The counts at the end reveal any loss. */
static void *hammer(void *arg) {
    struct tw_node own[OWN];
    uint64_t seed = (uintptr_t)arg;
    for (unsigned i = 0; i < OWN; ++i)
        tw_node_init(&own[i], count_node, NULL);
    while (!atomic_load(&over)) {
        struct tw_node *const node = &own[random_below(&seed, OWN)];
        const int64_t delay = (int64_t)random_below(&seed, 3 * MS);
        const bool absolute = random_below(&seed, 2) != 0;
        const struct tw_when when = {.due_ns = absolute ? tw_runtime_now(rt) + delay : delay,
                                     .absolute = absolute,
                                     .period_ns = (int64_t)random_below(&seed, 2) * MS};
        const struct tw_task task = {.fn = count_fire, .drop = count_dropped};
        tw_handle id = TW_NO_HANDLE;
        check(0 <= tw_runtime_arm(rt, node, &when));
        check(0 <= tw_handle_start(hammered, &id, &when, &task));
        atomic_fetch_add(&started, 1);
        if (when.period_ns != 0 || random_below(&seed, 2) == 0) {
            const int stopped = tw_handle_stop_wait(hammered, id);
            check(stopped == -ESTALE || stopped == 0 || stopped == 1);
        }
        if (random_below(&seed, 8) == 0) { /* P6: its owner may overwrite it then */
            check(0 <= tw_runtime_shutdown(rt, node));
            memset(node, 0xa5, sizeof *node);
            tw_node_init(node, count_node, NULL);
        }
    }
    for (unsigned i = 0; i < OWN; ++i)
        check(0 <= tw_runtime_shutdown(rt, &own[i]));
    return NULL;
}

static void *set_wall(UNUSED void *arg) {
    uint64_t seed = 7;
    while (!atomic_load(&over)) {
        check(0 <= tw_runtime_set_wall(rt, (int64_t)random_below(&seed, 1000 * TW_SECOND)));
        check(0 <= tw_runtime_advance(rt, MS));
    }
    return NULL;
}

static void clear_beside(const char *driver, enum tw_clock clock) {
    pthread_t threads[THREADS + 1];
    const bool is_manual = strcmp(driver, "manual") == 0;
    const unsigned count = is_manual ? THREADS + 1 : THREADS;
    make((struct tw_runtime_options){.driver = driver, .clock = clock});
    assert_ok(tw_handles_new(&hammered, rt, NULL));
    atomic_store(&over, false);
    atomic_store(&started, 0);
    atomic_store(&dropped, 0);
    if (!is_manual)
        assert_ok(tw_runtime_start(rt));
    for (unsigned i = 0; i < THREADS; ++i)
        pthread_create(&threads[i], NULL, hammer, (void *)(uintptr_t)(i + 1));
    if (is_manual)
        pthread_create(&threads[THREADS], NULL, set_wall, NULL);
    const int64_t end = monotonic() + (SLOW ? 600 : 200) * MS;
    do
        assert_int_equal(tw_runtime_clear(rt, NULL, NULL), 0);
    while (monotonic() < end);
    atomic_store(&over, true);
    for (unsigned i = 0; i < count; ++i)
        pthread_join(threads[i], NULL);
    if (is_manual)
        assert_ok(tw_runtime_set_wall(rt, 2000 * TW_SECOND));
    if (is_manual)
        assert_ok(tw_runtime_advance(rt, 2000 * TW_SECOND));
    wait_for(tw_handles_count(hammered) == 0); /* none was lost: each has fired or was stopped */
    assert_int_equal(started, dropped);
    assert_int_equal(tw_runtime_count(rt), 0);
    tw_runtime_free(rt);
}

TEST(clearing_while_others_arm_start_stop_and_set_the_clock) {
    clear_beside("sleep", TW_CLOCK_DEFAULT);
    clear_beside("epoll", TW_CLOCK_WALL);
    clear_beside("manual", TW_CLOCK_WALL);
}

/* --- handles -------------------------------------------------------------------------------------- */

static struct tw_handles *set;
static tw_handle ids[NODES];
static unsigned times_drained;
static int64_t answer;

static void note_drained(tw_handle id, void *arg, void *drain_arg) {
    const size_t number = (size_t)((tw_handle *)arg - ids);
    assert_ptr_equal(drain_arg, &times_drained);
    assert_int_equal(id, ids[number]);
    assert_int_equal(tw_handle_stop(set, id), -ESTALE);
    assert_int_equal(tw_handles_free(set), -EBUSY);
    assert_int_equal(drops, times_drained); /* its own drop comes after this */
    ++times_drained;
}

static void start_handles(tw_task_callback *fn_of_first) {
    make((struct tw_runtime_options){.driver = "manual"});
    assert_ok(tw_handles_new(&set, rt, NULL));
    times_drained = 0;
    for (unsigned i = 0; i < NODES; ++i) {
        const struct tw_task task = {
            .fn = i == 0 ? fn_of_first : count_fire, .arg = &ids[i], .drop = count_drop};
        const struct tw_when when = {.due_ns = MS, .period_ns = i % 2 == 0 ? MS : 0};
        assert_int_equal(tw_handle_start(set, &ids[i], &when, &task), 0);
    }
}

TEST(draining_handles_tells_each_and_drops_it) {
    start_handles(count_fire);
    assert_int_equal(tw_handle_stop(set, ids[5]), 1);
    atomic_store(&drops, 0);
    assert_int_equal(tw_handles_drain(set, note_drained, &times_drained), NODES - 1);
    assert_int_equal(times_drained, NODES - 1);
    assert_int_equal(drops, NODES - 1);
    assert_int_equal(tw_handles_count(set), 0);
    assert_int_equal(tw_handles_drain(set, NULL, NULL), 0);
    assert_int_equal(tw_runtime_advance(rt, TW_SECOND), 0);
    assert_int_equal(fires, 0);
    assert_int_equal(tw_handle_after(set, &ids[0], 0, count_fire, NULL), 0); /* the set works as before */
    assert_int_equal(tw_runtime_advance(rt, 0), 0);
    assert_int_equal(fires, 1);
    assert_int_equal(tw_handles_drain(NULL, NULL, NULL), -EINVAL);
    tw_runtime_free(rt);
}

static void drain_inside(UNUSED const struct tw_event *event, UNUSED void *arg) {
    answer = tw_handles_drain(set, NULL, NULL);
    assert_int_equal(drops, NODES - 1); /* all but the timer that is running */
    assert_int_equal(tw_handles_count(set), 1);
}

TEST(a_callback_may_drain_its_own_set) {
    start_handles(drain_inside);
    assert_int_equal(tw_runtime_advance(rt, TW_SECOND), 0);
    assert_int_equal(answer, NODES); /* its own periodic timer was still pending */
    assert_int_equal(fires, 0);
    assert_int_equal(drops, NODES);
    assert_int_equal(tw_handles_count(set), 0);
    tw_runtime_free(rt);
}

/* --- sets that have shrunk ------------------------------------------------------------------- */

enum { MANY = SLOW ? 20000 : 200000 };

static int64_t cpu_time(void) { return reading_of(CLOCK_THREAD_CPUTIME_ID); }

static int64_t time_to_drain(unsigned timers, int64_t drained) {
    for (unsigned i = 0; i < timers; ++i) {
        tw_handle id;
        assert_int_equal(tw_handle_after(set, &id, 3600 * TW_SECOND, count_fire, NULL), 0);
    }
    const int64_t begin = cpu_time();
    assert_int_equal(tw_handles_drain(set, NULL, NULL), drained);
    return cpu_time() - begin;
}

TEST(draining_takes_no_time_for_what_was_there_before_the_set_was_empty) {
    make((struct tw_runtime_options){.driver = "manual"});
    assert_ok(tw_handles_new(&set, rt, NULL));
    const int64_t time_for_many = time_to_drain(MANY, MANY);
    int64_t least = INT64_MAX;
    for (unsigned tries = 0; tries < 5; ++tries) {
        const int64_t time = time_to_drain(0, 0) + time_to_drain(3, 3);
        least = time < least ? time : least;
    }
    assert_true(least < time_for_many / 50);
    tw_runtime_free(rt);
}

TEST(p11_handles_from_before_the_set_was_empty_stay_refused) {
    static tw_handle before[6000], after[6000];
    make((struct tw_runtime_options){.driver = "manual"});
    assert_ok(tw_handles_new(&set, rt, NULL));
    for (unsigned times = 0; times < 5; ++times) {
        for (unsigned i = 0; i < COUNT_OF(before); ++i)
            assert_int_equal(tw_handle_after(set, &before[i], TW_SECOND, count_fire, NULL), 0);
        assert_int_equal(tw_handles_drain(set, NULL, NULL), COUNT_OF(before));
        for (unsigned i = 0; i < COUNT_OF(before); ++i)
            assert_int_equal(tw_handle_stop(set, before[i]), -ESTALE);
        for (unsigned i = 0; i < COUNT_OF(after) / 2; ++i)
            assert_int_equal(tw_handle_after(set, &after[i], TW_SECOND, count_fire, NULL), 0);
        for (unsigned i = 0; i < COUNT_OF(before); ++i)
            assert_int_equal(tw_handle_stop(set, before[i]), -ESTALE);
        for (unsigned i = 0; i < COUNT_OF(after) / 2; ++i)
            assert_int_equal(tw_handle_stop(set, after[i]), 1);
    }
    assert_int_equal(tw_handles_count(set), 0);
    tw_runtime_free(rt);
}
