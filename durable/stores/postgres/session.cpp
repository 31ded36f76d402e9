#include "session.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>

namespace tickwheel::durable::postgres {

namespace {

std::int64_t steady_now() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

// SQLSTATE codes, or their first two letters, which are a class.
struct meaning {
    const char *code;
    int error;
};
constexpr const char *lock_not_available = "55P03";
constexpr meaning meanings[] = {
    {"53100", -ENOSPC},  // disk full
    {"53200", -ENOMEM},  // out of memory
    {"53", -ENOTCONN},   // too many connections
    {"25006", -EROFS},   // a standby, or a read-only transaction
    {"42501", -EACCES},  // insufficient privilege
    {"28", -EACCES},     // authorization
    {"3D000", -ENOENT},  // no such database
    {"42704", -ENOENT},  // no such role
    {"3F000", -EPROTO},  // no such schema
    {"42", -EPROTO},     // a table, column or function is missing, is different, or already exists
    {lock_not_available, -EBUSY},
    {"57014", -EBUSY},    // cancelled by the server's timeout
    {"57", -ENOTCONN},    // shut down, crashed, starting
    {"40", -EBUSY},       // deadlock, serialization
    {"08", -ENOTCONN},    // connection
    {"XX001", -EBADMSG},  // data corrupted
    {"XX002", -EBADMSG},  // index corrupted
    {"22", -EINVAL},      // data, such as a character that the encoding of the database lacks
};

int meaning_of(const char *code) {
    for (const meaning &each : meanings)
        if (code != nullptr && std::strncmp(code, each.code, std::strlen(each.code)) == 0)
            return each.error;
    return -EIO;
}

// True if the password contains an unescaped '/' or '@'. libpq ends the password there, and takes the rest of
// it for a host, a port or a database, which the error texts repeat.
bool splits_password(const char *address) {
    const char *const begin = std::strstr(address, "://");
    if (begin == nullptr)
        return false;
    const char *rest = begin + 3 + std::strcspn(begin + 3, "@/");
    rest += *rest != 0 ? 1 : 0;
    return std::memchr(rest, '@', std::strcspn(rest, "?")) != nullptr;
}

const char *value_of(const PQconninfoOption *options, const char *keyword) {
    for (; options->keyword != nullptr; ++options)
        if (std::strcmp(options->keyword, keyword) == 0 && options->val != nullptr)
            return options->val;
    return "";
}

bool has_ports(const PQconninfoOption *options) {
    const char *const ports = value_of(options, "port");
    return ports[std::strspn(ports, "0123456789,")] == 0;
}

bool is_well_formed(const char *address) {
    PQconninfoOption *const options = PQconninfoParse(address, nullptr);
    if (options == nullptr)
        return false;
    const bool good = !splits_password(address) && has_ports(options);
    PQconninfoFree(options);
    return good;
}

// A server of an address. All empty: whatever the address says.
struct place {
    std::string host, hostaddr, port;
};

std::vector<std::string> parts_of(const std::string &list) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
        end = list.find(',', begin);
        parts.push_back(list.substr(begin, end - begin));
    }
    return parts;
}

// The part of a list that belongs to a server: one part may stand for all servers.
std::string part_for(const std::vector<std::string> &parts, std::size_t number) {
    return parts.size() == 1 ? parts[0] : parts[number];
}

// The servers of an address, or one place that is empty if there is nothing to divide: the lists have an
// empty part, which means a default, or libpq refuses their lengths.
std::vector<place> places_of(const std::string &hosts, const std::string &addresses,
                             const std::string &ports) {
    const std::vector<std::string> lists[] = {parts_of(hosts), parts_of(addresses), parts_of(ports)};
    const std::size_t count = std::max(lists[0].size(), lists[1].size());
    for (const std::vector<std::string> &list : lists)
        if ((list.size() != count && list.size() != 1) ||
            (list.size() > 1 && std::find(list.begin(), list.end(), "") != list.end()))
            return {place{}};
    std::vector<place> places;
    for (std::size_t i = 0; i < count; ++i)
        places.push_back({part_for(lists[0], i), part_for(lists[1], i), part_for(lists[2], i)});
    return places;
}

std::vector<place> places_of(const char *address) {
    const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
        PQconninfoParse(address, nullptr), PQconninfoFree);
    if (options == nullptr)
        return {place{}};
    return places_of(value_of(options.get(), "host"), value_of(options.get(), "hostaddr"),
                     value_of(options.get(), "port"));
}

bool is_loss(int error) { return error == -ENOTCONN || error == -ETIMEDOUT; }

