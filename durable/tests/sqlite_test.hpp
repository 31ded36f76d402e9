// Helpers for the tests that only the SQLite store needs.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include <sqlite3.h>

#include <tickwheel/durable_store.h>

#include "stores/stores.hpp"

// After those of C++, because CMocka defines `fail`.
#include "support/sanitized.h"
#include "support/test.h"

namespace tickwheel::durable::tests {

inline constexpr std::int64_t ms = 1'000'000, second = 1'000'000'000, minute = 60 * second;

// True if notifications have arrived.
inline bool was_told(void *raw) {
    bool told = false;
    const auto note = [](const char *, std::int64_t, void *arg) { *static_cast<bool *>(arg) = true; };
    assert_int_equal(sqlite_store.read_notifications(raw, note, &told), 0);
    return told;
}

// An empty folder, deleted with its contents. It is in /dev/shm if possible: commits there do not wait for a
// disk, and no test here needs data to survive a power cut.
class folder {
  public:
    folder() : path_(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") {
        path_ += "/tickwheel-sqlite-XXXXXX";
        assert_non_null(mkdtemp(path_.data()));
    }
    folder(const folder &) = delete;
    folder &operator=(const folder &) = delete;
    ~folder() {
        chmod(path_.c_str(), 0700);
        for (const std::string &each : names())
            unlink((path_ + '/' + each).c_str());
        rmdir(path_.c_str());
    }

    [[nodiscard]] const std::string &path() const { return path_; }
    [[nodiscard]] std::string in(const char *name) const { return path_ + '/' + name; }

    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> found;
        DIR *const opened = opendir(path_.c_str());
        for (const dirent *each; opened != nullptr && (each = readdir(opened)) != nullptr;) {
            const std::string name = each->d_name;
            if (name != "." && name != "..")
                found.push_back(name);
        }
        if (opened != nullptr)
            closedir(opened);
        return found;
    }

  private:
    std::string path_;
};

// A connection of the SQLite store, or the error with which it failed to open. The child of a fork may call
// its functions, so they report by their results and assert nothing.
class connection {
  public:
    explicit connection(const std::string &path, std::int64_t timeout_ns = 20 * second,
                        bool must_exist = false) {
        char why[256] = "";
        const std::string address = "sqlite:" + path;
        tw_store_place place{};
        place.address = address.c_str();
        place.schema = "tickwheel";
        place.timeout_ns = timeout_ns;
        place.must_exist = must_exist ? 1 : 0;
        error_ = sqlite_store.open(&raw_, &place, why, sizeof why);
        why_ = why;
    }
    connection(const connection &) = delete;
    connection &operator=(const connection &) = delete;
    ~connection() {
        if (error_ == 0)
            sqlite_store.close(raw_);
    }

    [[nodiscard]] int error() const { return error_; }
    [[nodiscard]] const std::string &why() const { return why_; }
    void *raw() { return raw_; }

    int put(const std::string &key, const std::string &payload = "", std::int64_t delay = 0) {
        tw_durable_job job{};
        job.kind = "mail";
        job.key = key.c_str();
        job.payload = payload.data();
        job.size = payload.size();
        job.due_ns = delay;
        tw_store_put put{};
        put.job = &job;
        const int result = sqlite_store.put(raw_, &put, 1, 0, nullptr);
        return result != 0 ? result : put.existed;
    }

    int remove(const std::string &key) { return sqlite_store.remove(raw_, "mail", key.c_str()); }

    std::int64_t count() {
        const tw_durable_filter all{};
        return sqlite_store.count(raw_, &all);
    }

    bool has(const std::string &key) {
        bool found = false;
        tw_durable_filter of_mail{};
        of_mail.kind = "mail";
        const auto note = [](const tw_durable_entry *, void *arg) {
            *static_cast<bool *>(arg) = true;
            return 0;
        };
        return sqlite_store.list(raw_, &of_mail, key.c_str(), note, &found) == 0 && found;
    }

  private:
    void *raw_ = nullptr;
    int error_ = 0;
    std::string why_;
};

// A plain connection of SQLite, as other programs have it.
class other_program {
  public:
    explicit other_program(const std::string &path) {
        assert_int_equal(sqlite3_open(path.c_str(), &db), SQLITE_OK);
    }
    other_program(const other_program &) = delete;
    other_program &operator=(const other_program &) = delete;
    ~other_program() { sqlite3_close(db); }

    int run(const std::string &text) { return sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr); }

    // The first value of a query, as a text.
    std::string ask(const std::string &text) {
        std::string answer;
        const auto keep = [](void *arg, int, char **values, char **) {
            *static_cast<std::string *>(arg) = values[0] != nullptr ? values[0] : "NULL";
            return 1;
        };
        sqlite3_exec(db, text.c_str(), keep, &answer, nullptr);
        return answer;
    }

    sqlite3 *db = nullptr;
};

// A claim of all mail that is ready.
inline tw_store_claim claim_of_mail(const tw_store_member &who) {
    static const char *const kinds[] = {"mail"};
    tw_store_claim all{};
    all.member = who;
    all.kinds = kinds;
    all.kinds_count = 1;
    all.limit = 9;
    return all;
}

// Runs body() in a child and returns its result, which must be below 128.
template <typename F> int in_child(F body) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(body());
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

// A pipe by which one process sends numbers, for which another waits.
class signal_line {
  public:
    signal_line() { assert_int_equal(pipe(ends_), 0); }
    signal_line(const signal_line &) = delete;
    signal_line &operator=(const signal_line &) = delete;
    ~signal_line() {
        close(ends_[0]);
        hang_up();
    }

    void hang_up() {
        if (ends_[1] >= 0)
            close(ends_[1]);
        ends_[1] = -1;
    }
    bool say(int number = 0) { return write(ends_[1], &number, sizeof number) == sizeof number; }

    // Returns -1 if the other side has hung up.
    int hear() {
        int number = -1;
        return read(ends_[0], &number, sizeof number) == sizeof number ? number : -1;
    }

  private:
    int ends_[2] = {-1, -1};
};

}  // namespace tickwheel::durable::tests
