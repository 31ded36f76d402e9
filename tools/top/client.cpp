// See client.hpp.
#include "client.hpp"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "observe/inspect_folder.hpp"
#include "observe/inspect_request.hpp"

namespace tickwheel::top {

namespace {

constexpr double patience = 2;  // seconds
constexpr std::size_t most_sockets = 256;

double now() {
    timespec time;
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// A connection with a deadline.
class connection {
  public:
    explicit connection(const std::string &path) : until_(now() + patience) {
        sockaddr_un to = {};
        to.sun_family = AF_UNIX;
        if (path.size() > observe::inspect::longest_path) {
            error_ = ENAMETOOLONG;
            return;
        }
        std::memcpy(to.sun_path, path.data(), path.size());
        fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd_ < 0 || ::connect(fd_, reinterpret_cast<const sockaddr *>(&to), sizeof to) != 0)
            error_ = errno;
        else if (!is_trusted())
            error_ = EPERM;
    }
    ~connection() {
        if (fd_ >= 0)
            ::close(fd_);
    }
    connection(const connection &) = delete;
    connection &operator=(const connection &) = delete;

    int error() const { return error_; }

    // Returns the text up to the end of an answer; the text received so far if the end does not come.
    std::string answer(std::string_view request) {
        std::string text;
        if (!request.empty() && ::send(fd_, request.data(), request.size(), MSG_NOSIGNAL) < 0)
            return text;
        while (!(request.empty() ? text.find('\n') != std::string::npos : is_whole(text)) &&
               read_some(text)) {
        }
        return text;
    }

  private:
    // True if the server belongs to this user; root may look at any user's.
    bool is_trusted() const {
        ucred who = {};
        socklen_t size = sizeof who;
        return ::getsockopt(fd_, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
               (who.uid == ::geteuid() || ::geteuid() == 0);
    }

    bool read_some(std::string &text) {
        char bytes[4096];
        const double left = until_ - now();
        pollfd socket = {fd_, POLLIN, 0};
        if (text.size() > longest_answer || left <= 0 ||
            ::poll(&socket, 1, static_cast<int>(left * 1000) + 1) <= 0)
            return false;
        const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
        if (got > 0)
            text.append(bytes, static_cast<std::size_t>(got));
        return got > 0;
    }

    int fd_ = -1;
    int error_ = 0;
    double until_;
};

// The process number at the start of a socket's name; 0 if the name has none.
pid_t process_of(const char *name) {
    char *end;
    const long number = std::strtol(name, &end, 10);
    return number > 0 && number <= INT32_MAX && *end == '.' ? static_cast<pid_t>(number) : 0;
}

// True if the socket's process is dead and no process listens. A live process may not listen yet.
bool is_left_over(const std::string &path, pid_t process) {
    if (::kill(process, 0) == 0 || errno != ESRCH)
        return false;
    return connection(path).error() == ECONNREFUSED;
}

}  // namespace

std::vector<std::string> find_sockets(std::string &why) {
    observe::inspect::folder_path folder;
    std::vector<std::pair<pid_t, std::string>> found;
    int error = observe::inspect::name_folder(folder);
    if (error == 0)
        error = observe::inspect::check_private(folder.text);
    DIR *const entries = error == 0 ? ::opendir(folder.text) : nullptr;
    if (entries != nullptr) {
        for (const dirent *entry; (entry = ::readdir(entries)) != nullptr && found.size() < most_sockets;) {
            const pid_t process = process_of(entry->d_name);
            const std::string path = std::string(folder.text) + "/" + entry->d_name;
            if (process == 0)
                continue;
            if (is_left_over(path, process))
                ::unlink(path.c_str());
            else
                found.emplace_back(process, path);
        }
        ::closedir(entries);
    }
    why = error == 0 || error == -ENOENT ? "no program of yours can be observed; see tw_inspect_start"
                                         : std::string(folder.text) + " is not private to you";
    std::sort(found.begin(), found.end());
    std::vector<std::string> paths;
    paths.reserve(found.size());
    for (auto &each : found)
        paths.push_back(std::move(each.second));
    return paths;
}

bool ask(const std::string &socket, unsigned timers, bool even_if_many, sample &to, std::string &why) {
    connection server(socket);
    if (server.error() != 0) {
        why = std::strerror(server.error());
        return false;
    }
    if (server.answer("") != observe::inspect::greeting) {
        why = "it uses another protocol, is busy, or refuses you";
        return false;
    }
    std::optional<stats> told = read_stats(server.answer("stats\n"));
    to.at = now();
    std::optional<std::vector<timer_row>> next = std::vector<timer_row>();
    if (told && timers != 0 && (even_if_many || told->pending <= many_timers))
        next = read_timers(server.answer("pending " + std::to_string(timers) + "\n"));
    if (!told || !next) {
        why = "its answer is malformed, or did not come";
        return false;
    }
    to.socket = socket;
    to.told = std::move(*told);
    to.timers = std::move(*next);
    return true;
}

}  // namespace tickwheel::top
