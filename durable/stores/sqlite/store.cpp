// The store in a SQLite database: in a file, which the processes of one machine share, or in memory.
//
// Notifications with a file: every commit writes to the database's log, "PATH-wal", and listeners watch that
// log. The log exists as long as this connection, because only the last connection deletes it. SQLite also
// writes to the log for other reasons, so connections count their announcements in the meta table, and a
// listener compares the count.
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "in_memory.hpp"
#include "operations.hpp"
#include "schema.hpp"
#include "stores/stores.hpp"

namespace tickwheel::durable {
namespace {

using sqlite::session;

// --- connections -----------------------------------------------------------------------------

struct closes {
    void operator()(sqlite3 *handle) const { sqlite3_close(handle); }
};

// A connection that the store has opened. The members are destroyed in reverse order.
struct store_connection {
    std::unique_ptr<sqlite3, closes> handle;
    session to;
    int watch = -1;

    store_connection(std::unique_ptr<sqlite3, closes> of, const char *schema)
        : handle(std::move(of)), to(handle.get(), schema) {}
    store_connection(const store_connection &) = delete;
    store_connection &operator=(const store_connection &) = delete;
    ~store_connection() { stop_listening(); }

    void stop_listening() {
        if (watch < 0)
            return;
        if (!to.name_in_memory().empty())
            sqlite::remove_listener(to.name_in_memory(), watch);
        ::close(std::exchange(watch, -1));
    }
};

store_connection &of(void *raw) { return *static_cast<store_connection *>(raw); }

// The path after "sqlite:". A relative path gets a "./" in front, because SQLite gives some, such as
// "file:...", another meaning.
std::string path_of(const char *address) {
    const std::string path = std::strchr(address, ':') + 1;
    return path.empty() || path[0] == '/' || !sqlite::name_in_memory(path).empty() ? path : "./" + path;
}

int refuse(int error, const char *reason, char *why, std::size_t room) {
    std::snprintf(why, room, "%s", reason);
    return error;
}

// The error for a file that SQLite cannot open. If SQLite cannot create a file, it tries to read the file,
// and then reports only that the file is missing.
int error_of_path(const std::string &path, int code, int system_errno) {
    const int error = sqlite::error_of(code, system_errno);
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    if (error != -ENOENT || access(folder.c_str(), F_OK) != 0 || access(folder.c_str(), W_OK | X_OK) == 0)
        return error;
    return errno == EROFS ? -EROFS : -EACCES;
}

// No two threads use a connection at the same time, so it needs no mutex. SQLite as a whole needs its own.
int open_file(const std::string &path, const std::string &in_memory, bool must_exist,
              std::unique_ptr<sqlite3, closes> &opened, char *why, std::size_t room) {
    sqlite3 *handle = nullptr;
    if (path.empty())
        return refuse(-EINVAL, "the address has no path", why, room);
    if (path.compare(0, 2, "//") == 0)
        return refuse(-EINVAL, "the address is not sqlite:PATH, but sqlite://...", why, room);
    if (sqlite3_threadsafe() == 0)
        return refuse(-EOPNOTSUPP, "this SQLite was built without support for threads", why, room);
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (must_exist ? 0 : SQLITE_OPEN_CREATE);
    const bool is_file = in_memory.empty();
    if (!is_file && sqlite3_vfs_find("memdb") == nullptr)
        return refuse(-EOPNOTSUPP, "this SQLite was built without databases in memory", why, room);
    errno = 0;  // SQLite does not always set it
    const int code =
        sqlite3_open_v2((is_file ? path : in_memory).c_str(), &handle, flags, is_file ? nullptr : "memdb");
    opened.reset(handle);
    if (code != SQLITE_OK) {
        const int system_errno = handle != nullptr ? sqlite3_system_errno(handle) : 0;
        const int error = error_of_path(path, code, system_errno);
        return refuse(error, error == -ENOENT ? "there is no such file or folder" : sqlite3_errstr(code), why,
                      room);
    }
    sqlite3_extended_result_codes(handle, 1);
    return 0;
}

// The database is open, so the missing file is its log, which SQLite cannot create: the disk is read-only.
int error_of_log(int error) { return error == -ENOENT ? -EROFS : error; }

int open_place(void **out, const tw_store_place &place, char *why, std::size_t room) {
    std::unique_ptr<sqlite3, closes> handle;
    const bool must_exist = place.must_exist != 0;
    const std::string path = path_of(place.address);
    const std::string in_memory = sqlite::name_in_memory(path);
    if (place.grant_to != nullptr)
        return refuse(-EOPNOTSUPP,
                      "SQLite has no roles; the permissions of the file and of its folder say who may use it",
                      why, room);
    if (const int error = open_file(path, in_memory, must_exist, handle, why, room); error != 0)
        return error;
    const std::int64_t ms = place.timeout_ns / 1'000'000;
    sqlite3_busy_timeout(handle.get(), static_cast<int>(std::clamp<std::int64_t>(ms, 1, INT_MAX)));
    auto made = std::make_unique<store_connection>(std::move(handle), place.schema);
    made->to.set_in_memory(in_memory);
    if (!in_memory.empty() && place.local_is_virtual != 0)
        made->to.set_clock(place.local_now, place.local_now_arg);
    if (const int has = must_exist ? error_of_log(sqlite::has_tables(made->to)) : 1; has != 1)
        return has == 0 ? refuse(-ENOENT, "there are no tables of this schema in the file", why, room)
                        : refuse(has, made->to.explain(), why, room);
    if (const int error = error_of_log(sqlite::set_up(made->to, place.timeout_ns)); error != 0)
        return refuse(error, made->to.explain(), why, room);
    made->to.set_open();
    if (in_memory.empty())
        made->to.note_files(std::filesystem::absolute(path));
    *out = made.release();
    return 0;
}

int open(void **out, const tw_store_place *place, char *why, std::size_t room) {
    try {
        const int error = open_place(out, *place, why, room);
        if (error == -EROFS)
            refuse(error, "SQLite must be able to write to the file and its folder, and can only read here",
                   why, room);
        if (error != 0) {
            const std::size_t said = std::strlen(why);
            std::snprintf(why + said, room - said, ": %s", path_of(place->address).c_str());
        }
        return error;
    } catch (const std::bad_alloc &) {
        return refuse(-ENOMEM, "no memory", why, room);
    }
}

void close(void *raw) { delete &of(raw); }

// SQLite forbids using or even closing a connection in the child of a fork, so the memory and descriptors of
// SQLite's connection stay allocated.
void abandon(void *raw) {
    store_connection &self = of(raw);
    self.to.abandon();
    static_cast<void>(self.handle.release());
    if (self.watch >= 0)
        ::close(std::exchange(self.watch, -1));
    delete &self;
}

const char *explain(void *raw) { return of(raw).to.explain(); }

int now(void *raw, std::int64_t *now_ns) {
    *now_ns = of(raw).to.now();
    return 0;
}

// --- jobs and members ------------------------------------------------------------------------

// Runs a function of the store on a connection.
template <typename F> auto on(void *raw, F body) -> decltype(body(std::declval<session &>())) {
    try {
        return body(of(raw).to);
    } catch (const std::bad_alloc &) {
        return of(raw).to.fail(-ENOMEM, "no memory");
    }
}

int put(void *raw, tw_store_put *puts, std::size_t count, int keep, const tw_store_member *who) {
    return on(raw, [=](session &to) { return sqlite::put(to, puts, count, keep != 0, who); });
}
int remove(void *raw, const char *kind, const char *key) {
    return on(raw, [=](session &to) { return sqlite::remove(to, kind, key); });
}
int change(void *raw, const tw_durable_filter *filter, const char *key, tw_store_change what,
           tw_store_changed *each, void *arg) {
    return on(raw, [=](session &to) { return sqlite::change(to, *filter, key, what, each, arg); });
}
int list(void *raw, const tw_durable_filter *filter, const char *key, tw_store_visitor *each, void *arg) {
    return on(raw, [=](session &to) { return sqlite::list(to, *filter, key, each, arg); });
}
std::int64_t count(void *raw, const tw_durable_filter *filter) {
    return on(raw, [=](session &to) { return sqlite::count(to, *filter); });
}
int join(void *raw, const char *name, std::int64_t lease_ns, tw_store_member *who) {
    return on(raw, [=](session &to) { return sqlite::join(to, name, lease_ns, *who); });
}
int renew(void *raw, const tw_store_member *who, std::int64_t lease_ns, std::int64_t *now_ns) {
    return on(raw, [=](session &to) { return sqlite::renew(to, *who, lease_ns, *now_ns); });
}
int resume(void *raw, tw_store_member *who, const std::int64_t *started, std::size_t count,
           tw_store_visitor *each, void *arg) {
    return on(raw, [=](session &to) { return sqlite::resume(to, *who, started, count, each, arg); });
}
int leave(void *raw, const tw_store_member *who) {
    return on(raw, [=](session &to) { return sqlite::leave(to, *who); });
}
std::int64_t bury(void *raw, std::size_t limit) {
    return on(raw, [=](session &to) { return sqlite::bury(to, limit); });
}
int claim(void *raw, const tw_store_claim *request, tw_store_taker *each, void *arg, tw_store_look *look) {
    return on(raw, [=](session &to) { return sqlite::claim(to, *request, each, arg, *look); });
}
int start(void *raw, const tw_store_member *who, tw_store_start *starts, std::size_t count,
          std::int64_t *now_ns) {
    return on(raw, [=](session &to) { return sqlite::start(to, *who, starts, count, *now_ns); });
}
int settle(void *raw, const tw_store_member *who, tw_store_outcome *outcomes, std::size_t count) {
    return on(raw, [=](session &to) { return sqlite::settle(to, *who, outcomes, count); });
}
int announce(void *raw, const tw_store_member *who, const char *const *kinds, std::size_t count,
             std::int64_t clock_offset_ns) {
    return on(raw, [=](session &to) { return sqlite::announce(to, *who, kinds, count, clock_offset_ns); });
}
int members(void *raw, tw_durable_member_visitor *each, void *arg) {
    return on(raw, [=](session &to) { return sqlite::members(to, each, arg); });
}
int tallies(void *raw, const std::int64_t *times, std::size_t count, std::uint64_t most,
            tw_durable_tally_visitor *each, void *arg) {
    return on(raw, [=](session &to) { return sqlite::tallies(to, times, count, most, each, arg); });
}

// --- notifications ---------------------------------------------------------------------------

// Also called before each reading of the news: if something has replaced the log, this watches the new one.
bool watch_log(int watch, sqlite3 *handle) {
    const std::string log = std::string(sqlite3_db_filename(handle, "main")) + "-wal";
    return inotify_add_watch(watch, log.c_str(), IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF) >= 0;
}

int begin_to_listen(store_connection &self) {
    const std::string &name = self.to.name_in_memory();
    // If this function fails, `listen` closes the descriptor.
    self.watch =
        name.empty() ? inotify_init1(IN_CLOEXEC | IN_NONBLOCK) : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (self.watch < 0)
        return self.to.fail(-EOPNOTSUPP, std::strerror(errno));
    if (!name.empty())
        sqlite::add_listener(name, self.watch);
    else if (!watch_log(self.watch, self.handle.get()))
        return self.to.fail(-EOPNOTSUPP, std::strerror(errno));
    const int error = self.to.know_all_news();
    return error != 0 ? error : self.watch;
}

int listen(void *raw) {
    store_connection &self = of(raw);
    if (self.watch >= 0)
        return self.watch;
    const int result = on(raw, [&self](session &) { return begin_to_listen(self); });
    if (result < 0)
        self.stop_listening();
    return result;
}

int read_notifications(void *raw, tw_store_notice *each, void *arg) {
    store_connection &self = of(raw);
    alignas(inotify_event) char events[4096];
    while (read(self.watch, events, sizeof events) > 0) {
    }
    return on(raw, [&](session &to) {
        if (to.name_in_memory().empty())
            static_cast<void>(watch_log(self.watch, self.handle.get()));
        std::int64_t ready = 0;
        const int news = to.other_news(ready);
        if (news == 1)
            each(nullptr, ready, arg);
        return std::min(news, 0);
    });
}

// A notification of SQLite is for all kinds.
int notify(void *raw, const char *) {
    return on(raw, [](session &to) {
        return sqlite::in_small_transaction(to, sqlite::durability::normal,
                                            [&] { return to.ring(0, to.now()); });
    });
}

}  // namespace

std::string absolute_sqlite_address(const char *address) {
    const std::string path = path_of(address);
    std::error_code error;
    const std::filesystem::path folder = std::filesystem::current_path(error);
    const bool is_relative = !path.empty() && path[0] == '.';
    return is_relative && !error ? "sqlite:" + (folder / path.substr(2)).string() : address;
}

const tw_store sqlite_store = {
    .scheme = "sqlite",
    .open = open,
    .close = close,
    .abandon = abandon,
    .explain = explain,
    .now = now,
    .put = put,
    .remove = remove,
    .change = change,
    .list = list,
    .count = count,
    .join = join,
    .renew = renew,
    .resume = resume,
    .leave = leave,
    .bury = bury,
    .claim = claim,
    .start = start,
    .settle = settle,
    .listen = listen,
    .read_notifications = read_notifications,
    .notify = notify,
    .announce = announce,
    .members = members,
    .tallies = tallies,
};

}  // namespace tickwheel::durable
