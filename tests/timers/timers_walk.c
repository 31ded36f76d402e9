/* tw_timers_each: which timers it visits, and what the visitor may do. */
#define _GNU_SOURCE
#include "support/counted_walk.h"
#include "timers_test.h"

#include "support/gate.h"

#include <pthread.h>

enum { TIMERS = 200 };

static struct tw_runtime *rt;
static struct tw_timers *set;
static struct probe probes[TIMERS];
static unsigned visits_of[TIMERS];

static int make(UNUSED void **state) {
    rt = virtual_runtime();
    set = new_set(rt, (struct tw_set_options){0});
    memset(probes, 0, sizeof probes);
    memset(visits_of, 0, sizeof visits_of);
    for (unsigned i = 0; i < TIMERS; ++i)
        probes[i].rt = rt;
    return 0;
}

static int end(UNUSED void **state) { return tw_runtime_free(rt); }

static void start_all(void) {
    for (unsigned i = 0; i < TIMERS; ++i)
        (i % 3 == 0 ? start_every : start_after)(set, &probes[i], (int64_t)(1 + i) * MS);
}

/* Returns the number of visits, or the result that ended the walk. */
static int64_t walk(tw_visitor *visitor) {
    struct counted_walk walk = {.visitor = visitor, .arg = probes};
    return counted(tw_timers_each(set, count_and_visit, &walk), &walk);
}

/* Every visitor of this file first calls this. */
static struct probe *note_visit(const struct tw_entry *entry, void *visit_arg) {
    struct probe *probe = entry->arg;
    assert_ptr_equal(visit_arg, probes);
    assert_int_equal(probe->id, entry->handle);
    assert_null(entry->node);
    assert_null(entry->key);
    assert_int_equal(probe->drops, 0);
    ++visits_of[probe - probes];
    return probe;
}

static void assert_visited_and_dropped(unsigned visits, unsigned drops) {
    for (unsigned i = 0; i < TIMERS; ++i) {
        assert_int_equal(visits_of[i], visits);
        assert_int_equal(probes[i].drops, drops);
    }
}

static int only_note(const struct tw_entry *entry, void *visit_arg) {
    note_visit(entry, visit_arg);
    return 0;
}

FIXTURE(make, end);

TEST(each_timer_is_visited_once_and_stays) {
    assert_int_equal(tw_timers_each(set, NULL, NULL), -EINVAL); /* P14 */
    assert_int_equal(tw_timers_each(NULL, only_note, probes), -EINVAL);
    assert_int_equal(walk(only_note), 0);
    start_all();
    assert_int_equal(walk(only_note), TIMERS);
    assert_visited_and_dropped(1, 0);
    assert_int_equal(tw_timers_count(set), TIMERS);
    assert_ok(tw_runtime_advance(rt, TIMERS * MS));
    for (unsigned i = 0; i < TIMERS; ++i)
        assert_true(i % 3 == 0 ? probes[i].fires >= 1 : probes[i].fires == 1 && probes[i].drops == 1);
    assert_int_equal(walk(only_note), (TIMERS + 2) / 3);
}

/* --- what the visitor does ----------------------------------------------------------------------- */

static int stop_it(const struct tw_entry *entry, void *visit_arg) {
    struct probe *probe = note_visit(entry, visit_arg);
    assert_int_equal((probe - probes) % 2 ? tw_timer_cancel(set, entry->handle)
                                          : tw_timer_cancel_wait(set, entry->handle),
                     1);
    assert_int_equal(tw_timer_cancel(set, entry->handle), -ESTALE);
    assert_int_equal(probe->drops, 0); /* the drop comes after the visit */
    assert_int_equal(timer_remaining(set, entry->handle), TW_NO_DEADLINE);
    return 0;
}

TEST(a_visitor_may_cancel_its_timer_which_is_dropped_after_the_visit) {
    start_all();
    assert_int_equal(walk(stop_it), TIMERS);
    assert_visited_and_dropped(1, 1);
    assert_int_equal(tw_timers_count(set), 0);
    assert_int_equal(tw_runtime_count(rt), 0);
    start_all();
    assert_int_equal(tw_timers_count(set), TIMERS);
}

static int move_it(const struct tw_entry *entry, void *visit_arg) {
    const bool is_even = (note_visit(entry, visit_arg) - probes) % 2 == 0;
    assert_int_equal(tw_timer_move(set, entry->handle, is_even ? 0 : TW_SECOND), 0);
    return 0;
}

