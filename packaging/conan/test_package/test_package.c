/* A timer that fires at its tick: succeeds if the package compiles, links and runs. */
#include <tickwheel/tw.h>

static struct tw wheel;
static struct tw_node node;
static tw_tick fired_at = TW_NEVER;

static void on_timeout(struct tw_node *timer, void *arg) {
    (void)timer;
    *(tw_tick *)arg = tw_due(&wheel);
}

int main(void) {
    if (tw_version() != TW_VERSION)
        return 1;
    if (tw_init(&wheel, 0, 0) != 0 || tw_node_init(&node, on_timeout, &fired_at) != 0)
        return 2;
    if (tw_arm_after(&wheel, &node, 30) != 0 || tw_advance(&wheel, 29, TW_UNBOUNDED) != 0)
        return 3;
    if (fired_at != TW_NEVER || tw_advance(&wheel, 30, TW_UNBOUNDED) != 0)
        return 4;
    return fired_at != 30;
}
