/* echod_load - thousands of clients of echod in one process, some well-behaved and some not (peer.h lists the
 * kinds). It checks every echoed byte, and that the daemon closes the right connections, never too early.
 *
 *     echod_load --port PORT [--connections 2000] and the daemon's own timeouts
 *
 * The last line is "ok" or "failed" with the counts. A peer that was closed because this process itself was
 * too slow counts as `starved`, not as a failure. */
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "options.h"
#include "peer.h"

#define OPEN_AT_A_TIME 20 /* in each millisecond */
#define DESCRIPTORS_OF_OUR_OWN 32

static long port = 0, connections = 2000, idle_ms = 1500, request_ms = 800, keepalive_ms = 600, beat_ms = 100,
            lines = 15, stay_ms = 0, all_patient = 0, all_greedy = 0, limit_ms = 60000;

#define DAY_MS 86400000L

static const struct number_option options[] = {
    {"port", &port, 1, 65535, "of the daemon, on 127.0.0.1"},
    {"connections", &connections, 1, 100000, "in all"},
    {"idle", &idle_ms, 1, DAY_MS, "ms, the daemon's"},
    {"request", &request_ms, 1, DAY_MS, "ms, the daemon's"},
    {"keepalive", &keepalive_ms, 0, DAY_MS, "ms, the daemon's"},
    {"beat", &beat_ms, 1, DAY_MS, "ms between the lines of one connection"},
    {"lines", &lines, 1, 1000000, "that a steady connection sends"},
    {"stay", &stay_ms, 0, DAY_MS, "ms that patient ones stay; 0: twice the idle time"},
    {"patient", &all_patient, 0, 1, "1: all of them are"},
    {"greedy", &all_greedy, 0, 1, "1: all of them are"},
    {"limit", &limit_ms, 1, DAY_MS, "ms after which it has failed"},
};

struct load {
    struct run run;
    struct tw_node opening; /* opens some more peers at each fire */
    struct tw_node limit;
    struct peer *peers;
    unsigned started, total;
    unsigned unfinished; /* when the limit was reached */
};

/* Of ten peers: 4 steady, 1 slow, 2 stalled, 2 silent, 1 patient. */
static enum kind kind_of(unsigned index) {
    static const enum kind mix[10] = {STEADY, STALLED, SILENT, STEADY,  SLOW,
                                      STEADY, STALLED, SILENT, PATIENT, STEADY};
    return all_patient ? PATIENT : all_greedy ? GREEDY : mix[index % 10];
}

static void on_opening(struct tw_node *node, void *arg) {
    struct load *load = arg;
    for (int i = 0; i < OPEN_AT_A_TIME && load->started < load->total; ++i) {
        unsigned index = load->started++;
        load->peers[index] = (struct peer){.run = &load->run, .kind = kind_of(index), .index = index};
        peer_start(&load->peers[index]);
    }
    if (load->started == load->total)
        tw_runtime_cancel(load->run.rt, node);
}

static void on_limit(struct tw_node *node, void *arg) {
    (void)node;
    struct load *load = arg;
    unsigned unstarted = load->total - load->started;
    tw_runtime_cancel(load->run.rt, &load->opening);
    load->unfinished = unstarted;
    for (unsigned i = 0; i < load->started; ++i)
        if (peer_abandon(&load->peers[i]))
            ++load->unfinished;
    run_lost(&load->run, unstarted);
}

/* --- the verdict ------------------------------------------------------------------- */

static unsigned sum(const unsigned *numbers) {
    unsigned total = 0;
    for (int kind = 0; kind < KINDS; ++kind)
        total += numbers[kind];
    return total;
}

/* If every peer has ended, the daemon has closed all peers that it should have. It remains to check that none
 * ended in a wrong way. */
static bool is_ok(const struct load *load) {
    const struct findings *f = &load->run.findings;
    return f->early == 0 && f->wrong_bytes == 0 && f->unprobed == 0 && f->unopened == 0 &&
           load->unfinished == 0 && sum(f->left) + sum(f->closed) == load->total;
}

static void print_verdict(const struct load *load) {
    const struct findings *f = &load->run.findings;
    unsigned to_close = f->closed[STALLED] + f->closed[SILENT], closed = sum(f->closed);
    printf("%s connections=%u lines=%" PRIu64 " echoed_bytes=%" PRIu64
           " left=%u stalled_closed=%u silent_closed=%u starved=%u",
           is_ok(load) ? "ok" : "failed", load->total, f->lines, f->echoed_bytes, sum(f->left),
           f->closed[STALLED], f->closed[SILENT], closed - to_close);
    printf(" early=%u wrong_bytes=%u unprobed=%u unopened=%u unfinished=%u late_mean_us=%" PRId64
           " late_max_us=%" PRId64 "\n",
           f->early, f->wrong_bytes, f->unprobed, f->unopened, load->unfinished,
           to_close > 0 ? f->late_sum_ns / to_close / 1000 : 0, f->late_max_ns / 1000);
}

/* --- the run ----------------------------------------------------------------------- */

static unsigned as_many_as_allowed(void) {
    long most = descriptors_allowed() - DESCRIPTORS_OF_OUR_OWN;
    if (connections <= most)
        return (unsigned)connections;
    fprintf(stderr, "echod_load: %ld connections only: the limit of descriptors\n", most);
    return most > 0 ? (unsigned)most : 0;
}

static bool start(struct load *load) {
    const struct tw_runtime_options runtime_options = {.driver = "epoll", .thread_name = "echod_load"};
    load->peers = calloc(load->total, sizeof *load->peers);
    if (load->peers == NULL || tw_runtime_new(&load->run.rt, &runtime_options) != 0)
        return false;
    sem_init(&load->run.done, 0, 0);
    tw_node_init(&load->opening, on_opening, load);
    tw_node_init(&load->limit, on_limit, load);
    tw_runtime_every(load->run.rt, &load->opening, TW_MILLISECOND, TW_COALESCE);
    tw_runtime_after(load->run.rt, &load->limit, limit_ms * TW_MILLISECOND);
    return tw_runtime_start(load->run.rt) == 0;
}

int main(int argc, char **argv) {
    if (!options_parse(argc, argv, options, sizeof options / sizeof *options))
        return EXIT_FAILURE;
    if (port == 0) {
        fprintf(stderr, "echod_load: whose --port?\n");
        return EXIT_FAILURE;
    }
    static struct load load;
    load.total = load.run.open = as_many_as_allowed();
    load.run.plan = (struct plan){
        .port = (int)port,
        .idle_ns = idle_ms * TW_MILLISECOND,
        .request_ns = request_ms * TW_MILLISECOND,
        .keepalive_ns = keepalive_ms * TW_MILLISECOND,
        .beat_ns = beat_ms * TW_MILLISECOND,
        .stay_ns = (stay_ms > 0 ? stay_ms : 2 * idle_ms) * TW_MILLISECOND,
        .lines = (unsigned)lines,
    };
    if (load.total == 0 || !start(&load)) {
        fprintf(stderr, "echod_load: cannot start\n");
        return EXIT_FAILURE;
    }
    sem_wait(&load.run.done);
    tw_runtime_free(load.run.rt);
    sem_destroy(&load.run.done);
    free(load.peers);
    print_verdict(&load);
    return is_ok(&load) ? EXIT_SUCCESS : EXIT_FAILURE;
}
