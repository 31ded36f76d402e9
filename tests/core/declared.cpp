// Wheels and nodes that their declaration initialises, in C++.
#include <tickwheel/fires.h>

#include "support/test.h"

static constinit struct tw wheel = TW_WHEEL(wheel);
static struct tw_fire_count fires_seen;
static constinit struct tw_node declared = TW_NODE(tw_count_fire, &fires_seen);

TEST(a_declared_node_fires_on_a_declared_wheel_without_code_that_makes_them) {
    assert_int_equal(tw_pending(&wheel, &declared), 0);
    assert_int_equal(tw_arm_at(&wheel, &declared, 3), 0);
    assert_int_equal(tw_advance(&wheel, 3, TW_UNBOUNDED), 0);
    assert_int_equal(tw_fired(&fires_seen), 1);
}
