// The server that tickwheel-top talks to: a thread that waits for clients, and a component of its runtime.
//
// Clients may be slow, silent or hostile. Each has a bounded request and a bounded answer, and the next
// request is read when the answer has gone; one that does nothing for a while is dropped, and further ones
// wait until a place is free. After an answer the server rests for nine times as long as that took.
//
// Threads. Descriptors change under `mutex`, which a fork takes: so the child knows all of them, and closes
// them. All else is the server's thread's own.
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
constexpr std::int64_t patience = 5 * second;       // with a client that does nothing
constexpr std::int64_t pause_after_error = second;  // of the listener
constexpr int rest_per_answer = 9;                  // times the time that it took

struct client {
    int fd;  // -1: none
    char request[inspect::longest_request];
    std::size_t asked;  // bytes of the request that are there
    answer reply;
    std::size_t sent;
    std::int64_t last_active, rests_until;

    bool is_there() const { return fd >= 0; }
    bool has_to_send() const { return sent < reply.size; }
};

struct inspect_server : runtime::component {
    base::mutex mutex;      // see above
    int listener, stopper;  // the stopper, an eventfd, ends the thread
    socket_file file;
    client clients[most_clients];
    std::int64_t deaf_until;  // no client is accepted before
    pthread_t thread;
    bool has_thread;  // it is to be joined
};

inspect_server &server_in(runtime::component &it) { return static_cast<inspect_server &>(it); }

thread_local const tw_runtime *served_here = nullptr;  // in the thread of a server

std::int64_t now() { return runtime::system_reading(CLOCK_MONOTONIC); }

void close_descriptor(int &fd) {
    if (fd >= 0)
        ::close(fd);
    fd = -1;
}

// --- clients -----------------------------------------------------------------------------

void hang_up(inspect_server &it, client &of) {
    const base::mutex_hold hold(&it.mutex);
    close_descriptor(of.fd);
}

client *free_place(inspect_server &it) {
    for (client &each : it.clients)
        if (!each.is_there())
            return &each;
    return nullptr;
}

void greet(client &it, int fd, std::int64_t at) {
    it.fd = fd;
    it.asked = it.sent = 0;
    std::memcpy(it.reply.text, inspect::greeting.data(), inspect::greeting.size());
    it.reply.size = inspect::greeting.size();
    it.last_active = it.rests_until = at;
}

// A listener that cannot accept stays readable: it is left alone for a while.
void accept_next(inspect_server &it, std::int64_t at) {
    client *const place = free_place(it);
    if (place == nullptr)
        return;
    const base::mutex_hold hold(&it.mutex);
    const int fd = accept_client(it.listener);
    if (fd >= 0)
        greet(*place, fd, at);
    else if (fd != -EAGAIN && fd != -EPERM && fd != -ECONNABORTED && fd != -EINTR)
        it.deaf_until = at + pause_after_error;
}

// Returns false if the client is to be dropped.
bool send_more(client &it, std::int64_t at) {
    const ssize_t sent =
        ::send(it.fd, it.reply.text + it.sent, it.reply.size - it.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0)
        return errno == EAGAIN || errno == EINTR;
    it.sent += static_cast<std::size_t>(sent);
    it.last_active = at;
    return true;
}

// Takes the first request off what has come, and answers it.
bool answer_next(inspect_server &server, client &it) {
    const inspect::request asked = inspect::read_request({it.request, it.asked});
    if (asked.what == inspect::request::incomplete)
        return true;
    if (asked.what == inspect::request::wrong) {  // one that does not take the answer at once gets none
        answer_request(*server.rt, asked, it.reply);
        it.sent = 0;
        send_more(it, now());
        return false;
    }
    it.asked -= asked.size;
    std::memmove(it.request, it.request + asked.size, it.asked);
    const std::int64_t begun = now();
    answer_request(*server.rt, asked, it.reply);
    it.sent = 0;
    it.last_active = now();
    it.rests_until = it.last_active + (it.last_active - begun) * rest_per_answer;
    return !it.reply.is_cut;
}

