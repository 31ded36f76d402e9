/* The end of the queue when the runtime stops, of a pool, and of the runtime from inside a run. */
#include "support/counted_closes.h"
#include "workers_test.h"

#include <tickwheel/timers.h>

static struct tw_work held, items[20];

static void make(struct tw_runtime_options options, struct tw_workers_options of_pool) {
    shut(&gate);
    atomic_store(&runs, 0);
    rt = new_runtime(options);
    pool = new_pool(rt, of_pool);
    for (unsigned i = 0; i < COUNT_OF(items); ++i)
        init_item(&items[i], pool, count, NULL);
}

/* Begins with a run that holds the worker, and fires that wait in the queue. */
static void begin(enum tw_at_stop at_stop) {
    make(by_hand, (struct tw_workers_options){.threads = 1, .at_stop = at_stop});
    hold_a_worker(&held, &gate);
    for (unsigned i = 0; i < COUNT_OF(items); ++i)
        fire(&items[i]);
    fire(&held); /* the work item's own run keeps this fire from being ready */
}

static atomic_bool returned;

static void *stop_it(UNUSED void *arg) {
    if (tw_runtime_stop(rt) != 0)
        atomic_fetch_add(&faults, 1);
    atomic_store(&returned, true);
    return NULL;
}

/* Stops while a run is held; the stop waits for it. */
static void stop_meanwhile(void) {
    pthread_t thread;
    atomic_store(&returned, false);
    pthread_create(&thread, NULL, stop_it, NULL);
    for (int i = 0; i < 20; ++i)
        doze();
    assert_false(returned);
    atomic_store(&gate.open, true);
    pthread_join(thread, NULL);
}

TEST(stop_drains_the_queue) {
    begin(TW_STOP_DRAIN);
    stop_meanwhile();
    const struct tw_worker_stats stats = stats_of(pool);
    assert_int_equal(runs, COUNT_OF(items));
    assert_int_equal(gate.passed, 2);
    assert_int_equal(stats.discarded, 0);
    assert_int_equal(stats.waiting + stats.running, 0);
    fire(&items[0]); /* the pool continues */
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(runs, COUNT_OF(items) + 1);
    assert_ok(tw_runtime_free(rt));
    assert_int_equal(faults, 0);
}

TEST(stop_discards_the_queue_and_counts_it) {
    begin(TW_STOP_DISCARD);
    stop_meanwhile();
    const struct tw_worker_stats stats = stats_of(pool);
    assert_int_equal(runs, 0);
    assert_int_equal(gate.passed, 1);
    assert_int_equal(stats.discarded, COUNT_OF(items) + 1);
    assert_int_equal(stats.runs, 1);
    assert_int_equal(stats.waiting + stats.running, 0);
    assert_int_equal(tw_runtime_cancel(rt, &items[3].node), 0);
    fire(&items[0]);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(runs, 1);
    assert_ok(tw_runtime_free(rt));
    assert_int_equal(faults, 0);
}

TEST(freeing_pool_or_runtime_ends_the_queue_by_the_same_rule) {
    for (int of_runtime = 0; of_runtime <= 1; ++of_runtime)
        for (enum tw_at_stop at_stop = TW_STOP_DRAIN; at_stop <= TW_STOP_DISCARD; ++at_stop) {
            begin(at_stop);
            atomic_store(&gate.open, true);
            if (!of_runtime)
                assert_int_equal(tw_workers_free(pool), 0);
            assert_int_equal(tw_runtime_free(rt), 0);
            assert_true(at_stop == TW_STOP_DISCARD || runs == COUNT_OF(items));
        }
}

/* The worker of this callback runs nothing else, so only a discard empties the queue. */
static void pass_and_wait_for_discard(UNUSED struct tw_node *node, void *arg) {
    pass(arg);
    while (stats_of(pool).waiting != 0)
        doze();
}

