/* tw_keyed_postpone and tw_keyed_again, on virtual time. What they have in common with handles is tested in
 * handles_again.c. */
#include "keyed_test.h"

#define KEY tw_key_string("a key")
#define LONG_KEY tw_key_string("a key that is longer than 16 bytes")
#define MS TW_MILLISECOND

static struct bench bench;

static int make(UNUSED void **state) {
    bench = plain_bench();
    return 0;
}

static int end(UNUSED void **state) {
    end_bench(bench);
    return 0;
}

static int64_t remaining(struct tw_key key) {
    struct tw_keyed_timer timer = {-1, NULL};
    assert_int_equal(tw_keyed_get(bench.keyed, key, &timer), 0);
    return timer.remaining_ns;
}

/* At the end of tests whose timers are still pending: their arguments are on the stack. */
static void remove_all(void) { assert_true(tw_keyed_drain(bench.keyed, NULL, NULL) >= 0); }

FIXTURE(make, end);

TEST(postpone_makes_a_timer_due_later_and_never_earlier) {
    const struct tw_key keys[] = {KEY, LONG_KEY, tw_key_number(7)};
    for (unsigned i = 0; i < COUNT_OF(keys); ++i) {
        struct probe probe = {0, 0};
        assert_int_equal(set_in_ms(bench.keyed, keys[i], 10, &probe), 0);
        assert_int_equal(tw_keyed_postpone(bench.keyed, keys[i], 9 * MS), 0);
        assert_int_equal(remaining(keys[i]), 10 * MS);
        pass_ms(bench, 5);
        assert_int_equal(tw_keyed_postpone(bench.keyed, keys[i], 10 * MS), 0);
        pass_ms(bench, 9);
        assert_probe(probe, 0, 0);
        pass_ms(bench, 1);
        assert_probe(probe, 1, 1);
        assert_int_equal(tw_keyed_postpone(bench.keyed, keys[i], MS), -ENOENT);
    }
    remove_all();
}

TEST(again_starts_the_delay_of_the_last_set_or_move) {
    struct probe probe = {0, 0};
    assert_int_equal(set_in_ms(bench.keyed, KEY, 10, &probe), 0);
    for (unsigned i = 0; i < 100; ++i) {
        pass_ms(bench, 9);
        assert_int_equal(tw_keyed_again(bench.keyed, KEY), 0);
    }
    assert_int_equal(tw_keyed_postpone(bench.keyed, KEY, 50 * MS), 0);
    assert_int_equal(tw_keyed_again(bench.keyed, KEY), 0);
    assert_int_equal(remaining(KEY), 10 * MS);
    assert_int_equal(tw_keyed_move(bench.keyed, KEY, 3 * MS), 0);
    pass_ms(bench, 2);
    assert_int_equal(tw_keyed_again(bench.keyed, KEY), 0);
    assert_int_equal(remaining(KEY), 3 * MS);
    assert_int_equal(set_in_ms(bench.keyed, KEY, 20, &probe), 1); /* replaces it */
    pass_ms(bench, 5);
    assert_int_equal(tw_keyed_again(bench.keyed, KEY), 0);
    assert_int_equal(remaining(KEY), 20 * MS);
    pass_ms(bench, 20);
    assert_probe(probe, 1, 2);
    assert_int_equal(tw_keyed_again(bench.keyed, KEY), -ENOENT);
    remove_all();
}

TEST(again_makes_a_periodic_timer_due_one_period_from_now) {
    struct probe probe = {0, 0};
    assert_int_equal(tw_keyed_every(bench.keyed, KEY, 10 * MS, TW_SKIP, count_fire, &probe), 0);
    pass_ms(bench, 15);
    assert_int_equal(probe.fires, 1);
    assert_int_equal(tw_keyed_again(bench.keyed, KEY), 0);
    assert_int_equal(remaining(KEY), 10 * MS);
    pass_ms(bench, 30);
    assert_int_equal(probe.fires, 4);
    remove_all();
}

TEST(a_deadline_is_no_delay_to_start_again) {
    struct probe probe = {0, 0};
    const struct tw_when at_ten = {.due_ns = 10 * MS, .absolute = 1};
    const struct tw_task task = counting(&probe);
    assert_int_equal(tw_keyed_set(bench.keyed, KEY, &at_ten, &task), 0);
    assert_int_equal(tw_keyed_again(bench.keyed, KEY), -EINVAL);
    assert_int_equal(tw_keyed_postpone(bench.keyed, KEY, 20 * MS), 0);
    assert_int_equal(tw_keyed_again(bench.keyed, KEY), -EINVAL);
    assert_int_equal(remaining(KEY), 20 * MS);
    remove_all();
}

static int answers[2];

static void try_both(const struct tw_event *event, void *arg) {
    count_fire(event, arg);
    answers[0] = tw_keyed_postpone(bench.keyed, *event->key, 30 * MS);
    answers[1] = tw_keyed_again(bench.keyed, *event->key);
}

TEST(inside_a_callback_a_periodic_timer_is_moved_and_a_last_one_is_busy) {
    struct probe probe = {0, 0};
    assert_int_equal(tw_keyed_after(bench.keyed, KEY, 10 * MS, try_both, &probe), 0);
    assert_int_equal(tw_keyed_every(bench.keyed, LONG_KEY, 20 * MS, TW_BURST, try_both, &probe), 0);
    pass_ms(bench, 10);
    assert_int_equal(answers[0], -EBUSY);
    assert_int_equal(answers[1], -EBUSY);
    pass_ms(bench, 10);
    assert_int_equal(answers[0], 0);
    assert_int_equal(answers[1], 0);
    assert_int_equal(remaining(LONG_KEY), 20 * MS);
    remove_all();
}

TEST(p14_bad_input_is_refused_and_changes_nothing) {
    struct probe probe = {0, 0};
    assert_int_equal(set_in_ms(bench.keyed, KEY, 10, &probe), 0);
    assert_int_equal(tw_keyed_postpone(NULL, KEY, MS), -EINVAL);
    assert_int_equal(tw_keyed_again(NULL, KEY), -EINVAL);
    assert_int_equal(tw_keyed_postpone(bench.keyed, KEY, -1), -EINVAL);
    assert_int_equal(tw_keyed_postpone(bench.keyed, tw_key_string(NULL), MS), -EINVAL);
    assert_int_equal(tw_keyed_again(bench.keyed, tw_key_string(NULL)), -EINVAL);
    assert_int_equal(tw_keyed_again(bench.keyed, tw_key_bytes("", TW_KEY_MAX + 1)), -EINVAL);
    assert_int_equal(tw_keyed_postpone(bench.keyed, tw_key_number(1), MS), -ENOENT);
    assert_int_equal(tw_keyed_again(bench.keyed, tw_key_number(1)), -ENOENT);
    assert_int_equal(remaining(KEY), 10 * MS);
    remove_all();
}
