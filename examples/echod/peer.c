#include "peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define LINE_BYTES 1024    /* the daemon's longest line */
#define GREEDY_PATIENCE 10 /* in beats */

/* Makes line `number` of a peer: its name, then letters. Returns its size, 20 to LINE_BYTES; no line is
 * empty, because the daemon's probe is. */
static size_t make_line(const struct peer *p, unsigned number, char line[LINE_BYTES]) {
    uint32_t random = (p->index * 2654435761u) ^ (number * 40503u + 1);
    size_t size = p->kind == GREEDY ? LINE_BYTES : 20 + (random >> 8) % 300;
    for (size_t i = 0; i < size; ++i) {
        random = random * 1664525u + 1013904223u;
        line[i] = (char)('a' + (random >> 24) % 26);
    }
    char name[20];
    int length = snprintf(name, sizeof name, "%u/%u ", p->index, number);
    memcpy(line, name, length < 18 ? (size_t)length : 18);
    line[size - 1] = '\n';
    return size;
}

static bool all_is_echoed(const struct peer *p) {
    return p->sent.line == p->echoed.line && p->sent.byte == p->echoed.byte;
}

/* --- endings ----------------------------------------------------------------------- */

void run_lost(struct run *run, unsigned peers) {
    if (peers > 0 && (run->open -= peers) == 0)
        sem_post(&run->done);
}

static void close_peer(struct peer *p) {
    tw_runtime_cancel(p->run->rt, &p->beat);
    tw_runtime_unwatch(p->run->rt, p->fd);
    close(p->fd);
    p->fd = -1;
    run_lost(p->run, 1);
}

bool peer_abandon(struct peer *p) {
    if (p->fd < 0)
        return false;
    close_peer(p);
    return true;
}

static void end_badly(struct peer *p, unsigned *finding) {
    ++*finding;
    close_peer(p);
}

static void note_lateness(struct findings *findings, int64_t late) {
    findings->late_sum_ns += late;
    if (late > findings->late_max_ns)
        findings->late_max_ns = late;
}

/* P1, seen from outside: the daemon closes because of a timeout, and never before it. */
static void closed_by_daemon(struct peer *p) {
    int64_t now = tw_runtime_now(p->run->rt);
    int64_t deadline = p->heard + p->run->plan.idle_ns;
    if (p->asked != 0 && p->asked + p->run->plan.request_ns < deadline)
        deadline = p->asked + p->run->plan.request_ns;
    if (now < deadline)
        ++p->run->findings.early;
    else if (p->kind == SILENT && p->probes == 0 && p->run->plan.keepalive_ns > 0)
        ++p->run->findings.unprobed;
    else
        ++p->run->findings.closed[p->kind];
    if (p->kind == STALLED || p->kind == SILENT)
        note_lateness(&p->run->findings, now - deadline);
    close_peer(p);
}

static void leave(struct peer *p) {
    p->leaves = true;
    tw_runtime_cancel(p->run->rt, &p->beat);
    shutdown(p->fd, SHUT_WR);
}

static void on_end_of_input(struct peer *p) {
    if (!p->leaves) {
        closed_by_daemon(p);
        return;
    }
    ++p->run->findings.left[p->kind];
    close_peer(p);
}

/* --- asking ------------------------------------------------------------------------ */

/* Sends the present line, at most up to its byte `end` (0: all of it), as far as the connection takes it. A
 * connection that is not yet established takes nothing. Returns true if the connection took something. */
static bool push(struct peer *p, size_t end) {
    char line[LINE_BYTES];
    size_t size = make_line(p, p->sent.line, line);
    size_t upto = end != 0 && end < size ? end : size;
    int64_t now = tw_runtime_now(p->run->rt);
    ssize_t sent = send(p->fd, line + p->sent.byte, upto - p->sent.byte, MSG_NOSIGNAL);
    if (sent <= 0)
        return false; /* reading detects a closed connection */
    if (all_is_echoed(p))
        p->asked = now;
    p->sent.byte += (size_t)sent;
    if (p->sent.byte == size)
        p->sent = (struct place){p->sent.line + 1, 0};
    return true;
}

static void read_from_now_on(struct peer *p) {
    p->reads = true;
    if (tw_runtime_watch_modify(p->run->rt, p->fd, EPOLLIN) != 0)
        close_peer(p);
}

/* Sends lines without waiting for the echo until the daemon takes nothing for a while; then sends the rest of
 * the last line while reading. */
