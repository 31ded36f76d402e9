/* `drop` may make any call while tw_runtime_free calls it. Every component of the runtime still exists then,
 * whatever the order in which they were made. Calls can arm, start and make nothing any more, and nothing
 * stays pending. */
#include "runtime/node_calls.h"
#include "support/timer_remaining.h"

#include <stdbool.h>

#include <tickwheel/keyed.h>
#include <tickwheel/timers.h>
#include <tickwheel/workers.h>

enum { SETS = 3 };

static struct tw_runtime *rt;
static struct tw_workers *pool;
static struct tw_timers *sets[SETS];
static struct tw_keyed *tables[2]; /* older and newer than the sets */
static tw_handle ids[SETS];
static unsigned acting; /* the set of the timer whose drop acts */
static struct tw_node node;
static unsigned drops, fires;

static void count_drop(UNUSED void *arg) { ++drops; }
static void count_fire(UNUSED const struct tw_event *event, UNUSED void *arg) { ++fires; }
static void count_node(UNUSED struct tw_node *fired, UNUSED void *arg) { ++fires; }

static const struct tw_when in_an_hour = {.due_ns = 3600 * TW_SECOND}, at_once = {0};
static const struct tw_task counting = {.fn = count_fire, .drop = count_drop};

/* --- what `drop` does. The newest set ends first, each set from its first timer to its last. - */

static void stop_timers(void) {
    for (unsigned s = 0; s < SETS; ++s) {
        assert_int_equal(tw_timer_cancel(sets[s], ids[s]), s < acting ? 1 : -ESTALE);
        assert_int_equal(tw_timer_cancel_wait(sets[s], ids[s]), -ESTALE);
        assert_int_equal(timer_remaining(sets[s], ids[s]), TW_NO_DEADLINE);
    }
}

static void move_timers(void) {
    for (unsigned s = 0; s < SETS; ++s) {
        assert_int_equal(tw_timer_move(sets[s], ids[s], 0), -ESHUTDOWN);
        assert_int_equal(tw_timer_move(sets[s], ids[s], TW_SECOND), -ESHUTDOWN);
        assert_int_equal(tw_timer_again(sets[s], ids[s]), -ESHUTDOWN);
    }
    for (unsigned t = 0; t < COUNT_OF(tables); ++t) {
        assert_int_equal(tw_keyed_move(tables[t], tw_key_number(1), 0), -ESHUTDOWN);
        assert_int_equal(tw_keyed_move(tables[t], tw_key_number(1), TW_SECOND), -ESHUTDOWN);
        assert_int_equal(tw_keyed_again(tables[t], tw_key_number(1)), -ESHUTDOWN);
    }
}

static void start_timers(void) {
    tw_handle id;
    for (unsigned s = 0; s < SETS; ++s) {
        assert_int_equal(tw_timer_start(sets[s], &id, &at_once, &counting), -ESHUTDOWN);
        assert_int_equal(tw_timer_after(sets[s], &id, TW_SECOND, count_fire, NULL), -ESHUTDOWN);
        assert_int_equal(tw_timer_every(sets[s], &id, TW_SECOND, TW_COALESCE, count_fire, NULL), -ESHUTDOWN);
    }
}

static void set_keys(void) {
    for (unsigned t = 0; t < COUNT_OF(tables); ++t)
        for (uint64_t key = 1; key <= 2; ++key) { /* one of the two keys is present */
            const struct tw_key name = tw_key_number(key);
            assert_int_equal(tw_keyed_set(tables[t], name, &at_once, &counting), -ESHUTDOWN);
            assert_int_equal(tw_keyed_after(tables[t], name, 0, count_fire, NULL), -ESHUTDOWN);
            assert_int_equal(tw_keyed_every(tables[t], name, TW_SECOND, TW_COALESCE, count_fire, NULL),
                             -ESHUTDOWN);
        }
}

static void remove_keys(void) {
    assert_int_equal(tw_keyed_cancel(tables[0], tw_key_number(1)), 1);
    assert_int_equal(tw_keyed_cancel(tables[1], tw_key_number(1)), -ENOENT);
}

static void cancel_all_keys(void) {
    assert_int_equal(tw_keyed_cancel_all(tables[0], NULL, NULL), 1);
    assert_int_equal(tw_keyed_cancel_all(tables[1], NULL, NULL), 0);
}

static void free_the_others(void) {
    for (unsigned s = 0; s < SETS; ++s)
        assert_int_equal(tw_timers_free(sets[s]), s == acting ? -EBUSY : 0);
    for (unsigned t = 0; t < COUNT_OF(tables); ++t)
        assert_int_equal(tw_keyed_free(tables[t]), 0);
}

static void arm_nodes(void) {
    for (unsigned i = 0; i < TIMING_CALLS; ++i)
        assert_int_equal(node_calls[i].call(rt, &node), -ESHUTDOWN);
    assert_int_equal(tw_runtime_move(rt, NULL, 1), -EINVAL);
    assert_int_equal(tw_runtime_cancel_wait(rt, &node), 0);
    assert_int_equal(tw_runtime_count(rt), 0);
}

