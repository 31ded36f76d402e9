// Any statement may fail: the disk is full, another program holds a lock, a user's trigger objects. Then the
// operation either fails and changes nothing, or does not need that statement and does all that it should.
// Here triggers of another program refuse one kind of statement at a time, to each operation of the store.
#include <filesystem>

#include "sqlite_test.hpp"

namespace tickwheel::durable::tests {
namespace {

const char *const statements[] = {
    "insert on tickwheel_job",    "update on tickwheel_job",    "delete on tickwheel_job",
    "insert on tickwheel_member", "update on tickwheel_member", "delete on tickwheel_member",
    "update on tickwheel_meta",
};

constexpr std::int64_t hour = 60 * minute;
const char *const kinds[] = {"mail"};

int ignore(const tw_durable_entry *, void *) { return 0; }

// A database with a member that holds a job, a dead member that has started one, a pending and a failed job.
struct content {
    tw_store_member who{}, dead{};
    std::int64_t token = 0;  // of the job that was held last

    // Puts a job that is due now, and holds it for the member.
    int put_held(void *to, const char *key, const tw_store_member &member) {
        tw_durable_job job{};
        job.kind = "mail";
        job.key = key;
        tw_store_put put{};
        put.job = &job;
        put.hold = 1;
        const int error = sqlite_store.put(to, &put, 1, 0, &member);
        token = put.token;
        return error;
    }

    std::int64_t settle(void *to, tw_store_outcome_kind what) {
        tw_store_outcome outcome{};
        outcome.kind = "mail";
        outcome.key = "held";
        outcome.token = token;
        outcome.what = what;
        outcome.attempts = 7;
        outcome.error = "no answer";
        return sqlite_store.settle(to, &who, &outcome, 1);
    }

    explicit content(const std::string &path) {
        connection to(path);
        assert_int_equal(sqlite_store.join(to.raw(), "dead", hour, &dead), 0);
        assert_int_equal(sqlite_store.join(to.raw(), "who", hour, &who), 0);
        assert_int_equal(to.put("pending"), 0);
        assert_int_equal(to.put("failed"), 0);
        assert_int_equal(put_held(to.raw(), "left", dead), 0);
        assert_int_equal(put_held(to.raw(), "held", who), 0);
        other_program by(path);
        assert_int_equal(by.run("update tickwheel_member set lease = 0 where name = 'dead';"
                                "update tickwheel_job set failed = 1 where key = 'failed';"
                                "update tickwheel_job set started = 0 where key = 'held'"),
                         SQLITE_OK);
    }
};

// All that operations change, but for the moments at which they do.
std::string dump(const std::string &path) {
    return other_program(path).ask(R"(
        select
            (select group_concat(key || ifnull(holder, '-') || ',' || token || ',' || started || failed || attempts ||
                                 ifnull(error, '') || (due = 0), ' ')
             from (select * from tickwheel_job order by key)) ||
            (select group_concat(name || epoch || dead || (lease > (strftime('%s') + 7200) * 1000000), ' ')
             from (select * from tickwheel_member order by id)) ||
            (select group_concat(name || value, ' ')
             from (select * from tickwheel_meta where name <> 'news_ready' order by name)))");
}

struct operation {
    const char *name;
    std::int64_t (*call)(void *to, content &of);
};

const operation operations[] = {
    {"put a new one", [](void *to, content &of) -> std::int64_t { return of.put_held(to, "new", of.who); }},
    {"replace", [](void *to, content &of) -> std::int64_t { return of.put_held(to, "left", of.who); }},
    {"remove",
     [](void *to, content &) -> std::int64_t { return sqlite_store.remove(to, "mail", "pending"); }},
    {"requeue", [](void *to, content &) { return sqlite_store.requeue(to, nullptr, nullptr); }},
    {"claim",
     [](void *to, content &of) -> std::int64_t {
         const tw_store_claim all{
             .member = of.who, .kinds = kinds, .kinds_count = 1, .horizon_ns = 0, .limit = 9};
         tw_store_look look{};
         return sqlite_store.claim(to, &all, ignore, nullptr, &look);
     }},
    {"start",
     [](void *to, content &of) -> std::int64_t {
         tw_store_start held{.kind = "mail", .key = "held", .token = of.token, .started = 0, .ready_ns = 0};
         std::int64_t now = 0;
         return sqlite_store.start(to, &of.who, &held, 1, &now);
     }},
    {"end", [](void *to, content &of) { return of.settle(to, TW_STORE_END); }},
    {"move", [](void *to, content &of) { return of.settle(to, TW_STORE_MOVE); }},
    {"fail", [](void *to, content &of) { return of.settle(to, TW_STORE_FAIL); }},
    {"release", [](void *to, content &of) { return of.settle(to, TW_STORE_RELEASE); }},
    {"join",
     [](void *to, content &) -> std::int64_t {
         tw_store_member made{};
         return sqlite_store.join(to, "new", hour, &made);
     }},
    {"renew",
     [](void *to, content &of) -> std::int64_t {
         std::int64_t now = 0;
         return sqlite_store.renew(to, &of.who, 9 * hour, &now);
     }},
    {"resume",
     [](void *to, content &of) -> std::int64_t { return sqlite_store.resume(to, &of.who, ignore, nullptr); }},
    {"leave", [](void *to, content &of) -> std::int64_t { return sqlite_store.leave(to, &of.who); }},
    {"bury", [](void *to, content &) { return sqlite_store.bury(to, 9); }},
};

// Does the operation while statements of one kind are refused, or none (null). Returns its result, and the
// content afterwards.
std::int64_t do_refused(const operation &what, const char *refused, std::string &before, std::string &after) {
    static const folder prepared;
    static const content found(prepared.in("jobs.db"));
    const folder in;
    const std::string path = in.in("jobs.db");
    std::filesystem::copy_file(prepared.in("jobs.db"), path);
    content of = found;
    connection to(path);
    if (refused != nullptr)
        assert_int_equal(other_program(path).run("create trigger refuse before " + std::string(refused) +
                                                 " begin select raise(abort, 'refused'); end"),
                         SQLITE_OK);
    before = dump(path);
    const std::int64_t result = what.call(to.raw(), of);
    after = dump(path);
    return result;
}

TEST(an_operation_with_a_statement_that_fails_says_so_and_changes_nothing) {
    for (const operation &each : operations) {
        std::string before, whole, after;
        const std::int64_t expected = do_refused(each, nullptr, before, whole);
        int refusals = 0;
        assert_true(expected >= 0 && whole != before);
        for (const char *const statement : statements) {
            const std::int64_t result = do_refused(each, statement, before, after);
            if (result != expected)
                assert_int_equal(result, -EPROTO);
            assert_string_equal(after.c_str(), (result == expected ? whole : before).c_str());
            refusals += result == -EPROTO ? 1 : 0;
        }
        if (refusals == 0)
            fail_msg("%s needs none of these statements", each.name);
    }
}

TEST(what_changes_no_job_tells_nobody) {
    const folder in;
    connection to(in.in("jobs.db"));
    other_program by(in.in("jobs.db"));
    assert_int_equal(to.put("17"), 0);
    const std::string news = by.ask("select value from tickwheel_meta where name = 'news'");
    assert_int_equal(sqlite_store.requeue(to.raw(), nullptr, nullptr), 0);
    assert_int_equal(sqlite_store.bury(to.raw(), 9), 0);
    assert_string_equal(by.ask("select value from tickwheel_meta where name = 'news'").c_str(), news.c_str());
}

}  // namespace

}  // namespace tickwheel::durable::tests
