/* A full queue: what each rule (inline, reject, block) does with a fire that finds no room. */
#include "support/child.h"
#include "workers_test.h"

#include <poll.h>

#include <tickwheel/observe.h>
#include <tickwheel/timers.h>

static struct tw_work held, items[400];
static atomic_int inline_runs;
static pthread_t main_thread;

static void count_where(struct tw_node *node, void *arg) {
    count(node, arg);
    if (pthread_equal(pthread_self(), main_thread))
        atomic_fetch_add(&inline_runs, 1);
}

static void begin(struct tw_runtime_options options, struct tw_workers_options of_pool, tw_callback *fn) {
    main_thread = pthread_self();
    shut(&gate);
    atomic_store(&runs, 0);
    atomic_store(&inline_runs, 0);
    rt = new_runtime(options);
    pool = new_pool(rt, of_pool);
    for (unsigned i = 0; i < COUNT_OF(items); ++i)
        init_item(&items[i], pool, fn, NULL);
}

static void end(void) {
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(faults, 0);
    assert_ok(tw_runtime_free(rt));
}

TEST(reject_leaves_fires_out_and_counts_them) {
    begin(by_hand, (struct tw_workers_options){.threads = 1, .queue = 3, .when_full = TW_FULL_REJECT},
          count_where);
    hold_a_worker(&held, &gate);
    for (unsigned i = 0; i < 5; ++i)
        fire(&items[i]);
    struct tw_worker_stats stats = stats_of(pool);
    assert_int_equal(stats.rejected, 2);
    assert_int_equal(stats.waiting, 3);
    assert_int_equal(stats.longest, 3);
    assert_int_equal(tw_runtime_cancel(rt, &items[4].node), 0);
    atomic_store(&gate.open, true);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(runs, 3);
    fire(&items[4]);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(runs, 4);
    assert_int_equal(stats_of(pool).rejected, 2);
    end();
}

/* Also right after tw_workers_new, when the threads may not have started yet. */
TEST(fires_for_which_a_worker_is_idle_do_not_count_as_waiting) {
    for (int round = 0; round < 50; ++round) {
        struct tw_work more[5];
        shut(&gate);
        rt = new_runtime(by_hand);
        pool =
            new_pool(rt, (struct tw_workers_options){.threads = 3, .queue = 1, .when_full = TW_FULL_REJECT});
        for (unsigned i = 0; i < COUNT_OF(more); ++i) {
            init_item(&more[i], pool, wait_in_gate, &gate);
            assert_ok(tw_runtime_after(rt, &more[i].node, 0));
        }
        assert_ok(tw_runtime_advance(rt, 0));
        assert_int_equal(stats_of(pool).rejected, 1);
        assert_int_equal(stats_of(pool).waiting, 1);
        wait_for(atomic_load(&gate.inside) == 3);
        atomic_store(&gate.open, true);
        assert_ok(tw_workers_free(pool));
        assert_int_equal(gate.passed, 4);
        assert_ok(tw_runtime_free(rt));
    }
}

/* Fires that wait for the run of their own work item fill the queue but keep no worker busy. */
TEST(reject_takes_a_fire_that_an_idle_worker_can_run_though_the_queue_is_full) {
    struct tw_work concurrent;
    begin(by_hand, (struct tw_workers_options){.threads = 3, .queue = 1, .when_full = TW_FULL_REJECT},
          count_where);
    hold_a_worker(&held, &gate);
    fire(&held);
    fire(&items[0]);
    wait_for(atomic_load(&runs) == 1);
    assert_int_equal(stats_of(pool).rejected, 0);
    assert_int_equal(stats_of(pool).waiting, 1);
    fire(&held);
    assert_int_equal(stats_of(pool).rejected, 1);
    assert_ok(tw_work_init(&concurrent, pool, wait_in_gate, &gate, TW_CONCURRENT));
    for (int inside = 2; inside <= 3; ++inside) {
        fire(&concurrent);
        wait_for(atomic_load(&gate.inside) == inside);
    }
    assert_int_equal(stats_of(pool).rejected, 1);
    fire(&items[0]); /* no worker is idle now */
    assert_int_equal(stats_of(pool).rejected, 2);
    atomic_store(&gate.open, true);
    end();
    assert_int_equal(gate.passed, 4);
}

