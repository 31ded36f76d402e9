/* echod - a TCP daemon that echoes every line: an example of a daemon with timeouts on Tickwheel's epoll
 * driver. README.md describes the protocol.
 *
 *     echod --port 7007 --idle 60000
 *
 * The runtime's one thread serves descriptors and timers. The main thread waits for SIGTERM or SIGINT, stops
 * the server and prints its counts. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "options.h"
#include "server.h"

#include <tickwheel/observe.h>

static long port = 0, idle_ms = 60000, request_ms = 10000, keepalive_ms = 20000, grace_ms = 2000,
            max_connections = 10000;

#define DAY_MS 86400000L

static const struct number_option options[] = {
    {"port", &port, 0, 65535, "to listen on, of 127.0.0.1; 0: any"},
    {"idle", &idle_ms, 1, DAY_MS, "ms of silence after which a connection is closed"},
    {"request", &request_ms, 1, DAY_MS, "ms that a line and its echo may take"},
    {"keepalive", &keepalive_ms, 0, DAY_MS, "ms of silence after which a probe is sent; 0: none"},
    {"grace", &grace_ms, 0, DAY_MS, "ms that open requests have left when the daemon stops"},
    {"connections", &max_connections, 1, 1000000, "to have open at a time"},
};

static void fail(const char *what, int error) {
    fprintf(stderr, "echod: %s: %s\n", what, tw_explain(error));
    exit(EXIT_FAILURE);
}

static void print_counts(const struct counts *counts, long open, const struct tw_stats *stats) {
    printf("accepted=%" PRIu64 " echoed_bytes=%" PRIu64 " idle_closed=%" PRIu64 " request_timeouts=%" PRIu64
           " left=%" PRIu64 " too_long=%" PRIu64 " failed=%" PRIu64 " cut_off=%" PRIu64,
           counts->accepted, counts->echoed_bytes, counts->idle_closed, counts->request_timeouts,
           counts->left, counts->too_long, counts->failed, counts->cut_off);
    printf(" probes=%" PRIu64 " blocked_sends=%" PRIu64 " vain_turns=%" PRIu64 " accept_pauses=%" PRIu64
           " most_open=%ld wakeups=%" PRIu64 " open=%ld\n",
           counts->probes, counts->blocked_sends, counts->vain_turns, counts->accept_pauses,
           counts->most_open, stats->wakeups, open);
}

static struct tw_runtime *new_runtime(void) {
    const struct tw_runtime_options runtime_options = {.driver = "epoll", .thread_name = "echod"};
    struct tw_runtime *rt;
    int error = tw_runtime_new(&rt, &runtime_options);
    if (error != 0)
        fail("no runtime", error);
    return rt;
}

/* The signals are blocked in every thread, and stay pending until sigwait. */
static sigset_t block_stop_signals(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    return signals;
}

int main(int argc, char **argv) {
    if (!options_parse(argc, argv, options, sizeof options / sizeof *options))
        return EXIT_FAILURE;
    descriptors_allowed();
    const sigset_t stop_signals = block_stop_signals();
    const struct settings settings = {
        .idle_ns = idle_ms * TW_MILLISECOND,
        .request_ns = request_ms * TW_MILLISECOND,
        .keepalive_ns = keepalive_ms * TW_MILLISECOND,
        .grace_ns = grace_ms * TW_MILLISECOND,
        .max_connections = max_connections,
    };

    struct tw_runtime *rt = new_runtime();
    static struct server server;
    int bound = server_open(&server, rt, &settings, (int)port);
    if (bound < 0)
        fail("cannot listen", bound);
    int error = tw_runtime_start(rt);
    if (error != 0)
        fail("cannot start", error);
    printf("listening on 127.0.0.1:%d\n", bound);
    fflush(stdout);

    int signal_number;
    sigwait(&stop_signals, &signal_number);
    server_stop(&server);
    struct tw_stats stats;
    tw_runtime_stats(rt, &stats);
    tw_runtime_free(rt);
    server_close(&server);
    print_counts(&server.counts, server.open, &stats);
    return EXIT_SUCCESS;
}
