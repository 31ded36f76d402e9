/* Sets of handles by the hundred thousand. */
#include "timers_test.h"

#include "support/sanitized.h"

enum { SETS = SLOW ? 5000 : 100000 };

TEST(a_hundred_thousand_sets_have_a_timer_each) {
    static struct tw_timers *sets[SETS];
    static struct probe probes[SETS];
    uint64_t seed = 1;
    struct tw_runtime *rt = virtual_runtime();
    for (unsigned s = 0; s < SETS; ++s) {
        sets[s] = new_set(rt, (struct tw_set_options){0});
        assert_int_equal(
            tw_timer_after(sets[s], &probes[s].id, (int64_t)(1 + s % 100) * MS, note_fire, &probes[s]), 0);
    }
    assert_int_equal(tw_runtime_count(rt), SETS);
    for (unsigned tries = 0; tries < SETS; ++tries) {
        const uint64_t s = random_below(&seed, SETS), other = random_below(&seed, SETS);
        assert_int_equal(timer_remaining(sets[s], probes[s].id), (int64_t)(1 + s % 100) * MS);
        if (s != other)
            assert_int_equal(tw_timer_cancel(sets[s], probes[other].id), -ENOENT);
    }
    for (unsigned s = 0; s < SETS; s += 3)
        assert_int_equal(tw_timers_free(sets[s]), 0);
    assert_ok(tw_runtime_advance(rt, 100 * MS));
    for (unsigned s = 0; s < SETS; ++s)
        assert_int_equal(probes[s].fires, s % 3 != 0);
    tw_runtime_free(rt);
}
