// The server that tickwheel-top talks to: a thread that waits for clients, and a component of its runtime.
//
// Clients may be slow, silent or hostile. Requests and answers are bounded, and the server reads a client's
// next request only after it has sent the answer. It drops a client that does nothing for a while, and
// further clients wait for a free place. After an answer the client rests for nine times as long as the
// answer took: meanwhile the server reads nothing from that client.
//
// Threads: descriptors change under `mutex`, which a fork takes, so the child knows all descriptors and
// closes them. Only the server's thread uses the other fields.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <tickwheel/inspect.h>

#include <cstdlib>
#include <cstring>

#include "inspect.hpp"
#include "runtime/components.hpp"

namespace tickwheel::observe {

namespace {

constexpr unsigned most_clients = 4;
constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t patience = 5 * second;       // with an inactive client
constexpr std::int64_t pause_after_error = second;  // of the listener
constexpr int rest_per_answer = 9;                  // multiple of the time that the answer took

struct client {
    int fd;  // -1: none
    char request[inspect::longest_request];
    std::size_t asked;  // bytes received of the request
    answer reply;
    std::size_t sent;
    std::int64_t last_active, rests_until;

    bool is_there() const { return fd >= 0; }
    bool has_to_send() const { return sent < reply.size; }
};

struct inspect_server : runtime::component {
    base::mutex mutex;      // guards the descriptors
    int listener, stopper;  // `stopper`, an eventfd, ends the thread
    socket_file file;
    client clients[most_clients];
    std::int64_t deaf_until;  // the server accepts no client before this
    pthread_t thread;
    bool has_thread;  // end_thread must join it
};

inspect_server &server_in(runtime::component &base) { return static_cast<inspect_server &>(base); }

thread_local const tw_runtime *served_here = nullptr;  // set in the thread of a server

std::int64_t now() { return runtime::system_reading(CLOCK_MONOTONIC); }

void close_descriptor(int &fd) {
    if (fd >= 0)
        ::close(fd);
    fd = -1;
}

// --- clients -----------------------------------------------------------------------------

void hang_up(inspect_server &server, client &peer) {
    const base::mutex_hold hold(&server.mutex);
    close_descriptor(peer.fd);
}

client *free_place(inspect_server &server) {
    for (client &each : server.clients)
        if (!each.is_there())
            return &each;
    return nullptr;
}

void greet(client &peer, int fd, std::int64_t at) {
    peer.fd = fd;
    peer.asked = peer.sent = 0;
    std::memcpy(peer.reply.text, inspect::greeting.data(), inspect::greeting.size());
    peer.reply.size = inspect::greeting.size();
    peer.last_active = peer.rests_until = at;
}

// A listener that fails to accept stays readable, so the server ignores it for a while.
void accept_next(inspect_server &server, std::int64_t at) {
    client *const place = free_place(server);
    if (place == nullptr)
        return;
    const base::mutex_hold hold(&server.mutex);
    const int fd = accept_client(server.listener);
    if (fd >= 0)
        greet(*place, fd, at);
    else if (fd != -EAGAIN && fd != -EPERM && fd != -ECONNABORTED && fd != -EINTR)
        server.deaf_until = at + pause_after_error;
}

// Returns false if the server must drop the client.
bool send_more(client &peer, std::int64_t at) {
    const ssize_t sent = ::send(peer.fd, peer.reply.text + peer.sent, peer.reply.size - peer.sent,
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR;
    peer.sent += static_cast<std::size_t>(sent);
    peer.last_active = at;
    return true;
}

// Takes the first request from the client's buffer, and answers it. Returns false to drop the client.
bool answer_next(inspect_server &server, client &peer) {
    const inspect::request asked = inspect::read_request({peer.request, peer.asked});
    if (asked.what == inspect::request::incomplete)
        return true;
    if (asked.what == inspect::request::wrong) {  // sends only as much as the socket takes at once
        answer_request(*server.rt, asked, peer.reply);
        peer.sent = 0;
        send_more(peer, now());
        return false;
    }
    peer.asked -= asked.size;
    std::memmove(peer.request, peer.request + asked.size, peer.asked);
    const std::int64_t begun = now();
    answer_request(*server.rt, asked, peer.reply);
    peer.sent = 0;
    peer.last_active = now();
    peer.rests_until = peer.last_active + (peer.last_active - begun) * rest_per_answer;
    return !peer.reply.is_cut;
}

bool read_more(client &peer) {
    const ssize_t got =
        ::recv(peer.fd, peer.request + peer.asked, sizeof peer.request - peer.asked, MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    peer.asked += static_cast<std::size_t>(got);
    return got != 0;
}

bool serve(inspect_server &server, client &peer, int events, std::int64_t at) {
    if (peer.has_to_send())
        return (events & (POLLOUT | POLLERR | POLLHUP)) == 0 || send_more(peer, at);
    if ((events & (POLLIN | POLLERR | POLLHUP)) != 0 && !read_more(peer))
        return false;
    return at < peer.rests_until || answer_next(server, peer);
}

// --- the thread --------------------------------------------------------------------------

// The descriptors to poll: the stopper, the listener, and the clients. poll skips a descriptor of -1.
struct poll_set {
    pollfd of[2 + most_clients];
    std::int64_t until;  // INT64_MAX: forever
};

std::int64_t dropped_at(const client &peer) {
    return (peer.last_active > peer.rests_until ? peer.last_active : peer.rests_until) + patience;
}

void wake_at(poll_set &set, std::int64_t at) { set.until = at < set.until ? at : set.until; }

// The server does not read from a client that rests, or whose request buffer is full.
short events_of(const client &peer, std::int64_t at) {
    if (peer.has_to_send())
        return POLLOUT;
    return at < peer.rests_until || peer.asked == sizeof peer.request ? 0 : POLLIN;
}

poll_set make_poll_set(inspect_server &server, std::int64_t at) {
    const bool listens = at >= server.deaf_until && free_place(server) != nullptr;
    poll_set all = {{{server.stopper, POLLIN, 0}, {listens ? server.listener : -1, POLLIN, 0}}, INT64_MAX};
    if (at < server.deaf_until)
        wake_at(all, server.deaf_until);
    for (unsigned i = 0; i < most_clients; ++i) {
        const client &each = server.clients[i];
        all.of[2 + i] = {each.fd, each.is_there() ? events_of(each, at) : short{0}, 0};
        if (!each.is_there())
            continue;
        wake_at(all, at < each.rests_until ? each.rests_until : dropped_at(each));
    }
    return all;
}

int milliseconds_until(std::int64_t then, std::int64_t at) {
    if (then == INT64_MAX)
        return -1;
    const std::int64_t ms = (then - at) / 1'000'000 + 1;
    return then <= at ? 0 : ms < 60'000 ? static_cast<int>(ms) : 60'000;
}

void serve_all(inspect_server &server, const poll_set &all, std::int64_t at) {
    for (unsigned i = 0; i < most_clients; ++i) {
        client &each = server.clients[i];
        if (!each.is_there())
            continue;
        if (at >= dropped_at(each) || !serve(server, each, all.of[2 + i].revents, at))
            hang_up(server, each);
        if (server.rt->forked || server.rt->is_freed != 0)
            return;
    }
    if ((all.of[1].revents & POLLIN) != 0)
        accept_next(server, at);
}

// A record may end while an answer describes it. Its `drop` then runs here, and may free the runtime or fork.
// In the first case this thread detaches, and frees the runtime as it ends; in the child of a fork it only
// ends.
void *server_main(void *arg) {
    auto &server = *static_cast<inspect_server *>(arg);
    tw_runtime &rt = *server.rt;
    runtime::begin_thread("tickwheel-look");
    served_here = &rt;
    runtime::end_of_call end;
    const runtime::inside_user_code frame(rt, end);
    while (end.deferred().rt == nullptr && !rt.forked) {
        const std::int64_t before = now();
        poll_set all = make_poll_set(server, before);
        if (::poll(all.of, 2 + most_clients, milliseconds_until(all.until, before)) < 0)
            continue;
        if ((all.of[0].revents & POLLIN) != 0)
            return nullptr;
        serve_all(server, all, now());
    }
    if (end.deferred().rt != nullptr) {
        pthread_detach(pthread_self());
        server.has_thread = false;
    }
    return nullptr;
}

// --- the component -----------------------------------------------------------------------

void end_thread(runtime::component &base) {
    inspect_server &server = server_in(base);
    if (!server.has_thread)
        return;
    constexpr std::uint64_t one = 1;
    while (::write(server.stopper, &one, sizeof one) < 0 && errno == EINTR) {
    }
    pthread_join(server.thread, nullptr);
    server.has_thread = false;
}

void close_all(inspect_server &server) {
    close_descriptor(server.listener);
    close_descriptor(server.stopper);
    for (client &each : server.clients)
        close_descriptor(each.fd);
}

// The socket belongs to the parent, which keeps serving it.
void begin_server_in_child(runtime::component &base) {
    inspect_server &server = server_in(base);
    close_all(server);
    server.file.path[0] = 0;
    server.has_thread = false;
    server.mutex.assume_held();  // since before the fork
    server.mutex.unlock();
}

void unmake(inspect_server &server) {
    remove_socket(server.file);
    close_all(server);
    server.mutex.destroy();
    std::free(&server);
}

void destroy_server(runtime::component &base) {
    end_thread(base);
    remove_component(base);
    unmake(server_in(base));
}

// The thread ends in `end`, while the timers that an answer walks still exist.
constexpr runtime::component_hooks server_hooks = {
    .lock = [](runtime::component &base) TW_ACQUIRE(server_in(base).mutex) { server_in(base).mutex.lock(); },
    .unlock = [](runtime::component &base)
                  TW_RELEASE(server_in(base).mutex) { server_in(base).mutex.unlock(); },
    .begin_in_child = begin_server_in_child,
    .end = end_thread,
    .destroy = destroy_server,
};

inspect_server *allocate(tw_runtime &rt) {
    void *const memory = std::calloc(1, sizeof(inspect_server));
    if (memory == nullptr)
        return nullptr;
    auto *const server = static_cast<inspect_server *>(memory);  // no constructor touches its pages
    server->rt = &rt;
    server->listener = server->stopper = -1;
    for (client &each : server->clients)
        each.fd = -1;
    server->mutex.init();
    return server;
}

// Starts the thread last. The server is a component before it opens any descriptor, because a fork would
// otherwise leave the descriptors open in the child.
int open(inspect_server &server, const char *path) {
    {
        const base::mutex_hold hold(&server.mutex);
        server.listener = open_listener(path, server.file);
        if (server.listener < 0)
            return server.listener;
        server.stopper = ::eventfd(0, EFD_CLOEXEC);
        if (server.stopper < 0)
            return -errno;
    }
    const int error = create_thread(server.thread, nullptr, server_main, &server);
    server.has_thread = error == 0;
    return error;
}

int make(tw_runtime &rt, const char *path) {
    inspect_server *const server = allocate(rt);
    if (server == nullptr)
        return -ENOMEM;
    add_component(*server, rt, server_hooks);
    const int error = open(*server, path);
    if (error != 0)
        destroy_server(*server);
    return error;
}

// Returns 0 if this thread may start or stop the server; otherwise refuses with the reason.
int check_thread(const tw_runtime &rt) {
    return runtime::inside_user_code::of(rt) || served_here == &rt
               ? runtime::refuse(-EBUSY, "called from inside a callback of the runtime")
               : 0;
}

int explain(int error) {
    if (error == -EPERM)
        return runtime::refuse(error,
                               "the folder of the sockets belongs to another user, or is open to others");
    if (error == -EADDRINUSE)
        return runtime::refuse(error, "there is something else at the path");
    return runtime::explain_system_error(error);
}

}  // namespace

}  // namespace tickwheel::observe

using namespace tickwheel;
using namespace tickwheel::observe;

TW_API int tw_inspect_start(tw_runtime *rt, const char *path) {
    if (const int error = runtime::check_arming(rt); error != 0)
        return error;
    if (path != nullptr && (path[0] != '/' || std::strlen(path) > observe::inspect::longest_path))
        return runtime::refuse(-EINVAL, "the path is not absolute, or is too long for a socket");
    if (const int error = check_thread(*rt); error != 0)
        return error;
    const runtime::no_thread_cancel guard;
    const base::mutex_hold hold(&rt->lifecycle_mutex);
    runtime::component *const former = find_component(*rt, server_hooks);
    if (former != nullptr && path != nullptr && is_at(server_in(*former).file, path))
        return 0;
    const int error = make(*rt, path);
    if (error == 0 && former != nullptr)
        destroy_server(*former);
    return explain(error);
}
