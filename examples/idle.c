/* Idle timeouts: a thousand connections, each of which is closed after two seconds of silence.
 *
 *     tickwheel_idle            ten seconds of it
 *     tickwheel_idle virtual    the same at once
 *
 * Each packet postpones one timeout, and almost none ever fires. Postponing is one store to the node, which
 * stays in its slot until the slot opens, and moves on only then. examples/echod does the same with real
 * sockets. */
#include "passing.h"

#include <stdbool.h>

enum { CONNECTIONS = 1000, PACKETS_A_SECOND = 10, SILENT_EVERY = 200 };
static const int64_t longest_silence = 2 * TW_SECOND;

struct connection {
    unsigned number;
    bool is_open;
    int64_t last_packet;
    struct tw_node idle; /* the timeout lives in the connection: nothing is allocated */
};

static struct connection connections[CONNECTIONS];
static struct tw_node network; /* stands for the sockets */
static struct tw_runtime *rt;
static unsigned long packets, closed, looks;

static void on_idle(struct tw_node *node, void *arg) {
    (void)node;
    struct connection *connection = arg;
    double silent = (double)(tw_runtime_now(rt) - connection->last_packet) / (double)TW_SECOND;
    connection->is_open = false; /* a real program would call close() here */
    ++closed;
    printf("%5.1f s  connection %u was silent for %.1f s: closed\n", since_begin(rt), connection->number,
           silent);
}

static void on_packet(struct connection *connection) {
    ++packets;
    connection->last_packet = tw_runtime_now(rt);
    tw_runtime_postpone(rt, &connection->idle, longest_silence);
}

/* Connection 0 falls silent at once, 200 after a second, 400 after two, and so on. */
static bool talks(const struct connection *connection) {
    unsigned silent_after = connection->number / SILENT_EVERY * PACKETS_A_SECOND;
    return connection->is_open && (connection->number % SILENT_EVERY != 0 || looks <= silent_after);
}

static void on_network(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    ++looks;
    for (int i = 0; i < CONNECTIONS; ++i)
        if (talks(&connections[i]))
            on_packet(&connections[i]);
}

static void open_all(void) {
    for (unsigned i = 0; i < CONNECTIONS; ++i) {
        connections[i] = (struct connection){.number = i, .is_open = true, .last_packet = tw_runtime_now(rt)};
        tw_node_init(&connections[i].idle, on_idle, &connections[i]);
        tw_runtime_after(rt, &connections[i].idle, longest_silence);
    }
}

int main(int argc, char **argv) {
    rt = passing_runtime(argc, argv);
    printf("%d connections, each with a timeout of %d s.\n", CONNECTIONS, (int)(longest_silence / TW_SECOND));
    open_all();
    tw_node_init(&network, on_network, NULL);
    tw_runtime_every(rt, &network, TW_SECOND / PACKETS_A_SECOND, TW_BURST);

    let_pass(rt, 10 * TW_SECOND + TW_SECOND / PACKETS_A_SECOND / 2);

    tw_runtime_stop(rt);
    printf("%5.1f s  %lu packets postponed a timeout, %lu timeouts fired, %lu connections are left\n",
           since_begin(rt), packets, closed, CONNECTIONS - closed);
    tw_runtime_free(rt);
}
