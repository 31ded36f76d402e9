// Several processes with one file.
#include <poll.h>
#include <signal.h>

#include "sqlite_test.hpp"
#include "support/environment.h"
#include "support/random.h"

namespace tickwheel::durable::tests {
namespace {

std::int64_t steady_now() {
    timespec read{};
    clock_gettime(CLOCK_MONOTONIC, &read);
    return read.tv_sec * second + read.tv_nsec;
}

// --- locks -----------------------------------------------------------------------------------

// A child that holds a lock on the database until this object ends.
class locker {
  public:
    locker(const std::string &path, const char *how) {
        child_ = fork();
        assert_true(child_ >= 0);
        if (child_ == 0)
            hold(path, how);
        assert_int_equal(holds_.hear(), 1);
    }
    locker(const locker &) = delete;
    locker &operator=(const locker &) = delete;
    ~locker() {
        end_.say();
        waitpid(child_, nullptr, 0);
    }

  private:
    [[noreturn]] void hold(const std::string &path, const char *how) {
        sqlite3 *db = nullptr;
        const bool done = sqlite3_open(path.c_str(), &db) == SQLITE_OK &&
                          sqlite3_exec(db, how, nullptr, nullptr, nullptr) == SQLITE_OK;
        holds_.say(done ? 1 : 0);
        end_.hear();
        _exit(0);
    }

