/* Runs begin in the order of their fires, and runs of one work item never overlap. */
#include "workers_test.h"

#include "support/environment.h"

#include <tickwheel/observe.h>

/* the numbers of the work items in the order of their runs; runs never overlap */
static int ran[8192];

static void note(UNUSED struct tw_node *node, void *arg) {
    ran[atomic_load(&runs)] = (int)(intptr_t)arg;
    atomic_fetch_add(&runs, 1);
}

static void begin(unsigned threads) {
    shut(&gate);
    atomic_store(&runs, 0);
    rt = new_runtime(by_hand);
    pool = new_pool(rt, (struct tw_workers_options){.threads = threads, .queue = 4096});
}

static void end(void) {
    assert_ok(tw_workers_free(pool));
    assert_ok(tw_runtime_free(rt));
}

struct noted_gate {
    struct gate gate;
    int number;
};

static void note_and_wait(struct tw_node *node, void *arg) {
    struct noted_gate *const at = arg;
    note(node, (void *)(intptr_t)at->number);
    pass(&at->gate);
}

/* A fire that came during the work item's run goes before a fire that came after that run. */
TEST(a_fire_that_waited_for_its_own_work_item_is_not_overtaken) {
    struct noted_gate at = {.number = 7};
    struct tw_work busy, other;
    begin(1);
    init_item(&busy, pool, note_and_wait, &at);
    init_item(&other, pool, note, (void *)(intptr_t)8);
    fire(&busy);
    wait_for(atomic_load(&at.gate.inside) == 1);
    fire(&busy);
    fire(&other);
    fire(&busy);
    atomic_store(&at.gate.open, true);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(runs, 4);
    assert_memory_equal(ran, ((const int[]){7, 7, 8, 7}), 4 * sizeof(int));
    end();
}

TEST(no_work_item_waits_behind_a_work_item_that_runs) {
    struct noted_gate at = {.number = 1};
    struct tw_work busy, other;
    begin(2);
    init_item(&busy, pool, note_and_wait, &at);
    init_item(&other, pool, note, (void *)(intptr_t)2);
    fire(&busy);
    wait_for(atomic_load(&at.gate.inside) == 1);
    fire(&busy);
    fire(&other);
    wait_for(atomic_load(&runs) == 2);
    assert_int_equal(ran[1], 2);
    assert_int_equal(stats_of(pool).waiting, 1);
    assert_int_equal(stats_of(pool).running, 1);
    atomic_store(&at.gate.open, true);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(runs, 3);
    end();
}

/* --- against a list ----------------------------------------------------------------- */

enum { ITEMS = 40, STEPS = 1500 };

static int expected[STEPS], fires;

/* Removes all fires of a work item from the list. Returns true if there were any. */
static bool forget(int item) {
    int kept = 0;
    for (int i = 0; i < fires; ++i)
        if (expected[i] != item)
            expected[kept++] = expected[i];
    const bool any = kept != fires;
    fires = kept;
    return any;
}

static void fire_and_cancel_at_random(struct tw_work *items, uint64_t *random) {
    fires = 0;
    for (int step = 0; step < STEPS; ++step) {
        const int item = (int)random_below(random, ITEMS);
        if (random_below(random, 20) == 0) {
            assert_int_equal(tw_runtime_cancel(rt, &items[item].node), forget(item));
        } else {
            fire(&items[item]);
            expected[fires++] = item;
        }
    }
}

/* With one worker, every run begins when the previous one has ended. Some work items are concurrent, which
 * makes no difference here. */
TEST(runs_begin_in_the_order_of_the_fires_also_when_some_are_cancelled) {
    struct tw_work held, items[ITEMS];
    uint64_t random = 20;
    begin(1);
    for (int i = 0; i < ITEMS; ++i)
        assert_ok(tw_work_init(&items[i], pool, note, (void *)(intptr_t)i, i % 3 == 0 ? TW_CONCURRENT : 0));
    for (int round = 0; round < 4; ++round) {
        shut(&gate);
        atomic_store(&runs, 0);
        hold_a_worker(&held, &gate);
        fire_and_cancel_at_random(items, &random);
        assert_int_equal(stats_of(pool).waiting, fires);
        atomic_store(&gate.open, true);
        assert_ok(tw_workers_wait(pool));
        assert_int_equal(runs, fires);
        assert_memory_equal(ran, expected, (size_t)fires * sizeof *ran);
    }
    end();
}

/* --- one at a time ------------------------------------------------------------------- */

TEST(a_concurrent_work_item_runs_as_often_at_once_as_there_are_workers) {
    struct tw_work item;
    begin(3);
    assert_ok(tw_work_init(&item, pool, wait_in_gate, &gate, TW_CONCURRENT));
    for (int i = 0; i < 5; ++i)
        fire(&item);
    wait_for(atomic_load(&gate.inside) == 3);
    assert_int_equal(stats_of(pool).running, 3);
    assert_int_equal(stats_of(pool).waiting, 2);
    atomic_store(&gate.open, true);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(gate.passed, 5);
    end();
}

