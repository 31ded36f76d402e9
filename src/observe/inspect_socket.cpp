// Makes the socket of tickwheel/inspect.h. At no moment can other users connect to it.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "inspect.hpp"

namespace tickwheel::observe {

namespace {

constexpr int waiting_clients = 64;

struct address {
    sockaddr_un name = {};
    explicit address(const char *path) {
        name.sun_family = AF_UNIX;
        std::strncpy(name.sun_path, path, sizeof name.sun_path - 1);
    }
    const sockaddr *get() const { return reinterpret_cast<const sockaddr *>(&name); }
};

int make_socket() {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd >= 0 ? fd : -errno;
}

int close_with(int fd, int error) {
    ::close(fd);
    return error;
}

// True if `path` is a socket of this user on which no process listens.
bool is_left_over(const char *path) {
    struct stat status;
    if (::lstat(path, &status) != 0 || !S_ISSOCK(status.st_mode) || status.st_uid != ::geteuid())
        return false;
    const int fd = make_socket();
    if (fd < 0)
        return false;
    const address to(path);
    const bool is_refused = ::connect(fd, to.get(), sizeof to.name) != 0 && errno == ECONNREFUSED;
    return close_with(fd, is_refused ? 1 : 0) != 0;
}

int bind_to(int fd, const char *path) {
    const address to(path);
    if (::bind(fd, to.get(), sizeof to.name) == 0)
        return 0;
    if (errno != EADDRINUSE || !is_left_over(path))
        return -errno;
    ::unlink(path);
    return ::bind(fd, to.get(), sizeof to.name) == 0 ? 0 : -errno;
}

void remember(const char *path, socket_file &file) {
    struct stat status = {};
    ::lstat(path, &status);
    file.device = status.st_dev;
    file.inode = status.st_ino;
    std::strncpy(file.path, path, sizeof file.path - 1);
}

// Sets the mode before the socket has a name, so at no moment can other users connect.
int listen_at(const char *path, socket_file &file) {
    const int fd = make_socket();
    if (fd < 0)
        return fd;
    if (::fchmod(fd, 0600) != 0)
        return close_with(fd, -errno);
    if (const int error = bind_to(fd, path); error != 0)
        return close_with(fd, error);
    remember(path, file);
    if (::listen(fd, waiting_clients) == 0)
        return fd;
    const int error = -errno;
    remove_socket(file);
    return close_with(fd, error);
}

// Listens in the user's folder, under a name that no other runtime of this process has: PID.NUMBER.
int listen_in_folder(socket_file &file) {
    static constinit std::atomic<unsigned> made{0};
    inspect::folder_path folder, path;
    if (const int error = inspect::name_folder(folder); error != 0)
        return error;
    if (::mkdir(folder.text, 0700) != 0 && errno != EEXIST)
        return -errno;
    if (const int error = inspect::check_private(folder.text); error != 0)
        return error;
    const int length = std::snprintf(path.text, sizeof path.text, "%s/%d.%u", folder.text, ::getpid(),
                                     made.fetch_add(1, std::memory_order_relaxed));
    return length >= 0 && static_cast<unsigned>(length) <= inspect::longest_path ? listen_at(path.text, file)
                                                                                 : -ENAMETOOLONG;
}

// Checks the credentials that the client had when it connected.
bool may_look(int fd) {
    ucred who = {};
    socklen_t size = sizeof who;
    return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           (who.uid == ::geteuid() || who.uid == 0);
}

}  // namespace

int open_listener(const char *path, socket_file &file) {
    return path != nullptr ? listen_at(path, file) : listen_in_folder(file);
}

bool is_at(const socket_file &file, const char *path) {
    struct stat now;
    return std::strcmp(file.path, path) == 0 && ::lstat(path, &now) == 0 && now.st_dev == file.device &&
           now.st_ino == file.inode;
}

void remove_socket(socket_file &file) {
    if (is_at(file, file.path))
        ::unlink(file.path);
    file.path[0] = 0;
}

int accept_client(int listener) {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return -errno;
    return may_look(fd) ? fd : close_with(fd, -EPERM);
}

}  // namespace tickwheel::observe
