/* tw_runtime_cancel_all takes back the work items whose fires wait for a worker. Nodes:
 * runtime/cancel_all.c. */
#include "workers_test.h"

#include <tickwheel/timers.h>

enum { ITEMS = 50 };

static struct tw_work held, items[ITEMS];
static struct tw_node *reported[ITEMS + 3];
static unsigned times_reported;

static void count_fire(UNUSED const struct tw_event *event, UNUSED void *arg) { atomic_fetch_add(&runs, 1); }

/* The pool has one worker, which runs `held`. */
static void begin(uint32_t queue) {
    shut(&gate);
    atomic_store(&runs, 0);
    times_reported = 0;
    rt = new_runtime(by_hand);
    pool = new_pool(rt, (struct tw_workers_options){.threads = 1, .queue = queue});
    hold_a_worker(&held, &gate);
}

static void end(int expected_runs) {
    atomic_store(&gate.open, true);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(runs, expected_runs);
    assert_ok(tw_runtime_free(rt));
}

static struct tw_timers *new_set(void) {
    struct tw_timers *set = NULL;
    assert_ok(tw_timers_new(&set, rt, &(struct tw_set_options){.workers = pool}));
    return set;
}

static void note(struct tw_node *node, UNUSED void *arg) {
    assert_int_equal(tw_runtime_remaining(rt, node), TW_NO_DEADLINE);
    reported[times_reported++] = node;
}

static void *advance(UNUSED void *arg) {
    assert_ok(tw_runtime_advance(rt, 0));
    return NULL;
}

TEST(a_cancel_all_takes_back_the_work_items_of_all_pools_and_leaves_handles_alone) {
    struct tw_work of_second, often;
    begin(0);
    struct tw_workers *const first = pool, *const second =
                                               new_pool(rt, (struct tw_workers_options){.threads = 1});
    struct tw_timers *const set = new_set();
    pool = second;
    hold_a_worker(&of_second, &gate);
    pool = first;
    fire(&held); /* the work item's own run keeps this fire waiting */
    fire(&of_second);
    init_item(&often, pool, count, NULL);
    assert_ok(tw_runtime_every(rt, &often.node, TW_MILLISECOND, TW_BURST));
    for (unsigned i = 0; i < ITEMS; ++i) {
        tw_handle id;
        assert_ok(tw_work_init(&items[i], pool, count, NULL, i % 2 == 0 ? TW_CONCURRENT : 0));
        assert_ok(tw_runtime_after(rt, &items[i].node, 0));
        assert_ok(tw_timer_after(set, &id, 0, count_fire, NULL));
    }
    assert_ok(tw_runtime_advance(rt, 3 * TW_MILLISECOND));
    assert_ok(tw_runtime_cancel_all(rt, note, NULL));
    assert_int_equal(times_reported,
                     ITEMS + 3); /* `often` once, although a fire of it waits and it is pending */
    for (unsigned i = 0; i < ITEMS; ++i)
        assert_int_equal(tw_runtime_cancel(rt, &items[i].node), 0);
    atomic_store(&gate.open, true);
    assert_ok(tw_workers_wait(second));
    end(ITEMS);
    assert_int_equal(gate.passed, 2);
}

static void note_and_fire_next(struct tw_node *node, void *arg) {
    pthread_t thread;
    note(node, arg);
    assert_ok(tw_runtime_after(rt, &items[1].node, 0));
    pthread_create(&thread, NULL, advance, NULL);
    pthread_join(thread, NULL);
}

TEST(a_work_item_that_fires_during_the_cancel_all_is_not_taken_back) {
    begin(0);
    init_item(&items[0], pool, count, NULL);
    init_item(&items[1], pool, count, NULL);
    fire(&items[0]);
    assert_ok(tw_runtime_cancel_all(rt, note_and_fire_next, NULL));
    assert_int_equal(times_reported, 1);
    assert_ptr_equal(reported[0], &items[0].node);
    end(1);
}

static void cancel_all(UNUSED struct tw_node *node, UNUSED void *arg) {
    if (tw_runtime_cancel_all(rt, note, NULL) != 0)
        atomic_fetch_add(&faults, 1);
    atomic_fetch_add(&runs, 1);
}

TEST(an_inline_run_may_cancel_the_next_fire_of_its_own_work_item) {
    begin(1);
    init_item(&items[0], pool, cancel_all, NULL);
    fire(&items[0]);
    fire(&items[0]);
    assert_int_equal(times_reported, 1);
    assert_ptr_equal(reported[0], &items[0].node);
    end(1);
    assert_int_equal(faults, 0);
}

static struct gate of_inline;

static void pass_inline(UNUSED const struct tw_event *event, UNUSED void *arg) { pass(&of_inline); }

/* When the inline run has ended, a worker may take the next fire of its timer, which goes before all others.
 */
static void note_and_end_inline_run(struct tw_node *node, void *arg) {
    note(node, arg);
    atomic_store(&of_inline.open, true);
    wait_for(stats_of(pool).running == 1);
}

TEST(a_cancel_all_finds_work_items_whose_places_in_the_queue_change_meanwhile) {
    pthread_t thread;
    tw_handle id;
    const struct tw_task task = {.fn = pass_inline};
    const struct tw_when twice = {
        .due_ns = TW_MILLISECOND, .period_ns = TW_MILLISECOND, .missed = TW_BURST, .fires = 2};
    begin(4);
    shut(&of_inline);
    struct tw_timers *const set = new_set();
    init_item(&items[0], pool, count, NULL);
    init_item(&items[1], pool, count, NULL);
    assert_ok(tw_timer_start(set, &id, &twice, &task));
    assert_ok(tw_runtime_advance(rt, 2 * TW_MILLISECOND));
    fire(&items[0]);
    assert_ok(tw_timer_after(set, &id, 0, count_fire, NULL));
    assert_ok(tw_runtime_advance(rt, 0));
    assert_ok(tw_runtime_after(rt, &items[1].node, 0));
    pthread_create(&thread, NULL, advance, NULL); /* one fire too many: runs the oldest inline */
    wait_for(of_inline.inside == 1);
    assert_ok(tw_runtime_cancel_all(rt, note_and_end_inline_run, NULL));
    pthread_join(thread, NULL);
    assert_int_equal(times_reported, 2);
    assert_ptr_equal(reported[0], &items[1].node);
    assert_ptr_equal(reported[1], &items[0].node);
    end(1);
    assert_int_equal(of_inline.passed, 2);
}