std::string without_newline(const char *text) {
    std::string line = text != nullptr ? text : "";
    while (!line.empty() && line.back() == '\n')
        line.pop_back();
    return line;
}

}  // namespace

int session::broken(int error, const char *why) {
    why_ = without_newline(why);
    return error;
}

// Waits until the socket is ready or the time is up.
int session::wait_for(short events) {
    pollfd socket = {PQsocket(connection_), events, 0};
    for (;;) {
        const std::int64_t left = wait_until_ - steady_now();
        if (left <= 0)
            return broken(-ETIMEDOUT, "the server did not answer in time");
        const int ready = poll(&socket, 1, static_cast<int>((left + 999'999) / 1'000'000));
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return broken(-EIO, std::strerror(errno));
    }
}

// --- connecting -------------------------------------------------------------------------

int session::connect_in_time() {
    for (;;) {
        const PostgresPollingStatusType status = PQconnectPoll(connection_);
        if (status == PGRES_POLLING_OK)
            return 0;
        if (status == PGRES_POLLING_FAILED)
            break;
        if (const int error = wait_for(status == PGRES_POLLING_READING ? POLLIN : POLLOUT); error != 0)
            return error;
    }
    // libpq gives no code for an error before the connection is established, so this code searches the text.
    // The text does not depend on this process's locale: the server's settings choose its language.
    why_ = without_newline(PQerrorMessage(connection_));
    if (std::strstr(why_.c_str(), "does not exist") != nullptr &&
        std::strstr(why_.c_str(), "database \"") != nullptr)
        return -ENOENT;
    if (std::strstr(why_.c_str(), "authentication failed") != nullptr ||
        std::strstr(why_.c_str(), "pg_hba.conf") != nullptr || PQconnectionNeedsPassword(connection_) != 0 ||
        std::strstr(why_.c_str(), "role \"") != nullptr)
        return -EACCES;
    return -ENOTCONN;
}

// libpq would try one server after the other, too, but an attempt of its asynchronous calls has no end of its
// own: a server that is silent, as after the failure of a machine, would use up the time of all.
int session::connect(const char *address) {
    const std::vector<place> places = places_of(address);
    const std::int64_t until = steady_now() + timeout_ns_;
    std::string all_why;
    int error = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const std::int64_t now = steady_now();
        wait_until_ = now + (until - now) / static_cast<std::int64_t>(places.size() - i);
        error = connect_to(address, places[i].host, places[i].hostaddr, places[i].port);
        if (!is_loss(error))
            return error;
        all_why += (i != 0 ? "; " : "") + why_;
    }
    return broken(error, all_why.c_str());
}

int session::connect_to(const char *address, const std::string &host, const std::string &hostaddr,
                        const std::string &port) {
    // Those after the address override its own, unless they are empty.
    const char *const keys[] = {"dbname",          "host", "hostaddr", "port", "fallback_application_name",
                                "client_encoding", nullptr};
    const char *const values[] = {address,     host.c_str(), hostaddr.c_str(), port.c_str(),
                                  "tickwheel", "UTF8",       nullptr};
    PQfinish(connection_);
    connection_ = PQconnectStartParams(keys, values, 1);
    if (connection_ == nullptr)
        return broken(-ENOMEM, "no memory");
    // libpq would write notices to stderr, also while it connects.
    PQsetNoticeProcessor(
        connection_, [](void *, const char *) {}, nullptr);
    if (PQstatus(connection_) == CONNECTION_BAD)
        return broken(-ENOTCONN, PQerrorMessage(connection_));
    if (const int error = connect_in_time(); error != 0)
        return error;
    PQsetnonblocking(connection_, 1);
    return ask_backend(backend_);
}

int session::ask_backend(int &process) {
    rows answer;
    if (const int error = run("select pg_catalog.pg_backend_pid()", answer); error != 0)
        return error;
    process = static_cast<int>(std::strtol(answer.text(0, 0), nullptr, 10));
    return 0;
}

// Makes sure that a pooler gives this session a server process of its own. With another pooler the session
// would keep its process, too, until another client needs one. So a second connection asks for its process
// while this session is idle: it gets the one that this session has just had or, if the pooler takes turns,
// not the same one twice.
int session::check_pooler(const char *address) {
    session other(timeout_ns_);
    other.wait_until_ = steady_now() + timeout_ns_;
    if (const int error =
            other.connect_to(address, PQhost(connection_), PQhostaddr(connection_), PQport(connection_));
        error != 0)
        return broken(error, ("no second connection through the pooler: " + other.why()).c_str());
    for (session *const each : {this, &other, &other, this, &other, &other}) {
        int process = 0;
        if (const int error = each->ask_backend(process); error != 0)
            return broken(error, std::string(each->why()).c_str());
        if (process != each->backend_ || other.backend_ == backend_)
            return broken(-EOPNOTSUPP,
                          "this address leads through a pooler that gives each transaction another "
                          "connection: use its session mode, or the server's own port");
    }
    return 0;
}

int session::open(const char *address) {
    // The parser's error text may repeat a part of the address, and so of a password.
    if (!is_well_formed(address))
        return broken(-EINVAL, "the address is malformed");
    if (const int error = connect(address); error != 0)
        return error;
    // A pooler tells its clients other process numbers than the server's.
    if (backend_ != PQbackendPID(connection_)) {
        if (const int error = check_pooler(address); error != 0)
            return error;
        // The former client of the server's process may have left settings, prepared statements and LISTENs.
        if (const int error = run("discard all"); error != 0)
            return error;
    }
    // The search path finds only the system's operators, functions and types. Otherwise another user could
    // put one into a schema of the search path, and this connection would run it.
    //
    // The store's statements read few rows by an index. Without statistics the planner may assume that a
    // table is small and read all of it, and a plan made for a small table would stay after the table has
    // grown. So the settings turn off all other plans.
    //
    // The server stops waiting for one lock at 70 % of the timeout, and cancels a statement at 80 %. Both
    // come before the session stops waiting, so the caller knows that nothing has changed. The lock limit is
    // lower so that the error text names the lock.
    //
    // Without statistics, the planner may take the index of names for a claim, and sort all jobs of the kind.
    // A plan without a sort takes the index of ready times.
    //
    // A database without an encoding stores texts unchecked. A row that another program inserted with a text
    // that is not UTF-8 would make every statement that reads it fail, so the server must not check them
    // here.
    const char *const encoding = PQparameterStatus(connection_, "server_encoding");
    const bool has_encoding = encoding == nullptr || std::strcmp(encoding, "SQL_ASCII") != 0;
    return run(
        std::string("set client_encoding = ") + (has_encoding ? "utf8" : "sql_ascii") +
        "; set search_path = pg_catalog, pg_temp; set lock_timeout = " + server_limit(70) +
        "; set statement_timeout = " + server_limit(80) +
        ";"
        "set enable_seqscan = off; set enable_sort = off; set enable_hashjoin = off;"
        "set enable_mergejoin = off; set jit = off;"
        "set plan_cache_mode = force_generic_plan; set default_transaction_isolation = 'read committed';"
        "set idle_in_transaction_session_timeout = 0; set synchronous_commit = on");
}

std::string session::server_limit(int percent) const {
    return std::to_string(timeout_ns_ / 1'000'000 * percent / 100);
}

int session::be_patient(bool patient, bool with_locks) {
    patience_ = patient ? 100 : 1;
    return run("set statement_timeout = " + (patient ? "0" : server_limit(80)) +
               "; set lock_timeout = " + (patient && with_locks ? "0" : server_limit(70)) +
               "; set enable_sort = " + (patient ? "on" : "off"));
}

void session::abandon() {
    if (connection_ != nullptr && PQsocket(connection_) >= 0)
        close(PQsocket(connection_));
    connection_ = nullptr;  // PQfinish would tell the server that the parent disconnects
}

// --- calling ----------------------------------------------------------------------------

int session::failed(const PGresult *result) {
    if (PQstatus(connection_) != CONNECTION_OK)
        return broken(-ENOTCONN, PQerrorMessage(connection_));
    const char *const code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    why_ = without_newline(PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
    met_lock_ = code != nullptr && std::strcmp(code, lock_not_available) == 0;
    return meaning_of(code);
}

int session::send_all() {
    for (;;) {
        const int left = PQflush(connection_);
        if (left == 0)
            return 0;
        if (left < 0)
            return broken(-ENOTCONN, PQerrorMessage(connection_));
        // The server may be sending, and may not read until the session has received that.
        if (const int error = wait_for(POLLIN | POLLOUT); error != 0)
            return error;
        if (PQconsumeInput(connection_) == 0)
            return broken(-ENOTCONN, PQerrorMessage(connection_));
    }
}

// Receives one result; `out` holds null after the last one.
int session::receive_one(rows &out) {
    while (PQisBusy(connection_) != 0) {
        if (const int error = wait_for(POLLIN); error != 0)
            return error;
        if (PQconsumeInput(connection_) == 0)
            return broken(-ENOTCONN, PQerrorMessage(connection_));
    }
    out = rows(PQgetResult(connection_));
    return 0;
}

// Receives all results: stores the last one, or returns the first error.
int session::receive(rows &out) {
    if (const int error = send_all(); error != 0)
        return error;
    int result = 0;
    for (;;) {
        rows next;
        if (const int error = receive_one(next); error != 0)
            return error;
        if (next.get() == nullptr)
            return result;
        const ExecStatusType status = PQresultStatus(next.get());
        if (result == 0 && status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
            result = failed(next.get());
        if (result == 0)
            out = std::move(next);
    }
}

int session::run(const std::string &statements) {
    rows ignored;
    return run(statements, ignored);
}

int session::run(const std::string &statements, rows &out) {
    wait_until_ = steady_now() + timeout_ns_ * patience_;
    if (PQsendQuery(connection_, statements.c_str()) == 0)
        return broken(-ENOTCONN, PQerrorMessage(connection_));
    return receive(out);
}

void session::prepare_later(std::vector<std::string> statements) {
    statements_ = std::move(statements);
    is_prepared_.assign(statements_.size(), false);
    ++generation_;
}

std::string session::name_of(std::size_t statement) const {
    return std::to_string(generation_) + '.' + std::to_string(statement);
}

int session::prepare(std::size_t statement) {
    if (is_prepared_[statement])
        return 0;
    rows ignored;
    if (PQsendPrepare(connection_, name_of(statement).c_str(), statements_[statement].c_str(), 0, nullptr) ==
        0)
        return broken(-ENOTCONN, PQerrorMessage(connection_));
    const int error = receive(ignored);
    is_prepared_[statement] = error == 0;
    return error;
}

int session::send(std::size_t statement, parameters &with) {
    met_lock_ = false;
    wait_until_ = steady_now() + timeout_ns_ * patience_;
    if (const int error = prepare(statement); error != 0)
        return error;
    if (PQsendQueryPrepared(connection_, name_of(statement).c_str(), with.count(), with.pointers(),
                            with.lengths(), with.formats(), 1) == 0)
        return broken(-ENOTCONN, PQerrorMessage(connection_));
    return 0;
}

int session::send(const std::string &text, parameters &with) {
    met_lock_ = false;
    wait_until_ = steady_now() + timeout_ns_ * patience_;
    if (PQsendQueryParams(connection_, text.c_str(), with.count(), nullptr, with.pointers(), with.lengths(),
                          with.formats(), 1) == 0)
        return broken(-ENOTCONN, PQerrorMessage(connection_));
    return 0;
}

int session::ask(const std::string &text, parameters &with, rows &out) {
    if (const int error = send(text, with); error != 0)
        return error;
    return receive(out);
}

int session::call(std::size_t statement, parameters &with, rows &out) {
    if (const int error = send(statement, with); error != 0)
        return error;
    return receive(out);
}

// Cancels the statement and drops the rows that remain unread when a walk ends early.
int session::drop_rest() {
    PGcancel *const cancel = PQgetCancel(connection_);
    char ignored[64];
    PQcancel(cancel, ignored, sizeof ignored);
    PQfreeCancel(cancel);
    for (;;) {
        rows next;
        if (const int error = receive_one(next); error != 0 || next.get() == nullptr)
            return error;
    }
}

int session::ask_for_each(const std::string &text, parameters &with,
                          const std::function<int(const rows &, int)> &each) {
    if (const int error = send(text, with); error != 0)
        return error;
    PQsetSingleRowMode(connection_);
    if (const int error = send_all(); error != 0)
        return error;
    int result = 0;
    for (;;) {
        rows next;
        if (const int error = receive_one(next); error != 0)
            return error;
        if (next.get() == nullptr)
            return result;
        wait_until_ = steady_now() + timeout_ns_ * patience_;
        if (PQresultStatus(next.get()) == PGRES_SINGLE_TUPLE)
            result = each(next, 0);
        else if (PQresultStatus(next.get()) != PGRES_TUPLES_OK)
            result = failed(next.get());
        if (result != 0) {
            const int error = drop_rest();
            return error != 0 ? error : result;
        }
    }
}

int session::read_notifications(const std::function<void(const char *)> &each) {
    if (PQconsumeInput(connection_) == 0)
        return broken(-ENOTCONN, PQerrorMessage(connection_));
    while (PGnotify *const told = PQnotifies(connection_)) {
        if (told->be_pid != backend_)
            each(told->extra);
        PQfreemem(told);
    }
    return PQstatus(connection_) == CONNECTION_OK ? 0 : broken(-ENOTCONN, "the server is gone");
}

}  // namespace tickwheel::durable::postgres