TEST(a_visitor_may_move_its_timer) {
    start_all();
    assert_int_equal(walk(move_it), TIMERS);
    assert_visited_and_dropped(1, 0);
    for (unsigned i = 0; i < TIMERS; ++i)
        assert_int_equal(timer_remaining(set, probes[i].id), i % 2 == 0 ? 0 : TW_SECOND);
}

/* A walk ends although each visit starts a timer and makes the set grow. */
static struct probe more[2 * TIMERS];
static unsigned started_meanwhile;

static int start_another(const struct tw_entry *entry, void *visit_arg) {
    struct probe *probe = entry->arg;
    if (probe >= probes && probe < probes + TIMERS)
        note_visit(entry, visit_arg);
    start_after(set, &more[started_meanwhile], TW_SECOND);
    ++started_meanwhile;
    return 0;
}

static int end_the_walk(const struct tw_entry *entry, void *visit_arg) {
    assert_int_equal(visits_of[7], 0);
    note_visit(entry, visit_arg);
    return entry->handle == probes[7].id ? 77 : 0;
}

TEST(a_visitor_ends_the_walk_with_its_result) {
    start_all();
    assert_int_equal(walk(end_the_walk), 77);
    assert_int_equal(visits_of[7], 1);
    assert_int_equal(tw_timers_count(set), TIMERS);
}

TEST(a_visitor_may_start_timers) {
    memset(more, 0, sizeof more);
    started_meanwhile = 0;
    start_all();
    const int64_t visits = walk(start_another);
    assert_visited_and_dropped(1, 0);
    assert_in_range(visits, TIMERS, COUNT_OF(more));
    assert_int_equal(tw_timers_count(set), TIMERS + started_meanwhile);
    assert_int_equal(tw_timers_cancel_all(set, NULL, NULL), TIMERS + started_meanwhile);
    for (unsigned i = 0; i < started_meanwhile; ++i)
        assert_int_equal(more[i].drops, 1);
}

static int64_t cancelled;

static int cancel_all(const struct tw_entry *entry, void *visit_arg) {
    struct probe *probe = note_visit(entry, visit_arg);
    cancelled = tw_timers_cancel_all(set, NULL, NULL);
    assert_int_equal(probe->drops, 0);
    assert_int_equal(tw_timers_count(set), 1); /* the visited timer */
    return 0;
}

TEST(a_visitor_may_cancel_all_and_its_timer_is_dropped_after_the_visit) {
    start_all();
    assert_int_equal(walk(cancel_all), 1);
    assert_int_equal(cancelled, TIMERS);
    for (unsigned i = 0; i < TIMERS; ++i)
        assert_int_equal(probes[i].drops, 1);
    assert_int_equal(tw_timers_count(set), 0);
}

static int walk_inside(const struct tw_entry *entry, void *visit_arg) {
    note_visit(entry, visit_arg);
    assert_int_equal(walk(only_note), TIMERS);
    assert_int_equal(tw_timers_free(set), -EBUSY);
    return 0;
}

TEST(a_visitor_may_walk_and_must_not_free_the_set) {
    start_all();
    assert_int_equal(walk(walk_inside), TIMERS);
    assert_visited_and_dropped(1 + TIMERS, 0);
}

/* Advances time inside the visitor: virtual time would stand still. */
static int let_time_pass(const struct tw_entry *entry, void *visit_arg) {
    struct probe *probe = note_visit(entry, visit_arg);
    const unsigned before = probe->fires;
    assert_ok(tw_runtime_advance(rt, TW_SECOND));
    assert_true(probe->fires > before);
    assert_int_equal(probe->drops, 0);
    const bool is_over = (probe - probes) % 3 != 0;
    assert_int_equal(tw_timer_move(set, entry->handle, MS), is_over ? -EBUSY : 0);
    return 0;
}

TEST(a_timer_that_has_fired_for_the_last_time_is_dropped_after_its_visit) {
    start_after(set, &probes[1], MS);
    start_every(set, &probes[0], MS);
    probes[0].set = probes[1].set = set;
    assert_int_equal(walk(let_time_pass), 2);
    assert_int_equal(probes[1].fires, 1);
    assert_int_equal(probes[1].drops, 1);
    assert_int_equal(probes[0].drops, 0);
    assert_int_equal(tw_timers_count(set), 1);
}

static unsigned walked_in_drop;
static void walk_from_drop(void *arg) {
    walked_in_drop = (unsigned)walk(only_note);
    note_drop(arg);
}

