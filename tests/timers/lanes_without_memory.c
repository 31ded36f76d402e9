/* A lane is made when it is first used, and then the memory for it may be lacking. */
#include "support/faults.h"

#include "support/lanes.h"
#include "timers_test.h"

#include <tickwheel/keyed.h>

enum { LANES = 5, TIMERS = 200 };

static unsigned fires;
static void count(UNUSED const struct tw_event *event, UNUSED void *arg) { ++fires; }

static int take_turns(UNUSED void **state) {
    fires = 0;
    use_lanes_in_turn(LANES);
    return 0;
}

static int end_turns(UNUSED void **state) {
    choose_lanes();
    return 0;
}

FIXTURE(take_turns, end_turns);

static tw_handle start_one(struct tw_timers *set) {
    tw_handle id = TW_NO_HANDLE;
    assert_int_equal(tw_timer_after(set, &id, MS, count, NULL), 0);
    return id;
}

/* Whichever allocation of a new lane fails: after so many that work, all are refused. */
TEST(handles_go_to_the_first_lane_if_there_is_no_memory_for_another) {
    for (int spared = 0; spared < 12; ++spared) {
        const struct holdings before = holdings_now();
        struct tw_runtime *rt = virtual_runtime();
        struct tw_timers *set = new_set(rt, (struct tw_set_options){0});
        tw_handle ids[TIMERS];
        unsigned started = 0;
        fires = 0;
        ids[started++] = start_one(set); /* cells in the first lane */
        inject(EVERY_CALL, USUAL_ERROR, spared, FOREVER);
        for (; started < 1 + LANES; ++started)
            if (tw_timer_after(set, &ids[started], MS, count, NULL) != 0)
                break;
        inject_nothing();
        for (; started < TIMERS; ++started)
            ids[started] = start_one(set);
        assert_int_equal(tw_timers_count(set), TIMERS);
        for (unsigned i = 0; i < TIMERS; i += 2)
            assert_int_equal(tw_timer_cancel(set, ids[i]), 1);
        assert_ok(tw_runtime_advance(rt, MS));
        assert_int_equal(fires, TIMERS / 2);
        tw_runtime_free(rt);
        assert_nothing_leaked(before);
    }
}

/* The first lane has cells, so no start fails. */
TEST(a_start_of_a_handle_never_fails_for_lack_of_a_lane) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_timers *set = new_set(rt, (struct tw_set_options){0});
    tw_handle id = start_one(set);
    inject(EVERY_CALL, USUAL_ERROR, 0, FOREVER);
    for (unsigned i = 0; i < 4 * LANES; ++i)
        assert_int_equal(tw_timer_after(set, &id, MS, count, NULL), 0);
    inject_nothing();
    assert_ok(tw_runtime_advance(rt, MS));
    assert_int_equal(fires, 1 + 4 * LANES);
    tw_runtime_free(rt);
}

/* The hash of a key says which lane it belongs to. */
TEST(keys_are_refused_if_there_is_no_memory_for_their_lane) {
    const struct holdings before = holdings_now();
    struct tw_runtime *rt = virtual_runtime();
    struct tw_keyed *keyed = NULL;
    unsigned refused = 0;
    assert_int_equal(tw_keyed_new(&keyed, rt, NULL), 0);
    for (unsigned i = 0; i < TIMERS; ++i) {
        const struct tw_key key = tw_key_number(i);
        inject(EVERY_CALL, USUAL_ERROR, (int)(i % 6), FOREVER);
        const int result = tw_keyed_after(keyed, key, MS, count, NULL);
        const bool has_failed = injected() != 0;
        inject_nothing();
        assert_int_equal(result, has_failed ? -ENOMEM : 0);
        refused += has_failed;
        assert_int_equal(tw_keyed_get(keyed, key, NULL), has_failed ? -ENOENT : 0);
        if (has_failed)
            assert_int_equal(tw_keyed_move(keyed, key, MS), -ENOENT);
        assert_int_equal(tw_keyed_after(keyed, key, MS, count, NULL), 0);
    }
    assert_in_range(refused, 1, TIMERS - 1);
    assert_int_equal(tw_keyed_count(keyed), TIMERS);
    assert_ok(tw_runtime_advance(rt, MS));
    assert_int_equal(fires, TIMERS);
    tw_runtime_free(rt);
    assert_nothing_leaked(before);
}
