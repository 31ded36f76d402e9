/* Which calls wait for a callback on another thread, and for how long. The argument is dropped once, after
 * its last use, whichever thread ends the timer. */
#include "support/gate.h"
#include "support/sanitized.h"
#include "timers_test.h"

#include <pthread.h>
#include <sched.h>

#include <tickwheel/workers.h>

static struct gate gate;

static void wait_at_gate(UNUSED struct probe *probe) { pass(&gate); }

/* The timer, set or runtime that the main thread is about to end. */
static struct {
    struct tw_runtime *rt;
    struct tw_timers *set;
    tw_handle id;
    size_t armed;
} ended;

/* Opens the gate when the main thread has begun to end `ended` (its handle is stale, or its node is off the
 * wheel), but so late that a call that did not wait would have returned. */
static void *open_gate_later(UNUSED void *arg) {
    wait_for(timer_remaining(ended.set, ended.id) == TW_NO_DEADLINE ||
             tw_runtime_count(ended.rt) < ended.armed);
    for (unsigned i = 0; i < 30; ++i)
        doze();
    atomic_store(&gate.open, true);
    return NULL;
}

/* Starts a timer whose callback runs until the gate is opened. */
static struct tw_timers *start_at_gate(struct tw_runtime *rt, struct probe *probe, bool is_periodic) {
    struct tw_timers *set = new_set(rt, (struct tw_set_options){0});
    shut(&gate);
    probe->inside = wait_at_gate;
    (is_periodic ? start_every : start_after)(set, probe, MS);
    wait_for(gate.inside == 1);
    return set;
}

static pthread_t opened_later(struct tw_timers *set, const struct probe *probe) {
    pthread_t thread;
    ended.rt = probe->rt;
    ended.set = set;
    ended.id = probe->id;
    ended.armed = tw_runtime_count(probe->rt);
    assert_int_equal(pthread_create(&thread, NULL, open_gate_later, NULL), 0);
    return thread;
}

TEST(cancel_does_not_wait_and_cancel_wait_does) {
    for (int is_periodic = 0; is_periodic < 2; ++is_periodic)
        for (int is_stopped_first = 0; is_stopped_first < 2; ++is_stopped_first) {
            struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = "sleep"});
            struct probe probe = {.rt = rt};
            struct tw_timers *set = start_at_gate(rt, &probe, is_periodic);
            if (is_stopped_first) {
                assert_int_equal(tw_timer_cancel(set, probe.id), is_periodic);
                assert_int_equal(probe.fires + probe.drops, 0); /* the callback is at the gate */
            }
            const pthread_t thread = opened_later(set, &probe);
            assert_int_equal(tw_timer_cancel_wait(set, probe.id), is_stopped_first ? -ESTALE : is_periodic);
            assert_int_equal(probe.fires, 1);
            assert_int_equal(probe.drops, 1);
            assert_int_equal(tw_timers_count(set), 0);
            pthread_join(thread, NULL);
            tw_runtime_free(rt);
        }
}

TEST(freeing_a_set_waits_for_the_callback_that_runs) {
    for (int is_stopped_first = 0; is_stopped_first < 2; ++is_stopped_first) {
        struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = "epoll"});
        struct probe probe = {.rt = rt}, idle = {.rt = rt};
        struct tw_timers *set = start_at_gate(rt, &probe, true);
        start_after(set, &idle, 3600 * TW_SECOND);
        if (is_stopped_first)
            assert_int_equal(tw_timer_cancel(set, probe.id), 1);
        const pthread_t thread = opened_later(set, &probe);
        assert_int_equal(tw_timers_free(set), 0);
        assert_int_equal(probe.fires, 1);
        assert_int_equal(probe.drops, 1);
        assert_int_equal(idle.drops, 1);
        pthread_join(thread, NULL);
        tw_runtime_free(rt);
    }
}

static struct gate later_gate;

static void wait_at_later_gate(UNUSED struct probe *probe) { pass(&later_gate); }

/* The new timer gets the memory of the timer that has just fired. */
static void start_other(struct probe *probe) { start_after(probe->other->set, probe->other, 0); }

/* tw_timers_cancel_all waits for a callback at the gate, after it has dropped `marker`. */
static struct {
    struct tw_timers *set;
    struct probe marker;
    int64_t cancelled;
} reused;