/* The number is not atomic: overlapping or unsynchronised runs would lose increments. */
struct serial {
    struct tw_work item;
    atomic_int runs; /* 0 or 1; an int, because RISC-V has no smaller atomic exchange */
    uint64_t number;
};
static struct serial serials[24];

static void count_alone(UNUSED struct tw_node *node, void *arg) {
    struct serial *const serial = arg;
    if (atomic_exchange(&serial->runs, 1))
        atomic_fetch_add(&faults, 1);
    ++serial->number;
    atomic_store(&serial->runs, 0);
}

static atomic_bool over;

static void *disturb(void *seed) {
    uint64_t random = (uint64_t)(uintptr_t)seed;
    while (!atomic_load(&over)) {
        struct tw_node *const node = &serials[random_below(&random, COUNT_OF(serials))].item.node;
        switch (random_below(&random, 4)) {
        case 0:
            tw_runtime_cancel_wait(rt, node);
            break;
        case 1:
            tw_runtime_every(rt, node, TW_MILLISECOND, (enum tw_missed)random_below(&random, 3));
            break;
        default:
            tw_runtime_after(rt, node, (int64_t)random_below(&random, 200000));
        }
    }
    return NULL;
}

TEST(runs_of_one_work_item_never_meet_whatever_others_do) {
    const struct tw_runtime_options options = {.tick_ns = 100000};
    pthread_t threads[3];
    uint64_t total = 0;
    atomic_store(&over, false);
    rt = started_runtime(options);
    pool = new_pool(rt, (struct tw_workers_options){.threads = 4, .queue = 8});
    for (unsigned i = 0; i < COUNT_OF(serials); ++i)
        init_item(&serials[i].item, pool, count_alone, &serials[i]);
    for (unsigned i = 0; i < COUNT_OF(threads); ++i)
        pthread_create(&threads[i], NULL, disturb, (void *)(uintptr_t)(i + 1));
    wait_for(stats_of(pool).runs > (is_nightly() ? 20000 : 5000));
    atomic_store(&over, true);
    for (unsigned i = 0; i < COUNT_OF(threads); ++i)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < COUNT_OF(serials); ++i)
        assert_ok(tw_runtime_retire(rt, &serials[i].item.node));
    assert_int_equal(faults, 0);
    for (unsigned i = 0; i < COUNT_OF(serials); ++i)
        total += serials[i].number;
    const struct tw_worker_stats stats = stats_of(pool);
    assert_int_equal(stats.runs, total);
    assert_int_equal(stats.waiting + stats.running, 0);
    assert_true(stats.longest <= 8);
    end();
}

enum { PERIODS = 10 };

struct late_item {
    struct tw_work item;
    struct gate gate;
    uint64_t overruns[PERIODS];
    int64_t due[PERIODS];
};

static void note_lateness(UNUSED struct tw_node *node, void *arg) {
    struct late_item *const late = arg;
    const int run = atomic_load(&late->gate.passed);
    late->overruns[run] = tw_runtime_overruns(rt);
    late->due[run] = tw_runtime_due(rt);
    pass(&late->gate);
}

/* Lets ten periods pass while the first run continues, then runs everything that waits. */
static void be_late(struct late_item *late, unsigned flags, enum tw_missed missed) {
    assert_ok(tw_work_init(&late->item, pool, note_lateness, late, flags));
    assert_ok(tw_runtime_label(rt, &late->item.node, "late")); /* a label makes no difference */
    assert_ok(tw_runtime_every(rt, &late->item.node, TW_MILLISECOND, missed));
    for (int i = 0; i < PERIODS; ++i) {
        assert_ok(tw_runtime_advance(rt, TW_MILLISECOND));
        wait_for(atomic_load(&late->gate.inside) == 1);
    }
}

/* So a work item that is slower than its period does not fill the queue. */
TEST(periodic_fires_that_skip_or_delay_join_the_one_that_waits) {
    for (unsigned flags = 0; flags <= TW_CONCURRENT; flags += TW_CONCURRENT)
        for (int missed = TW_COALESCE; missed <= TW_DELAY; ++missed) {
            struct late_item late = {.gate = {0}};
            begin(1);
            const int64_t start = tw_runtime_now(rt);
            be_late(&late, flags, (enum tw_missed)missed);
            assert_int_equal(stats_of(pool).waiting, 1);
            atomic_store(&late.gate.open, true);
            assert_ok(tw_workers_wait(pool));
            assert_int_equal(late.gate.passed, 2);
            assert_int_equal(late.overruns[0], 0);
            assert_int_equal(late.overruns[1], PERIODS - 2);
            assert_int_equal(late.due[1] - start, 2 * TW_MILLISECOND);
            assert_int_equal(tw_runtime_cancel(rt, &late.item.node), 1);
            end();
        }
}

TEST(fires_of_a_burst_are_each_run) {
    struct late_item late = {.gate = {0}};
    begin(1);
    be_late(&late, 0, TW_BURST);
    assert_int_equal(stats_of(pool).waiting, PERIODS - 1);
    atomic_store(&late.gate.open, true);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(late.gate.passed, PERIODS);
    assert_int_equal(tw_runtime_cancel(rt, &late.item.node), 1);
    end();
}
