#include "session.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

#include "in_memory.hpp"

namespace tickwheel::durable::sqlite {

namespace {

// The error for the system's errno with which SQLite failed to open the database's file or one next to it.
int error_of_opening(int system_errno) {
    switch (system_errno) {
    case 0:  // SQLite itself refused the path
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP:
        return -ENOENT;
    case EACCES:
    case EPERM:
    case EISDIR:
        return -EACCES;
    case EROFS:
        return -EROFS;
    case ENOSPC:
    case EDQUOT:
        return -ENOSPC;
    case ENOMEM:
        return -ENOMEM;
    default:
        return -EIO;
    }
}

int error_of_input(int code, int system_errno) {
    if (code == SQLITE_IOERR_NOMEM || system_errno == ENOMEM)
        return -ENOMEM;
    if (code == SQLITE_IOERR_CORRUPTFS)
        return -EBADMSG;
    return system_errno == ENOSPC || system_errno == EDQUOT ? -ENOSPC : -EIO;
}

// Replaces `@` in a text of this store by the schema's name and an underscore.
std::string with_schema(std::string_view text, const std::string &schema) {
    std::string result;
    result.reserve(text.size() + 4 * schema.size());
    for (const char each : text) {
        if (each == '@')
            result.append(schema).push_back('_');
        else
            result.push_back(each);
    }
    return result;
}

}  // namespace

int error_of(int code, int system_errno) {
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return -EBUSY;  // SQLITE_PROTOCOL: SQLite has lost a race for a lock too often
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return -EACCES;
    case SQLITE_READONLY:
        return code == SQLITE_READONLY_DBMOVED ? -ENOENT : -EROFS;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return -EBADMSG;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_CANTOPEN:
        return error_of_opening(system_errno);
    case SQLITE_IOERR:
        return error_of_input(code, system_errno);
    case SQLITE_ERROR:  // the statements are right, so the tables are wrong
    case SQLITE_SCHEMA:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
        return -EPROTO;
    default:
        return -EIO;
    }
}

file_on_disk::file_on_disk(std::string at) : path(std::move(at)) {
    struct stat found {};
    if (stat(path.c_str(), &found) == 0) {
        device = found.st_dev;
        number = found.st_ino;
    }
}

bool file_on_disk::is_there() const {
    const file_on_disk now(path);
    return now.device == device && now.number == number;
}

// --- connections -----------------------------------------------------------------------------

session::~session() {
    for (sqlite3_stmt *const each : statements_)
        sqlite3_finalize(each);
}

void session::abandon() { statements_.fill(nullptr); }

std::int64_t session::now() const {
    if (read_clock_ != nullptr)
        return microsecond_before(read_clock_(clock_arg_));
    timespec read{};
    clock_gettime(CLOCK_REALTIME, &read);
    return read.tv_sec * INT64_C(1000000000) + read.tv_nsec / 1000 * microsecond;
}

int session::fail(int code) {
    // The caller may have turned extended error codes off on its connection.
    const int longer = sqlite3_extended_errcode(handle_);
    const int exact = (longer & 0xff) == (code & 0xff) ? longer : code;
    const int error = error_of(exact, sqlite3_system_errno(handle_));
    // The file was moved away under an open connection: only reopening can help.
    return fail(error == -ENOENT && is_open_ ? -ENOTCONN : error, sqlite3_errmsg(handle_));
}

int session::fail(int error, const char *why) {
    std::snprintf(text_.data(), text_.size(), "%s", why);
    return error;
}

int session::execute(const char *text) {
    const int code = sqlite3_exec(handle_, with_schema(text, schema_).c_str(), nullptr, nullptr, nullptr);
    return code == SQLITE_OK ? 0 : fail(code);
}

int session::prepare(sql which, sqlite3_stmt *&statement) {
    sqlite3_stmt *&kept = statements_.at(static_cast<std::size_t>(which));
    if (kept == nullptr) {
        const std::string text = with_schema(text_of(which), schema_);
        const int code = sqlite3_prepare_v3(handle_, text.c_str(), static_cast<int>(text.size()) + 1,
                                            SQLITE_PREPARE_PERSISTENT, &kept, nullptr);
        if (code != SQLITE_OK)
            return fail(code);
    }
    statement = kept;
    return 0;
}

// --- transactions ----------------------------------------------------------------------------

int session::control(const char *text) {
    const int code = sqlite3_exec(handle_, text, nullptr, nullptr, nullptr);
    return code == SQLITE_OK ? 0 : fail(code);
}

int session::begin(durability level) {
    if (!level_is_known_ || level != level_) {
        // SQLite cannot change this within a transaction.
        const bool is_full = level == durability::full;
        if (const int error = control(is_full ? "pragma synchronous = full" : "pragma synchronous = normal");
            error != 0)
            return error;
        level_ = level;
        level_is_known_ = true;
    }
    own_news_ = 0;
    if (const int error = control("begin immediate"); error != 0)
        return error;
    const int error = is_open_ ? check_files() : 0;
    return error == 0 ? 0 : static_cast<int>(end(error));
}

