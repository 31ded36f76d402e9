/* What a user writes: one timer, told that its time has come. C99 and up, and C++. */
#include <tickwheel/tw.h>

static int fired;

static void on_timeout(struct tw_node *node, void *arg) {
    (void)node;
    (void)arg;
    ++fired;
}

int main(void) {
    static struct tw wheel;
    static struct tw_node node;
    if (tw_version() != TW_VERSION)
        return 1;
    if (tw_init(&wheel, 0, 0) != 0 || tw_node_init(&node, on_timeout, 0) != 0)
        return 2;
    if (tw_arm_after(&wheel, &node, 30) != 0 || tw_next(&wheel) != 30)
        return 3;
    if (tw_advance(&wheel, 29, TW_UNBOUNDED) != 0 || fired != 0)
        return 4;
    if (tw_advance(&wheel, 30, TW_UNBOUNDED) != 0 || fired != 1)
        return 5;
    return tw_next(&wheel) == TW_NEVER ? 0 : 6;
}