/* --- inline ------------------------------------------------------------------------- */

static int first_inline;

static void is_a_run(struct tw_node *node, void *arg) {
    if (pthread_equal(pthread_self(), main_thread) && atomic_load(&inline_runs) == 0)
        first_inline = (int)((struct tw_work *)node - items);
    if (tw_runtime_due(rt) != 5 * TW_MILLISECOND || tw_runtime_advance(rt, 0) != -EBUSY ||
        tw_workers_wait(pool) != -EBUSY || tw_runtime_cancel_wait(rt, node) != 0)
        atomic_fetch_add(&faults, 1);
    count_where(node, arg);
}

TEST(inline_runs_what_has_waited_longest_on_the_runtimes_thread) {
    begin(by_hand, (struct tw_workers_options){.threads = 1, .queue = 2}, is_a_run);
    hold_a_worker(&held, &gate);
    for (unsigned i = 0; i < 5; ++i)
        assert_ok(tw_runtime_at(rt, &items[i].node, 5 * TW_MILLISECOND));
    assert_ok(tw_runtime_advance(rt, 7 * TW_MILLISECOND));
    assert_int_equal(tw_runtime_due(rt), TW_NO_DEADLINE);
    assert_int_equal(runs, 3);
    assert_int_equal(inline_runs, 3);
    assert_int_equal(first_inline, 0);
    assert_int_equal(stats_of(pool).inlined, 3);
    assert_int_equal(stats_of(pool).waiting, 2);
    assert_int_equal(stats_of(pool).longest, 2);
    atomic_store(&gate.open, true);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(runs, 5);
    assert_int_equal(inline_runs, 3);
    end();
}

/* The first run is inline, and lasts until the worker is idle. The second fire goes to the worker. */
static void free_the_worker(struct tw_node *node, void *arg) {
    atomic_store(&gate.open, true);
    wait_for(stats_of(pool).running == 1);
    count_where(node, arg);
}

TEST(an_idle_worker_takes_the_fire_that_an_inline_run_leaves) {
    begin(by_hand, (struct tw_workers_options){.threads = 1, .queue = 1}, free_the_worker);
    hold_a_worker(&held, &gate);
    fire(&items[0]);
    fire(&items[0]);
    assert_int_equal(inline_runs, 1);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(runs, 2);
    assert_int_equal(inline_runs, 1);
    assert_ok(tw_runtime_cancel_all(rt, NULL, NULL)); /* the call finds nothing of the inline run */
    end();
}

/* After an inline run the firing thread must not check the queue for room any more: the turn would end after
 * each timer. */
TEST(after_an_inline_run_one_turn_fires_all_that_is_due) {
    struct tw_timers *set = NULL;
    struct tw_stats observed;
    begin(by_hand, (struct tw_workers_options){.threads = 1, .queue = 1}, count_where);
    hold_a_worker(&held, &gate);
    for (unsigned i = 0; i < 2; ++i)
        fire(&items[i]);
    assert_int_equal(inline_runs, 1);
    assert_ok(tw_timers_new(&set, rt, NULL));
    for (unsigned i = 0; i < 3; ++i) {
        tw_handle id;
        assert_ok(tw_timer_after(set, &id, TW_MILLISECOND, no_task, NULL));
    }
    assert_ok(tw_runtime_advance(rt, TW_MILLISECOND));
    assert_ok(tw_runtime_stats(rt, &observed));
    assert_int_equal(observed.late[TW_LATE_BUDGET].counts[0], 0);
    atomic_store(&gate.open, true);
    end();
}

static atomic_int advanced;

