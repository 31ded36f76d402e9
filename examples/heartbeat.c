/* Heartbeats: detects peers that fall silent, and stalls of this program itself.
 *
 *     tickwheel_heartbeat            a dozen seconds of it
 *     tickwheel_heartbeat virtual    the same at once
 *
 * Peers beat once a second. A monitor checks once a second which peers were heard. Both are periodic timers
 * and stay on their grid however late a fire may be. */
#include "passing.h"

#include <stdbool.h>

enum { PEERS = 3, PATIENCE = 3 };

struct peer {
    const char *name;
    struct tw_node beat; /* stands for the peer itself, which would run elsewhere */
    bool was_heard;
    unsigned missed; /* beats in a row */
};

static struct peer peers[PEERS] = {{.name = "anna"}, {.name = "bert"}, {.name = "cleo"}};
static struct tw_node monitor;
static struct tw_runtime *rt;

static void on_beat(struct tw_node *node, void *arg) {
    (void)node;
    ((struct peer *)arg)->was_heard = true;
}

static void look_at(struct peer *peer) {
    if (peer->was_heard && peer->missed > 0)
        printf("%5.1f s  %s is back after %u missed\n", since_begin(rt), peer->name, peer->missed);
    peer->missed = peer->was_heard ? 0 : peer->missed + 1;
    peer->was_heard = false;
    if (peer->missed == 1)
        printf("%5.1f s  %s missed a beat\n", since_begin(rt), peer->name);
    else if (peer->missed == PATIENCE)
        printf("%5.1f s  %s missed %d in a row: taken for dead\n", since_begin(rt), peer->name, PATIENCE);
}

/* If this program itself stood still, silent peers are not to blame. */
static void on_look(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    uint64_t overruns = tw_runtime_overruns(rt);
    if (overruns > 0)
        printf("%5.1f s  this program stood still for %u looks: no peer is blamed\n", since_begin(rt),
               (unsigned)overruns);
    for (int i = 0; i < PEERS; ++i)
        if (overruns == 0)
            look_at(&peers[i]);
        else
            peers[i].was_heard = true;
}

static void every_second(struct tw_node *node, int64_t first_ns) {
    /* TW_COALESCE: missed fires are counted, not repeated */
    struct tw_when when = {.due_ns = first_ns, .period_ns = TW_SECOND, .missed = TW_COALESCE};
    tw_runtime_arm(rt, node, &when);
}

int main(int argc, char **argv) {
    rt = passing_runtime(argc, argv);
    printf("Three peers beat once a second.\n");
    for (int i = 0; i < PEERS; ++i) {
        tw_node_init(&peers[i].beat, on_beat, &peers[i]);
        every_second(&peers[i].beat, 200 * TW_MILLISECOND * (i + 1));
    }
    tw_node_init(&monitor, on_look, NULL);
    every_second(&monitor, TW_SECOND);

    let_pass(rt, 2100 * TW_MILLISECOND);
    tw_runtime_cancel_wait(rt, &peers[1].beat); /* bert's cable is pulled */
    let_pass(rt, 4000 * TW_MILLISECOND);
    every_second(&peers[1].beat, 300 * TW_MILLISECOND); /* and plugged in again */
    let_pass(rt, 2000 * TW_MILLISECOND);
    stall(rt, 3500 * TW_MILLISECOND); /* the laptop's lid */
    let_pass(rt, 2000 * TW_MILLISECOND);

    tw_runtime_stop(rt);
    printf("%5.1f s  the end: all peers beat again\n", since_begin(rt));
    tw_runtime_free(rt);
}