bool read_more(client &it) {
    const ssize_t got = ::recv(it.fd, it.request + it.asked, sizeof it.request - it.asked, MSG_DONTWAIT);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR;
    it.asked += static_cast<std::size_t>(got);
    return got != 0;
}

bool serve(inspect_server &server, client &it, int events, std::int64_t at) {
    if (it.has_to_send())
        return (events & (POLLOUT | POLLERR | POLLHUP)) == 0 || send_more(it, at);
    if ((events & (POLLIN | POLLERR | POLLHUP)) != 0 && !read_more(it))
        return false;
    return at < it.rests_until || answer_next(server, it);
}

// --- the thread --------------------------------------------------------------------------

// What to wait for: the stopper, the listener, and the clients. -1 as a descriptor is passed over.
struct waiting {
    pollfd of[2 + most_clients];
    std::int64_t until;  // INT64_MAX: for ever
};

std::int64_t dropped_at(const client &it) {
    return (it.last_active > it.rests_until ? it.last_active : it.rests_until) + patience;
}

void wake_at(waiting &it, std::int64_t at) { it.until = at < it.until ? at : it.until; }

// A client that rests, or has sent all that a request can have, is not read.
short events_of(const client &it, std::int64_t at) {
    if (it.has_to_send())
        return POLLOUT;
    return at < it.rests_until || it.asked == sizeof it.request ? 0 : POLLIN;
}

