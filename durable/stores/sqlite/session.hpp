// A connection to a SQLite database: errors, transactions, and statements that stay prepared.
//
// The statements are those of statements.hpp. Only the schema's name is ever written into their text; all
// other values are bound. Functions return 0 or more, or a negative errno from durable.h.
#pragma once

#include <sys/types.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include <sqlite3.h>

#include "statements.hpp"
#include "stores/times.hpp"

namespace tickwheel::durable::sqlite {

// Whether transactions survive a power cut. `full`: all do; `normal`: only those that the system has written
// to the disk by then. (The end of a process undoes neither.)
enum class durability { normal, full };

// Translates an error of SQLite, and the system's errno behind it, to an errno of durable.h.
int error_of(int code, int system_errno);

// Which file a path leads to.
struct file_on_disk {
    std::string path;
    dev_t device = 0;
    ino_t number = 0;

    file_on_disk() = default;
    explicit file_on_disk(std::string at);
    [[nodiscard]] bool is_there() const;  // also true without a path
};

class session {
  public:
    // REQUIRES: the schema is valid, as durable.h says
    session(sqlite3 *handle, const char *schema) : handle_(handle), schema_(schema) {}
    session(const session &) = delete;
    session &operator=(const session &) = delete;
    ~session();  // leaves the handle open

    [[nodiscard]] sqlite3 *handle() const { return handle_; }
    [[nodiscard]] const std::string &schema() const { return schema_; }
    [[nodiscard]] const char *explain() const { return text_.data(); }

    // Notes that the database is open: from now on, a missing file counts as a lost connection.
    void set_open() { is_open_ = true; }

    // Notes which log the connection has open, and which file an absolute path leads to.
    void note_files(const std::string &path);

    // Sets the database's clock; by default it is the machine's.
    void set_clock(std::int64_t (*read)(void *), void *arg) {
        read_clock_ = read;
        clock_arg_ = arg;
    }
    [[nodiscard]] std::int64_t now() const;

    // Notes that the database is in memory, under this name.
    void set_in_memory(const std::string &name) { name_in_memory_ = name; }
    [[nodiscard]] const std::string &name_in_memory() const { return name_in_memory_; }

    // Both note why a call fails, and return the error. The first translates the code of SQLite's last call.
    int fail(int code);
    int fail(int error, const char *why);

    // Runs a text once, without keeping it prepared. `@` stands for the schema's name and an underscore.
    int execute(const char *text);

    // A transaction. `end` takes the result of the transaction's body, and rolls back if that is an error. It
    // allocates nothing, so that it works after memory has run out.
    int begin(durability level);
    std::int64_t end(std::int64_t result);

    // The same for a part of the caller's transaction. If the caller has none, the part is a transaction.
    int begin_part();
    std::int64_t end_part(std::int64_t result);

    // --- news

    // Announces to all other connections that a job is ready at this time, if that is soon. The announcement
    // is part of the present transaction.
    int ring(std::int64_t ready, std::int64_t now);

    // Marks all news up to now as known. Returns 0 or an error.
    int know_all_news();

    // If other connections have announced jobs, returns 1 and the ready time of the first (0: now). Otherwise
    // returns 0.
    int other_news(std::int64_t &ready);

    // In the child of a fork: frees nothing that belongs to SQLite.
    void abandon();

  private:
    friend class query;
    int prepare(sql which, sqlite3_stmt *&statement);
    int read_news(std::int64_t &serial, std::int64_t &ready);
    int control(const char *text);
    int check_files();
    void drop_log_of_replaced_file() const;
    void take_back(const char *text, const char *then);

    sqlite3 *handle_;
    std::string schema_, name_in_memory_;
    std::int64_t (*read_clock_)(void *) = nullptr;
    void *clock_arg_ = nullptr;
    std::array<sqlite3_stmt *, static_cast<std::size_t>(sql::count)> statements_{};
    std::array<char, 256> text_{};
    bool is_open_ = false;
    file_on_disk file_, log_;  // no paths: not noted
    bool level_is_known_ = false;
    durability level_ = durability::full;

    // Each announcement has a number. `known_news_` is the last number that this connection knows, and
    // `own_news_` that of its present transaction (0: none). A commit makes its own announcement known,
    // unless another connection has made one since `known_news_`.
    std::int64_t known_news_ = 0, own_news_ = 0;
};

// One use of a statement. In a text, `@` stands for the schema's name and an underscore. Values are bound in
// the order of its parameters, and must last as long as this object.
class query {
  public:
    query(session &of, sql which);
    query(session &of, const std::string &text);  // a statement that is not kept
    query(const query &) = delete;
    query &operator=(const query &) = delete;
    ~query();

    query &with(std::int64_t value);
    query &with(const char *text);  // may be null
    query &with_bytes(const void *bytes, std::size_t size);
    query &with_time(std::int64_t ns) { return with(ns / microsecond); }

    // Returns 1 if there is another row, 0 if not, or an error.
    int row();

    // Runs a statement that has no rows. Returns how many rows it has changed, or an error.
    int run();

    // The columns of a row. A text is valid until the next row, and null if there is none.
    [[nodiscard]] std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
    [[nodiscard]] std::int64_t time(int column) const {
        const std::int64_t us = number(column);
        return us != TW_NO_DEADLINE / microsecond ? us * microsecond : TW_NO_DEADLINE;
    }
    [[nodiscard]] bool is_null(int column) const;
    const char *text(int column);
    const void *bytes(int column, std::size_t &size);

    // False for a value that is not a text, and for a text with a zero byte: a query by the result of `text`
    // would not find that row.
    [[nodiscard]] bool is_text(int column) const;

    // True if SQLite ran out of memory for a text or bytes that the caller has read.
    [[nodiscard]] bool is_cut() const { return is_cut_; }

  private:
    void bound(int code);

    session &of_;
    sqlite3_stmt *statement_ = nullptr;
    const bool is_kept_;
    int error_ = 0, parameter_ = 0;
    bool is_cut_ = false;
};

// Returns the result of body(), or -ENOMEM if body() runs out of memory.
template <typename F> std::int64_t result_of(session &of, F body) {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return of.fail(-ENOMEM, "no memory");
    }
}

// Runs `body` in a transaction, and ends the transaction with its result.
template <typename F> std::int64_t in_transaction(session &of, durability level, F body) {
    const int error = of.begin(level);
    return error != 0 ? error : of.end(result_of(of, body));
}

template <typename F> int in_small_transaction(session &of, durability level, F body) {
    return static_cast<int>(in_transaction(of, level, body));
}

}  // namespace tickwheel::durable::sqlite
