#include "connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE_BYTES 1024 /* longest line, newline included */

/* Bytes are received at the end of the buffer, and whole lines are sent from its front. While there are lines
 * to send nothing is read, so that a peer that takes no echo cannot fill memory. */
struct connection {
    struct server *server;
    struct connection *next, *previous;
    int fd;
    uint32_t events; /* the events watched: EPOLLIN, or EPOLLOUT while to_send > 0 */

    struct tw_node idle;      /* postponed by every sign of life */
    struct tw_node keepalive; /* periodic, postponed likewise */
    struct tw_node request;   /* pending while used > 0: a request is under way */

    size_t used;    /* bytes held */
    size_t to_send; /* of these, bytes of whole lines not sent yet */
    char bytes[LINE_BYTES];
};

/* The result of serving a connection. ENDED: it has been freed. */
enum served { ENDED, NOTHING, SOMETHING };

static void link_in(struct connection *c) {
    struct server *server = c->server;
    c->next = server->connections;
    if (c->next != NULL)
        c->next->previous = c;
    server->connections = c;
    server_gained_one(server);
}

static void unlink_it(struct connection *c) {
    if (c->next != NULL)
        c->next->previous = c->previous;
    if (c->previous != NULL)
        c->previous->next = c->next;
    else
        c->server->connections = c->next;
}

/* May be called in the callbacks of the connection's own nodes and descriptor. Once its nodes are retired and
 * its descriptor is no longer watched, no callback uses the connection, so it can be freed. */
void connection_end(struct connection *c, uint64_t *count) {
    struct server *server = c->server;
    ++*count;
    tw_runtime_unwatch(server->rt, c->fd);
    close(c->fd);
    tw_runtime_cancel(server->rt, &c->idle);
    tw_runtime_cancel(server->rt, &c->keepalive);
    tw_runtime_cancel(server->rt, &c->request);
    unlink_it(c);
    free(c);
    server_lost_one(server);
}

static enum served ended(struct connection *c, uint64_t *count) {
    connection_end(c, count);
    return ENDED;
}

/* --- timers ------------------------------------------------------------------------ */

static void showed_life(struct connection *c) {
    const struct settings *settings = &c->server->settings;
    tw_runtime_postpone(c->server->rt, &c->idle, settings->idle_ns);
    tw_runtime_postpone(c->server->rt, &c->keepalive, settings->keepalive_ns);
}

static void request_begins(struct connection *c) {
    tw_runtime_after(c->server->rt, &c->request, c->server->settings.request_ns);
}

/* Ends the input on this side; the daemon still reads bytes that the kernel has already received. */
static void dismiss(struct connection *c) { shutdown(c->fd, SHUT_RD); }

static void request_answered(struct connection *c) {
    if (c->used > 0) {
        request_begins(c); /* a part of the next request is already here */
        return;
    }
    tw_runtime_cancel(c->server->rt, &c->request);
    if (c->server->stopping)
        dismiss(c);
}

static enum served serve(struct connection *c);

/* If this process was held up, bytes that the peer sent in time wait in the kernel. So every deadline reads
 * the socket before it judges. */
static void on_idle(struct tw_node *node, void *arg) {
    struct connection *c = arg;
    tw_runtime_after(c->server->rt, node, c->server->settings.idle_ns);
    if (serve(c) == NOTHING)
        connection_end(c, &c->server->counts.idle_closed);
}

static void on_request_timeout(struct tw_node *node, void *arg) {
    struct connection *c = arg;
    if (serve(c) == ENDED)
        return;
    bool is_still_under_way = c->used > 0 && tw_runtime_remaining(c->server->rt, node) == TW_NO_DEADLINE;
    if (is_still_under_way)
        connection_end(c, &c->server->counts.request_timeouts);
}

/* The probe is an empty line, because the kernel takes a single byte whole or not at all. */
static void on_keepalive(struct tw_node *node, void *arg) {
    (void)node;
    struct connection *c = arg;
    if (c->to_send == 0 && send(c->fd, "\n", 1, MSG_NOSIGNAL) == 1)
        ++c->server->counts.probes;
}

/* --- bytes ------------------------------------------------------------------------- */

static bool is_for_later(int error) { return error == EAGAIN || error == EINTR; }

static enum served watch_for(struct connection *c, uint32_t events) {
    if (c->events == events)
        return SOMETHING;
    if (tw_runtime_watch_modify(c->server->rt, c->fd, events) != 0)
        return ended(c, &c->server->counts.failed);
    c->events = events;
    return SOMETHING;
}

static enum served send_lines(struct connection *c) {
    struct counts *counts = &c->server->counts;
    ssize_t sent = send(c->fd, c->bytes, c->to_send, MSG_NOSIGNAL);
    if (sent < 0 && !is_for_later(errno))
        return ended(c, &counts->left);
    if (sent > 0) {
        showed_life(c);
        counts->echoed_bytes += (uint64_t)sent;
        c->to_send -= (size_t)sent;
        c->used -= (size_t)sent;
        memmove(c->bytes, c->bytes + sent, c->used);
    }
    if (c->to_send > 0) {
        ++counts->blocked_sends;
        return watch_for(c, EPOLLOUT) == ENDED ? ENDED : sent > 0 ? SOMETHING : NOTHING;
    }
    request_answered(c);
    return watch_for(c, EPOLLIN);
}

static size_t whole_lines(const struct connection *c) {
    const char *end = memrchr(c->bytes, '\n', c->used);
    return end != NULL ? (size_t)(end - c->bytes) + 1 : 0;
}

static enum served receive(struct connection *c) {
    struct counts *counts = &c->server->counts;
    ssize_t received = recv(c->fd, c->bytes + c->used, sizeof c->bytes - c->used, 0);
    if (received < 0 && is_for_later(errno))
        return NOTHING;
    if (received <= 0)
        return ended(c, &counts->left);
    showed_life(c);
    if (c->used == 0)
        request_begins(c);
    c->used += (size_t)received;
    c->to_send = whole_lines(c);
    if (c->to_send > 0)
        return send_lines(c) == ENDED ? ENDED : SOMETHING;
    return c->used == sizeof c->bytes ? ended(c, &counts->too_long) : SOMETHING;
}

static enum served serve(struct connection *c) { return c->to_send > 0 ? send_lines(c) : receive(c); }

static void on_ready(int fd, uint32_t events, void *arg) {
    (void)fd;
    (void)events;
    struct connection *c = arg;
    if (serve(c) == NOTHING)
        ++c->server->counts.vain_turns;
}

/* --- life -------------------------------------------------------------------------- */

int connection_open(struct server *server, int fd) {
    const struct settings *settings = &server->settings;
    struct connection *c = calloc(1, sizeof *c);
    if (c == NULL)
        return -ENOMEM;
    c->server = server;
    c->fd = fd;
    c->events = EPOLLIN;
    int error = tw_runtime_watch(server->rt, fd, c->events, on_ready, c);
    if (error != 0) {
        free(c);
        return error;
    }
    int yes = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    tw_node_init(&c->idle, on_idle, c);
    tw_node_init(&c->keepalive, on_keepalive, c);
    tw_node_init(&c->request, on_request_timeout, c);
    tw_runtime_after(server->rt, &c->idle, settings->idle_ns);
    if (settings->keepalive_ns > 0)
        tw_runtime_every(server->rt, &c->keepalive, settings->keepalive_ns, TW_COALESCE);
    link_in(c);
    return 0;
}

void connections_dismiss(struct server *server) {
    for (struct connection *c = server->connections; c != NULL; c = c->next)
        if (c->used == 0)
            dismiss(c);
}