static void make_more(void) {
    struct tw_timers *set;
    struct tw_keyed *table;
    struct tw_workers *workers;
    assert_int_equal(tw_timers_new(&set, rt, NULL), -ESHUTDOWN);
    assert_int_equal(tw_keyed_new(&table, rt, NULL), -ESHUTDOWN);
    assert_int_equal(tw_workers_new(&workers, rt, NULL), -ESHUTDOWN);
    assert_int_equal(tw_workers_free(pool), -EBUSY);
}

static void drive(void) {
    assert_int_equal(tw_runtime_advance(rt, TW_SECOND), -EBUSY);
    assert_int_equal(tw_runtime_leap(rt, TW_SECOND), -EBUSY);
    assert_int_equal(tw_runtime_start(rt), -ESHUTDOWN);
    assert_int_equal(tw_runtime_watch(rt, 0, 1, NULL, NULL), -ESHUTDOWN);
    assert_int_equal(tw_runtime_unwatch(rt, 0), -EOPNOTSUPP); /* by this driver */
    assert_int_equal(tw_runtime_stop(rt), 0);
    assert_int_equal(tw_runtime_due(rt), TW_NO_DEADLINE);
}

static void free_once_more(void) { assert_int_equal(tw_runtime_free(rt), 0); }

static void (*const acts[])(void) = {stop_timers, move_timers,     start_timers,   set_keys,
                                     remove_keys, cancel_all_keys, arm_nodes,      make_more,
                                     drive,       free_once_more,  free_the_others};

/* --- the scene ----------------------------------------------------------------------------- */

static void (*act)(void);

static void act_when_dropped(UNUSED void *arg) {
    act();
    ++drops;
}

static void make(bool with_workers) {
    rt = virtual_runtime();
    pool = NULL;
    assert_int_equal(tw_workers_new(&pool, rt, &(struct tw_workers_options){.threads = 1}), 0);
    const struct tw_set_options options = {.workers = with_workers ? pool : NULL};
    const struct tw_set_options of_tables = {.workers = with_workers ? pool : NULL};
    assert_int_equal(tw_keyed_new(&tables[0], rt, &of_tables), 0);
    for (unsigned s = 0; s < SETS; ++s)
        assert_int_equal(tw_timers_new(&sets[s], rt, &options), 0);
    assert_int_equal(tw_keyed_new(&tables[1], rt, &of_tables), 0);
    drops = fires = 0;
    for (unsigned t = 0; t < COUNT_OF(tables); ++t)
        assert_int_equal(tw_keyed_set(tables[t], tw_key_number(1), &in_an_hour, &counting), 0);
}

/* The acting timer is in the middle of its set. */
static void start_all(void) {
    const struct tw_task doing = {.fn = count_fire, .drop = act_when_dropped};
    tw_handle more;
    for (unsigned s = 0; s < SETS; ++s) {
        assert_int_equal(tw_timer_start(sets[s], &more, &in_an_hour, &counting), 0);
        assert_int_equal(tw_timer_start(sets[s], &ids[s], &in_an_hour, s == acting ? &doing : &counting), 0);
        assert_int_equal(tw_timer_start(sets[s], &more, &in_an_hour, &counting), 0);
    }
}

static void end_with(void (*what)(void), unsigned in_set, bool with_workers) {
    act = what;
    acting = in_set;
    make(with_workers);
    start_all();
    tw_node_init(&node, count_node, NULL);
    assert_ok(tw_runtime_after(rt, &node, 3600 * TW_SECOND));
    assert_int_equal(tw_runtime_free(rt), 0);
    assert_int_equal(drops, 3 * SETS + COUNT_OF(tables)); /* each once */
    assert_int_equal(fires, 0);
    struct tw_runtime *const next = virtual_runtime();
    assert_int_equal(tw_runtime_cancel(next, &node), 0); /* the node is idle, */
    assert_int_equal(tw_runtime_after(next, &node, 0), 0);
    assert_int_equal(tw_runtime_count(next), 1);
    assert_int_equal(tw_runtime_advance(next, 0), 0); /* and works elsewhere */
    assert_int_equal(fires, 1);
    assert_int_equal(tw_runtime_free(next), 0);
}

TEST(drops_of_a_runtime_that_is_freed_may_do_anything) {
    for (int with_workers = 0; with_workers < 2; ++with_workers)
        for (unsigned a = 0; a < COUNT_OF(acts); ++a)
            for (unsigned s = 0; s < SETS; ++s)
                end_with(acts[a], s, with_workers);
}

/* Each drop cancels the timer of the next set, whose drop does the same. */
static unsigned depth;

static void stop_next(UNUSED void *arg) {
    ++drops;
    if (++depth < SETS)
        assert_int_equal(tw_timer_cancel(sets[depth], ids[depth]), 1);
}

TEST(drops_that_lead_to_drops_of_other_sets) {
    const struct tw_task task = {.fn = count_fire, .drop = stop_next};
    make(false);
    depth = 0;
    for (unsigned s = 0; s < SETS; ++s)
        assert_int_equal(tw_timer_start(sets[s], &ids[s], &in_an_hour, &task), 0);
    assert_int_equal(tw_timer_cancel(sets[0], ids[0]), 1);
    assert_int_equal(drops, SETS);
    assert_int_equal(tw_runtime_free(rt), 0);
    assert_int_equal(drops, SETS + COUNT_OF(tables));
}
