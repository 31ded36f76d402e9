#include <stdio.h>
#include <tickwheel/runtime.h>
#include <unistd.h>

static void on_idle(struct tw_node *node, void *name) { (void)node, printf("%s was idle\n", (char *)name); }

int main(void) {
    struct tw_runtime *timers;
    struct tw_node idle; /* a timer lives in your memory, and starting it allocates nothing */
    if (tw_runtime_new(&timers, NULL) != 0 || tw_runtime_start(timers) != 0)
        return 1;
    tw_node_init(&idle, on_idle, "session 7");
    tw_runtime_after(timers, &idle, 2 * TW_SECOND);
    sleep(1);
    tw_runtime_postpone(timers, &idle, 2 * TW_SECOND); /* data came in: the session is idle at 3 s */
    sleep(3);
    tw_runtime_free(timers); /* no callback runs from here on, so `idle` may be freed */
}