static void *cancel_all_reused(UNUSED void *arg) {
    reused.cancelled = tw_timers_cancel_all(reused.set, NULL, NULL);
    return NULL;
}

/* Lets the first callback end while the call waits, and the second one when the call has returned. */
static void *cancel_all_meanwhile(UNUSED void *arg) {
    pthread_t canceller;
    wait_for(gate.inside == 1);
    assert_int_equal(pthread_create(&canceller, NULL, cancel_all_reused, NULL), 0);
    wait_for(reused.marker.drops == 1);
    for (unsigned i = 0; i < 5; ++i)
        doze();
    atomic_store(&gate.open, true);
    pthread_join(canceller, NULL);
    atomic_store(&later_gate.open, true);
    return NULL;
}

TEST(a_cancel_all_does_not_wait_for_a_timer_that_was_started_meanwhile_in_the_memory_of_another) {
    struct tw_runtime *rt = virtual_runtime_with_one_lane();
    struct tw_timers *set = new_set(rt, (struct tw_set_options){0});
    struct probe later = {.set = set, .inside = wait_at_later_gate};
    struct probe first = {.inside = wait_at_gate}, starter = {.inside = start_other, .other = &later};
    pthread_t thread;
    shut(&gate);
    shut(&later_gate);
    reused.set = set;
    start_after(set, &reused.marker, TW_SECOND);
    start_after(set, &first, MS);
    start_after(new_set(rt, (struct tw_set_options){0}), &starter, MS);
    assert_int_equal(pthread_create(&thread, NULL, cancel_all_meanwhile, NULL), 0);
    assert_ok(tw_runtime_advance(rt, MS));
    pthread_join(thread, NULL);
    assert_int_equal(reused.cancelled, 1);
    assert_int_equal(later.fires, 1);
    assert_true((uint32_t)later.id == (uint32_t)first.id); /* the number of the cell */
    tw_runtime_free(rt);
}

/* Sanitizers find any access to a freed set. Each round waits for other threads, which takes long on a busy
 * machine, so the test also ends after some time. */
static void free_against_fires(struct tw_runtime *rt, struct tw_workers *pool) {
    static struct probe probes[4];
    uint64_t seed = 7;
    const int64_t enough = monotonic() + 10 * TW_SECOND;
    for (unsigned round = 0; round < (SLOW ? 1000 : 3000) && (round < 100 || monotonic() < enough); ++round) {
        struct tw_timers *set = new_set(rt, (struct tw_set_options){.workers = pool});
        memset(probes, 0, sizeof probes);
        for (unsigned i = 0; i < COUNT_OF(probes); ++i)
            (i % 2 == 0 ? start_after : start_every)(set, &probes[i], 50 * TW_MICROSECOND);
        const int64_t end = monotonic() + (int64_t)random_below(&seed, 150) * TW_MICROSECOND;
        while (monotonic() < end) {
        }
        assert_int_equal(tw_timers_free(set), 0);
        for (unsigned i = 0; i < COUNT_OF(probes); ++i)
            assert_int_equal(probes[i].drops, 1);
    }
}

TEST(freeing_a_set_against_its_timers_firing) {
    for (unsigned on_workers = 0; on_workers < 2; ++on_workers) {
        struct tw_workers *pool = NULL;
        struct tw_runtime *rt =
            started_runtime((struct tw_runtime_options){.driver = "sleep", .tick_ns = 10 * TW_MICROSECOND});
        if (on_workers)
            assert_ok(tw_workers_new(&pool, rt, &(struct tw_workers_options){.threads = 2}));
        free_against_fires(rt, pool);
        tw_runtime_free(rt);
    }
}

/* A drop that waits in the gate: cancel_wait also waits for the drop. */
static void drop_at_gate(void *arg) {
    pass(&gate);
    note_drop(arg);
}

TEST(cancel_wait_waits_for_drop) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = "timerfd"});
    struct tw_timers *set = new_set(rt, (struct tw_set_options){0});
    struct probe probe = {.rt = rt};
    const struct tw_task task = {.fn = note_fire, .arg = &probe, .drop = drop_at_gate};
    const struct tw_when soon = {.due_ns = MS};
    shut(&gate);
    assert_int_equal(tw_timer_start(set, &probe.id, &soon, &task), 0);
    wait_for(gate.inside == 1);
    assert_int_equal(tw_timers_count(set), 1); /* the argument has yet to be dropped */
    const pthread_t thread = opened_later(set, &probe);
    assert_int_equal(tw_timer_cancel_wait(set, probe.id), -ESTALE);
    assert_int_equal(probe.drops, 1);
    pthread_join(thread, NULL);
    tw_runtime_free(rt);
}

