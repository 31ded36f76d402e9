#include "schema.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>

#include "stores/later_release.hpp"

namespace tickwheel::durable::sqlite {

namespace {

// The job table keeps row numbers: without them, claims were as fast, but puts of 400-byte payloads took
// twice as long.
//
// Times are microseconds since 1970; periods and graces are microseconds. `holder` is a member's id. A job is
// pending if it has no holder and has not failed. The meta table also stores the last token given to a claim,
// the number of the last news for listeners, and the ready time of the job in that news.
constexpr step version_1 = R"(
create table @meta (
    name text primary key not null,
    value integer not null
) without rowid;
insert into @meta values ('version', 0), ('token', 0), ('news', 0), ('news_ready', 0);

create table @member (
    id integer primary key autoincrement,
    name text not null,
    epoch integer not null,
    lease integer not null,
    dead integer not null
);

create table @job (
    kind text not null,
    key text not null,
    due integer not null,
    ready integer not null,
    payload blob not null,
    period integer not null,
    cron text,
    zone text,
    missed integer not null,
    grace integer not null,
    attempts integer not null default 0,
    token integer not null default 0,
    holder integer,
    started integer not null default 0,
    failed integer not null default 0,
    error text,
    primary key (kind, key)
);
create index @job_pending on @job (kind, ready) where holder is null and failed = 0;
create index @job_held on @job (holder) where holder is not null;
create index @job_failed on @job (kind, key) where failed = 1;
)";

// What people see of members, and the index of periodic jobs whose last due time was given up, and of jobs
// that wait for their next try. The time of each kind with a rate (tw_store_claim.pause_ns). Groups, and the
// end of the puts with `within_ns`. A job that waits for a group is ready at TW_NO_DEADLINE.
constexpr step version_2 = R"(
alter table @member add column joined integer not null default 0;
alter table @member add column kinds blob;
alter table @member add column clock_offset integer not null default 0;
create index @job_with_error on @job (kind, key) where error is not null and failed = 0;
create table @pace (
    kind text primary key not null,
    next integer not null
) without rowid;
alter table @job add column of_group text;
alter table @job add column waits_for text;
alter table @job add column no_later integer;
create index @job_of_group on @job (of_group) where of_group is not null;
create index @job_waits_for on @job (waits_for) where waits_for is not null;
)";

constexpr step steps_of_release[] = {version_1, version_2};

// A statement with a single value, apart from the store's prepared ones.
class single_value {
  public:
    single_value(session &of, const char *text) : of_(of) {
        if (sqlite3_prepare_v2(of.handle(), text, -1, &statement_, nullptr) != SQLITE_OK)
            statement_ = nullptr;
    }
    single_value(const single_value &) = delete;
    single_value &operator=(const single_value &) = delete;
    ~single_value() { sqlite3_finalize(statement_); }

    int read() {
        const int code = statement_ != nullptr ? sqlite3_step(statement_) : sqlite3_errcode(of_.handle());
        return code == SQLITE_ROW ? 0 : of_.fail(sqlite3_extended_errcode(of_.handle()));
    }
    sqlite3_stmt *statement() { return statement_; }
    [[nodiscard]] bool is(const char *text) const {
        const auto *const value = reinterpret_cast<const char *>(sqlite3_column_text(statement_, 0));
        return value != nullptr && std::strcmp(value, text) == 0;
    }

  private:
    session &of_;
    sqlite3_stmt *statement_ = nullptr;
};

// Returns an error if there is no meta table.
int read_stored_version(session &of, std::int64_t &version) {
    query read(of, sql::read_meta);
    const int found = read.with("version").row();
    if (found != 1)
        return found < 0 ? found : of.fail(-EPROTO, "the meta table has no version");
    version = read.number(0);
    return 0;
}

}  // namespace

int has_tables(session &of) {
    const std::string name = of.schema() + "_meta";
    single_value found(of, "select count(*) from sqlite_master where type = 'table' and name = ?1");
    if (found.statement() != nullptr)
        sqlite3_bind_text(found.statement(), 1, name.c_str(), -1, SQLITE_STATIC);
    const int error = found.read();
    return error != 0 ? error : sqlite3_column_int(found.statement(), 0);
}

