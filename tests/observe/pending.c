/* tw_runtime_each: shows pending timers of every kind. */
#include "support/runtime_test.h"

#include <tickwheel/keyed.h>
#include <tickwheel/observe.h>
#include <tickwheel/timers.h>
#include <tickwheel/workers.h>

static struct tw_runtime *rt;

/* --- what a visitor learns -------------------------------------------------------------- */

#define MOST 16
static struct tw_entry seen[MOST];
static struct tw_key key_seen;
static char key_bytes[64];
static int64_t count_seen;

static int note(const struct tw_entry *timer, UNUSED void *arg) {
    assert_true(count_seen < MOST);
    seen[count_seen++] = *timer;
    if (timer->key != NULL) {
        key_seen = *timer->key;
        if (!key_seen.is_number) {
            assert_true(key_seen.size <= sizeof key_bytes);
            memcpy(key_bytes, key_seen.bytes, key_seen.size);
        }
    }
    return 0;
}

static const struct tw_entry *only_one(void) {
    count_seen = 0;
    assert_int_equal(tw_runtime_each(rt, note, NULL), 0);
    assert_int_equal(count_seen, 1);
    return &seen[0];
}

static int fresh(UNUSED void **state) {
    rt = new_runtime((struct tw_runtime_options){.driver = "manual", .clock = TW_CLOCK_WALL});
    assert_ok(tw_runtime_set_wall(rt, 5000 * TW_SECOND));
    return 0;
}

static int done(UNUSED void **state) { return tw_runtime_free(rt); }

FIXTURE(fresh, done);

TEST(a_node_is_reported_with_its_deadline_period_and_label) {
    struct tw_node node;
    tw_node_init(&node, no_callback, NULL);
    assert_ok(tw_runtime_label(rt, &node, "beat"));
    assert_ok(tw_runtime_every(rt, &node, 2500 * TW_MICROSECOND, TW_COALESCE));
    const struct tw_entry *timer = only_one();
    assert_ptr_equal(timer->node, &node);
    assert_int_equal(timer->handle, TW_NO_HANDLE);
    assert_null(timer->key);
    assert_string_equal(timer->label, "beat");
    assert_int_equal(timer->due_ns, 3 * TW_MILLISECOND);
    assert_int_equal(timer->remaining_ns, 3 * TW_MILLISECOND);
    assert_int_equal(timer->period_ns, 2500 * TW_MICROSECOND);
    assert_int_equal(timer->on_wall, 0);
    tw_runtime_cancel(rt, &node);
}

TEST(a_node_on_the_wall_clock_is_reported_with_a_reading_of_that) {
    struct tw_node node;
    tw_node_init(&node, no_callback, NULL);
    assert_ok(tw_runtime_at(rt, &node, 6000 * TW_SECOND));
    const struct tw_entry *timer = only_one();
    assert_int_equal(timer->on_wall, 1);
    assert_int_equal(timer->due_ns, 6000 * TW_SECOND);
    assert_int_equal(timer->remaining_ns, 1000 * TW_SECOND);
    assert_int_equal(timer->period_ns, 0);
    assert_null(timer->label);
    tw_runtime_cancel(rt, &node);
}

TEST(a_timer_by_handle_is_reported_with_its_handle) {
    struct tw_timers *handles;
    tw_handle id;
    assert_ok(tw_timers_new(&handles, rt, NULL));
    assert_ok(tw_timer_every(handles, &id, TW_SECOND, TW_COALESCE, no_task, NULL));
    const struct tw_entry *timer = only_one();
    assert_null(timer->node);
    assert_int_equal(timer->handle, id);
    assert_int_equal(timer->due_ns, TW_SECOND);
    assert_int_equal(timer->period_ns, TW_SECOND);
    assert_int_equal(tw_timer_cancel(handles, timer->handle), 1);
}