/* The callback compares its handle with the stored one from the first moment on. */
static atomic_uint strangers;
static void compare_handle(const struct tw_event *event, void *arg) {
    struct probe *probe = arg;
    if (event->handle != probe->id)
        atomic_fetch_add(&strangers, 1);
    atomic_fetch_add(&probe->fires, 1);
}

TEST(the_handle_is_stored_before_the_callback_can_run) {
    for (unsigned d = 0; d < thread_drivers_here(); ++d) {
        struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = thread_drivers[d]});
        struct tw_timers *set = new_set(rt, (struct tw_set_options){.capacity = 4});
        atomic_store(&strangers, 0);
        for (unsigned i = 0; i < 1000; ++i) {
            struct probe probe = {.rt = rt};
            assert_int_equal(tw_timer_after(set, &probe.id, 0, compare_handle, &probe), 0);
            tw_timer_cancel_wait(set, probe.id);
            assert_true(probe.fires <= 1);
        }
        struct probe last = {.rt = rt};
        assert_int_equal(tw_timer_after(set, &last.id, 0, compare_handle, &last), 0);
        wait_for(last.fires == 1);
        assert_int_equal(strangers, 0);
        tw_runtime_free(rt);
    }
}

static void stop_set_of_other(struct probe *probe) {
    probe->answer = tw_timer_cancel_wait(probe->other->set, probe->other->id);
}

/* A callback of one runtime cancels a timer of another, running runtime. */
TEST(cancel_wait_from_a_callback_of_another_runtime) {
    struct tw_runtime *rts[2] = {started_runtime((struct tw_runtime_options){.driver = "sleep"}),
                                 started_runtime((struct tw_runtime_options){.driver = "epoll"})};
    struct probe at_gate = {.rt = rts[0]};
    struct tw_timers *set = start_at_gate(rts[0], &at_gate, true);
    struct probe probe = {.rt = rts[1], .inside = stop_set_of_other, .other = &at_gate, .answer = 99};
    const pthread_t thread = opened_later(set, &at_gate);
    start_after(new_set(rts[1], (struct tw_set_options){0}), &probe, 0);
    wait_for(probe.fires == 1);
    assert_int_equal(probe.answer, 1);
    assert_int_equal(at_gate.fires, 1);
    assert_int_equal(at_gate.drops, 1);
    pthread_join(thread, NULL);
    tw_runtime_free(rts[0]);
    tw_runtime_free(rts[1]);
}

static int64_t ask_at_gate(UNUSED int64_t due, UNUSED void *arg) {
    pass(&gate);
    return TW_NO_DEADLINE;
}

/* When the workers' queue is full, the runtime's thread calls `next`. */
TEST(cancel_does_not_wait_for_a_schedule_that_is_asked) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = "sleep"});
    const struct tw_workers_options one = {.threads = 1, .queue = 1, .when_full = TW_FULL_REJECT};
    struct tw_workers *pool = NULL;
    struct tw_worker_stats stats = {0};
    struct tw_work items[2];
    assert_int_equal(tw_workers_new(&pool, rt, &one), 0);
    shut(&gate);
    for (unsigned i = 0; i < COUNT_OF(items); ++i) {
        assert_int_equal(tw_work_init(&items[i], pool, wait_in_gate, &gate, 0), 0);
        assert_int_equal(tw_runtime_after(rt, &items[i].node, 0), 0);
        wait_for(tw_workers_stats(pool, &stats) == 0 && stats.running + stats.waiting == i + 1);
    }
    struct probe probe = {.rt = rt};
    struct tw_timers *set = new_set(rt, (struct tw_set_options){.workers = pool});
    const struct tw_when at_once = {0};
    struct tw_task task = task_of(&probe);
    task.next = ask_at_gate;
    assert_int_equal(tw_timer_start(set, &probe.id, &at_once, &task), 0);
    wait_for(gate.inside == 2);
    assert_int_equal(tw_timer_cancel(set, probe.id), 1);
    assert_int_equal(probe.drops, 0); /* `next` is still in the gate */
    atomic_store(&gate.open, true);
    wait_for(probe.drops == 1);
    assert_int_equal(probe.fires, 0);
    tw_runtime_free(rt);
}

