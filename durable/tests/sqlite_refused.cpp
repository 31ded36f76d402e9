// Any statement can fail: the disk is full, another program holds a lock, a user's trigger refuses. An
// operation that needs the statement must fail and change nothing; any other must do all its work. In these
// tests triggers refuse one kind of statement at a time, for each operation of the store.
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

int ignore(const tw_durable_entry *, void *) { return 0; }
int take(const tw_durable_entry *, std::int64_t, void *) { return 0; }

// The content of the database: a member with a held job, a dead member with a started job, a pending and a
// failed job.
struct content {
    tw_store_member who{}, dead{};
    std::int64_t token = 0;  // of the last job that put_held has claimed

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

// A text of all rows of the database. Two runs of an operation differ only in `times`.
struct snapshot {
    std::string content, times;
};

// TW_STORE_MOVE sets `due` to 0 here, and `renew` is the only operation that makes a lease longer than two
// hours.
snapshot look_at(const std::string &path) {
    other_program by(path);
    return {by.ask(R"(
                select
                    (select group_concat(key || ifnull(holder, '-') || ',' || token || ',' || started || failed ||
                                         attempts || ifnull(error, '') || (due = 0), ' ')
                     from (select * from tickwheel_job order by key)) ||
                    (select group_concat(name || epoch || dead || (lease > (strftime('%s') + 7200) * 1000000), ' ')
                     from (select * from tickwheel_member order by id)) ||
                    (select group_concat(name || value, ' ')
                     from (select * from tickwheel_meta where name <> 'news_ready' order by name)))"),
            by.ask(R"(
                select
                    (select group_concat(due || ',' || ready, ' ') from (select * from tickwheel_job order by key)) ||
                    (select group_concat(lease, ' ') from (select * from tickwheel_member order by id)) ||
                    (select value from tickwheel_meta where name = 'news_ready'))")};
}

// Makes all failed jobs fire. Returns how many, or an error.
std::int64_t fire_failed(void *to) {
    tw_durable_filter failed{};
    failed.states = TW_DURABLE_FAILED;
    std::int64_t count = 0;
    const auto add = [](const tw_durable_entry *, int changed, void *sum) {
        *static_cast<std::int64_t *>(sum) += changed;
        return 0;
    };
    const int error = sqlite_store.change(to, &failed, nullptr, TW_STORE_FIRE, add, &count);
    return error != 0 ? error : count;
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
    {"requeue", [](void *to, content &) -> std::int64_t { return fire_failed(to); }},
    {"claim",
     [](void *to, content &of) -> std::int64_t {
         const tw_store_claim all = claim_of_mail(of.who);
         tw_store_look look{};
         return sqlite_store.claim(to, &all, take, nullptr, &look);
     }},
    {"start",
     [](void *to, content &of) -> std::int64_t {
         tw_store_start held{
             .kind = "mail", .key = "held", .token = of.token, .row = 0, .started = 0, .ready_ns = 0};
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
     [](void *to, content &of) -> std::int64_t {
         return sqlite_store.resume(to, &of.who, &of.token, 1, ignore, nullptr);
     }},
    {"leave", [](void *to, content &of) -> std::int64_t { return sqlite_store.leave(to, &of.who); }},
    {"bury", [](void *to, content &) { return sqlite_store.bury(to, 9); }},
};

// Runs the operation on a fresh copy while triggers refuse one kind of statement (null: none). Returns its
// result, and stores a snapshot from before and one from after.
std::int64_t run_refused(const operation &what, const char *refused, snapshot &before, snapshot &after) {
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
    before = look_at(path);
    sqlite3_test_control(SQLITE_TESTCTRL_PRNG_RESTORE);  // each run of `join` has the same epoch
    const std::int64_t result = what.call(to.raw(), of);
    after = look_at(path);
    return result;
}

TEST(an_operation_whose_statement_fails_says_so_and_changes_nothing) {
    sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SAVE);
    for (const operation &each : operations) {
        snapshot before, whole, after;
        const std::int64_t expected = run_refused(each, nullptr, before, whole);
        int refusals = 0;
        assert_true(expected >= 0 && whole.content != before.content);
        for (const char *const statement : statements) {
            const std::int64_t result = run_refused(each, statement, before, after);
            const bool is_whole = result == expected && after.content == whole.content;
            const bool is_untouched =
                result == -EPROTO && after.content == before.content && after.times == before.times;
            if (!is_whole && !is_untouched)
                fail_msg("%s without %s: %d\n%s%s", each.name, statement, static_cast<int>(result),
                         after.content.c_str(), after.times.c_str());
            refusals += is_untouched ? 1 : 0;
        }
        if (refusals == 0)
            fail_msg("%s needs none of these statements", each.name);
    }
}

TEST(an_operation_that_changes_no_job_tells_nobody) {
    const char *const news = "select value from tickwheel_meta where name = 'news'";
    const folder in;
    connection to(in.in("jobs.db"));
    other_program by(in.in("jobs.db"));
    tw_store_member idle{};
    assert_int_equal(to.put("17"), 0);
    assert_int_equal(sqlite_store.join(to.raw(), "idle", hour, &idle), 0);
    assert_int_equal(by.run("update tickwheel_member set lease = 0"), SQLITE_OK);
    assert_string_equal(by.ask(news).c_str(), "1");
    assert_int_equal(fire_failed(to.raw()), 0);
    assert_int_equal(sqlite_store.bury(to.raw(), 9), 0);
    assert_string_equal(by.ask(news).c_str(), "1");
}

}  // namespace

}  // namespace tickwheel::durable::tests
