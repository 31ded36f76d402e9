/* keyed.h on virtual time: tw_keyed_after and tw_keyed_every, refused calls, the end of a table, and copied
 * arguments. Fires, replacements and queries of keys: fuzz/play.c. Timers by handle or key alike: timers.c
 * and timers_again.c. */
#include "keyed_test.h"

#include <tickwheel/timers.h>

#define KEY tw_key_string("key")

TEST(after_and_every_set_timers_that_fire_once_and_until_they_are_cancelled) {
    struct bench bench = plain_bench();
    struct probe probe = {0, 0};
    const int64_t ms = TW_MILLISECOND;
    assert_int_equal(tw_keyed_after(bench.keyed, KEY, 2 * ms, count_fire, &probe), 0);
    assert_int_equal(tw_keyed_after(bench.keyed, KEY, 3 * ms, count_fire, &probe), 0);
    assert_int_equal(tw_keyed_count(bench.keyed), 1);
    pass_ms(bench, 2);
    assert_int_equal(probe.fires, 0);
    pass_ms(bench, 1);
    assert_int_equal(probe.fires, 1);
    assert_int_equal(tw_keyed_count(bench.keyed), 0);
    assert_int_equal(tw_keyed_get(bench.keyed, KEY, NULL), -ENOENT);
    assert_int_equal(tw_keyed_every(bench.keyed, KEY, 2 * ms, TW_BURST, count_fire, &probe), 0);
    assert_int_equal(tw_keyed_every(bench.keyed, KEY, 3 * ms, TW_COALESCE, count_fire, &probe), 0);
    pass_ms(bench, 7);
    assert_int_equal(probe.fires, 3);
    assert_int_equal(tw_runtime_leap(bench.rt, 8 * ms), 0); /* past 9, 12 and 15 */
    assert_int_equal(probe.fires, 4);
    assert_int_equal(tw_keyed_cancel(bench.keyed, KEY), 1);
    pass_ms(bench, 7);
    assert_int_equal(probe.fires, 4);
    end_bench(bench);
}

static int64_t each_millisecond(int64_t due, UNUSED void *arg) { return due + TW_MILLISECOND; }
static int64_t never(UNUSED int64_t due, UNUSED void *arg) { return TW_NO_DEADLINE; }

/* A schedule without a first deadline does not replace the timer, either. */
TEST(p14_a_refused_set_keeps_the_former_timer) {
    struct bench bench = plain_bench();
    struct probe former = {0, 0}, refused = {0, 0};
    const struct tw_task good = counting(&refused);
    const struct tw_when soon = in_ms(5), negative = in_ms(-1), period = every_ms(1);
    struct tw_task no_function = good, with_next = good, copied = good, no_first = good;
    struct tw_when half_tick = period, unknown = period;
    no_function.fn = NULL;
    with_next.next = each_millisecond;
    no_first.next = never;
    copied.arg_size = 1; /* larger than the storage */
    half_tick.period_ns = TW_MILLISECOND / 2;
    memset(&unknown.missed, 0x7f, sizeof unknown.missed);
    const struct {
        const struct tw_when *when;
        const struct tw_task *task;
        int error;
    } sets[] = {{NULL, &good, -EINVAL},         {&soon, NULL, -EINVAL},       {&soon, &no_function, -EINVAL},
                {&negative, &good, -EINVAL},    {&half_tick, &good, -EINVAL}, {&unknown, &good, -EINVAL},
                {&period, &with_next, -EINVAL}, {&soon, &copied, -EINVAL},    {NULL, &no_first, -ENOENT}};
    const struct tw_key keys[] = {KEY, tw_key_string("just 16 letters!"),
                                  tw_key_string("more than 16 letters")};
    assert_int_equal(set_in_ms(bench.keyed, KEY, 5, &former), 0);
    for (unsigned i = 0; i < COUNT_OF(sets); ++i)
        for (unsigned k = 0; k < COUNT_OF(keys); ++k)
            assert_int_equal(tw_keyed_set(bench.keyed, keys[k], sets[i].when, sets[i].task), sets[i].error);
    assert_int_equal(tw_keyed_set(NULL, KEY, &soon, &good), -EINVAL);
    assert_int_equal(tw_keyed_after(bench.keyed, KEY, -1, count_fire, &refused), -EINVAL);
    assert_int_equal(tw_keyed_after(bench.keyed, KEY, 1, NULL, &refused), -EINVAL);
    assert_int_equal(tw_keyed_every(bench.keyed, KEY, 0, TW_COALESCE, count_fire, &refused), -EINVAL);
    assert_int_equal(tw_keyed_every(bench.keyed, KEY, 1, TW_COALESCE, count_fire, &refused), -EINVAL);
    assert_int_equal(
        tw_keyed_every(bench.keyed, KEY, TW_MILLISECOND, (enum tw_missed)77, count_fire, &refused), -EINVAL);
    assert_int_equal(tw_keyed_count(bench.keyed), 1);
    pass_ms(bench, 5);
    assert_probe(former, 1, 1);
    assert_probe(refused, 0, 0);
    end_bench(bench);
}