TEST(a_timer_by_key_is_reported_with_its_key) {
    static const char long_key[] = "a key that is longer than a record has room for";
    struct tw_keyed *keyed;
    assert_ok(tw_keyed_new(&keyed, rt, NULL));
    assert_ok(tw_keyed_after(keyed, tw_key_number(77), TW_SECOND, no_task, NULL));
    assert_int_equal(only_one()->handle, TW_NO_HANDLE);
    assert_true(key_seen.is_number && key_seen.number == 77);
    assert_int_equal(tw_keyed_cancel(keyed, tw_key_number(77)), 1);
    assert_ok(tw_keyed_after(keyed, tw_key_bytes(long_key, sizeof long_key), TW_SECOND, no_task, NULL));
    only_one();
    assert_int_equal(key_seen.size, sizeof long_key);
    assert_memory_equal(key_bytes, long_key, sizeof long_key);
}

TEST(an_overdue_timer_has_less_than_nothing_left) {
    struct tw_node node;
    tw_node_init(&node, no_callback, NULL);
    assert_ok(tw_runtime_at(rt, &node, 1000 * TW_SECOND));
    assert_int_equal(only_one()->remaining_ns, -4000 * TW_SECOND);
    tw_runtime_cancel(rt, &node);
}

/* --- what a visitor may do ---------------------------------------------------------------- */

static int count(UNUSED const struct tw_entry *timer, void *arg) {
    ++*(unsigned *)arg;
    return 0;
}

#define SETS 5
#define EACH 700

TEST(every_timer_of_every_kind_is_visited_once) {
    static struct tw_node nodes[EACH];
    struct tw_timers *handles[SETS];
    struct tw_keyed *keyed;
    unsigned visits = 0;
    assert_ok(tw_keyed_new(&keyed, rt, NULL));
    for (unsigned set = 0; set < SETS; ++set) {
        struct tw_workers *workers; /* a component without timers */
        assert_ok(tw_workers_new(&workers, rt, NULL));
        assert_ok(tw_timers_new(&handles[set], rt, NULL));
    }
    for (unsigned i = 0; i < EACH; ++i) {
        tw_handle id;
        tw_node_init(&nodes[i], no_callback, NULL);
        assert_ok(tw_runtime_after(rt, &nodes[i], (1 + i % 50) * TW_SECOND));
        assert_ok(tw_keyed_after(keyed, tw_key_number(i), TW_SECOND, no_task, NULL));
        for (unsigned set = 0; set < SETS; ++set)
            assert_ok(tw_timer_after(handles[set], &id, i * TW_SECOND, no_task, NULL));
    }
    assert_int_equal(tw_runtime_each(rt, count, &visits), 0);
    assert_int_equal(visits, (SETS + 2) * EACH);
    assert_int_equal(tw_runtime_count(rt), (SETS + 2) * EACH);
    assert_int_equal(tw_runtime_check(rt, NULL, NULL), 0);
    tw_runtime_cancel_all(rt, NULL, NULL);
}

static struct tw_timers *the_set;
static int64_t visits_inside;

static void look_inside(UNUSED const struct tw_event *event, UNUSED void *arg) {
    unsigned visits = 0;
    assert_int_equal(tw_runtime_each(rt, count, &visits), 0);
    visits_inside = visits;
}
static int look_in_cancel_all(UNUSED const struct tw_entry *entry, UNUSED void *visit_arg) {
    look_inside(NULL, NULL);
    return 0;
}

TEST(a_timer_that_fires_for_the_last_time_or_is_cancelled_is_not_pending) {
    tw_handle id;
    assert_ok(tw_timers_new(&the_set, rt, NULL));
    assert_ok(tw_timer_after(the_set, &id, TW_SECOND, look_inside, NULL));
    assert_ok(tw_timer_after(the_set, &id, 2 * TW_SECOND, no_task, NULL));
    assert_ok(tw_runtime_advance(rt, TW_SECOND));
    assert_int_equal(visits_inside, 1);
    assert_ok(tw_timer_after(the_set, &id, 2 * TW_SECOND, no_task, NULL));
    assert_int_equal(tw_timers_cancel_all(the_set, look_in_cancel_all, NULL), 2);
    assert_int_equal(visits_inside, 0);
}

