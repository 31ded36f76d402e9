#include <stdio.h>
#include <tickwheel/runtime.h>
#include <unistd.h>

struct session {
    int id;
    struct tw_node idle; /* a timer lives in your struct: starting it allocates nothing */
};

static void on_idle(struct tw_node *node, void *session) {
    (void)node;
    printf("session %d was idle\n", ((struct session *)session)->id);
}

static void on_beat(struct tw_node *node, void *text) { (void)node, puts(text); }

int main(void) {
    struct session session = {.id = 7};
    struct tw_runtime *timers;
    struct tw_node beat;
    if (tw_runtime_new(&timers, NULL) != 0 || tw_runtime_start(timers) != 0)
        return 1;
    tw_node_init(&beat, on_beat, "alive");
    tw_node_init(&session.idle, on_idle, &session);
    tw_runtime_every(timers, &beat, TW_SECOND, TW_COALESCE); /* never drifts */
    tw_runtime_after(timers, &session.idle, 2 * TW_SECOND);
    usleep(1500000);
    tw_runtime_postpone(timers, &session.idle, 2 * TW_SECOND); /* data came in */
    usleep(2700000);
    tw_runtime_cancel_wait(timers, &session.idle); /* from here on `session` may be freed */
    tw_runtime_free(timers);
}