static void on_greedy_beat(struct peer *p) {
    if (p->reads) {
        if (p->sent.byte > 0)
            push(p, 0);
        return;
    }
    if (p->sent.line > 0)
        ++p->refused;
    while (push(p, 0))
        p->refused = 0;
    if (p->refused == GREEDY_PATIENCE)
        read_from_now_on(p);
}

static void on_beat(struct tw_node *node, void *arg) {
    (void)node;
    struct peer *p = arg;
    switch (p->kind) {
    case STEADY:
        if (all_is_echoed(p) || p->sent.byte > 0)
            push(p, 0);
        break;
    case SLOW:
        if (all_is_echoed(p))
            push(p, 10);
        else if (p->sent.byte > 0)
            push(p, 0);
        break;
    case STALLED:
        if (push(p, 10))
            tw_runtime_cancel(p->run->rt, &p->beat);
        break;
    case GREEDY:
        on_greedy_beat(p);
        break;
    case PATIENT: /* its time is over: leaves */
        if (all_is_echoed(p))
            leave(p);
        break;
    default:
        break;
    }
}

/* --- listening --------------------------------------------------------------------- */

static void on_probe(struct peer *p) {
    ++p->probes;
    int64_t due = p->started + p->probes * p->run->plan.keepalive_ns;
    if (p->kind == SILENT && tw_runtime_now(p->run->rt) < due)
        ++p->run->findings.early;
    if (p->kind == PATIENT && all_is_echoed(p))
        push(p, 0);
}

static void on_line_echoed(struct peer *p) {
    ++p->run->findings.lines;
    p->echoed = (struct place){p->echoed.line + 1, 0};
    p->heard = p->asked;
    if (!all_is_echoed(p))
        return;
    p->asked = 0;
    bool has_enough = p->kind == GREEDY ? p->reads : p->echoed.line >= p->run->plan.lines;
    if (p->kind != PATIENT && has_enough)
        leave(p);
}

/* Takes received bytes. Returns false if they differ from what was sent. */
static bool check_echo(struct peer *p, const char *bytes, size_t count) {
    char line[LINE_BYTES];
    size_t size = make_line(p, p->echoed.line, line);
    for (size_t i = 0; i < count; ++i) {
        if (bytes[i] == '\n' && p->echoed.byte == 0) {
            on_probe(p);
            continue;
        }
        if (all_is_echoed(p) || bytes[i] != line[p->echoed.byte])
            return false;
        ++p->run->findings.echoed_bytes;
        if (++p->echoed.byte == size) {
            on_line_echoed(p);
            size = make_line(p, p->echoed.line, line);
        }
    }
    return true;
}

static void on_ready(int fd, uint32_t events, void *arg) {
    struct peer *p = arg;
    char bytes[4096];
    if (!p->reads && (events & (EPOLLHUP | EPOLLERR)) == 0)
        return;
    ssize_t received = recv(fd, bytes, sizeof bytes, 0);
    if (received < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (received <= 0)
        on_end_of_input(p);
    else if (!check_echo(p, bytes, (size_t)received))
        end_badly(p, &p->run->findings.wrong_bytes);
}

/* --- starting ---------------------------------------------------------------------- */

static int connect_to(int port, bool small_buffer) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    int small = 4096;
    if (small_buffer)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 || errno == EINPROGRESS)
        return fd;
    close(fd);
    return -1;
}

static void start_beating(struct peer *p) {
    const struct plan *plan = &p->run->plan;
    /* the peers are spread over a beat */
    struct tw_when when = {.due_ns = p->index % 100 * plan->beat_ns / 100, .period_ns = plan->beat_ns};
    when.missed = TW_DELAY;
    if (p->kind == PATIENT)
        when.due_ns = plan->stay_ns;
    tw_node_init(&p->beat, on_beat, p);
    if (p->kind != SILENT)
        tw_runtime_arm(p->run->rt, &p->beat, &when);
}

void peer_start(struct peer *p) {
    p->started = p->heard = tw_runtime_now(p->run->rt);
    p->reads = p->kind != GREEDY;
    p->fd = connect_to(p->run->plan.port, p->kind == GREEDY);
    if (p->fd < 0 || tw_runtime_watch(p->run->rt, p->fd, p->reads ? EPOLLIN : 0, on_ready, p) != 0) {
        if (p->fd >= 0)
            close(p->fd);
        p->fd = -1;
        ++p->run->findings.unopened;
        run_lost(p->run, 1);
        return;
    }
    start_beating(p);
}