static int stop_it(const struct tw_entry *timer, void *visits) {
    ++*(unsigned *)visits;
    assert_int_equal(tw_timer_cancel(the_set, timer->handle), 1);
    return 0;
}

TEST(a_visitor_may_stop_what_it_is_shown) {
    unsigned visits = 0;
    tw_handle id;
    assert_ok(tw_timers_new(&the_set, rt, NULL));
    for (unsigned i = 0; i < EACH; ++i)
        assert_ok(tw_timer_after(the_set, &id, TW_SECOND, no_task, NULL));
    assert_int_equal(tw_runtime_each(rt, stop_it, &visits), 0);
    assert_int_equal(visits, EACH);
    assert_int_equal(tw_runtime_count(rt), 0);
}

static int end_the_walk(UNUSED const struct tw_entry *timer, void *visits) {
    return ++*(unsigned *)visits == EACH + 9 ? -7 : 0;
}

/* The walk ends among nodes, where it leaves a place in the wheel, and among other timers. */
TEST(a_visitor_ends_the_walk_with_its_result) {
    static struct tw_node nodes[2 * EACH];
    tw_handle id;
    assert_ok(tw_timers_new(&the_set, rt, NULL));
    for (unsigned i = 0; i < 2 * EACH; ++i) {
        unsigned visits = 0;
        tw_node_init(&nodes[i], no_callback, NULL);
        assert_ok(tw_runtime_after(rt, &nodes[i], TW_SECOND));
        assert_ok(tw_timer_after(the_set, &id, TW_SECOND, no_task, NULL));
        assert_int_equal(tw_runtime_each(rt, end_the_walk, &visits), 2 * (i + 1) >= EACH + 9 ? -7 : 0);
    }
    assert_int_equal(tw_runtime_check(rt, NULL, NULL), 0);
    tw_runtime_cancel_all(rt, NULL, NULL);
}

static int start_another(UNUSED const struct tw_entry *timer, void *visits) {
    struct tw_timers *set;
    tw_handle id;
    assert_true(++*(unsigned *)visits <= EACH);
    assert_ok(tw_timer_after(the_set, &id, TW_SECOND, no_task, NULL));
    assert_ok(tw_timers_new(&set, rt, NULL));
    assert_ok(tw_timer_after(set, &id, TW_SECOND, no_task, NULL));
    return 0;
}

TEST(a_walk_ends_although_its_visitor_starts_timers) {
    tw_handle id;
    unsigned visits = 0;
    assert_ok(tw_timers_new(&the_set, rt, NULL));
    for (unsigned i = 0; i < EACH; ++i)
        assert_ok(tw_timer_after(the_set, &id, TW_SECOND, no_task, NULL));
    assert_int_equal(tw_runtime_each(rt, start_another, &visits), 0);
    assert_int_equal(visits, EACH);
    assert_int_equal(tw_runtime_count(rt), 3 * EACH);
}

static int free_set_later(UNUSED const struct tw_entry *timer, void *arg) {
    struct tw_timers **other = arg;
    assert_int_equal(tw_timers_free(*other), 0);
    *other = NULL;
    return 0;
}

TEST(a_visitor_may_free_a_set_that_the_walk_has_not_come_to) {
    struct tw_timers *first, *second;
    tw_handle id;
    assert_ok(tw_timers_new(&first, rt, NULL));
    assert_ok(tw_timers_new(&second, rt, NULL));
    assert_ok(tw_timer_after(first, &id, TW_SECOND, no_task, NULL));
    assert_ok(tw_timer_after(second, &id, TW_SECOND, no_task, NULL));
    assert_int_equal(tw_runtime_each(rt, free_set_later, &second), 0);
    assert_null(second);
    assert_int_equal(tw_runtime_count(rt), 1);
}

TEST(each_refuses_bad_arguments) {
    assert_int_equal(tw_runtime_each(NULL, note, NULL), -EINVAL);
    assert_int_equal(tw_runtime_each(rt, NULL, NULL), -EINVAL);
    assert_string_equal(tw_explain(-EINVAL), "the visitor is null");
}
