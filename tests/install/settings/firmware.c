/* Uses the library with the project's settings. */
#include <string.h>

#include <tickwheel/fires.h>

#if !TW_TREE || TW_TICK_BITS != 32 || !TW_SMALL || !TW_VALIDATION || TW_RUNTIME
#error "the settings are not those of the project"
#endif

static struct tw wheel = TW_WHEEL(wheel);
static struct tw_fire_count fires;
static struct tw_node node = TW_NODE(tw_count_fire, &fires);

/* Returns whether the wheel has the mark of the project's lock. */
static int is_marked(void) {
    const uint32_t mark = 1234;
    for (size_t at = 0; at + sizeof mark <= sizeof wheel; at += sizeof mark)
        if (memcmp((const char *)&wheel + at, &mark, sizeof mark) == 0)
            return 1;
    return 0;
}

int main(void) {
    if (tw_arm_at(&wheel, &node, 5) != 0 || tw_advance(&wheel, 5, TW_UNBOUNDED) != 0)
        return 1;
    return tw_fired(&fires) == 1 && is_marked() ? 0 : 2;
}
