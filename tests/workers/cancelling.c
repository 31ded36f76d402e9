/* Cancelling a work item prevents its waiting fires and waits for its run; then the owner may do anything
 * with it. */
#include "support/child.h"
#include "workers_test.h"

static struct tw_work held, item;

static void begin(unsigned threads) {
    shut(&gate);
    atomic_store(&runs, 0);
    rt = new_runtime(by_hand);
    pool = new_pool(rt, (struct tw_workers_options){.threads = threads});
}

static void end(void) {
    atomic_store(&gate.open, true);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(faults, 0);
    assert_ok(tw_runtime_free(rt));
}

TEST(cancelling_prevents_what_waits_and_says_so) {
    int (*const ways[])(struct tw_runtime *, struct tw_node *) = {tw_runtime_cancel, tw_runtime_cancel_wait,
                                                                  tw_runtime_retire};
    for (unsigned i = 0; i < COUNT_OF(ways); ++i) {
        begin(1);
        hold_a_worker(&held, &gate);
        init_item(&item, pool, count, NULL);
        assert_int_equal(ways[i](rt, &item.node), 0);
        assert_ok(tw_work_init(&item, pool, count, NULL, i == 1 ? TW_CONCURRENT : 0));
        fire(&item);
        fire(&item);
        assert_int_equal(stats_of(pool).waiting, 2);
        assert_int_equal(ways[i](rt, &item.node), 1);
        assert_int_equal(stats_of(pool).waiting, 0);
        assert_int_equal(ways[i](rt, &item.node), 0);
        end();
        assert_int_equal(runs, 0);
    }
}

/* The work item is pending on its runtime, and a fire of it waits in that runtime's pool. */
TEST(a_work_item_is_cancelled_by_its_own_runtime_alone) {
    struct tw_runtime *other = new_runtime(by_hand);
    new_pool(other, (struct tw_workers_options){.threads = 1});
    begin(1);
    hold_a_worker(&held, &gate);
    init_item(&item, pool, count, NULL);
    fire(&item);
    assert_ok(tw_runtime_after(rt, &item.node, TW_SECOND));
    assert_int_equal(tw_runtime_cancel(other, &item.node), -EBUSY);
    assert_int_equal(stats_of(pool).waiting, 1);
    assert_int_equal(tw_runtime_cancel(rt, &item.node), 1);
    end();
    assert_int_equal(runs, 0);
    tw_runtime_free(other);
}

TEST(cancelling_prevents_what_waits_for_a_run_of_the_same_work_item) {
    begin(2);
    hold_a_worker(&held, &gate);
    fire(&held);
    assert_int_equal(tw_runtime_cancel(rt, &held.node), 1);
    assert_int_equal(tw_runtime_cancel(rt, &held.node), 0); /* nothing to prevent: `held` is running */
    end();
    assert_int_equal(gate.passed, 1);
}

/* --- waiting -------------------------------------------------------------------------- */

static atomic_int returned;
static int (*way_to_wait)(struct tw_runtime *, struct tw_node *);

static void *cancel_in_thread(void *node) {
    atomic_store(&returned, 1 + way_to_wait(rt, node));
    return NULL;
}

static void assert_waits_for_run(int (*way)(struct tw_runtime *, struct tw_node *)) {
    pthread_t thread;
    begin(2);
    hold_a_worker(&held, &gate);
    atomic_store(&returned, 0);
    way_to_wait = way;
    pthread_create(&thread, NULL, cancel_in_thread, &held.node);
    wait_until_others_sleep();
    assert_int_equal(returned, 0);
    atomic_store(&gate.open, true);
    pthread_join(thread, NULL);
    assert_int_equal(returned, 1);
    assert_int_equal(gate.passed, 1);
    end();
}

TEST(cancel_wait_and_retire_wait_for_the_run) {
    assert_waits_for_run(tw_runtime_cancel_wait);
    assert_waits_for_run(tw_runtime_retire);
}

static struct gate gates[2];

static void wait_in_next_gate(UNUSED struct tw_node *node, UNUSED void *arg) {
    pass(&gates[atomic_fetch_add(&runs, 1)]);
}

TEST(cancel_wait_does_not_wait_for_the_next_run) {
    pthread_t thread;
    begin(1);
    shut(&gates[0]);
    shut(&gates[1]);
    init_item(&item, pool, wait_in_next_gate, NULL);
    fire(&item);
    wait_for(atomic_load(&gates[0].inside) == 1);
    way_to_wait = tw_runtime_cancel_wait;
    pthread_create(&thread, NULL, cancel_in_thread, &item.node);
    wait_until_others_sleep();
    fire(&item);
    atomic_store(&gates[0].open, true);
    wait_for(atomic_load(&gates[1].inside) == 1);
    pthread_join(thread, NULL);
    atomic_store(&gates[1].open, true);
    end();
    assert_int_equal(runs, 2);
}

TEST(a_retired_work_item_fires_no_more) {
    begin(1);
    init_item(&item, pool, count, NULL);
    assert_int_equal(tw_runtime_retire(rt, &item.node), 0);
    assert_int_equal(tw_runtime_after(rt, &item.node, 0), -EPERM);
    init_item(&item, pool, count, NULL);
    fire(&item);
    end();
    assert_int_equal(runs, 1);
}

/* --- from inside ---------------------------------------------------------------------- */

/* At the call, the work item is pending and a fire of it waits. The call prevents both fires, and does not
 * wait. */
static void cancel_oneself(struct tw_node *node, void *arg) {
    pass(arg);
    if (tw_runtime_cancel_wait(rt, node) != 1 || tw_runtime_retire(rt, node) != 0)
        atomic_fetch_add(&faults, 1);
    atomic_fetch_add(&runs, 1);
}

