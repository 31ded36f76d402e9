/* One connection of the load client, and its judgement of the daemon. Used on the
 * runtime's thread only. */
#ifndef ECHOD_PEER_H
#define ECHOD_PEER_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include <tickwheel/runtime.h>

enum kind {
    STEADY,  /* asks line after line, then leaves */
    SLOW,    /* the same, each line in two pieces */
    STALLED, /* stops in the middle of its line: must meet the request timeout */
    SILENT,  /* says nothing: must meet the idle timeout */
    PATIENT, /* only answers probes, and must be left alone until it leaves */
    GREEDY,  /* asks as fast as it can and takes no echo until the daemon stops reading */
    KINDS
};

/* What is asked of the daemon, and what is known of its options. */
struct plan {
    int port;
    int64_t idle_ns, request_ns, keepalive_ns;
    int64_t beat_ns; /* between the lines, or pieces, of a peer */
    int64_t stay_ns; /* how long the patient ones stay */
    unsigned lines;  /* of a steady one */
};

struct findings {
    unsigned left[KINDS];   /* did all they wanted to and left */
    unsigned closed[KINDS]; /* by the daemon, at a deadline that had passed */
    unsigned early;         /* closed or probed before that; the next four are wrong too */
    unsigned wrong_bytes;   /* an echo that is not what was asked */
    unsigned unprobed;      /* closed as idle without a probe before */
    unsigned unopened;      /* connect failed */
    uint64_t echoed_bytes;
    uint64_t lines;
    int64_t late_sum_ns, late_max_ns; /* of closing the stalled and silent ones */
};

/* A place in the text that a peer sends and gets back. */
struct place {
    unsigned line;
    size_t byte;
};

/* What all peers share. */
struct run {
    struct tw_runtime *rt;
    struct plan plan;
    struct findings findings;
    unsigned open; /* peers that are not done, started or not */
    sem_t done;    /* posted when there is none left */
};

struct peer {
    struct run *run;
    struct tw_node beat;
    enum kind kind;
    unsigned index;
    int fd;
    bool reads;       /* a greedy one does not at first */
    bool leaves;      /* it has said that it sends no more */
    unsigned refused; /* greedy: beats at which the daemon took nothing, in a row */
    struct place sent, echoed;
    unsigned probes;

    /* Readings of the clock, all taken before the step that they stand for, so that the
     * daemon's own timeouts cannot have begun earlier. */
    int64_t started; /* connecting */
    int64_t heard;   /* the latest sending that the daemon has certainly heard */
    int64_t asked;   /* the first byte of what is not wholly echoed yet */
};

/* Connects, and lives on its own from then on; `*peer` says run, kind and index. */
void peer_start(struct peer *peer);

/* Closes it if it is open. Returns whether it was. */
bool peer_abandon(struct peer *peer);

/* So many of those that `open` counts are done. */
void run_lost(struct run *run, unsigned peers);

#endif
