/* A user's program in C99 and later, and in C++: a timer on a bare wheel, and one of a runtime. */
#include <string.h>

#include <tickwheel/runtime.h>

static int fired;

static void on_timeout(struct tw_node *node, void *arg) {
    (void)node;
    (void)arg;
    ++fired;
}

static int use_runtime(const char *driver) {
    struct tw_runtime *rt;
    struct tw_runtime_options options;
    static struct tw_node node;
    memset(&options, 0, sizeof options);
    options.driver = driver;
    if (tw_runtime_new(&rt, &options) != 0 || tw_node_init(&node, on_timeout, 0) != 0)
        return 1;
    if (tw_runtime_after(rt, &node, 30 * TW_SECOND) != 0 || tw_runtime_count(rt) != 1)
        return 2;
    if (tw_runtime_advance(rt, 30 * TW_SECOND) == 0)
        return tw_runtime_free(rt) != 0 || fired != 2;
    if (tw_runtime_start(rt) != 0 || tw_runtime_cancel_wait(rt, &node) != 1)
        return 3;
    return tw_runtime_free(rt);
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
    if (use_runtime("manual") != 0 || use_runtime("sleep") != 0)
        return 6;
    return tw_next(&wheel) == TW_NEVER ? 0 : 7;
}
