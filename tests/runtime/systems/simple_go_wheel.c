/* The features of the simple Go wheel: start, stop, add; plus one it lacks: correct delays
 * longer than the wheel. On 3 x 256 slots, and on one level of 8 slots, where every delay of 8
 * ticks or more is longer than the wheel. */
#include "systems.h"

enum { SLOTS = 8 }; /* of the small wheel */

FIXTURE(at_zero, freed);

TEST(simple_tasks_of_1_3_and_9_seconds) {
    static struct noted one, three, nine;
    start_after(&one, 1 * TW_SECOND);
    start_after(&three, 3 * TW_SECOND);
    start_after(&nine, 9 * TW_SECOND); /* on 8 slots: shares the slot of the first */
    let_pass(TW_SECOND);
    assert_fired(&one, 1, TW_SECOND);
    assert_int_equal(three.fires + nine.fires, 0);
    let_pass(2 * TW_SECOND);
    assert_fired(&three, 1, 3 * TW_SECOND);
    let_pass(6 * TW_SECOND - 1);
    assert_int_equal(nine.fires, 0);
    let_pass(1);
    assert_fired(&nine, 1, 9 * TW_SECOND);
    let_pass(1000 * TW_SECOND);
    assert_int_equal(one.fires + three.fires + nine.fires, 3);
}

TEST(simple_periodic_tasks_of_1_3_and_9_seconds) {
    static const int64_t periods[] = {1, 3, 9};
    static struct noted tasks[COUNT_OF(periods)];
    for (size_t i = 0; i < COUNT_OF(periods); ++i) {
        init(&tasks[i]);
        assert_int_equal(tw_runtime_every(rt, &tasks[i].node, periods[i] * TW_SECOND, TW_BURST), 0);
    }
    for (int64_t second = 1; second <= 100; ++second) {
        let_pass(TW_SECOND);
        for (size_t i = 0; i < COUNT_OF(periods); ++i)
            assert_int_equal(tasks[i].fires, second / periods[i]);
    }
}

/* Each delay takes a different number of rounds, and all meet in one slot. */
TEST(simple_delays_longer_than_the_wheel_do_not_collide) {
    enum { TASKS = 200 };
    static struct noted tasks[TASKS];
    for (int i = 0; i < TASKS; ++i)
        start_after(&tasks[i], (3 + (TASKS - 1 - i) * (int64_t)SLOTS) * TW_SECOND);
    for (int fired = 0; fired < TASKS; ++fired) {
        let_pass((fired == 0 ? 3 : SLOTS) * TW_SECOND);
        const struct noted *last = &tasks[TASKS - 1 - fired];
        assert_int_equal(last->last_ns, (3 + fired * (int64_t)SLOTS) * TW_SECOND);
        assert_int_equal(tw_runtime_count(rt), TASKS - 1 - fired);
    }
    for (int i = 0; i < TASKS; ++i)
        assert_int_equal(tasks[i].fires, 1);
}

/* Up to 2^bits seconds, each added at another tick. */
static void any_delays(int tasks, unsigned bits) {
    static struct noted noted[500];
    static int64_t due[500];
    uint64_t seed = bits;
    for (int i = 0; i < tasks; ++i) {
        let_pass((int64_t)random_below(&seed, 3) * TW_SECOND);
        const int64_t delay = 1 + (int64_t)random_below(&seed, UINT64_C(1) << random_below(&seed, bits + 1));
        due[i] = tw_runtime_now(rt) + delay * TW_SECOND;
        start_after(&noted[i], delay * TW_SECOND);
    }
    let_pass((INT64_C(1) << bits) * TW_SECOND);
    for (int i = 0; i < tasks; ++i)
        assert_fired(&noted[i], 1, due[i]);
}

TEST(simple_many_delays_of_any_length_added_at_any_time) { any_delays(500, 18); }

TEST(simple_delays_of_centuries_added_at_any_time) { any_delays(30, 33); }

/* --- start, stop, add: on real time -------------------------------------------------- */

static int not_started(UNUSED void **state) {
    rt = new_runtime((struct tw_runtime_options){.driver = "sleep"});
    return 0;
}

FIXTURE(not_started, freed);

TEST(simple_tasks_added_before_and_after_the_start_run) {
    static struct noted before, after;
    start_after(&before, TW_MILLISECOND);
    assert_int_equal(tw_runtime_start(rt), 0);
    start_after(&after, TW_MILLISECOND);
    wait_for(before.fires == 1 && after.fires == 1);
}

TEST(simple_a_stopped_wheel_fires_nothing_and_goes_on_when_it_is_started_again) {
    static struct noted task, far;
    assert_int_equal(tw_runtime_start(rt), 0);
    start_after(&far, 3600 * TW_SECOND);
    assert_int_equal(tw_runtime_stop(rt), 0);
    start_after(&task, TW_MILLISECOND);
    const int64_t due = monotonic() + 2 * TW_MILLISECOND;
    wait_for(monotonic() > due + 10 * TW_MILLISECOND);
    assert_int_equal(task.fires, 0);
    assert_int_equal(tw_runtime_count(rt), 2);
    assert_int_equal(tw_runtime_start(rt), 0);
    wait_for(task.fires == 1);
    assert_int_equal(far.fires, 0);
}
