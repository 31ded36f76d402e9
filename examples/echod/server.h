/* The listening side of the daemon: accepts connections, counts them, and stops.
 *
 * Once the runtime has started, its thread owns all of this: descriptors and timers call back on that one
 * thread, so there are no locks. The main thread only arms `stop`, which any thread may do, and waits for
 * `stopped`. */
#ifndef ECHOD_SERVER_H
#define ECHOD_SERVER_H

#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>

#include <tickwheel/runtime.h>

struct connection;

struct settings {
    int64_t idle_ns;      /* a connection that is silent for this long is closed */
    int64_t request_ns;   /* a connection whose request takes longer is closed */
    int64_t keepalive_ns; /* a connection is probed each time it is silent for this long; 0: never */
    int64_t grace_ns;     /* time for open requests when the daemon stops */
    long max_connections;
};

struct counts {
    uint64_t accepted;
    uint64_t accept_pauses; /* times that accepting failed and paused */
    uint64_t echoed_bytes;
    uint64_t blocked_sends; /* times that a peer did not take all of its echo at once */
    uint64_t vain_turns;    /* a connection was ready without effect: a sign of spinning */
    uint64_t probes;
    long most_open; /* highest number at a time */
    /* How connections ended; the counts add up to `accepted`. */
    uint64_t left; /* by the peer, or closed between requests when the daemon stopped */
    uint64_t idle_closed;
    uint64_t request_timeouts;
    uint64_t too_long; /* their line was too long */
    uint64_t failed;   /* the system refused to watch their descriptor */
    uint64_t cut_off;  /* when the grace time was over */
};

struct server {
    struct tw_runtime *rt;
    struct settings settings;
    struct counts counts;

    int listener; /* -1: closed */
    bool accepting;
    bool stopping;
    struct tw_node resume; /* ends a pause in accepting */
    struct tw_node stop;   /* armed by the main thread; runs on the runtime's */
    struct tw_node grace;
    sem_t stopped; /* posted when the last connection has ended */

    struct connection *connections;
    long open;
};

/* Listens on 127.0.0.1; `port` may be 0. Returns the port, or a negative errno. */
int server_open(struct server *server, struct tw_runtime *rt, const struct settings *settings, int port);

/* Stops accepting, lets open requests finish within the grace time, and ends all connections. Returns when
 * that is done. May be called from any thread. */
void server_stop(struct server *server);

/* Call it after the runtime has been freed. */
void server_close(struct server *server);

/* Called by connection.c when a connection begins or ends. */
void server_gained_one(struct server *server);
void server_lost_one(struct server *server);

#endif
