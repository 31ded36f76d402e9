/* A program in C with the two files: a one-shot and a periodic timer. */
#include "tickwheel.h"

#include "expect.h"

static struct tw wheel;
static struct tw_fire_count fires;
static struct tw_node once = TW_NODE(tw_count_fire, &fires), periodic;

int main(void) {
    EXPECT(tw_version() == TW_VERSION && tw_wheel_size() == sizeof wheel && tw_node_size() == sizeof once);
    EXPECT(tw_init(&wheel, 100, 0) == 0 && tw_node_init(&periodic, tw_count_fire, &fires) == 0);
    EXPECT(tw_arm_after(&wheel, &once, 30) == 0);
    EXPECT(tw_advance(&wheel, 129, TW_UNBOUNDED) == 0 && tw_fired(&fires) == 0);
    EXPECT(tw_advance(&wheel, 130, TW_UNBOUNDED) == 0 && tw_fired(&fires) == 1);
    EXPECT(tw_arm_every(&wheel, &periodic, 1000, 7, TW_SMALL ? TW_COALESCE : TW_BURST, 0) == 0);
    EXPECT(tw_advance(&wheel, 1000 + 99 * 7 - 1, TW_UNBOUNDED) == 0);
    EXPECT(tw_fired(&fires) == (TW_SMALL ? 1 : 99));
    EXPECT(tw_expiry(&wheel, &periodic) == 1000 + 99 * 7);
    EXPECT(tw_cancel(&wheel, &periodic) == 1 && tw_count(&wheel) == 0 && tw_next(&wheel) == TW_NEVER);
    EXPECT(tw_check(&wheel, NULL, NULL) == 0);
    return 0;
}