TEST(inside_its_own_run_a_work_item_does_not_wait_for_itself) {
    for (unsigned flags = 0; flags <= TW_CONCURRENT; ++flags) {
        begin(1);
        assert_ok(tw_work_init(&item, pool, cancel_oneself, &gate, flags));
        fire(&item);
        wait_for(atomic_load(&gate.inside) == 1);
        fire(&item);
        assert_ok(tw_runtime_after(rt, &item.node, TW_SECOND));
        end();
        assert_int_equal(runs, 1);
        assert_int_equal(tw_runtime_free(NULL), 0);
    }
}

/* Allocated on the heap, so that sanitizers find late accesses. */
struct ephemeral {
    struct tw_work item;
    atomic_int *freed;
};

static void free_oneself(struct tw_node *node, void *arg) {
    struct ephemeral *const ephemeral = arg;
    tw_runtime_cancel(rt, node);
    atomic_fetch_add(ephemeral->freed, 1);
    memset(ephemeral, 0xa5, sizeof *ephemeral);
    free(ephemeral);
}

TEST(a_work_item_may_be_freed_in_its_own_callback) {
    enum { MANY = 3000 };
    atomic_int freed = 0;
    rt = started_runtime((struct tw_runtime_options){.tick_ns = 50000});
    pool = new_pool(rt, (struct tw_workers_options){.threads = 3, .queue = 64});
    for (int i = 0; i < MANY; ++i) {
        struct ephemeral *const ephemeral = malloc(sizeof *ephemeral);
        ephemeral->freed = &freed;
        assert_ok(
            tw_work_init(&ephemeral->item, pool, free_oneself, ephemeral, i % 5 == 0 ? TW_CONCURRENT : 0));
        if (i % 5 != 0) /* the next fire is due while the first runs */
            assert_ok(tw_runtime_every(rt, &ephemeral->item.node, 50000, TW_BURST));
        else
            assert_ok(tw_runtime_after(rt, &ephemeral->item.node, 0));
    }
    wait_for(atomic_load(&freed) == MANY);
    assert_ok(tw_workers_wait(pool));
    assert_ok(tw_runtime_free(rt));
}

/* --- the owner frees the work item ------------------------------------------------------- */

static void touch(UNUSED struct tw_node *node, void *arg) {
    for (int i = 0; i < 50; ++i)
        atomic_fetch_add((atomic_int *)arg, 1);
}

struct owned {
    struct tw_work item;
    atomic_int touched;
};

static void *make_and_free(void *seed) {
    uint64_t random = (uint64_t)(uintptr_t)seed;
    for (int i = 0; i < 1500; ++i) {
        struct owned *const owned = malloc(sizeof *owned);
        atomic_init(&owned->touched, 0);
        tw_work_init(&owned->item, pool, touch, &owned->touched, (unsigned)random_below(&random, 2));
        tw_runtime_every(rt, &owned->item.node, 50000, TW_BURST);
        for (uint64_t pause = random_below(&random, 3); pause > 0; --pause)
            nanosleep(&(struct timespec){.tv_nsec = 60000}, NULL);
        if (random_below(&random, 2) == 0)
            tw_runtime_retire(rt, &owned->item.node);
        else
            tw_runtime_cancel_wait(rt, &owned->item.node);
        if (atomic_load(&owned->touched) % 50 != 0)
            atomic_fetch_add(&faults, 1);
        memset(owned, 0xa5, sizeof *owned);
        free(owned);
    }
    return NULL;
}

TEST(a_work_item_may_be_freed_once_cancel_wait_or_retire_has_returned) {
    const enum tw_when_full ways[] = {TW_FULL_INLINE, TW_FULL_REJECT, TW_FULL_BLOCK};
    for (unsigned w = 0; w < COUNT_OF(ways); ++w) {
        pthread_t threads[3];
        rt = started_runtime((struct tw_runtime_options){.tick_ns = 50000});
        pool = new_pool(rt, (struct tw_workers_options){.threads = 2, .queue = 2, .when_full = ways[w]});
        for (unsigned i = 0; i < COUNT_OF(threads); ++i)
            pthread_create(&threads[i], NULL, make_and_free, (void *)(uintptr_t)(i + 1));
        for (unsigned i = 0; i < COUNT_OF(threads); ++i)
            pthread_join(threads[i], NULL);
        const struct tw_worker_stats stats = stats_of(pool);
        assert_true(stats.runs > 0);
        assert_int_equal(stats.waiting + stats.running, 0);
        assert_int_equal(faults, 0);
        assert_ok(tw_runtime_free(rt));
    }
}

/* A callback frees its work item and makes another one, often at the same address. */
static struct owned *replaced;

static void replace_oneself(UNUSED struct tw_node *node, UNUSED void *arg) {
    struct owned *const owned = replaced;
    memset(owned, 0, sizeof *owned);
    if (tw_work_init(&owned->item, pool, wait_in_gate, &gate, 0) != 0 ||
        tw_runtime_after(rt, &owned->item.node, 0) != 0)
        atomic_fetch_add(&faults, 1);
    wait_for(atomic_load(&gate.inside) == 1);
    atomic_store(&runs, 1);
    tw_runtime_cancel_wait(rt, &owned->item.node);
    if (atomic_load(&gate.passed) != 1)
        atomic_fetch_add(&faults, 1);
}

TEST(a_new_work_item_in_the_memory_of_one_that_runs_is_another) {
    struct owned memory;
    begin(2);
    replaced = &memory;
    init_item(&memory.item, pool, replace_oneself, NULL);
    fire(&memory.item);
    wait_for(tw_runtime_advance(rt, 0) == 0 && atomic_load(&runs) == 1);
    for (int i = 0; i < 20; ++i)
        doze();
    end();
}
