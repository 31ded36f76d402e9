/* One connection of the load client, which checks the daemon. All functions run on the runtime's thread
 * only. */
#ifndef ECHOD_PEER_H
#define ECHOD_PEER_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include <tickwheel/runtime.h>

enum kind {
    STEADY,  /* sends line after line, then leaves */
    SLOW,    /* the same, each line in two pieces */
    STALLED, /* stops in the middle of its line: must meet the request timeout */
    SILENT,  /* says nothing: must meet the idle timeout */
    PATIENT, /* only answers probes, and must be left alone until it leaves */
    GREEDY,  /* sends as fast as it can and takes no echo until the daemon stops reading */
    KINDS
};

/* The load, and the options of the daemon. */
struct plan {
    int port;
    int64_t idle_ns, request_ns, keepalive_ns;
    int64_t beat_ns; /* time between the lines, or pieces, of a peer */
    int64_t stay_ns; /* how long patient peers stay */
    unsigned lines;  /* of a steady peer */
};

struct findings {
    unsigned left[KINDS];   /* finished and left */
    unsigned closed[KINDS]; /* closed by the daemon after their deadline */
    unsigned early;         /* closed or probed too early; this and the next three are errors */
    unsigned wrong_bytes;   /* the echo differed */
    unsigned unprobed;      /* closed as idle without a probe */
    unsigned unopened;      /* connect failed */
    uint64_t echoed_bytes;
    uint64_t lines;
    int64_t late_sum_ns, late_max_ns; /* of closing stalled and silent peers */
};

/* A position in the text that a peer sends and gets back. */
struct place {
    unsigned line;
    size_t byte;
};

/* Shared by all peers. */
struct run {
    struct tw_runtime *rt;
    struct plan plan;
    struct findings findings;
    unsigned open; /* peers that are not done, whether started or not */
    sem_t done;    /* posted when the last peer is done */
};

struct peer {
    struct run *run;
    struct tw_node beat;
    enum kind kind;
    unsigned index;
    int fd;
    bool reads;       /* false for a greedy peer at first */
    bool leaves;      /* it has shut down its sending side */
    unsigned refused; /* greedy: beats in a row at which the daemon took nothing */
    struct place sent, echoed;
    unsigned probes;

    /* Readings of the clock, all taken before the step that they stand for, so that the
     * daemon's own timeouts cannot have begun earlier. */
    int64_t started; /* connecting */
    int64_t heard;   /* the latest sending that the daemon has certainly heard */
    int64_t asked;   /* the first byte of the oldest line that is not wholly echoed yet */
};

/* Connects; the peer then acts by itself. The caller has set run, kind and index of *peer. */
void peer_start(struct peer *peer);

/* Closes the peer if it is open. Returns true if it was. */
bool peer_abandon(struct peer *peer);

/* Reports that this many peers are done. */
void run_lost(struct run *run, unsigned peers);

#endif