static void *advance(UNUSED void *arg) {
    atomic_store(&advanced, 1 + tw_runtime_advance(rt, TW_MILLISECOND));
    return NULL;
}

static void *cancel_held(UNUSED void *arg) {
    atomic_store(&advanced, 1 + tw_runtime_cancel_wait(rt, &held.node));
    return NULL;
}

TEST(cancel_wait_on_another_thread_waits_for_an_inline_run) {
    pthread_t driving, cancelling;
    struct gate of_worker = {0};
    struct tw_work busy;
    begin(by_hand, (struct tw_workers_options){.threads = 1, .queue = 1}, count);
    hold_a_worker(&busy, &of_worker);
    init_item(&held, pool, wait_in_gate, &gate);
    fire(&held);
    assert_ok(tw_runtime_after(rt, &items[0].node, TW_MILLISECOND));
    pthread_create(&driving, NULL, advance, NULL);
    wait_for(atomic_load(&gate.inside) == 1);
    atomic_store(&advanced, 0);
    pthread_create(&cancelling, NULL, cancel_held, NULL);
    wait_until_others_sleep();
    assert_int_equal(advanced, 0);
    atomic_store(&gate.open, true);
    pthread_join(cancelling, NULL);
    pthread_join(driving, NULL);
    atomic_store(&of_worker.open, true);
    end();
}

/* All waiting fires belong to the work item that is running. Another run ends meanwhile, which makes no
 * room. */
TEST(inline_waits_when_there_is_nothing_that_it_may_run) {
    pthread_t thread;
    struct gate of_other = {0};
    struct tw_work other;
    begin(by_hand, (struct tw_workers_options){.threads = 2, .queue = 2}, count);
    atomic_store(&advanced, 0);
    hold_a_worker(&held, &gate);
    hold_a_worker(&other, &of_other);
    for (unsigned i = 0; i < 2; ++i)
        fire(&held);
    assert_ok(tw_runtime_after(rt, &held.node, TW_MILLISECOND));
    pthread_create(&thread, NULL, advance, NULL);
    wait_for(stats_of(pool).blocked == 1);
    atomic_store(&of_other.open, true);
    wait_for(stats_of(pool).running == 1);
    wait_until_others_sleep();
    assert_int_equal(advanced, 0);
    assert_int_equal(stats_of(pool).blocked, 1);
    atomic_store(&gate.open, true);
    pthread_join(thread, NULL);
    assert_int_equal(advanced, 1);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(gate.passed, 4);
    end();
}

/* --- block -------------------------------------------------------------------------- */

static void block_an_advance(pthread_t *thread) {
    begin(by_hand, (struct tw_workers_options){.threads = 1, .queue = 2, .when_full = TW_FULL_BLOCK},
          count_where);
    atomic_store(&advanced, 0);
    hold_a_worker(&held, &gate);
    for (unsigned i = 0; i < 4; ++i)
        assert_ok(tw_runtime_after(rt, &items[i].node, TW_MILLISECOND));
    pthread_create(thread, NULL, advance, NULL);
    wait_for(stats_of(pool).blocked == 1);
    assert_int_equal(advanced, 0);
}

TEST(block_waits_for_room_and_loses_nothing) {
    pthread_t thread;
    block_an_advance(&thread);
    atomic_store(&gate.open, true);
    pthread_join(thread, NULL);
    assert_int_equal(advanced, 1);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(runs, 4);
    assert_int_equal(inline_runs, 0);
    end();
}

/* No callback of the wheel is running meanwhile, so cancelling does not wait. */
TEST(cancelling_makes_room) {
    pthread_t thread;
    block_an_advance(&thread);
    for (unsigned i = 0; i < 4; ++i)
        assert_int_equal(tw_runtime_cancel_wait(rt, &items[i].node), 1);
    pthread_join(thread, NULL);
    assert_int_equal(advanced, 1);
    assert_int_equal(stats_of(pool).waiting, 0);
    atomic_store(&gate.open, true);
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(runs, 0);
    end();
}