TEST(freeing_a_pool_discards_the_queue_at_once) {
    make(by_hand, (struct tw_workers_options){.threads = 1, .at_stop = TW_STOP_DISCARD});
    init_item(&held, pool, pass_and_wait_for_discard, &gate);
    fire(&held);
    wait_for(atomic_load(&gate.inside) == 1);
    for (unsigned i = 0; i < COUNT_OF(items); ++i)
        fire(&items[i]);
    atomic_store(&gate.open, true);
    assert_int_equal(tw_workers_free(pool), 0);
    assert_int_equal(runs, 0);
    assert_ok(tw_runtime_free(rt));
}

TEST(several_pools_of_one_runtime_end_with_it) {
    struct tw_work of_others[3];
    make(by_hand, (struct tw_workers_options){.threads = 2});
    for (unsigned i = 0; i < COUNT_OF(of_others); ++i) {
        struct tw_workers *const other = new_pool(rt, (struct tw_workers_options){.threads = 1});
        init_item(&of_others[i], other, count, NULL);
        fire(&of_others[i]);
    }
    fire(&items[0]);
    assert_ok(tw_runtime_free(rt));
    assert_int_equal(runs, 4);
}

/* --- from inside a run ---------------------------------------------------------------- */

static void try_all(UNUSED struct tw_node *node, UNUSED void *arg) {
    const int results[] = {tw_runtime_start(rt), tw_runtime_dispatch(rt), tw_runtime_fd(rt),
                           tw_workers_free(pool), tw_workers_wait(pool)};
    for (unsigned i = 0; i < COUNT_OF(results); ++i)
        if (results[i] != -EBUSY)
            atomic_fetch_add(&faults, 1);
    atomic_fetch_add(&runs, 1);
}

TEST(inside_a_run_what_would_wait_for_it_is_refused) {
    make((struct tw_runtime_options){.driver = "timerfd"}, (struct tw_workers_options){0});
    init_item(&held, pool, try_all, NULL);
    assert_ok(tw_runtime_start(rt));
    assert_ok(tw_runtime_after(rt, &held.node, 0));
    wait_for(atomic_load(&runs) == 1);
    assert_int_equal(faults, 0);
    assert_ok(tw_runtime_free(rt));
}

static void stop_from_inside(UNUSED struct tw_node *node, void *arg) {
    if (tw_runtime_stop(rt) != 0)
        atomic_fetch_add(&faults, 1);
    atomic_fetch_add(&runs, 1);
    pass(arg);
}

/* The runtime's thread sleeps for an hour when a worker stops it; start joins it. */
TEST(a_run_may_stop_the_runtime) {
    for (unsigned d = 0; d < thread_drivers_here(); ++d) {
        struct tw_node far;
        make((struct tw_runtime_options){.driver = thread_drivers[d]}, (struct tw_workers_options){0});
        tw_node_init(&far, count, NULL);
        init_item(&held, pool, stop_from_inside, &gate);
        assert_ok(tw_runtime_start(rt));
        assert_ok(tw_runtime_after(rt, &far, 3600 * TW_SECOND));
        assert_ok(tw_runtime_after(rt, &held.node, 0));
        wait_for(atomic_load(&runs) == 1);
        assert_int_equal(tw_runtime_start(rt), 0);
        assert_ok(tw_runtime_after(rt, &items[0].node, 0));
        wait_for(atomic_load(&runs) == 2);
        atomic_store(&gate.open, true);
        assert_int_equal(tw_runtime_stop(rt), 0);
        assert_int_equal(gate.passed, 1);
        assert_ok(tw_runtime_free(rt));
    }
    assert_int_equal(faults, 0);
}

static void pass_and_stop(UNUSED struct tw_node *node, void *arg) {
    tw_runtime_stop(rt);
    pass(arg);
}

struct handle_fires {
    int count, drops;
    uint64_t overruns;
};

static void count_handle(const struct tw_event *event, void *arg) {
    struct handle_fires *const fires = arg;
    ++fires->count;
    fires->overruns += event->overruns;
}

/* The library calls this for a discarded fire, while no callback runs. */
static void count_drop(void *arg) {
    ++((struct handle_fires *)arg)->drops;
    if (tw_runtime_due(rt) != TW_NO_DEADLINE || tw_runtime_overruns(rt) != 0)
        atomic_fetch_add(&faults, 1);
}

