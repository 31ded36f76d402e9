// join PATH LOG MODE SYNC COUNT: puts and removes jobs by durable_sqlite.h, on a connection of its own with
// this journal mode and `pragma synchronous`, and writes a log like that of worker.cpp. power.py runs it.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <sqlite3.h>

#include <tickwheel/durable_sqlite.h>

#include "history_log.hpp"

namespace {

void run(sqlite3 *db, const std::string &text) {
    if (sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
        std::fprintf(stderr, "%s: %s\n", text.c_str(), sqlite3_errmsg(db));
        std::exit(1);
    }
}

// The library creates the tables; it also turns the write-ahead log on.
void create_tables(const std::string &path) {
    tw_durable *jobs = nullptr;
    if (tw_durable_open(&jobs, nullptr, ("sqlite:" + path).c_str(), nullptr) != 0 ||
        tw_durable_close(jobs) != 0)
        std::exit(1);
}

void put(sqlite3 *db, const processes::log &events, const std::string &key) {
    tw_durable_job job{};
    job.kind = "joined";
    job.key = key.c_str();
    job.payload = "1 ";
    job.size = 2;
    job.due_ns = 3600 * TW_SECOND;
    events.write("puts", {}, R"("key":"%s","version":1,"period":0,"settled":0)", key.c_str());
    run(db, "begin immediate; insert into orders (what) values ('" + key + "')");
    const int result = tw_durable_put_sqlite(db, nullptr, &job, TW_DURABLE_REPLACE);
    run(db, "commit");
    events.write("put", {}, R"("key":"%s","version":1,"result":%d)", key.c_str(), result);
}

void remove(sqlite3 *db, const processes::log &events, const std::string &key) {
    events.write("removes", {}, R"("key":"%s")", key.c_str());
    const int result = tw_durable_cancel_sqlite(db, nullptr, "joined", key.c_str());
    events.write("removed", {}, R"("key":"%s","result":%d)", key.c_str(), result);
}

}  // namespace

int main(int argc, char **argv) {
    if (argc != 6)
        return 2;
    const std::string path = argv[1], mode = argv[3], sync = argv[4];
    const processes::log events(argv[2]);
    create_tables(path);
    sqlite3 *db = nullptr;
    if (sqlite3_open(path.c_str(), &db) != SQLITE_OK)
        return 1;
    run(db, "pragma journal_mode = " + mode + "; pragma synchronous = " + sync +
                "; create table if not exists orders (what text)");
    for (int i = 0; i < std::atoi(argv[5]); ++i) {
        put(db, events, std::to_string(i));
        if (i % 3 == 2)
            remove(db, events, std::to_string(i - 1));
    }
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}
