/* A user's program in C99 and later, and in C++: a timer on a bare wheel, one of a runtime
 * with a thread, and records. */
#include <string.h>

#include <tickwheel/handle.h>
#include <tickwheel/keyed.h>
#include <tickwheel/runtime.h>
#include <tickwheel/workers.h>

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

static void on_event(const struct tw_event *event, void *arg) {
    (void)arg;
    fired += event->due_ns == TW_SECOND;
}

static int use_timers(void) {
    struct tw_runtime *rt;
    struct tw_runtime_options options;
    struct tw_workers *workers;
    struct tw_handles *handles;
    struct tw_keyed *keyed;
    tw_handle handle;
    memset(&options, 0, sizeof options);
    options.driver = "manual";
    if (tw_runtime_new(&rt, &options) != 0 || tw_workers_new(&workers, rt, 0) != 0 ||
        tw_handles_new(&handles, rt, 0) != 0 || tw_keyed_new(&keyed, rt, 0) != 0)
        return 1;
    if (tw_handle_after(handles, &handle, TW_SECOND, on_event, 0) != 0 ||
        tw_keyed_after(keyed, tw_key_string("a"), TW_SECOND, on_event, 0) != 0 ||
        tw_keyed_after(keyed, tw_key_number(1), TW_SECOND, on_event, 0) != 0)
        return 2;
    fired = 0;
    if (tw_keyed_remove(keyed, tw_key_string("a")) != 1 || tw_runtime_advance(rt, TW_SECOND) != 0 ||
        fired != 2)
        return 3;
    if (tw_handle_stop(handles, handle) == 0 || tw_workers_wait(workers) != 0)
        return 4;
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
    if (use_timers() != 0)
        return 8;
    return tw_next(&wheel) == TW_NEVER ? 0 : 7;
}
