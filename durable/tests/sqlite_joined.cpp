// Jobs in the caller's transaction: durable_sqlite.h.
#include <poll.h>

#include <tickwheel/durable_sqlite.h>

#include "sqlite_test.hpp"

namespace tickwheel::durable::tests {
namespace {

tw_durable_job job_of(const char *key, std::int64_t delay = 0) {
    tw_durable_job job{};
    job.kind = "mail";
    job.key = key;
    job.due_ns = delay;
    return job;
}

// A shop with orders and jobs in one database.
struct shop {
    folder in;
    connection jobs{in.in("shop.db")};
    other_program own{in.in("shop.db")};

    shop() {
        assert_int_equal(jobs.error(), 0);
        assert_int_equal(own.run("create table orders (id)"), SQLITE_OK);
    }

    int put(const char *key, tw_durable_existing existing = TW_DURABLE_REPLACE) {
        const tw_durable_job job = job_of(key);
        return tw_durable_put_sqlite(own.db, nullptr, &job, existing);
    }
    int remove(const char *key) { return tw_durable_cancel_sqlite(own.db, nullptr, "mail", key); }
    std::string orders() { return own.ask("select count(*) from orders"); }

    // Starts the jobs that are ready, as a member.
    std::int64_t start_all() {
        tw_store_member who{};
        tw_store_look look{};
        std::int64_t started = 0;
        assert_int_equal(sqlite_store.join(jobs.raw(), "a member", minute, &who), 0);
        const tw_store_claim request = claim_of_mail(who);
        const auto add = [](const tw_durable_entry *, std::int64_t, void *arg) {
            return ++*static_cast<std::int64_t *>(arg), 0;
        };
        assert_int_equal(sqlite_store.claim(jobs.raw(), &request, add, &started, &look), 0);
        return started;
    }
};

TEST(a_job_is_committed_with_the_callers_table) {
    shop seller;
    seller.own.run("begin immediate; insert into orders values (17)");
    assert_int_equal(seller.put("17"), 0);
    assert_int_equal(seller.jobs.count(), 0);
    assert_int_equal(seller.own.run("commit"), SQLITE_OK);
    assert_int_equal(seller.jobs.count(), 1);
    assert_string_equal(seller.orders().c_str(), "1");
    assert_int_equal(seller.start_all(), 1);
}

TEST(a_job_is_rolled_back_with_the_callers_table) {
    shop seller;
    seller.own.run("begin immediate; insert into orders values (17)");
    assert_int_equal(seller.put("17"), 0);
    assert_int_equal(seller.own.run("rollback"), SQLITE_OK);
    assert_int_equal(seller.jobs.count(), 0);
    assert_string_equal(seller.orders().c_str(), "0");
}

TEST(a_removal_is_part_of_the_transaction) {
    shop seller;
    assert_int_equal(seller.jobs.put("17"), 0);
    seller.own.run("begin immediate");
    assert_int_equal(seller.remove("17"), 1);
    assert_int_equal(seller.remove("17"), -ENOENT);
    seller.own.run("rollback");
    assert_int_equal(seller.jobs.count(), 1);
    seller.own.run("begin immediate");
    assert_int_equal(seller.remove("17"), 1);
    seller.own.run("commit");
    assert_int_equal(seller.jobs.count(), 0);
}

TEST(a_started_job_is_removed_too_late) {
    shop seller;
    assert_int_equal(seller.jobs.put("17"), 0);
    assert_int_equal(seller.start_all(), 1);
    assert_int_equal(seller.remove("17"), 0);
    assert_int_equal(seller.jobs.count(), 0);
}

TEST(without_a_transaction_each_call_is_one) {
    shop seller;
    assert_int_equal(seller.put("17"), 0);
    assert_int_equal(seller.put("17"), 0);
    assert_int_equal(seller.put("17", TW_DURABLE_KEEP), 0);
    assert_int_equal(seller.put("17", TW_DURABLE_ADD), -EEXIST);
    assert_int_equal(sqlite3_get_autocommit(seller.own.db), 1);
    assert_int_equal(seller.jobs.count(), 1);
    assert_int_equal(seller.remove("17"), 1);
    assert_int_equal(seller.jobs.count(), 0);
}

TEST(listeners_are_told_at_the_commit) {
    shop seller;
    const int line = sqlite_store.listen(seller.jobs.raw());
    assert_true(line >= 0);
    seller.own.run("begin immediate");
    assert_int_equal(seller.put("17"), 0);
    assert_false(was_told(seller.jobs.raw()));
    seller.own.run("commit");
    pollfd waiting{.fd = line, .events = POLLIN, .revents = 0};
    assert_int_equal(poll(&waiting, 1, 10'000), 1);
    assert_true(was_told(seller.jobs.raw()));
}

TEST(a_removal_releases_the_job_that_waits_for_its_group) {
    shop seller;
    tw_durable_job part = job_of("part"), whole = job_of("whole");
    part.group = whole.waits_for = "g";
    seller.own.run("begin immediate");
    assert_int_equal(tw_durable_put_sqlite(seller.own.db, nullptr, &part, TW_DURABLE_REPLACE), 0);
    assert_int_equal(tw_durable_put_sqlite(seller.own.db, nullptr, &whole, TW_DURABLE_REPLACE), 0);
    seller.own.run("commit");
    assert_string_equal(seller.own.ask("select waits_for from tickwheel_job where key = 'whole'").c_str(),
                        "g");
    seller.own.run("begin immediate");
    assert_int_equal(seller.remove("part"), 1);
    seller.own.run("rollback; begin immediate");
    assert_string_equal(seller.own.ask("select waits_for from tickwheel_job where key = 'whole'").c_str(),
                        "g");
    assert_int_equal(seller.remove("part"), 1);
    seller.own.run("commit");
    assert_string_equal(
        seller.own.ask("select waits_for is null and ready >= due from tickwheel_job").c_str(), "1");
    assert_int_equal(seller.start_all(), 1);
}

TEST(a_call_that_fails_leaves_the_transaction_open) {
    shop seller;
    seller.own.run("begin immediate; insert into orders values (17)");
    const tw_durable_job job = job_of("17");
    assert_int_equal(tw_durable_put_sqlite(seller.own.db, "other", &job, TW_DURABLE_REPLACE), -EPROTO);
    assert_int_equal(seller.remove("17"), -ENOENT);
    assert_int_equal(seller.put(""), -EINVAL);
    assert_int_equal(sqlite3_get_autocommit(seller.own.db), 0);
    assert_int_equal(seller.put("17"), 0);
    assert_int_equal(seller.own.run("commit"), SQLITE_OK);
    assert_string_equal(seller.orders().c_str(), "1");
    assert_int_equal(seller.jobs.count(), 1);
}

TEST(what_a_failed_call_did_is_taken_back) {
    shop seller;
    seller.own.run(
        "create trigger refuse before update on tickwheel_meta begin select raise(abort, 'no news'); end");
    seller.own.run("begin immediate");
    assert_int_equal(seller.put("17"), -EPROTO);  // after the job was inserted
    seller.own.run("commit");
    assert_int_equal(seller.jobs.count(), 0);
}

TEST(bad_arguments_change_nothing) {
    shop seller;
    tw_durable_job job = job_of("17");
    assert_int_equal(tw_durable_put_sqlite(nullptr, nullptr, &job, TW_DURABLE_REPLACE), -EINVAL);
    assert_int_equal(tw_durable_put_sqlite(seller.own.db, nullptr, nullptr, TW_DURABLE_REPLACE), -EINVAL);
    assert_int_equal(tw_durable_put_sqlite(seller.own.db, "a; drop", &job, TW_DURABLE_REPLACE), -EINVAL);
    job.due_ns = -1;
    assert_int_equal(tw_durable_put_sqlite(seller.own.db, nullptr, &job, TW_DURABLE_REPLACE), -EINVAL);
    assert_int_equal(tw_durable_cancel_sqlite(seller.own.db, nullptr, nullptr, "17"), -EINVAL);
    assert_int_equal(tw_durable_cancel_sqlite(seller.own.db, nullptr, "mail", nullptr), -EINVAL);
    assert_int_equal(tw_durable_cancel_sqlite(nullptr, nullptr, "mail", "17"), -EINVAL);
    assert_int_equal(seller.jobs.count(), 0);
}

TEST(a_deleted_file_is_noticed_with_and_without_extended_result_codes) {
    for (const int extended : {0, 1}) {
        const folder in;
        const tw_durable_job job = job_of("17");
        assert_int_equal(connection(in.in("shop.db")).error(), 0);
        other_program own(in.in("shop.db"));
        // SQLite notices a deleted file only without a write-ahead log.
        assert_string_equal(own.ask("pragma journal_mode = delete").c_str(), "delete");
        sqlite3_extended_result_codes(own.db, extended);
        assert_int_equal(unlink(in.in("shop.db").c_str()), 0);
        assert_int_equal(tw_durable_put_sqlite(own.db, nullptr, &job, TW_DURABLE_REPLACE), -ENOTCONN);
    }
}

TEST(others_may_keep_the_database_locked) {
    shop seller;
    other_program rival(seller.in.in("shop.db"));
    sqlite3_busy_timeout(seller.own.db, 50);
    rival.run("begin immediate");
    assert_int_equal(seller.put("17"), -EBUSY);
    rival.run("commit");
    assert_int_equal(seller.put("17"), 0);
}

TEST(a_transaction_that_has_read_an_older_state_is_busy) {
    shop seller;
    seller.own.run("begin");
    assert_string_equal(seller.orders().c_str(), "0");
    assert_int_equal(seller.jobs.put("18"), 0);
    assert_int_equal(seller.put("17"), -EBUSY);
    seller.own.run("rollback");
    assert_int_equal(seller.put("17"), 0);
}

TEST(a_cron_expression_says_when_a_job_is_due) {
    shop seller;
    tw_durable_job job = job_of("17");
    job.cron = "* * * * *";
    assert_int_equal(tw_durable_put_sqlite(seller.own.db, nullptr, &job, TW_DURABLE_REPLACE), 0);
    assert_string_equal(seller.own.ask("select due % 60000000 from tickwheel_job").c_str(), "0");
    assert_string_equal(
        seller.own.ask("select due / 1000000 > strftime('%s') - 1 from tickwheel_job").c_str(), "1");
    job.cron = "no expression";
    assert_int_equal(tw_durable_put_sqlite(seller.own.db, nullptr, &job, TW_DURABLE_REPLACE), -EINVAL);
}

TEST(the_database_may_be_attached) {
    shop seller;
    other_program attaching(":memory:");
    const std::string attach = "attach '" + seller.in.in("shop.db") + "' as shop";
    assert_int_equal(attaching.run(attach), SQLITE_OK);
    const tw_durable_job job = job_of("17");
    assert_int_equal(tw_durable_put_sqlite(attaching.db, nullptr, &job, TW_DURABLE_REPLACE), 0);
    assert_int_equal(seller.jobs.count(), 1);
}

TEST(tables_of_another_release_are_refused) {
    shop seller;
    seller.own.run("update tickwheel_meta set value = 99 where name = 'version'");
    assert_int_equal(seller.put("17"), -EPROTO);
    seller.own.run("update tickwheel_meta set value = 0 where name = 'version'");
    assert_int_equal(seller.put("17"), -EPROTO);
}

}  // namespace

}  // namespace tickwheel::durable::tests
