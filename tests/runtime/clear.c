/* tw_runtime_clear: each node and job is reported once, in order, and timers of handles and keys stay. Clears
 * by several threads: cancel_against_fire.c. */
#include "support/gate.h"
#include "support/runtime_test.h"

#include <pthread.h>

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
    static struct tw_job held, held_in_second, jobs[JOBS], often;
    struct gate gate = {0};
    struct tw_workers *pool = NULL, *second = NULL;
    struct tw_handles *set = NULL;
    make((struct tw_runtime_options){.driver = "manual"});
    assert_ok(tw_workers_new(&pool, rt, &(struct tw_workers_options){.threads = 1}));
    assert_ok(tw_workers_new(&second, rt, &(struct tw_workers_options){.threads = 1}));
    assert_ok(tw_handles_new(&set, rt, &(struct tw_handles_options){.workers = pool}));
    struct tw_job *const holding[] = {&held, &held_in_second};
    for (unsigned i = 0; i < COUNT_OF(holding); ++i) {
        assert_ok(tw_job_init(holding[i], i == 0 ? pool : second, wait_in_gate, &gate, 0));
        assert_ok(tw_runtime_after(rt, &holding[i]->node, 0));
    }
    assert_ok(tw_job_init(&often, pool, count_node, NULL, 0));
    assert_ok(tw_runtime_advance(rt, 0));
    wait_for(gate.inside == 2);
    for (unsigned i = 0; i < COUNT_OF(holding); ++i) /* its own run keeps it waiting for a worker */
        assert_ok(tw_runtime_after(rt, &holding[i]->node, 0));
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
    assert_int_equal(times_told, JOBS + 3);
    for (unsigned i = 0; i < JOBS; ++i)
        assert_int_equal(tw_runtime_cancel(rt, &jobs[i].node), 0);
    atomic_store(&gate.open, true);
    assert_ok(tw_workers_wait(pool));
    assert_ok(tw_workers_wait(second));
    assert_int_equal(gate.passed, 2);
    assert_int_equal(fires, JOBS); /* of handles, which clear leaves alone */
    tw_runtime_free(rt);
}

static struct tw_job late, clears;

static void *advance_by(void *ns) {
    assert_ok(tw_runtime_advance(rt, *(int64_t *)ns));
    return NULL;
}

static void note_and_fire_late(struct tw_node *node, void *arg) {
    int64_t nothing = 0;
    pthread_t thread;
    note(node, arg);
    assert_ok(tw_runtime_after(rt, &late.node, 0));
    pthread_create(&thread, NULL, advance_by, &nothing);
    pthread_join(thread, NULL);
}

static struct tw_workers *held_pool(struct tw_job *held, struct gate *gate, uint32_t queue) {
    struct tw_workers *pool = NULL;
    assert_ok(tw_workers_new(&pool, rt, &(struct tw_workers_options){.threads = 1, .queue = queue}));
    assert_ok(tw_job_init(held, pool, wait_in_gate, gate, 0));
    assert_ok(tw_runtime_after(rt, &held->node, 0));
    assert_ok(tw_runtime_advance(rt, 0));
    wait_for(gate->inside == 1);
    return pool;
}

static void fire_job(struct tw_job *job) {
    assert_ok(tw_runtime_after(rt, &job->node, 0));
    assert_ok(tw_runtime_advance(rt, 0));
}

TEST(a_job_that_fires_during_the_clear_is_not_taken_back) {
    struct tw_job held, job;
    struct gate gate = {0};
    make((struct tw_runtime_options){.driver = "manual"});
    struct tw_workers *const pool = held_pool(&held, &gate, 0);
    assert_ok(tw_job_init(&job, pool, count_node, NULL, 0));
    assert_ok(tw_job_init(&late, pool, count_node, NULL, 0));
    fire_job(&job);
    times_told = 0;
    assert_ok(tw_runtime_clear(rt, note_and_fire_late, &times_told));
    assert_int_equal(times_told, 1);
    assert_ptr_equal(told[0], &job.node);
    atomic_store(&gate.open, true);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(fires, 1);
    tw_runtime_free(rt);
}

/* Inline, with the worker held, and another fire of it waits. */
TEST(an_inline_run_may_take_back_what_waits_behind_it) {
    struct tw_job held;
    struct gate gate = {0};
    make((struct tw_runtime_options){.driver = "manual"});
    struct tw_workers *const pool = held_pool(&held, &gate, 1);
    assert_ok(tw_job_init(&clears, pool, clear_inside, NULL, 0));
    fire_job(&clears);
    times_told = 0;
    fire_job(&clears);
    assert_int_equal(times_told, 1);
    assert_ptr_equal(told[0], &clears.node);
    atomic_store(&gate.open, true);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(times_told, 1);
    tw_runtime_free(rt);
}

static struct gate of_inline;
static struct tw_workers *pool_of_inline;

static void pass_inline(UNUSED const struct tw_event *event, UNUSED void *arg) { pass(&of_inline); }

/* Ends the inline run, so that its timer's next fire may be taken: it goes before all others. */
static void note_and_end_inline(struct tw_node *node, void *arg) {
    struct tw_worker_stats stats;
    note(node, arg);
    atomic_store(&of_inline.open, true);
    wait_for(tw_workers_stats(pool_of_inline, &stats) == 0 && stats.running == 1);
}

TEST(jobs_are_taken_back_though_their_places_in_the_queue_change_meanwhile) {
    struct tw_job held, first, last;
    struct gate gate = {0};
    struct tw_handles *set = NULL;
    int64_t nothing = 0;
    pthread_t thread;
    tw_handle id;
    const struct tw_task task = {.fn = pass_inline};
    const struct tw_when twice = {.due_ns = MS, .period_ns = MS, .missed = TW_BURST, .fires = 2};
    make((struct tw_runtime_options){.driver = "manual"});
    shut(&of_inline);
    pool_of_inline = held_pool(&held, &gate, 4);
    assert_ok(tw_handles_new(&set, rt, &(struct tw_handles_options){.workers = pool_of_inline}));
    assert_ok(tw_job_init(&first, pool_of_inline, count_node, NULL, 0));
    assert_ok(tw_job_init(&last, pool_of_inline, count_node, NULL, 0));
    assert_ok(tw_handle_start(set, &id, &twice, &task));
    assert_ok(tw_runtime_advance(rt, 2 * MS));
    fire_job(&first);
    assert_ok(tw_handle_after(set, &id, 0, count_fire, NULL));
    assert_ok(tw_runtime_advance(rt, 0));
    assert_ok(tw_runtime_after(rt, &last.node, 0));
    pthread_create(&thread, NULL, advance_by, &nothing); /* one fire too many: runs the oldest inline */
    wait_for(of_inline.inside == 1);
    times_told = 0;
    assert_ok(tw_runtime_clear(rt, note_and_end_inline, &times_told));
    pthread_join(thread, NULL);
    assert_int_equal(times_told, 2);
    assert_ptr_equal(told[0], &last.node);
    assert_ptr_equal(told[1], &first.node);
    atomic_store(&gate.open, true);
    assert_ok(tw_workers_wait(pool_of_inline));
    assert_int_equal(of_inline.passed, 2);
    assert_int_equal(fires, 1); /* of the handle */
    tw_runtime_free(rt);
}
