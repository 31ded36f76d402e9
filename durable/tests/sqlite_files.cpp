// Files and tables that are not as they should be.
#include "stores/sqlite/schema.hpp"

#include <sched.h>
#include <sys/mount.h>

#include "sqlite_test.hpp"

namespace tickwheel::durable::tests {
namespace {

// --- paths -----------------------------------------------------------------------------------

TEST(a_path_is_taken_as_it_is) {
    const folder in;
    const std::string names[] = {":memory:",
                                 "file:jobs.db?mode=memory",
                                 "a b.db",
                                 "'; drop table tickwheel_job; --",
                                 "%00%s.db",
                                 "#?&=",
                                 " ",
                                 "\n",
                                 "\xf0\x9f\x95\xb0.db",
                                 "\xff\xfe",
                                 "-rf",
                                 "\\"};
    for (const std::string &name : names) {
        connection to(in.in(name.c_str()));
        assert_int_equal(to.error(), 0);
        assert_int_equal(to.put("17"), 0);
        assert_int_equal(access(in.in(name.c_str()).c_str(), F_OK), 0);
    }
    assert_int_equal(in.names().size(), COUNT_OF(names));
}

TEST(a_file_that_was_deleted_is_noticed) {
    const folder in;
    const std::string path = in.in("jobs.db");
    connection to(path);
    assert_int_equal(to.put("17"), 0);
    assert_int_equal(unlink(path.c_str()), 0);
    assert_int_equal(to.put("18"), -ENOTCONN);
    assert_int_equal(connection(path).put("19"), 0);
    assert_int_equal(connection(path).count(), 1);
    assert_int_equal(to.put("18"), -ENOTCONN);
}

// The file that the connection has open is still on the disk here, under another name or none.
TEST(a_file_that_was_replaced_is_noticed) {
    const folder in;
    const std::string path = in.in("jobs.db"), backup = in.in("backup.db");
    connection to(path);
    assert_int_equal(to.put("17"), 0);
    assert_int_equal(connection(backup).put("from the backup"), 0);
    assert_int_equal(rename(backup.c_str(), path.c_str()), 0);
    assert_int_equal(to.put("18"), -ENOTCONN);
    assert_true(connection(path).has("from the backup"));
    assert_false(connection(path).has("18"));
}

// Another process that opens the file would create another log, and see nothing of this one.
TEST(a_log_that_was_deleted_is_noticed_and_nothing_is_lost) {
    const folder in;
    const std::string path = in.in("jobs.db");
    {
        connection to(path);
        assert_int_equal(to.put("17"), 0);
        assert_int_equal(unlink((path + "-wal").c_str()), 0);
        assert_int_equal(to.put("18"), -EBADMSG);
        std::ofstream(path + "-wal");
        assert_int_equal(to.put("18"), -EBADMSG);
    }
    connection to(path);
    assert_true(to.has("17"));
    assert_int_equal(to.put("18"), 0);
}

TEST(a_backup_that_sqlite_restores_is_seen_by_open_connections) {
    const folder in;
    const std::string path = in.in("jobs.db");
    connection to(path);
    assert_int_equal(to.put("17"), 0);
    assert_int_equal(connection(in.in("backup.db")).put("from the backup"), 0);
    other_program from(in.in("backup.db")), into(path);
    sqlite3_backup *const restores = sqlite3_backup_init(into.db, "main", from.db, "main");
    assert_int_equal(sqlite3_backup_step(restores, -1), SQLITE_DONE);
    assert_int_equal(sqlite3_backup_finish(restores), SQLITE_OK);
    assert_true(to.has("from the backup"));
    assert_false(to.has("17"));
    assert_int_equal(to.put("18"), 0);
    assert_int_equal(connection(path).count(), 2);
}

TEST(a_link_that_leads_elsewhere_is_noticed) {
    const folder in;
    const std::string path = in.in("current.db");
    assert_int_equal(symlink("first.db", path.c_str()), 0);
    connection to(path);
    assert_int_equal(to.put("17"), 0);
    assert_int_equal(unlink(path.c_str()), 0);
    assert_int_equal(symlink("second.db", path.c_str()), 0);
    assert_int_equal(to.put("18"), -ENOTCONN);
    assert_int_equal(connection(path).count(), 0);
}

TEST(a_process_may_change_its_folder) {
    const folder in;
    const int worked = in_child([&] {
        if (chdir(in.path().c_str()) != 0)
            return 1;
        connection to("jobs.db");
        return chdir("/") == 0 && to.put("17") == 0 && to.count() == 1 ? 0 : 1;
    });
    assert_int_equal(worked, 0);
}

// When the file is gone, the library connects once more.
TEST(a_connection_that_is_opened_again_leads_to_the_same_file) {
    const folder in, elsewhere;
    const int worked = in_child([&] {
        tw_durable *jobs = nullptr;
        tw_durable_job job = {};
        job.kind = "mail";
        job.key = "17";
        job.due_ns = TW_SECOND;
        if (chdir(in.path().c_str()) != 0 ||
            tw_durable_open(&jobs, nullptr, "sqlite:jobs.db", nullptr) != 0 ||
            chdir(elsewhere.path().c_str()) != 0 || unlink(in.in("jobs.db").c_str()) != 0 ||
            tw_durable_put(jobs, &job, TW_DURABLE_REPLACE) != -ENOTCONN ||
            tw_durable_put(jobs, &job, TW_DURABLE_REPLACE) != 0)
            return 1;
        tw_durable_close(jobs);
        return 0;
    });
    assert_int_equal(worked, 0);
    assert_int_equal(access(in.in("jobs.db").c_str(), F_OK), 0);
    assert_true(elsewhere.names().empty());
}

// --- journals --------------------------------------------------------------------------------

TEST(a_file_with_a_rollback_journal_gets_a_log) {
    for (const char *const mode : {"delete", "truncate", "persist"}) {
        const folder in;
        const std::string path = in.in("jobs.db");
        {
            connection to(path);
            assert_int_equal(to.put(mode), 0);
        }
        assert_string_equal(other_program(path).ask(std::string("pragma journal_mode = ") + mode).c_str(),
                            mode);
        connection to(path);
        assert_int_equal(to.put("17"), 0);
        assert_true(to.has(mode));
        other_program by(path);
        assert_string_equal(by.ask("pragma journal_mode").c_str(), "wal");
        assert_int_equal(by.run(std::string("pragma journal_mode = ") + mode),
                         SQLITE_BUSY);  // `to` has it open
        assert_int_equal(to.put("18"), 0);
    }
}

// Such a file may be in use by a program that does not wait for locks.
TEST(a_file_whose_rollback_journal_is_in_use_is_busy) {
    const folder in;
    other_program by(in.in("jobs.db"));
    assert_int_equal(by.run("create table orders (id); begin immediate; insert into orders values (1)"),
                     SQLITE_OK);
    assert_int_equal(connection(in.in("jobs.db"), second / 10).error(), -EBUSY);
    assert_int_equal(by.run("commit"), SQLITE_OK);
    assert_int_equal(connection(in.in("jobs.db")).put("17"), 0);
}

TEST(an_address_with_slashes_that_are_not_of_the_path_is_refused) {
    const connection to("//jobs.db");
    assert_int_equal(to.error(), -EINVAL);
}

TEST(a_relative_path_is_taken_as_it_is) {
    const folder in;
    const int worked = in_child([&] {
        if (chdir(in.path().c_str()) != 0)
            return 1;
        for (const char *const name :
             {"./:memory:", "file:jobs.db?mode=memory", "file::memory:", "jobs.db"}) {
            connection to(name);
            if (to.error() != 0 || to.put("17") != 0 || access(name, F_OK) != 0)
                return 1;
        }
        return 0;
    });
    assert_int_equal(worked, 0);
    assert_int_equal(in.names().size(), 4);
}

TEST(a_path_that_leads_nowhere_is_refused) {
    const folder in;
    assert_int_equal(connection("").error(), -EINVAL);
    assert_int_equal(connection(in.in("none/jobs.db")).error(), -ENOENT);
    assert_int_equal(connection(in.path()).error(), -EACCES);
    assert_int_equal(connection(in.path() + '/' + std::string(5000, 'x')).error(), -ENOENT);
    assert_string_equal(connection(in.in("none/jobs.db")).why().c_str(),
                        ("there is no such file or folder: " + in.in("none/jobs.db")).c_str());
    assert_true(in.names().empty());
}

// --- permissions -----------------------------------------------------------------------------

// Runs body() as a user who is not root, and not the owner of the files.
template <typename F> int as_stranger(F body) {
    return in_child([&] {
        if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0)
            return 100;
        return body();
    });
}

std::string make_database(const folder &in) {
    connection to(in.in("jobs.db"));
    assert_int_equal(to.put("17", "body"), 0);
    return in.in("jobs.db");
}

TEST(a_folder_without_permission_is_refused) {
    const folder in;
    chmod(in.path().c_str(), 0555);
    assert_int_equal(as_stranger([&] { return -connection(in.in("jobs.db")).error(); }), EACCES);
}

TEST(a_file_without_permission_is_refused) {
    const folder in;
    make_database(in);
    chmod(in.path().c_str(), 0777);
    chmod(in.in("jobs.db").c_str(), 0);
    assert_int_equal(as_stranger([&] { return -connection(in.in("jobs.db")).error(); }), EACCES);
}

TEST(a_log_without_permission_is_refused) {
    const folder in;
    make_database(in);
    chmod(in.path().c_str(), 0777);
    chmod(in.in("jobs.db").c_str(), 0666);
    std::ofstream(in.in("jobs.db-wal"));
    chmod(in.in("jobs.db-wal").c_str(), 0);
    assert_int_equal(as_stranger([&] { return -connection(in.in("jobs.db")).error(); }), EACCES);
}

TEST(a_file_that_can_only_be_read_is_read) {
    const folder in;
    make_database(in);
    chmod(in.path().c_str(), 0777);
    chmod(in.in("jobs.db").c_str(), 0444);
    const int refused = as_stranger([&] {
        connection to(in.in("jobs.db"));
        if (to.error() != 0 || to.count() != 1 || to.remove("17") != -EROFS)
            return 1;
        return -to.put("18");
    });
    assert_int_equal(refused, EROFS);
}

TEST(a_folder_that_can_only_be_read_is_refused) {
    const folder in;
    make_database(in);
    chmod(in.in("jobs.db").c_str(), 0666);
    chmod(in.path().c_str(), 0555);
    assert_int_equal(as_stranger([&] { return -connection(in.in("jobs.db")).error(); }), EROFS);
}

// --- damage ----------------------------------------------------------------------------------

std::string content_of(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_content(const std::string &path, const std::string &content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

// Makes a database of several pages, whose log is not in use.
std::string make_large_database(const folder &in) {
    connection to(in.in("jobs.db"));
    for (int i = 0; i < 50; ++i)
        assert_int_equal(to.put(std::to_string(i), std::string(1000, 'x')), 0);
    return in.in("jobs.db");
}

TEST(a_file_of_garbage_is_no_database) {
    const folder in;
    std::string garbage;
    for (int i = 0; i < 20000; ++i)
        garbage.push_back(static_cast<char>(i * 7919 >> 3));
    write_content(in.in("jobs.db"), garbage);
    const connection to(in.in("jobs.db"));
    assert_int_equal(to.error(), -EBADMSG);
    assert_true(content_of(in.in("jobs.db")) == garbage);
}

TEST(a_text_is_no_database) {
    const folder in;
    write_content(in.in("jobs.db"), "These are my notes.\n");
    assert_int_equal(connection(in.in("jobs.db")).error(), -EBADMSG);
    assert_string_equal(content_of(in.in("jobs.db")).c_str(), "These are my notes.\n");
}

TEST(a_corrupt_header_is_noticed) {
    const folder in;
    const std::string path = make_large_database(in);
    std::string content = content_of(path);
    content.replace(0, 16, "SQLite format 4 ");
    write_content(path, content);
    assert_int_equal(connection(path).error(), -EBADMSG);
}

TEST(a_truncated_file_is_noticed) {
    const folder in;
    const std::string path = make_large_database(in), whole = content_of(path);
    for (const std::size_t size :
         {std::size_t{50}, std::size_t{1000}, std::size_t{4096}, whole.size() / 2 / 4096 * 4096}) {
        write_content(path, whole.substr(0, size));
        connection to(path);
        const std::int64_t error = to.error() != 0 ? to.error() : to.count();
        assert_int_equal(error, -EBADMSG);
    }
}

TEST(corrupt_pages_are_noticed) {
    const folder in;
    const std::string path = make_large_database(in);
    std::string content = content_of(path);
    content.replace(4096, content.size() - 4096, std::string(content.size() - 4096, '\xa5'));
    write_content(path, content);
    connection to(path);
    const std::int64_t error = to.error() != 0 ? to.error() : to.count();
    assert_int_equal(error, -EBADMSG);
    if (to.error() == 0)
        assert_int_equal(to.put("17"), -EBADMSG);
}

TEST(an_empty_file_is_a_new_database) {
    const folder in;
    write_content(in.in("jobs.db"), "");
    connection to(in.in("jobs.db"));
    assert_int_equal(to.put("17"), 0);
}

// --- no room ---------------------------------------------------------------------------------

constexpr int cannot_mount = 77;

// Mounts a small file system that only this process sees. Its size is in `options`.
bool mount_small(const char *where, const char *options) {
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return false;
    return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("tmpfs", where, "tmpfs", 0, options) == 0;
}

// Returns 0, or the number of the step that went wrong.
int fill_up(const folder &in) {
    if (!mount_small(in.path().c_str(), "size=1m"))
        return cannot_mount;
    connection to(in.in("jobs.db"));
    int puts = 0, result = to.error();
    while (result == 0 && puts < 10000)
        result = to.put(std::to_string(puts++), std::string(3000, 'x'));
    if (result != -ENOSPC)
        return 1;
    if (to.count() != puts - 1 || to.has(std::to_string(puts - 1)))
        return 2;
    if (mount("tmpfs", in.path().c_str(), "tmpfs", MS_REMOUNT, "size=16m") != 0)
        return cannot_mount;
    return to.put("there is room again", std::string(3000, 'x')) == 0 && to.count() == puts ? 0 : 3;
}

TEST(a_full_disk_loses_nothing) {
    const folder in;
    const int result = in_child([&] { return fill_up(in); });
    if (result == cannot_mount)
        skip();
    assert_int_equal(result, 0);
}

int open_on_full_disk(const folder &in) {
    if (!mount_small(in.path().c_str(), "size=16k"))
        return cannot_mount;
    return connection(in.in("jobs.db")).error() == -ENOSPC ? 0 : 1;
}

TEST(no_database_is_made_on_a_full_disk) {
    const folder in;
    const int result = in_child([&] { return open_on_full_disk(in); });
    if (result == cannot_mount)
        skip();
    assert_int_equal(result, 0);
}

int open_read_only(const folder &in) {
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(in.path().c_str(), in.path().c_str(), nullptr, MS_BIND, nullptr) != 0 ||
        mount(nullptr, in.path().c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0)
        return cannot_mount;
    for (const bool must_exist : {false, true}) {
        const connection to(in.in("jobs.db"), 20 * second, must_exist);
        if (to.error() != -EROFS || to.why().find("can only read here") == std::string::npos)
            return 1;
    }
    return connection(in.in("new.db")).error() == -EROFS ? 0 : 2;
}

TEST(a_disk_that_can_only_be_read_is_refused) {
    const folder in;
    make_database(in);
    const int result = in_child([&] { return open_read_only(in); });
    if (result == cannot_mount)
        skip();
    assert_int_equal(result, 0);
}

// --- tables of other releases, and tables that others have changed --------------------------------

// The steps of this release, and one of a next release.
std::vector<sqlite::step> and_then(sqlite::step next) {
    std::vector<sqlite::step> steps(sqlite::all_steps().begin(), sqlite::all_steps().end());
    steps.push_back(next);
    return steps;
}

int migrate(other_program &by, sqlite::step next) {
    sqlite::session to(by.db, "tickwheel");
    return sqlite::bring_up_to_date(to, and_then(next));
}

TEST(tables_of_a_former_release_are_brought_up_to_date) {
    const folder in;
    const std::string path = make_database(in);
    other_program by(path);
    assert_int_equal(migrate(by, "alter table @job add column colour text default 'red'"), 0);
    assert_string_equal(by.ask("select key || colour from tickwheel_job").c_str(), "17red");
    assert_string_equal(by.ask("select value from tickwheel_meta where name = 'version'").c_str(), "3");
    assert_int_equal(migrate(by, "this would be an error"), 0);  // the tables are of this version already
}

TEST(members_of_the_first_release_tell_no_kinds) {
    const folder in;
    const std::string path = in.in("jobs.db");
    {
        other_program by(path);
        sqlite::session first(by.db, "tickwheel");
        assert_int_equal(sqlite::bring_up_to_date(first, sqlite::all_steps().first(1)), 0);
        by.run(
            "insert into tickwheel_member (name, epoch, lease, dead) values ('old', 1, 9000000000000000, 0)");
    }
    connection to(path);
    assert_int_equal(to.put("18"), 0);
    assert_string_equal(
        other_program(path)
            .ask("select joined || ifnull(kinds, 'none') || clock_offset from tickwheel_member")
            .c_str(),
        "0none0");
}

TEST(a_step_that_fails_changes_nothing) {
    const folder in;
    const std::string path = make_database(in);
    {
        other_program by(path);
        assert_int_equal(
            migrate(by, "alter table @job add column colour text; insert into nothing values (1)"), -EPROTO);
        assert_string_equal(by.ask("select value from tickwheel_meta where name = 'version'").c_str(), "2");
        assert_string_equal(by.ask("select colour from tickwheel_job").c_str(), "");
    }
    connection to(path);
    assert_int_equal(to.put("18"), 0);
}

TEST(an_empty_database_takes_all_steps) {
    const folder in;
    other_program by(in.in("jobs.db"));
    assert_int_equal(migrate(by, "create table @more (value integer)"), 0);
    assert_string_equal(by.ask("select value from tickwheel_meta where name = 'version'").c_str(), "3");
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
    assert_true(to.why().find("to version 3, and this one knows version 2: use the later release") !=
                std::string::npos);
    assert_string_equal(other_program(path).ask("select count(*) from tickwheel_job").c_str(), "1");
}

TEST(missing_tables_and_columns_are_noticed) {
    for (const char *const change :
         {"drop table tickwheel_job", "alter table tickwheel_job rename column token to mark",
          "alter table tickwheel_job rename to job", "drop table tickwheel_meta",
          "delete from tickwheel_meta where name = 'news'", "delete from tickwheel_meta where name = 'token'",
          "drop table tickwheel_member"}) {
        const folder in;
        const std::string path = make_database(in);
        connection to(path);
        assert_int_equal(to.put("18"), 0);
        assert_int_equal(other_program(path).run(change), SQLITE_OK);
        tw_store_member who{};
        const int put = to.put("19"), joined = sqlite_store.join(to.raw(), "name", second, &who);
        tw_store_look look{};
        const tw_store_claim request = claim_of_mail(who);
        const auto ignore = [](const tw_durable_entry *, std::int64_t, void *) { return 0; };
        const int claimed = sqlite_store.claim(to.raw(), &request, ignore, nullptr, &look);
        assert_true(put == -EPROTO || joined == -EPROTO || claimed == -EPROTO);
    }
}

// A statement that binds such a key as a text does not find the row.
TEST(a_row_whose_key_is_no_text_fails_and_stops_no_other) {
    const folder in;
    connection to(make_database(in));
    other_program by(in.in("jobs.db"));
    for (const char *const key : {"x'ff'", "cast(x'31370041' as text)", "x'3137'"})
        assert_int_equal(
            by.run("insert into tickwheel_job (kind, key, due, ready, payload, period, missed, grace)"
                   "values ('mail', " +
                   std::string(key) + ", 0, 0, '', 0, 0, 0)"),
            SQLITE_OK);
    tw_store_member who{};
    assert_int_equal(sqlite_store.join(to.raw(), "name", minute, &who), 0);
    const tw_store_claim request = claim_of_mail(who);
    std::string claimed;
    tw_store_look look{};
    const auto add = [](const tw_durable_entry *entry, std::int64_t, void *arg) {
        *static_cast<std::string *>(arg) += entry->job.key + std::string(" ");
        return 0;
    };
    assert_int_equal(sqlite_store.claim(to.raw(), &request, add, &claimed, &look), 0);
    assert_string_equal(claimed.c_str(), "17 ");
    assert_int_equal(look.next_ns, TW_NO_DEADLINE);
    assert_string_equal(
        by.ask("select count(*) from tickwheel_job where failed and error = 'the key is not a text'").c_str(),
        "3");
    assert_int_equal(to.count(), 4);
}

TEST(news_that_are_missing_are_noticed) {
    const folder in;
    connection to(make_database(in));
    assert_int_equal(
        other_program(in.in("jobs.db")).run("delete from tickwheel_meta where name like 'news%'"), SQLITE_OK);
    assert_int_equal(to.put("18"), -EPROTO);
    assert_int_equal(sqlite_store.listen(to.raw()), -EPROTO);
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
