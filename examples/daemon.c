#include <signal.h>
#include <stdio.h>
#include <tickwheel/runtime.h>

static void say(struct tw_node *node, void *text) {
    (void)node;
    fprintf(stderr, "%s\n", (const char *)text);
}

int main(void) {
    struct tw_runtime *rt;
    struct tw_node heartbeat, ready;
    sigset_t ends;
    int signal;

    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, NULL); /* they wait for sigwait */

    int error = tw_runtime_new(&rt, NULL);
    if (error == 0)
        error = tw_runtime_start(rt);
    if (error != 0) {
        fprintf(stderr, "no timers: %s\n", tw_explain(error));
        return 1;
    }
    tw_node_init(&ready, say, "ready");
    tw_node_init(&heartbeat, say, "alive");
    tw_runtime_after(rt, &ready, 100 * TW_MILLISECOND);
    tw_runtime_every(rt, &heartbeat, TW_SECOND, TW_COALESCE);

    sigwait(&ends, &signal);
    tw_runtime_free(rt); /* no callback runs from here on */
    fprintf(stderr, "stopped\n");
}
