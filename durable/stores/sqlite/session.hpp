// A connection with a SQLite database: errors, transactions, and statements that stay prepared.
//
// Statements are those of statements.hpp. Only the name of the schema is ever written into their text;
// all else is bound. Functions return 0 or more, or a negative errno that durable.h has.
#pragma once

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

// What of a transaction survives a power cut: all of it, or what the system had written by then. (The end of
// a process never loses any.)
enum class durability { normal, full };

// The errno of durable.h for an error of SQLite, and the errno of the system behind it.
int error_of(int code, int system_errno);

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

    // From here on it is no error of opening that the file is missing.
    void set_open() { is_open_ = true; }

    // The database's clock: the machine's, unless it is another.
    void set_clock(std::int64_t (*read)(void *), void *arg) {
        read_clock_ = read;
        clock_arg_ = arg;
    }
    [[nodiscard]] std::int64_t now() const;

    // The database is in memory, under this name.
    void set_in_memory(const std::string &name) { name_in_memory_ = name; }
    [[nodiscard]] const std::string &name_in_memory() const { return name_in_memory_; }

    // Note why a call fails, and return the error: that of the last call of SQLite, and another.
    int fail(int code);
    int fail(int error, const char *why);

    // Runs text that is not worth keeping. `@` stands for the schema, with an underscore behind.
    int execute(const char *text);

    // A transaction. It ends with the result of what was done in it: an error takes it back. The end
    // allocates nothing, so that it can follow a lack of memory.
    int begin(durability level);
    std::int64_t end(std::int64_t result);

    // The same for a part of a caller's transaction; without one, the part is a transaction.
    int begin_part();
    std::int64_t end_part(std::int64_t result);

    // --- news

    // Says in this transaction that a job is ready at this time, if that is soon, to all other connections.
    int ring(std::int64_t ready, std::int64_t now);

    // Considers all news up to now as known. Returns how many there have been.
    int know_all_news();

    // Returns 1 and when the first job is ready that others told of, 0 for now; or 0.
    int other_news(std::int64_t &ready);

    // Frees nothing of SQLite's, in the child of a fork.
    void abandon();

  private:
    friend class query;
    int prepare(sql which, sqlite3_stmt *&statement);
    int read_news(std::int64_t &serial, std::int64_t &ready);
    int control(const char *text);
    bool is_where_it_was();
    void take_back(const char *text, const char *then);

    sqlite3 *handle_;
    std::string schema_, name_in_memory_;
    std::int64_t (*read_clock_)(void *) = nullptr;
    void *clock_arg_ = nullptr;
    std::array<sqlite3_stmt *, static_cast<std::size_t>(sql::count)> statements_{};
    std::array<char, 256> text_{};
    bool is_open_ = false;
    bool level_is_known_ = false;
    durability level_ = durability::full;

    // Each piece of news has a number. One of our own is known as soon as it is committed, unless others came
    // first.
    std::int64_t known_news_ = 0, own_news_ = 0;
};

// One use of a statement. Values are bound in the order of its parameters, and must last as long as this
// object.
class query {
  public:
    query(session &of, sql which);
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
    [[nodiscard]] std::int64_t time(int column) const { return number(column) * microsecond; }
    [[nodiscard]] bool is_null(int column) const;
    const char *text(int column);
    const void *bytes(int column, std::size_t &size);

    // False for another type than a text, and for a text with a zero byte: to bind what `text` returns does
    // not find the row again.
    [[nodiscard]] bool is_text(int column) const;

    // True if SQLite had no memory for some text or bytes that was asked for.
    [[nodiscard]] bool is_cut() const { return is_cut_; }

  private:
    void bound(int code);

    session &of_;
    sqlite3_stmt *statement_ = nullptr;
    int error_ = 0, parameter_ = 0;
    bool is_cut_ = false;
};

// Returns what body() does. It may run out of memory.
template <typename F> std::int64_t result_of(session &of, F body) {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return of.fail(-ENOMEM, "no memory");
    }
}

// Does something in a transaction, which its result ends.
template <typename F> std::int64_t in_transaction(session &of, durability level, F body) {
    const int error = of.begin(level);
    return error != 0 ? error : of.end(result_of(of, body));
}

template <typename F> int in_small_transaction(session &of, durability level, F body) {
    return static_cast<int>(in_transaction(of, level, body));
}

}  // namespace tickwheel::durable::sqlite