static atomic_bool stop_now, stopped;

static void stop_and_wait(UNUSED struct tw_node *node, void *arg) {
    while (!atomic_load(&stop_now))
        doze();
    if (!atomic_load(&stopped) && (tw_runtime_stop(rt) != 0 || tw_runtime_start(rt) != -EBUSY))
        atomic_fetch_add(&faults, 1);
    atomic_store(&stopped, true);
    pass(arg);
}

/* A held worker leaves no room until the end. `late` fires until the queue overflows, and is
 * due once more when the runtime starts again. */
static void stop_while_full(enum tw_when_full when_full, struct tw_work *late) {
    atomic_store(&stop_now, false);
    atomic_store(&stopped, false);
    begin((struct tw_runtime_options){0},
          (struct tw_workers_options){.threads = 1, .queue = 2, .when_full = when_full}, count_where);
    init_item(&held, pool, stop_and_wait, &gate);
    assert_ok(tw_runtime_after(rt, &held.node, 0));
    assert_ok(tw_runtime_start(rt));
    wait_for(stats_of(pool).running == 1);
    while (stats_of(pool).blocked == 0) {
        assert_ok(tw_runtime_after(rt, &late->node, 0));
        doze();
    }
    assert_int_equal(stats_of(pool).waiting, 3);
    atomic_store(&stop_now, true);
    wait_for(atomic_load(&stopped));
    assert_ok(tw_runtime_after(rt, &late->node, 0)); /* finds no room while the other fires wait */
    assert_int_equal(tw_runtime_start(rt), 0);       /* joins the thread that was blocked */
    wait_for(stats_of(pool).blocked == 2);           /* the new thread blocks in the same way */
    assert_int_equal(stats_of(pool).waiting, 3);
    atomic_store(&gate.open, true);
    wait_for(tw_runtime_count(rt) == 0);
    end();
}

TEST(stop_wakes_a_runtime_that_waits_for_room) {
    stop_while_full(TW_FULL_BLOCK, &items[0]);
    assert_true(runs >= 3);
}

TEST(stop_wakes_a_runtime_that_may_run_nothing_inline) { stop_while_full(TW_FULL_INLINE, &held); }

/* --- every way to drive ---------------------------------------------------------------------- */

static void arm_all(void) {
    for (unsigned i = 0; i < COUNT_OF(items); ++i)
        assert_ok(tw_runtime_after(rt, &items[i].node, (int64_t)(i % 3) * TW_MILLISECOND));
}

TEST(everything_runs_once_on_any_driver_with_any_budget_and_queue) {
    for (enum tw_when_full full = TW_FULL_INLINE; full <= TW_FULL_BLOCK; full += TW_FULL_BLOCK)
        for (unsigned d = 0; d < thread_drivers_here(); ++d) {
            const struct tw_runtime_options options = {
                .driver = thread_drivers[d], .budget = 2, .clock = d == 1 ? TW_CLOCK_WALL : TW_CLOCK_DEFAULT};
            begin(options, (struct tw_workers_options){.threads = 2, .queue = 1, .when_full = full},
                  count_where);
            arm_all();
            assert_ok(tw_runtime_start(rt));
            wait_for(atomic_load(&runs) == COUNT_OF(items));
            end();
            assert_int_equal(runs, COUNT_OF(items));
        }
}

TEST(a_loop_of_the_users_own_is_told_of_what_is_left) {
    begin((struct tw_runtime_options){.driver = "timerfd"},
          (struct tw_workers_options){.threads = 1, .queue = 1}, count);
    arm_all();
    struct pollfd readable = {.fd = tw_runtime_fd(rt), .events = POLLIN};
    while (tw_runtime_count(rt) != 0) {
        assert_int_equal(poll(&readable, 1, 60000), 1);
        assert_ok(tw_runtime_dispatch(rt));
    }
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(runs, COUNT_OF(items));
    end();
}