    signal_line holds_, end_;
    pid_t child_ = -1;
};

TEST(a_locked_database_is_busy_after_the_timeout) {
    const folder in;
    connection to(in.in("jobs.db"), 100 * ms);
    assert_int_equal(to.put("17"), 0);
    {
        const locker other(in.in("jobs.db"), "begin immediate");
        const std::int64_t began = steady_now();
        assert_int_equal(to.put("18"), -EBUSY);
        const std::int64_t took = steady_now() - began;
        assert_true(took >= 90 * ms && took < 10 * second);
        assert_int_equal(to.remove("17"), -EBUSY);
        assert_true(sqlite_store.explain(to.raw())[0] != '\0');
        assert_int_equal(to.count(), 1);  // reading goes on
    }
    assert_int_equal(to.put("18"), 0);
    assert_int_equal(to.count(), 2);
}

TEST(a_locked_database_cannot_be_opened) {
    const folder in;
    {
        connection to(in.in("jobs.db"));
        assert_int_equal(to.put("17"), 0);
    }
    {
        const locker other(in.in("jobs.db"),
                           "pragma locking_mode = exclusive; begin exclusive; create table x (y)");
        const std::int64_t began = steady_now();
        assert_int_equal(connection(in.in("jobs.db"), 100 * ms).error(), -EBUSY);
        assert_true(steady_now() - began < 10 * second);
    }
    connection to(in.in("jobs.db"));
    assert_int_equal(to.count(), 1);
}

TEST(a_short_lock_is_waited_for) {
    const folder in;
    connection to(in.in("jobs.db"));
    signal_line begins;
    pid_t child = -1;
    {
        const locker other(in.in("jobs.db"), "begin immediate");
        child = fork();
        if (child == 0) {
            connection its(in.in("jobs.db"));
            begins.say();
            _exit(its.put("17") == 0 ? 0 : 1);
        }
        begins.hear();
        const timespec some{.tv_sec = 0, .tv_nsec = 50 * ms};
        nanosleep(&some, nullptr);
        assert_int_equal(to.count(), 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(to.count(), 1);
}

// --- ends ------------------------------------------------------------------------------------

// Puts job after job, and reports each put.
[[noreturn]] void put_until_killed(const std::string &path, int round, signal_line &line) {
    connection to(path);
    for (int i = 0;; ++i) {
        const std::string key = std::to_string(round) + ' ' + std::to_string(i);
        if (to.put(key, std::string(static_cast<std::size_t>(i % 5000), 'x')) != 0)
            _exit(1);
        if (!line.say(i))
            _exit(1);
    }
}

// Kills a child that puts jobs. Returns how many of its puts had returned.
int kill_a_writer(const std::string &path, int round, std::int64_t after_ns) {
    signal_line line;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        put_until_killed(path, round, line);
    int last = line.hear();
    assert_int_equal(last, 0);
    const timespec some{.tv_sec = 0, .tv_nsec = after_ns};
    nanosleep(&some, nullptr);
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    line.hang_up();
    for (int heard; (heard = line.hear()) >= 0;)
        last = heard;
    return last + 1;
}

TEST(what_was_put_survives_the_end_of_its_writer) {
    const folder in;
    const std::string path = in.in("jobs.db");
    std::uint64_t seed = seed_of_run();
    for (int round = 0; round < (SLOW ? 5 : 30); ++round) {
        const int puts = kill_a_writer(path, round, static_cast<std::int64_t>(random_below(&seed, 20 * ms)));
        connection to(path);
        assert_int_equal(to.error(), 0);
        for (int i = 0; i < puts; ++i)
            assert_true(to.has(std::to_string(round) + ' ' + std::to_string(i)));
    }
    assert_string_equal(other_program(path).ask("pragma integrity_check").c_str(), "ok");
}

TEST(a_dead_writer_leaves_no_lock) {
    const folder in;
    connection to(in.in("jobs.db"), second);
    const pid_t child = fork();
    if (child == 0) {
        sqlite3 *db = nullptr;
        sqlite3_open(in.in("jobs.db").c_str(), &db);
        sqlite3_exec(db, "begin immediate; update tickwheel_meta set value = 99", nullptr, nullptr, nullptr);
        kill(getpid(), SIGKILL);
    }
    waitpid(child, nullptr, 0);
    assert_int_equal(to.put("17"), 0);
    assert_string_equal(other_program(in.in("jobs.db"))
                            .ask("select value from tickwheel_meta where name = 'version'")
                            .c_str(),
                        "2");
}

// --- creation --------------------------------------------------------------------------------

TEST(several_processes_create_a_database_at_once) {
    constexpr int processes = 8;
    for (int round = 0; round < (SLOW ? 3 : 10); ++round) {
        const folder in;
        signal_line gate;
        std::vector<pid_t> children;
        for (int i = 0; i < processes; ++i) {
            children.push_back(fork());
            if (children.back() != 0)
                continue;
            gate.hang_up();
            gate.hear();  // until the parent hangs up
            connection to(in.in("jobs.db"));
            if (to.error() != 0)
                print_error("%d: %s\n", to.error(), to.why().c_str());
            _exit(to.error() == 0 && to.put(std::to_string(i)) == 0 ? 0 : 1);
        }
        gate.hang_up();
        for (const pid_t child : children) {
            int status = 0;
            waitpid(child, &status, 0);
            assert_true(WIFEXITED(status));
            assert_int_equal(WEXITSTATUS(status), 0);
        }
        assert_int_equal(connection(in.in("jobs.db")).count(), processes);
    }
}

// --- forks and listeners ---------------------------------------------------------------------

TEST(a_child_leaves_its_parents_connection_alone) {
    const folder in;
    connection to(in.in("jobs.db"));
    assert_int_equal(to.put("17"), 0);
    assert_true(sqlite_store.listen(to.raw()) >= 0);
    const int result = in_child([&] {
        sqlite_store.abandon(to.raw());
        connection own(in.in("jobs.db"));
        return own.put("18") == 0 ? 0 : 1;
    });
    assert_int_equal(result, 0);
    assert_int_equal(to.put("19"), 0);
    assert_int_equal(to.count(), 3);
    assert_int_equal(access(in.in("jobs.db-wal").c_str(), F_OK), 0);
}

bool is_told(connection &ear) {
    pollfd waiting{.fd = sqlite_store.listen(ear.raw()), .events = POLLIN, .revents = 0};
    const std::int64_t until = steady_now() + 10 * second;
    while (steady_now() < until && poll(&waiting, 1, 10'000) > 0)
        if (was_told(ear.raw()))
            return true;
    return false;
}

TEST(listeners_hear_of_processes_that_come_and_go) {
    const folder in;
    connection ear(in.in("jobs.db"));
    assert_true(sqlite_store.listen(ear.raw()) >= 0);
    for (int i = 0; i < 10; ++i) {
        const int put = in_child([&] { return connection(in.in("jobs.db")).put(std::to_string(i)); });
        assert_int_equal(put, 0);
        assert_true(is_told(ear));
    }
}

TEST(listeners_hear_after_the_log_was_begun_anew) {
    const folder in;
    connection ear(in.in("jobs.db"));
    assert_true(sqlite_store.listen(ear.raw()) >= 0);
    for (int i = 0; i < 5; ++i) {
        other_program other(in.in("jobs.db"));
        assert_int_equal(other.run("pragma wal_checkpoint(truncate)"), SQLITE_OK);
        assert_int_equal(connection(in.in("jobs.db")).put(std::to_string(i)), 0);
        assert_true(is_told(ear));
    }
}

}  // namespace

}  // namespace tickwheel::durable::tests