namespace {

// Version 0 means a database without tables.
int read_version(session &of, std::int64_t &version) {
    version = 0;
    const int has = has_tables(of);
    return has == 1 ? read_stored_version(of, version) : has;
}

// Returns 1 if the tables have the wanted version, 0 if they have an earlier one.
int compare(session &of, std::int64_t version, std::size_t wanted) {
    const auto newest = static_cast<std::int64_t>(wanted);
    if (version > newest)
        return of.fail(-EPROTO, later_release(version, newest).c_str());
    if (version < 0)
        return of.fail(-EPROTO, "the version of the tables is negative");
    return version == newest ? 1 : 0;
}

int compare_version(session &of, std::size_t wanted) {
    std::int64_t version = 0;
    const int error = read_version(of, version);
    return error != 0 ? error : compare(of, version, wanted);
}

int take_steps(session &of, std::span<const step> steps) {
    std::int64_t version = 0;
    if (const int error = read_version(of, version); error != 0)
        return error;
    for (auto at = static_cast<std::size_t>(version); at < steps.size(); ++at) {
        if (const int error = of.execute(steps[at]); error != 0)
            return error;
    }
    const std::string text =
        "update @meta set value = " + std::to_string(steps.size()) + " where name = 'version'";
    return of.execute(text.c_str());
}

// With a write-ahead log others can read during a write, and listeners notice that the log grows.
int turn_log_on(session &of) {
    single_value mode(of, "pragma journal_mode = wal");
    if (const int error = mode.read(); error != 0)
        return error;
    return mode.is("wal") ? 0 : of.fail(-EIO, "the database cannot have a write-ahead log");
}

// Keys must sort byte by byte; other encodings give another order.
int check_encoding(session &of) {
    single_value encoding(of, "pragma encoding");
    if (const int error = encoding.read(); error != 0)
        return error;
    return encoding.is("UTF-8") ? 0 : of.fail(-EPROTO, "the encoding of the database is not UTF-8");
}

int try_to_set_up(session &of) {
    if (const int error = of.name_in_memory().empty() ? turn_log_on(of) : 0; error != 0)
        return error;
    if (const int error = check_encoding(of); error != 0)
        return error;
    return bring_up_to_date(of, all_steps());
}

std::int64_t steady_now() {
    timespec read{};
    clock_gettime(CLOCK_MONOTONIC, &read);
    return read.tv_sec * INT64_C(1000000000) + read.tv_nsec;
}

}  // namespace

std::span<const step> all_steps() { return steps_of_release; }

int bring_up_to_date(session &of, std::span<const step> steps) {
    const int is_current = compare_version(of, steps.size());
    if (is_current != 0)
        return is_current < 0 ? is_current : 0;
    return in_small_transaction(of, durability::full, [&] {
        // Another process may have been faster.
        const int is_now = compare_version(of, steps.size());
        return is_now == 0 ? take_steps(of, steps) : std::min(is_now, 0);
    });
}

int check_version(session &of) {
    std::int64_t version = 0;
    if (const int error = read_stored_version(of, version); error != 0)
        return error;
    const int is_current = compare(of, version, all_steps().size());
    if (is_current < 0)
        return is_current;
    return is_current == 1 ? 0 : of.fail(-EPROTO, "the tables are those of a former release");
}

int set_up(session &of, std::int64_t timeout_ns) {
    const std::int64_t until = steady_now() + timeout_ns;
    int error = try_to_set_up(of);
    // SQLite does not wait when it changes the mode of a database that others open at the same time.
    while (error == -EBUSY && steady_now() < until) {
        const timespec some{.tv_sec = 0, .tv_nsec = 5'000'000};
        nanosleep(&some, nullptr);
        error = try_to_set_up(of);
    }
    return error;
}

}  // namespace tickwheel::durable::sqlite