// SQLite would keep writing to a deleted file or log, and all puts would be lost. A deleted log must not be
// replaced by a new one while any connection has it open, so that is not a loss of the connection: the last
// of them to close the log writes what it contains into the database.
int session::check_files() {
    int has_moved = 0;
    sqlite3_file_control(handle_, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
    if (has_moved != 0)
        drop_log_of_replaced_file();
    if (has_moved != 0 || !file_.is_there())
        return fail(-ENOTCONN, "the file was moved, replaced or deleted");
    if (!log_.is_there())
        return fail(-EBADMSG,
                    "the log of the database, FILE-wal, was deleted or replaced: stop all processes that use "
                    "the database");
    return 0;
}

// If another file has taken the place of the database, for example a backup, SQLite would take the log that
// is still there for the log of that file, and mix both databases.
void session::drop_log_of_replaced_file() const {
    const char *const database = sqlite3_db_filename(handle_, "main");
    if (access(database, F_OK) != 0 || !log_.is_there())
        return;
    unlink(log_.path.c_str());
    unlink((database + std::string("-shm")).c_str());
}

void session::note_files(const std::string &path) {
    file_ = file_on_disk(path);
    log_ = file_on_disk(sqlite3_filename_wal(sqlite3_db_filename(handle_, "main")));
}

std::int64_t session::end(std::int64_t result) {
    if (result >= 0) {
        if (const int error = control("commit"); error != 0)
            result = error;
    }
    if (result < 0) {
        take_back("rollback", nullptr);
        return result;
    }
    if (own_news_ == known_news_ + 1)
        known_news_ = own_news_;
    if (own_news_ != 0 && !name_in_memory_.empty())
        wake_listeners(name_in_memory_);
    return result;
}

int session::begin_part() { return control("savepoint tickwheel_part"); }

std::int64_t session::end_part(std::int64_t result) {
    if (result >= 0) {
        if (const int error = control("release tickwheel_part"); error != 0)
            result = error;
    }
    if (result < 0)
        take_back("rollback to tickwheel_part", "release tickwheel_part");
    return result;
}

// Keeps the text of the original error. After some errors SQLite has already rolled back everything.
void session::take_back(const char *text, const char *then) {
    const auto why = text_;
    if (sqlite3_get_autocommit(handle_) == 0 && control(text) == 0 && then != nullptr)
        static_cast<void>(control(then));
    text_ = why;
}

// --- news ------------------------------------------------------------------------------------

int session::ring(std::int64_t ready, std::int64_t now) {
    if (ready == TW_NO_DEADLINE || ready - now > told_within)
        return 0;
    if (const int error = query(*this, sql::ring).with_time(ready).run(); error < 0)
        return error;
    std::int64_t unused = 0;
    return read_news(own_news_, unused);
}

int session::read_news(std::int64_t &serial, std::int64_t &ready) {
    query read(*this, sql::read_news);
    const int found = read.row();
    if (found != 1 || read.is_null(0) || read.is_null(1))
        return found < 0 ? found : fail(-EPROTO, "a row of the meta table is missing");
    serial = read.number(0);
    ready = read.time(1);
    return 0;
}

int session::know_all_news() {
    std::int64_t unused = 0;
    return read_news(known_news_, unused);
}

int session::other_news(std::int64_t &ready) {
    std::int64_t serial = 0, last_ready = 0;
    if (const int error = read_news(serial, last_ready); error != 0)
        return error;
    if (serial == known_news_)
        return 0;
    // The table stores only the latest announcement. If there were several, a job of an earlier one may be
    // ready now.
    ready = serial == known_news_ + 1 ? last_ready : 0;
    known_news_ = serial;
    return 1;
}

// --- queries ---------------------------------------------------------------------------------

query::query(session &of, sql which) : of_(of), is_kept_(true) { error_ = of.prepare(which, statement_); }

query::query(session &of, const std::string &text) : of_(of), is_kept_(false) {
    bound(sqlite3_prepare_v2(of.handle_, with_schema(text, of.schema_).c_str(), -1, &statement_, nullptr));
}

query::~query() {
    if (!is_kept_)
        sqlite3_finalize(statement_);
    if (statement_ == nullptr || !is_kept_)
        return;
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
}

void query::bound(int code) {
    if (code != SQLITE_OK)
        error_ = of_.fail(code);
}

query &query::with(std::int64_t value) {
    if (error_ == 0)
        bound(sqlite3_bind_int64(statement_, ++parameter_, value));
    return *this;
}

query &query::with(const char *text) {
    if (error_ == 0)
        bound(sqlite3_bind_text(statement_, ++parameter_, text, -1, SQLITE_STATIC));
    return *this;
}

query &query::with_bytes(const void *bytes, std::size_t size) {
    const void *const some = size != 0 ? bytes : "";
    if (error_ == 0)
        bound(sqlite3_bind_blob64(statement_, ++parameter_, some, size, SQLITE_STATIC));
    return *this;
}

int query::row() {
    if (error_ != 0)
        return error_;
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW)
        return 1;
    return code == SQLITE_DONE ? 0 : error_ = of_.fail(code);
}

int query::run() {
    const int result = row();
    return result < 0 ? result : sqlite3_changes(of_.handle_);
}

bool query::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

const char *query::text(int column) {
    if (is_null(column))
        return nullptr;
    const auto *const text = reinterpret_cast<const char *>(sqlite3_column_text(statement_, column));
    is_cut_ |= text == nullptr;
    return text != nullptr ? text : "";
}

bool query::is_text(int column) const {
    if (sqlite3_column_type(statement_, column) != SQLITE_TEXT)
        return false;
    const auto *const text = reinterpret_cast<const char *>(sqlite3_column_text(statement_, column));
    return text == nullptr ||
           std::strlen(text) == static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
}

const void *query::bytes(int column, std::size_t &size) {
    const void *const bytes = sqlite3_column_blob(statement_, column);
    size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    is_cut_ |= bytes == nullptr && size != 0;
    return bytes;
}

}  // namespace tickwheel::durable::sqlite