static void advance_by_each_ms(int periods) {
    for (int i = 0; i < periods; ++i)
        assert_ok(tw_runtime_advance(rt, TW_MILLISECOND));
}

/* The stop discards the waiting fires; fires after the stop wait, and do not join the discarded ones. */
static void stop_from_a_run(enum tw_missed missed, unsigned discards, int fires, uint64_t overruns) {
    make(by_hand, (struct tw_workers_options){.threads = 1, .at_stop = TW_STOP_DISCARD});
    hold_a_worker(&held, &gate);
    struct tw_work stops;
    struct gate second = {0};
    struct tw_timers *set = NULL;
    struct handle_fires often = {0}, once = {0};
    const struct tw_task task = {.fn = count_handle, .arg = &once, .drop = count_drop};
    tw_handle id;
    init_item(&stops, pool, pass_and_stop, &second);
    fire(&stops);
    assert_ok(tw_timers_new(&set, rt, &(struct tw_set_options){.workers = pool}));
    assert_ok(tw_timer_start(set, &id, &(struct tw_when){0}, &task));
    assert_ok(tw_timer_every(set, &id, TW_MILLISECOND, missed, count_handle, &often));
    for (unsigned i = 0; i < COUNT_OF(items); ++i)
        fire(&items[i]);
    advance_by_each_ms(3);
    atomic_store(&gate.open, true);
    wait_for(atomic_load(&second.inside) == 1);
    advance_by_each_ms(2);
    fire(&items[0]);
    atomic_store(&second.open, true);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(stats_of(pool).discarded, COUNT_OF(items) + 1 + discards);
    assert_int_equal(stats_of(pool).runs, 2 + fires + 1);
    assert_int_equal(runs, 1);
    assert_int_equal(often.count, fires);
    assert_int_equal(often.overruns, overruns);
    assert_int_equal(once.count, 0);
    assert_int_equal(once.drops, 1);
    assert_int_equal(faults, 0);
    assert_ok(tw_runtime_free(rt));
}

TEST(a_run_that_stops_the_runtime_discards_the_queue) {
    stop_from_a_run(TW_BURST, 3, 2, 0);
    stop_from_a_run(TW_COALESCE, 1, 1, 1);
}

/* --- freeing the runtime from inside a run ------------------------------------------------ */

static atomic_int others;

static void count_slowly(UNUSED struct tw_node *node, UNUSED void *arg) {
    doze();
    atomic_fetch_add(&others, 1);
}

static void free_runtime(UNUSED struct tw_node *node, void *arg) {
    pass(arg);
    if (tw_runtime_free(rt) != 0)
        atomic_fetch_add(&faults, 1);
}

static void free_from_inside(const char *driver, unsigned threads) {
    atomic_store(&others, 0);
    make(with_counted_closes(driver), (struct tw_workers_options){.threads = threads});
    init_item(&held, pool, free_runtime, &gate);
    for (unsigned i = 0; i < COUNT_OF(items); ++i)
        init_item(&items[i], pool, count_slowly, NULL);
    assert_ok(tw_runtime_after(rt, &held.node, 0));
    assert_ok(tw_runtime_start(rt));
    wait_for(atomic_load(&gate.inside) == 1);
    for (unsigned i = 0; i < COUNT_OF(items); ++i)
        assert_ok(tw_runtime_after(rt, &items[i].node, 0));
    wait_for(tw_runtime_count(rt) == 0);
    atomic_store(&gate.open, true);
    wait_for(closed == 1);
    assert_int_equal(others, COUNT_OF(items)); /* drained first, if necessary by the freeing thread */
}

TEST(a_run_may_free_the_runtime) {
    for (unsigned d = 0; d < thread_drivers_here(); ++d)
        for (unsigned threads = 1; threads <= 3; threads += 2)
            free_from_inside(thread_drivers[d], threads);
    make(with_counted_closes("manual"),
         (struct tw_workers_options){.threads = 1}); /* no thread drives this runtime */
    init_item(&held, pool, free_runtime, &gate);
    atomic_store(&gate.open, true);
    fire(&held);
    wait_for(closed == 1);
    assert_int_equal(faults, 0);
}

