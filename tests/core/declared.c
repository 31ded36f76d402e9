/* Nodes and wheels that their declaration initialises, and the callback that the library provides. */
#include <tickwheel/fires.h>

#include "support/test.h"

static struct tw_fire_count fires;
static struct tw_node timer = TW_NODE(tw_count_fire, &fires);
#if TW_TREE
static struct tw wheel = TW_WHEEL(wheel);
#else
static struct tw wheel;
#endif

TEST(a_declared_node_is_what_tw_node_init_makes) {
    struct tw_node made;
    memset(&made, 0xA5, sizeof made);
    assert_int_equal(tw_node_init(&made, tw_count_fire, &fires), 0);
    assert_memory_equal(&made, &timer, sizeof made);
}

#if TW_TREE
TEST(a_declared_wheel_is_what_tw_init_makes) {
    static struct tw made;
    const size_t self = sizeof made.storage.first.self;
    assert_int_equal(tw_init(&made, 0, 0), 0);
    assert_ptr_equal(made.storage.first.self, &made);
    assert_ptr_equal(wheel.storage.first.self, &wheel);
    assert_memory_equal(&made.storage.bytes[self], &wheel.storage.bytes[self], sizeof made - self);
}
#endif

static void pass(tw_tick ticks) {
    assert_int_equal(tw_advance(&wheel, tw_now(&wheel) + ticks, TW_UNBOUNDED), 0);
}

TEST(a_look_tells_how_often_the_timer_has_fired_since_the_last) {
    if (!TW_TREE)
        assert_int_equal(tw_init(&wheel, 0, 0), 0);
    assert_int_equal(tw_fired(&fires), 0);
    for (uint32_t fired = 1; fired <= 3; ++fired) {
        for (uint32_t i = 0; i < fired; ++i) {
            assert_int_equal(tw_arm_after(&wheel, &timer, 10), 0);
            pass(9);
            assert_int_equal(fires.counted - fires.seen, i);
            pass(1);
        }
        assert_int_equal(tw_fired(&fires), fired);
        assert_int_equal(tw_fired(&fires), 0);
    }
}

TEST(the_count_goes_on_where_its_numbers_end) {
    fires.counted = fires.seen = UINT32_MAX - 1;
    for (int i = 0; i < 3; ++i)
        tw_count_fire(&timer, &fires);
    assert_int_equal(fires.counted, 1);
    assert_int_equal(tw_fired(&fires), 3);
}