waiting what_to_wait_for(inspect_server &it, std::int64_t at) {
    const bool listens = at >= it.deaf_until && free_place(it) != nullptr;
    waiting all = {{{it.stopper, POLLIN, 0}, {listens ? it.listener : -1, POLLIN, 0}}, INT64_MAX};
    if (at < it.deaf_until)
        wake_at(all, it.deaf_until);
    for (unsigned i = 0; i < most_clients; ++i) {
        const client &each = it.clients[i];
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

void serve_all(inspect_server &it, const waiting &all, std::int64_t at) {
    for (unsigned i = 0; i < most_clients; ++i) {
        client &each = it.clients[i];
        if (!each.is_there())
            continue;
        if (at >= dropped_at(each) || !serve(it, each, all.of[2 + i].revents, at))
            hang_up(it, each);
        if (it.rt->forked || it.rt->is_freed != 0)
            return;
    }
    if ((all.of[1].revents & POLLIN) != 0)
        accept_next(it, at);
}

// A record may end while an answer is made of it, and its `drop` run here, which may free the runtime or
// fork. Then this thread frees it as it leaves, and is joined by none; in a child it only leaves.
void *server_main(void *arg) {
    auto &it = *static_cast<inspect_server *>(arg);
    tw_runtime &rt = *it.rt;
    runtime::begin_thread("tickwheel-look");
    served_here = &rt;
    runtime::end_of_call end;
    const runtime::inside_user_code frame(rt, end);
    while (end.deferred().rt == nullptr && !rt.forked) {
        const std::int64_t before = now();
        waiting all = what_to_wait_for(it, before);
        if (::poll(all.of, 2 + most_clients, milliseconds_until(all.until, before)) < 0)
            continue;
        if ((all.of[0].revents & POLLIN) != 0)
            return nullptr;
        serve_all(it, all, now());
    }
    if (end.deferred().rt != nullptr) {
        pthread_detach(pthread_self());
        it.has_thread = false;
    }
    return nullptr;
}

// --- the component -----------------------------------------------------------------------

void end_thread(runtime::component &base) {
    inspect_server &it = server_in(base);
    if (!it.has_thread)
        return;
    constexpr std::uint64_t one = 1;
    while (::write(it.stopper, &one, sizeof one) < 0 && errno == EINTR) {
    }
    pthread_join(it.thread, nullptr);
    it.has_thread = false;
}

void close_all(inspect_server &it) {
    close_descriptor(it.listener);
    close_descriptor(it.stopper);
    for (client &each : it.clients)
        close_descriptor(each.fd);
}

// The socket is the parent's, and goes on there.
void begin_in_child(runtime::component &base) {
    inspect_server &it = server_in(base);
    close_all(it);
    it.file.path[0] = 0;
    it.has_thread = false;
    it.mutex.assume_held();  // since before the fork
    it.mutex.unlock();
}

void unmake(inspect_server &it) {
    remove_socket(it.file);
    close_all(it);
    it.mutex.destroy();
    std::free(&it);
}

void destroy(runtime::component &base) {
    end_thread(base);
    remove_component(base);
    unmake(server_in(base));
}

// `end`: what an answer walks through is still there, and will not be for long.
constexpr runtime::component_hooks server_hooks = {
    .lock = [](runtime::component &it) TW_ACQUIRE(server_in(it).mutex) { server_in(it).mutex.lock(); },
    .unlock = [](runtime::component &it) TW_RELEASE(server_in(it).mutex) { server_in(it).mutex.unlock(); },
    .begin_in_child = begin_in_child,
    .end = end_thread,
    .destroy = destroy,
};

inspect_server *allocate(tw_runtime &rt) {
    void *const memory = std::calloc(1, sizeof(inspect_server));
    if (memory == nullptr)
        return nullptr;
    auto *const it = static_cast<inspect_server *>(memory);  // mostly not touched: see longest_answer
    it->rt = &rt;
    it->listener = it->stopper = -1;
    for (client &each : it->clients)
        each.fd = -1;
    it->mutex.init();
    return it;
}

// The thread begins last. A fork that comes before it is a component would leave descriptors open in the
// child, so it is one before it has any.
int open(inspect_server &it, const char *path) {
    {
        const base::mutex_hold hold(&it.mutex);
        it.listener = open_listener(path, it.file);
        if (it.listener < 0)
            return it.listener;
        it.stopper = ::eventfd(0, EFD_CLOEXEC);
        if (it.stopper < 0)
            return -errno;
    }
    const int error = create_thread(it.thread, nullptr, server_main, &it);
    it.has_thread = error == 0;
    return error;
}

int make(tw_runtime &rt, const char *path) {
    inspect_server *const it = allocate(rt);
    if (it == nullptr)
        return -ENOMEM;
    add_component(*it, rt, server_hooks);
    const int error = open(*it, path);
    if (error != 0)
        destroy(*it);
    return error;
}

// Refuses with the reason; 0 if the server may be begun or ended here.
int check_place(const tw_runtime &rt) {
    return runtime::inside_user_code::of(rt) || served_here == &rt
               ? runtime::refuse(-EBUSY, "called from inside a callback of the runtime")
               : 0;
}

int explain(int error) {
    if (error == -EPERM)
        return runtime::refuse(error, "the folder of the sockets belongs to another user, or lets others in");
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
    if (const int error = check_place(*rt); error != 0)
        return error;
    const runtime::no_thread_cancel guard;
    const base::mutex_hold hold(&rt->lifecycle_mutex);
    runtime::component *const former = find_component(*rt, server_hooks);
    if (former != nullptr && path != nullptr && is_at(server_in(*former).file, path))
        return 0;
    const int error = make(*rt, path);
    if (error == 0 && former != nullptr)
        destroy(*former);
    return explain(error);
}

TW_API int tw_inspect_stop(tw_runtime *rt) {
    if (const int error = runtime::check_usable(rt); error != 0)
        return error;
    if (const int error = check_place(*rt); error != 0)
        return error;
    const runtime::no_thread_cancel guard;
    const base::mutex_hold hold(&rt->lifecycle_mutex);
    runtime::component *const it = find_component(*rt, server_hooks);
    if (it == nullptr)
        return runtime::refuse(-ENOENT, "the runtime is not to be looked at");
    destroy(*it);
    return 0;
}