static void *stop_too(void *arg) {
    struct probe *probe = arg;
    probe->answer = tw_timer_cancel_wait(probe->set, probe->id);
    return NULL;
}

TEST(dropped_once_when_several_threads_cancel_it_at_once) {
    struct tw_runtime *rt = started_runtime((struct tw_runtime_options){.driver = "sleep"});
    struct tw_timers *set = new_set(rt, (struct tw_set_options){0});
    for (unsigned round = 0; round < 300; ++round) {
        struct probe probe = {.rt = rt};
        pthread_t thread;
        start_every(set, &probe, MS);
        assert_int_equal(pthread_create(&thread, NULL, stop_too, &probe), 0);
        const int mine = tw_timer_cancel_wait(set, probe.id);
        assert_int_equal(probe.drops, 1);
        pthread_join(thread, NULL);
        assert_true((mine == 1 && probe.answer == -ESTALE) || (mine == -ESTALE && probe.answer == 1));
    }
    tw_runtime_free(rt);
}

/* --- the last fire, on its way to a worker --------------------------------------------------- */

static struct tw_runtime *by_hand;
static atomic_uint round_of_advance; /* odd: the test has requested a round */
static atomic_bool is_done_with_rounds;

static void *advance_when_told(UNUSED void *arg) {
    while (!atomic_load(&is_done_with_rounds))
        if (atomic_load(&round_of_advance) % 2 != 0) {
            (void)tw_runtime_advance(by_hand, MS);
            atomic_fetch_add(&round_of_advance, 1);
        } else {
            sched_yield();
        }
    return NULL;
}

/* As `pass`, but spins, because a millisecond would be too long. */
static void pass_at_once(UNUSED struct probe *probe) {
    atomic_fetch_add(&gate.inside, 1);
    while (!atomic_load(&gate.open))
        sched_yield();
}

/* The first run ends only after the cancel. So the cancel prevents the second and last fire, whether the
 * timer is still on the wheel, has just left it or waits for the worker. */
static int stop_against_the_last_fire(struct tw_timers *set, struct tw_workers *pool, unsigned spins) {
    struct probe probe = {.inside = pass_at_once};
    shut(&gate);
    start(set, &probe, (struct tw_when){.due_ns = MS, .period_ns = MS, .missed = TW_BURST, .fires = 2});
    assert_ok(tw_runtime_advance(by_hand, MS));
    while (atomic_load(&gate.inside) == 0)
        sched_yield();
    const unsigned before = atomic_fetch_add(&round_of_advance, 1);
    for (unsigned i = 0; i < spins; ++i)
        (void)atomic_load(&round_of_advance);
    const int answer = tw_timer_cancel(set, probe.id);
    atomic_store(&gate.open, true);
    while (atomic_load(&round_of_advance) != before + 2)
        sched_yield();
    assert_ok(tw_workers_wait(pool));
    assert_int_equal(probe.fires, 1);
    assert_int_equal(probe.drops, 1);
    return answer;
}

TEST(cancel_prevents_a_last_fire_wherever_it_is_on_its_way_to_a_worker) {
    /* each round needs three threads in turn, so the rounds may take seconds on a busy machine */
    const unsigned rounds = SLOW ? 2000 : 20000;
    struct tw_workers *pool;
    pthread_t thread;
    uint64_t seed = 1;
    by_hand = virtual_runtime();
    assert_ok(tw_workers_new(&pool, by_hand, &(struct tw_workers_options){.threads = 1}));
    struct tw_timers *set = new_set(by_hand, (struct tw_set_options){.workers = pool});
    assert_int_equal(pthread_create(&thread, NULL, advance_when_told, NULL), 0);
    for (unsigned round = 0; round < rounds; ++round)
        assert_int_equal(stop_against_the_last_fire(set, pool, (unsigned)random_below(&seed, 600)), 1);
    atomic_store(&is_done_with_rounds, true);
    pthread_join(thread, NULL);
    tw_runtime_free(by_hand);
}