/* A thread cancels a timer while a callback frees the runtime. */
static struct tw_timers *set;
static tw_handle far;
static atomic_int answer;

static void stop_far(UNUSED struct tw_node *node, void *arg) {
    pass(arg);
    atomic_store(&answer, tw_timer_cancel(set, far));
}

TEST(a_run_that_goes_on_while_the_runtime_is_freed_still_has_its_timers) {
    struct tw_node frees;
    struct gate opened = {.open = true};
    make(with_counted_closes("sleep"), (struct tw_workers_options){.threads = 1});
    assert_ok(tw_timers_new(&set, rt, NULL));
    assert_ok(tw_timer_after(set, &far, 3600 * TW_SECOND, no_task, NULL));
    init_item(&held, pool, stop_far, &gate);
    tw_node_init(&frees, free_runtime, &opened);
    assert_ok(tw_runtime_after(rt, &held.node, 0));
    assert_ok(tw_runtime_start(rt));
    wait_for(atomic_load(&gate.inside) == 1);
    assert_ok(tw_runtime_after(rt, &frees, 0));
    wait_for(atomic_load(&opened.passed) == 1);
    pause_ms(20); /* time in which the timers would end if free did not wait for the run */
    atomic_store(&gate.open, true);
    wait_for(closed == 1);
    assert_int_equal(answer, 1);
}

/* tw_runtime_free in a run leaves the runtime to the advance in progress, which frees it. */
static atomic_bool in_callback, go_on;

static void hold_the_advance(UNUSED struct tw_node *node, UNUSED void *arg) {
    atomic_store(&in_callback, true);
    while (!atomic_load(&go_on))
        doze();
}

static void *advance(UNUSED void *arg) {
    if (tw_runtime_advance(rt, TW_SECOND) != 0)
        atomic_fetch_add(&faults, 1);
    atomic_store(&returned, true);
    return NULL;
}

TEST(a_run_may_free_a_runtime_that_another_thread_advances) {
    struct tw_node slow;
    pthread_t thread;
    make(with_counted_closes("manual"), (struct tw_workers_options){.threads = 2});
    atomic_store(&returned, false);
    atomic_store(&in_callback, false);
    atomic_store(&go_on, false);
    init_item(&held, pool, free_runtime, &gate);
    fire(&held);
    wait_for(atomic_load(&gate.inside) == 1);
    tw_node_init(&slow, hold_the_advance, NULL);
    assert_ok(tw_runtime_after(rt, &slow, 0));
    pthread_create(&thread, NULL, advance, NULL);
    wait_for(atomic_load(&in_callback));
    atomic_store(&gate.open, true);
    for (int i = 0; i < 20; ++i)
        doze();
    assert_int_equal(closed, 0);
    atomic_store(&go_on, true);
    pthread_join(thread, NULL);
    assert_int_equal(closed, 1);
    assert_int_equal(faults, 0);
}

/* Inline on the runtime's thread, a run may free the runtime like any callback. */
TEST(an_inline_run_may_free_the_runtime) {
    static struct tw_work second, third;
    make(with_counted_closes("sleep"), (struct tw_workers_options){.threads = 1, .queue = 1});
    struct gate worker = {0};
    init_item(&held, pool, wait_in_gate, &worker);
    init_item(&second, pool, free_runtime, &gate);
    init_item(&third, pool, count, NULL);
    assert_ok(tw_runtime_after(rt, &held.node, 0));
    assert_ok(tw_runtime_start(rt));
    wait_for(atomic_load(&worker.inside) == 1);
    assert_ok(tw_runtime_after(rt, &second.node, 0));
    assert_ok(tw_runtime_after(rt, &third.node, 10 * TW_MILLISECOND));
    wait_for(atomic_load(&gate.inside) == 1);
    atomic_store(&gate.open, true);
    atomic_store(&worker.open, true);
    wait_for(closed == 1);
    assert_int_equal(runs, 1);
    assert_int_equal(faults, 0);
}
