// Files that are not as they should be.
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

TEST(an_address_with_slashes_that_are_not_of_the_path_is_refused) {
    const connection to("//jobs.db");
    assert_int_equal(to.error(), -EINVAL);
}

TEST(a_relative_path_is_taken_as_it_is) {
    const folder in;
    const int worked = in_child([&] {
        if (chdir(in.path().c_str()) != 0)
            return 1;
        for (const char *const name : {":memory:", "file:jobs.db?mode=memory", "file::memory:", "jobs.db"}) {
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
    const connection to(in.in("none/jobs.db"));
    assert_true(!to.why().empty());
    assert_true(to.why().find("none") == std::string::npos);
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

void make_database(const folder &in) {
    connection to(in.in("jobs.db"));
    assert_int_equal(to.put("17"), 0);
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

// A database of some pages, and the log not in use.
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

// A file system of its own for this process, of so many bytes.
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
    return connection(in.in("jobs.db")).error() == -EROFS && connection(in.in("new.db")).error() == -EROFS
               ? 0
               : 1;
}

TEST(a_disk_that_can_only_be_read_is_refused) {
    const folder in;
    make_database(in);
    const int result = in_child([&] { return open_read_only(in); });
    if (result == cannot_mount)
        skip();
    assert_int_equal(result, 0);
}

}  // namespace

}  // namespace tickwheel::durable::tests
