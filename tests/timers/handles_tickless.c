/* P9 for timers that the library keeps: those that were stopped or moved away cost no wake-up. What is left
 * of them on the wheel is looked at and passed over, as long as it is a handful. */
#include "handles_test.h"

enum { GONE = 20 };

/* The last timer fires after so long; the others would have fired before. */
static const int64_t until = 300 * MS;

static struct probe last, gone[GONE];

static uint64_t wakeups_of(struct tw_runtime *rt) {
    struct tw_stats stats;
    assert_ok(tw_runtime_stats(rt, &stats));
    return stats.wakeups;
}

static uint64_t wakes_of(struct tw_runtime *rt) {
    struct tw_stats stats;
    assert_ok(tw_runtime_stats(rt, &stats));
    return stats.wakes;
}

static void start_all(struct tw_handles *set) {
    memset(&last, 0, sizeof last);
    memset(gone, 0, sizeof gone);
    for (unsigned i = 0; i < GONE; ++i)
        start_after(set, &gone[i], until / (GONE + 1) * (i + 1));
    start_after(set, &last, until);
}

static void stop_one(struct tw_handles *set, struct probe *it) {
    assert_int_equal(tw_handle_stop(set, it->id), 1);
}
static void move_one(struct tw_handles *set, struct probe *it) {
    assert_int_equal(tw_handle_move(set, it->id, 3600 * TW_SECOND), 0);
}
static void postpone_one(struct tw_handles *set, struct probe *it) {
    assert_int_equal(tw_handle_postpone(set, it->id, 3600 * TW_SECOND), 0);
}

static void (*const ways_to_go[])(struct tw_handles *, struct probe *) = {stop_one, move_one, postpone_one};

typedef void how(struct tw_runtime *rt, struct tw_handles *set,
                 void (*let_go)(struct tw_handles *, struct probe *));

/* For each driver, short and long ticks, and each way to go. */
static void assert_few_wake_ups(how *scene) {
    for (unsigned d = 0; d < COUNT_OF(thread_drivers); ++d)
        for (int64_t tick_ns = 1000; tick_ns <= MS; tick_ns *= 1000)
            for (unsigned w = 0; w < COUNT_OF(ways_to_go); ++w) {
                struct tw_runtime *rt =
                    new_runtime((struct tw_runtime_options){.driver = thread_drivers[d], .tick_ns = tick_ns});
                scene(rt, new_set(rt, (struct tw_handles_options){0}), ways_to_go[w]);
                tw_runtime_free(rt);
            }
}

static void go_before_it_sleeps(struct tw_runtime *rt, struct tw_handles *set,
                                void (*let_go)(struct tw_handles *, struct probe *)) {
    start_all(set);
    for (unsigned i = 0; i < GONE; ++i)
        let_go(set, &gone[i]);
    assert_ok(tw_runtime_start(rt));
    wait_for(last.fires == 1);
    assert_in_range(wakeups_of(rt), 0, 1); /* none, if it became due before the thread slept */
}

TEST(p9_timers_that_went_before_the_thread_slept_do_not_wake_it) { assert_few_wake_ups(go_before_it_sleeps); }

/* The thread sleeps until the first of them, and that one wake-up is not taken back. */
static void go_while_it_sleeps(struct tw_runtime *rt, struct tw_handles *set,
                               void (*let_go)(struct tw_handles *, struct probe *)) {
    static struct probe far;
    start_after(set, &far, 3600 * TW_SECOND);
    start_all(set);
    assert_ok(tw_runtime_start(rt));
    for (unsigned i = 0; i < GONE; ++i)
        if (tw_handle_remaining(set, gone[i].id) > 5 * MS)
            let_go(set, &gone[i]);
    wait_for(last.fires == 1);
    unsigned fires = 1;
    for (unsigned i = 0; i < GONE; ++i)
        fires += gone[i].fires;
    assert_in_range(wakeups_of(rt) - wakes_of(rt), 0, fires + 1);
}

TEST(p9_timers_that_go_while_the_thread_sleeps_cost_one_wake_up_at_most) {
    assert_few_wake_ups(go_while_it_sleeps);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p9_timers_that_went_before_the_thread_slept_do_not_wake_it),
        cmocka_unit_test(p9_timers_that_go_while_the_thread_sleeps_cost_one_wake_up_at_most),
    };
    return cmocka_run_group_tests_name("P9, handles", tests, NULL, NULL);
}
