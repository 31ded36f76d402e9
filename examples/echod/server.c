#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"

/* Without free descriptors accept fails at once, and the listener stays readable. The server ignores it for
 * this long, to avoid spinning. */
#define PAUSE_NS (100 * TW_MILLISECOND)

static bool is_resting(struct server *server) {
    return tw_runtime_remaining(server->rt, &server->resume) != TW_NO_DEADLINE;
}

/* Clients that are not accepted wait in the kernel's queue. */
static void update_accepting(struct server *server) {
    bool accept = !is_resting(server) && server->open < server->settings.max_connections;
    if (server->stopping || accept == server->accepting)
        return;
    if (tw_runtime_watch_modify(server->rt, server->listener, accept ? EPOLLIN : 0) == 0)
        server->accepting = accept;
}

static void on_resume(struct tw_node *node, void *arg) {
    (void)node;
    update_accepting(arg);
}

static void rest(struct server *server) {
    ++server->counts.accept_pauses;
    tw_runtime_after(server->rt, &server->resume, PAUSE_NS);
}

static void on_incoming(int listener, uint32_t events, void *arg) {
    (void)events;
    struct server *server = arg;
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
            rest(server);
    } else if (connection_open(server, fd) < 0) {
        close(fd);
        rest(server);
    } else {
        ++server->counts.accepted;
    }
    update_accepting(server);
}

/* --- stopping ---------------------------------------------------------------------- */

static void finish(struct server *server) {
    tw_runtime_cancel(server->rt, &server->grace);
    sem_post(&server->stopped);
}

void server_gained_one(struct server *server) {
    ++server->open;
    if (server->open > server->counts.most_open)
        server->counts.most_open = server->open;
}

void server_lost_one(struct server *server) {
    --server->open;
    if (!server->stopping)
        update_accepting(server);
    else if (server->open == 0)
        finish(server);
}

static void on_grace_over(struct tw_node *node, void *arg) {
    (void)node;
    struct server *server = arg;
    while (server->connections != NULL)
        connection_end(server->connections, &server->counts.cut_off);
}

static void stop_listening(struct server *server) {
    tw_runtime_cancel(server->rt, &server->resume);
    tw_runtime_unwatch(server->rt, server->listener);
    close(server->listener);
    server->listener = -1;
}

static void on_stop(struct tw_node *node, void *arg) {
    (void)node;
    struct server *server = arg;
    server->stopping = true;
    stop_listening(server);
    if (server->open == 0) {
        finish(server);
        return;
    }
    tw_runtime_after(server->rt, &server->grace, server->settings.grace_ns);
    connections_dismiss(server);
}

void server_stop(struct server *server) {
    tw_runtime_after(server->rt, &server->stop, 0);
    while (sem_wait(&server->stopped) != 0 && errno == EINTR)
        ;
}

/* --- opening ----------------------------------------------------------------------- */

static int listen_on(int fd, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    socklen_t size = sizeof address;
    int yes = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, SOMAXCONN) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return -errno;
    return ntohs(address.sin_port);
}

int server_open(struct server *server, struct tw_runtime *rt, const struct settings *settings, int port) {
    memset(server, 0, sizeof *server);
    server->rt = rt;
    server->settings = *settings;
    server->accepting = true;
    tw_node_init(&server->resume, on_resume, server);
    tw_node_init(&server->stop, on_stop, server);
    tw_node_init(&server->grace, on_grace_over, server);

    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (server->listener < 0)
        return -errno;
    int result = listen_on(server->listener, port);
    if (result >= 0) {
        int error = tw_runtime_watch(rt, server->listener, EPOLLIN, on_incoming, server);
        result = error != 0 ? error : result;
    }
    if (result < 0)
        close(server->listener);
    else
        sem_init(&server->stopped, 0, 0);
    return result;
}

void server_close(struct server *server) {
    if (server->listener >= 0)
        close(server->listener);
    sem_destroy(&server->stopped);
}