TEST(a_drop_may_walk_and_does_not_visit_its_own_timer) {
    const struct tw_task task = {.fn = note_fire, .arg = &probes[0], .drop = walk_from_drop};
    const struct tw_when when = {.due_ns = MS};
    start_after(set, &probes[1], TW_SECOND);
    assert_int_equal(tw_timer_start(set, &probes[0].id, &when, &task), 0);
    assert_int_equal(tw_timer_cancel(set, probes[0].id), 1);
    assert_int_equal(walked_in_drop, 1);
    assert_int_equal(visits_of[0], 0);
    assert_int_equal(visits_of[1], 1);
}

/* --- with other threads --------------------------------------------------------------------------- */

static struct gate gate;

static int visit_in_gate(const struct tw_entry *entry, void *visit_arg) {
    note_visit(entry, visit_arg);
    pass(&gate);
    assert_int_equal(((struct probe *)entry->arg)->drops, 0);
    return 0;
}

static void *walk_on_thread(void *result) {
    *(int64_t *)result = walk(visit_in_gate);
    return NULL;
}

static atomic_bool has_stopped;

static void *stop_and_wait(void *arg) {
    struct probe *probe = arg;
    probe->answer = tw_timer_cancel_wait(set, probe->id);
    atomic_store(&has_stopped, true);
    return NULL;
}

/* cancel_wait promises that the argument has been dropped. */
static void stop_beside_a_visit(struct tw_set_options options) {
    pthread_t walker, stopper;
    int64_t visits = 0;
    set = new_set(rt, options);
    shut(&gate);
    atomic_store(&has_stopped, false);
    start_after(set, &probes[0], TW_SECOND);
    assert_int_equal(pthread_create(&walker, NULL, walk_on_thread, &visits), 0);
    wait_for(gate.inside == 1);
    assert_int_equal(pthread_create(&stopper, NULL, stop_and_wait, &probes[0]), 0);
    wait_for(tw_timer_cancel(set, probes[0].id) == -ESTALE); /* whichever thread's call came first */
    assert_int_equal(probes[0].drops, 0);
    assert_false(has_stopped);
    atomic_store(&gate.open, true);
    pthread_join(stopper, NULL);
    assert_int_equal(probes[0].drops, 1);
    pthread_join(walker, NULL);
    assert_int_equal(visits, 1);
    assert_int_equal(probes[0].fires, 0);
    assert_int_equal(tw_timers_count(set), 0);
}

TEST(cancel_wait_waits_for_a_visit_on_another_thread) {
    struct tw_set_options options = {.capacity = 3};
    stop_beside_a_visit((struct tw_set_options){0});
    assert_int_equal(tw_workers_new(&options.workers, rt, NULL), 0);
    memset(probes, 0, sizeof probes);
    memset(visits_of, 0, sizeof visits_of);
    stop_beside_a_visit(options);
}

/* The record's last fire waits for the worker while the visit goes on, and runs afterwards or meanwhile. */
TEST(a_worker_runs_a_timer_during_its_visit) {
    struct tw_set_options options = {0};
    pthread_t walker;
    int64_t visits = 0;
    assert_int_equal(tw_workers_new(&options.workers, rt, NULL), 0);
    set = new_set(rt, options);
    shut(&gate);
    start_after(set, &probes[0], MS);
    assert_int_equal(pthread_create(&walker, NULL, walk_on_thread, &visits), 0);
    wait_for(gate.inside == 1);
    assert_ok(tw_runtime_advance(rt, MS));
    wait_for(probes[0].fires == 1);
    assert_int_equal(tw_timer_cancel(set, probes[0].id), 0);
    assert_int_equal(probes[0].drops, 0);
    atomic_store(&gate.open, true);
    pthread_join(walker, NULL);
    wait_for(tw_timers_count(set) == 0);
    assert_int_equal(probes[0].drops, 1);
}

static void *cancel_all_on_thread(void *result) {
    *(int64_t *)result = tw_timers_cancel_all(set, NULL, NULL);
    return NULL;
}

TEST(a_cancel_all_waits_for_a_visit_on_another_thread) {
    pthread_t walker, canceller;
    int64_t visits = 0, result = 99;
    shut(&gate);
    start_after(set, &probes[0], TW_SECOND);
    assert_int_equal(pthread_create(&walker, NULL, walk_on_thread, &visits), 0);
    wait_for(gate.inside == 1);
    assert_int_equal(pthread_create(&canceller, NULL, cancel_all_on_thread, &result), 0);
    wait_for(tw_runtime_count(rt) == 0); /* the thread has taken the timer off the wheel */
    assert_int_equal(probes[0].drops, 0);
    atomic_store(&gate.open, true);
    pthread_join(walker, NULL);
    pthread_join(canceller, NULL);
    assert_int_equal(result, 1);
    assert_int_equal(probes[0].drops, 1);
}
