// Tables of other releases, and tables that others have changed.
#include "durable/stores/sqlite/schema.hpp"

#include "sqlite_test.hpp"

namespace tickwheel::durable::tests {
namespace {

std::string make_database(const folder &in) {
    connection to(in.in("jobs.db"));
    assert_int_equal(to.put("17", "body"), 0);
    return in.in("jobs.db");
}

// The steps of this release, and one of the next.
std::vector<sqlite::step> and_then(sqlite::step next) {
    std::vector<sqlite::step> steps(sqlite::all_steps().begin(), sqlite::all_steps().end());
    steps.push_back(next);
    return steps;
}

int migrate(other_program &by, sqlite::step next) {
    sqlite::connection to(by.db, "tickwheel");
    return sqlite::bring_up_to_date(to, and_then(next));
}

TEST(tables_are_made_once) {
    const folder in;
    const std::string path = make_database(in);
    connection to(path);
    assert_int_equal(to.error(), 0);
    assert_int_equal(to.count(), 1);
}

TEST(the_tables_of_two_schemas_are_apart) {
    const folder in;
    const std::string path = make_database(in), address = "sqlite:" + path;
    char why[100];
    void *other = nullptr;
    tw_store_place place{};
    place.address = address.c_str();
    place.schema = "other";
    place.timeout_ns = second;
    assert_int_equal(sqlite_store.open(&other, &place, why, sizeof why), 0);
    const tw_durable_filter all{};
    assert_int_equal(sqlite_store.count(other, &all), 0);
    sqlite_store.close(other);
    assert_string_equal(other_program(path).ask("select count(*) from other_job").c_str(), "0");
}

TEST(tables_of_a_former_release_are_brought_up_to_date) {
    const folder in;
    const std::string path = make_database(in);
    other_program by(path);
    assert_int_equal(migrate(by, "alter table @job add column colour text default 'red'"), 0);
    assert_string_equal(by.ask("select key || colour from tickwheel_job").c_str(), "17red");
    assert_string_equal(by.ask("select value from tickwheel_meta where name = 'version'").c_str(), "2");
    assert_int_equal(migrate(by, "this would be an error"), 0);  // it is there already
}

TEST(a_step_that_fails_changes_nothing) {
    const folder in;
    const std::string path = make_database(in);
    {
        other_program by(path);
        assert_int_equal(
            migrate(by, "alter table @job add column colour text; insert into nothing values (1)"), -EPROTO);
        assert_string_equal(by.ask("select value from tickwheel_meta where name = 'version'").c_str(), "1");
        assert_string_equal(by.ask("select colour from tickwheel_job").c_str(), "");
    }
    connection to(path);
    assert_int_equal(to.put("18"), 0);
}

TEST(an_empty_database_takes_all_steps) {
    const folder in;
    other_program by(in.in("jobs.db"));
    assert_int_equal(migrate(by, "create table @more (value integer)"), 0);
    assert_string_equal(by.ask("select value from tickwheel_meta where name = 'version'").c_str(), "2");
    assert_string_equal(by.ask("select count(*) from tickwheel_more").c_str(), "0");
}

TEST(tables_of_a_later_release_are_refused) {
    const folder in;
    const std::string path = make_database(in);
    {
        other_program by(path);
        assert_int_equal(migrate(by, "create table @more (value integer)"), 0);
    }
    const connection to(path);
    assert_int_equal(to.error(), -EPROTO);
    assert_true(to.why().find("later") != std::string::npos);
    assert_string_equal(other_program(path).ask("select count(*) from tickwheel_job").c_str(), "1");
}

TEST(missing_tables_and_columns_are_noticed) {
    for (const char *const change :
         {"drop table tickwheel_job", "alter table tickwheel_job rename column token to mark",
          "alter table tickwheel_job rename to job", "drop table tickwheel_meta",
          "delete from tickwheel_meta where name = 'news'", "drop table tickwheel_member"}) {
        const folder in;
        const std::string path = make_database(in);
        connection to(path);
        assert_int_equal(to.put("18"), 0);
        assert_int_equal(other_program(path).run(change), SQLITE_OK);
        tw_store_member who{};
        const int put = to.put("19"), joined = sqlite_store.join(to.raw(), "name", second, &who);
        tw_store_look look{};
        const char *const kinds[] = {"mail"};
        const tw_store_claim request{
            .member = who, .kinds = kinds, .kinds_count = 1, .horizon_ns = 0, .limit = 9};
        const auto ignore = [](const tw_durable_entry *, void *) { return 0; };
        const int claimed = sqlite_store.claim(to.raw(), &request, ignore, nullptr, &look);
        assert_true(put == -EPROTO || joined == -EPROTO || claimed == -EPROTO);
    }
}

TEST(a_version_that_is_missing_is_noticed) {
    const folder in;
    const std::string path = make_database(in);
    other_program(path).run("delete from tickwheel_meta where name = 'version'");
    assert_int_equal(connection(path).error(), -EPROTO);
    other_program(path).run("insert into tickwheel_meta values ('version', -1)");
    assert_int_equal(connection(path).error(), -EPROTO);
}

TEST(another_encoding_is_refused) {
    const folder in;
    other_program(in.in("jobs.db")).run("pragma encoding = 'UTF-16le'; create table mine (value)");
    assert_int_equal(connection(in.in("jobs.db")).error(), -EPROTO);
}

TEST(the_tables_of_others_stay_as_they_are) {
    const folder in;
    other_program(in.in("jobs.db")).run("create table mine (value); insert into mine values (42)");
    connection to(in.in("jobs.db"));
    assert_int_equal(to.put("17"), 0);
    assert_string_equal(other_program(in.in("jobs.db")).ask("select value from mine").c_str(), "42");
}

TEST(claims_use_the_index_of_pending_jobs) {
    const folder in;
    const std::string path = make_database(in);
    std::string plan;
    const auto add = [](void *arg, int, char **values, char **) {
        *static_cast<std::string *>(arg) += values[3];
        return 0;
    };
    sqlite3_exec(
        other_program(path).db,
        "explain query plan select ready, key from tickwheel_job where kind = ?1 and holder is null and "
        "failed = 0 and ready <= ?2 order by ready limit ?3",
        add, &plan, nullptr);
    assert_true(plan.find("USING INDEX tickwheel_job_pending (kind=? AND ready<?)") != std::string::npos);
    assert_true(plan.find("TEMP B-TREE") == std::string::npos);
}

}  // namespace

}  // namespace tickwheel::durable::tests
