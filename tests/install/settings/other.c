/* Uses the second library, which the project makes itself. */
#include <tickwheel/fires.h>

#if TW_TREE || TW_TICK_BITS != 64 || TW_SMALL || TW_VALIDATION
#error "the settings are not those of this library"
#endif

int main(void) {
    static struct tw wheel;
    static struct tw_fire_count fires;
    static struct tw_node node = TW_NODE(tw_count_fire, &fires);
    if (tw_init(&wheel, 0, 0) != 0 || tw_arm_at(&wheel, &node, 5) != 0 ||
        tw_advance(&wheel, 5, TW_UNBOUNDED) != 0)
        return 1;
    return tw_fired(&fires) == 1 ? 0 : 2;
}