TEST(p14_a_refused_move_changes_nothing) {
    struct bench bench = plain_bench();
    struct probe probe = {0, 0};
    const struct tw_key other = tw_key_string("other");
    assert_int_equal(set_in_ms(bench.keyed, KEY, 10, &probe), 0);
    assert_int_equal(tw_keyed_move(bench.keyed, KEY, -1), -EINVAL);
    assert_int_equal(tw_keyed_move(bench.keyed, KEY, -1), -EINVAL);
    assert_int_equal(tw_keyed_move(bench.keyed, other, 1), -ENOENT);
    assert_int_equal(tw_keyed_move(bench.keyed, other, 1), -ENOENT);
    assert_int_equal(tw_keyed_again(bench.keyed, other), -ENOENT);
    pass_ms(bench, 9);
    assert_probe(probe, 0, 0);
    pass_ms(bench, 1);
    assert_probe(probe, 1, 1);
    end_bench(bench);
}

/* --- the life of a table --------------------------------------------------------------------- */

/* The test frees the table by itself, or with its runtime. */
TEST(freeing_a_table_drops_what_is_left) {
    for (unsigned with_runtime = 0; with_runtime < 2; ++with_runtime) {
        struct bench bench = plain_bench();
        struct probe probe = {0, 0};
        const struct tw_when when = every_ms(1);
        const struct tw_task task = counting(&probe);
        const char long_key[100] = "";
        assert_int_equal(tw_keyed_set(bench.keyed, KEY, &when, &task), 0);
        assert_int_equal(set_in_ms(bench.keyed, tw_key_bytes(long_key, sizeof long_key), 10, &probe), 0);
        pass_ms(bench, 3);
        if (!with_runtime) {
            assert_int_equal(tw_keyed_free(bench.keyed), 0);
            assert_int_equal(tw_runtime_count(bench.rt), 0);
            pass_ms(bench, 100);
            assert_probe(probe, 3, 2);
        }
        assert_int_equal(tw_runtime_free(bench.rt), 0);
        assert_probe(probe, 3, 2);
    }
    assert_int_equal(tw_keyed_free(NULL), 0);
}

TEST(p14_options_out_of_range_are_refused) {
    struct tw_runtime *rt = virtual_runtime();
    const struct tw_set_options too_many = {.capacity = TW_TIMERS_MAX + 1}, too_large = {.storage = 4097};
    struct tw_keyed *const untouched = (struct tw_keyed *)(uintptr_t)16, *keyed = untouched;
    assert_int_equal(tw_keyed_new(NULL, rt, NULL), -EINVAL);
    assert_int_equal(tw_keyed_new(&keyed, NULL, NULL), -EINVAL);
    assert_int_equal(tw_keyed_new(&keyed, rt, &too_many), -EINVAL);
    assert_int_equal(tw_keyed_new(&keyed, rt, &too_large), -EINVAL);
    assert_ptr_equal(keyed, untouched);
    tw_runtime_free(rt);
}

TEST(p14_no_table_is_refused) {
    struct probe probe = {0, 0};
    assert_int_equal(set_in_ms(NULL, KEY, 1, &probe), -EINVAL);
    assert_int_equal(tw_keyed_after(NULL, KEY, 1, count_fire, &probe), -EINVAL);
    assert_int_equal(tw_keyed_every(NULL, KEY, TW_MILLISECOND, TW_COALESCE, count_fire, &probe), -EINVAL);
    assert_int_equal(tw_keyed_cancel(NULL, KEY), -EINVAL);
    assert_int_equal(tw_keyed_cancel_wait(NULL, KEY), -EINVAL);
    assert_int_equal(tw_keyed_get(NULL, KEY, NULL), -EINVAL);
    assert_int_equal(tw_keyed_count(NULL), 0);
    assert_int_equal(tw_keyed_cancel_all(NULL, NULL, NULL), -EINVAL);
    assert_probe(probe, 0, 0);
}

/* --- arguments copied into the timer; other clocks ------------------------------------------- */

static uint64_t seen;
static void see(UNUSED const struct tw_event *event, void *arg) {
    assert_int_equal((uintptr_t)arg % 16, 0);
    seen += *(uint64_t *)arg;
}

TEST(a_copied_argument_is_each_timers_own) {
    struct bench bench = new_bench((struct tw_set_options){.storage = sizeof(uint64_t)});
    const struct tw_when when = in_ms(1);
    seen = 0;
    for (uint64_t i = 1; i <= 100; ++i) {
        uint64_t value = i;
        const struct tw_task task = {.fn = see, .arg = &value, .arg_size = sizeof value};
        assert_int_equal(tw_keyed_set(bench.keyed, tw_key_number(i % 50), &when, &task), 0);
    }
    pass_ms(bench, 1);
    assert_int_equal(seen, (51 + 100) * 50 / 2);
    end_bench(bench);
}
