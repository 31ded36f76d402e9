/* An incorrect program: main and a callback write one variable without any order. The tools
 * must find this race despite the library's own annotations. */
#include <poll.h>
#include <stdlib.h>

#include <tickwheel/runtime.h>

static volatile int written_by_both;

static void on_time(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    written_by_both++;
}

int main(void) {
    struct tw_runtime *rt = NULL;
    struct tw_node node;
    if (tw_runtime_new(&rt, NULL) != 0 || tw_runtime_start(rt) != 0)
        abort();
    tw_node_init(&node, on_time, NULL);
    if (tw_runtime_every(rt, &node, TW_MILLISECOND, TW_SKIP) != 0)
        abort();
    for (int i = 0; i < 100; i++) {
        written_by_both++;
        poll(NULL, 0, 2);
    }
    tw_runtime_free(rt);
    return 0;
}
