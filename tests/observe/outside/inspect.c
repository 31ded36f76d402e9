/* A runtime that clients look at through its socket: only its user may, whatever clients do, and until the
 * runtime ends. */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/child.h"
#include "support/random.h"
#include "support/runtime_test.h"
#include "support/sanitized.h"

#include <tickwheel/inspect.h>
#include <tickwheel/observe.h>
#include <tickwheel/timers.h>

#define MS TW_MILLISECOND
#define NOBODY 65534

static char folder[64], path[100];

static int make_folder(UNUSED void **state) {
    snprintf(folder, sizeof folder, "/tmp/tickwheel-test-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/socket", folder);
    return 0;
}

static int remove_folder(UNUSED void **state) { return rmdir(folder); /* fails if a socket was left in it */ }

/* --- a client -------------------------------------------------------------------------- */

/* A connection, or a negative errno. */
static int connect_to(const char *to) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    assert_true(strlen(to) < sizeof name.sun_path);
    memcpy(name.sun_path, to, strlen(to));
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&name, sizeof name) == 0)
        return fd;
    const int error = -errno;
    close(fd);
    return error;
}

static int connected(void) {
    const int fd = connect_to(path);
    assert_true(fd >= 0);
    return fd;
}

/* Reads up to what ends with `end`, or until the server hangs up, for a minute at most. */
static const char *read_until(int fd, const char *end) {
    static char text[1 << 17];
    size_t size = 0;
    for (text[0] = 0; size < strlen(end) || strcmp(text + size - strlen(end), end) != 0; text[size] = 0) {
        struct pollfd polled = {.fd = fd, .events = POLLIN};
        if (poll(&polled, 1, 60000) != 1 || size == sizeof text - 1)
            abort();
        const ssize_t got = read(fd, text + size, sizeof text - 1 - size);
        if (got <= 0)
            break;
        size += (size_t)got;
    }
    return text;
}

static const char *ask(int fd, const char *request) {
    if (write(fd, request, strlen(request)) != (ssize_t)strlen(request))
        return "";
    return read_until(fd, "end\n");
}

/* True if the server sends nothing more and hangs up. */
static bool is_hung_up(int fd) {
    const bool is_silent = read_until(fd, "\n")[0] == 0;
    close(fd);
    return is_silent;
}

static long number_in(const char *text, const char *name) {
    const char *const at = strstr(text, name);
    return at != NULL ? strtol(at + strlen(name), NULL, 10) : -1;
}

/* A well-behaved client. Returns the process that has answered. */
static long process_that_answers(void) {
    const int fd = connected();
    assert_string_equal(read_until(fd, "\n"), "tickwheel 1\n");
    const char *const text = ask(fd, "stats\n");
    const long process = number_in(text, "pid ");
    close(fd);
    return process;
}

static struct tw_runtime *looked_at(void) {
    struct tw_runtime *const rt = started_runtime((struct tw_runtime_options){.thread_name = "timers"});
    assert_ok(tw_inspect_start(rt, path));
    return rt;
}

/* --- answers --------------------------------------------------------------------------- */

FIXTURE(make_folder, remove_folder);

TEST(answers) {
    struct tw_runtime *const rt = looked_at();
    struct tw_node nodes[3];
    for (int i = 0; i < 3; ++i)
        tw_node_init(&nodes[i], no_callback, NULL);
    assert_ok(tw_runtime_label(rt, &nodes[0], "say \"hi\"\n\xff"));
    assert_ok(tw_runtime_after(rt, &nodes[0], 0));
    assert_ok(tw_runtime_after(rt, &nodes[1], 5000 * TW_SECOND));
    assert_ok(tw_runtime_every(rt, &nodes[2], 3000 * TW_SECOND, TW_BURST));
    wait_for(tw_runtime_count(rt) == 2);
    const int fd = connected();
    assert_string_equal(read_until(fd, "\n"), "tickwheel 1\n");
    assert_int_equal(write(fd, "st", 2), 2); /* a request that comes in pieces */
    const char *text = ask(fd, "ats\n");
    assert_int_equal(number_in(text, "pid "), getpid());
    assert_int_equal(number_in(text, "\npending "), 2);
    assert_non_null(strstr(text, "\nruntime \"timers\"\n"));
    assert_non_null(strstr(text, "\nlabel 1 0 0 "));
    assert_non_null(strstr(text, " \"say \\\"hi\\\"\\u000a\\\\xff\"\n"));
    text = ask(fd, "pending 1\n");
    assert_true(number_in(text, "timer 2999") > 0);
    assert_non_null(strstr(text, " 3000000000000 node -\nend\n"));
    assert_null(strstr(text, "timer 4999"));
    assert_true(number_in(ask(fd, "pending 64\n"), "\ntimer 4999") > 0);
    assert_string_equal(ask(fd, "pending 0\n"), "end\n");
    close(fd);
    assert_ok(tw_runtime_free(rt));
}

TEST(tells_those_that_are_due_first) {
    enum { MANY = 300 };
    static struct tw_node nodes[MANY];
    struct tw_runtime *const rt = looked_at();
    uint64_t seed = 1;
    for (int i = 0; i < MANY; ++i) {
        tw_node_init(&nodes[i], no_callback, NULL);
        assert_ok(
            tw_runtime_after(rt, &nodes[i], (1000 + (int64_t)random_below(&seed, 1000) * 100) * TW_SECOND));
    }
    int64_t known[MANY];
    for (int i = 0; i < MANY; ++i)
        known[i] = tw_runtime_remaining(rt, &nodes[i]);
    const int fd = connected();
    read_until(fd, "\n");
    const char *at = ask(fd, "pending 64\n");
    int64_t last = 0;
    int told = 0, sooner = 0;
    for (; strncmp(at, "timer ", 6) == 0; at = strchr(at, '\n') + 1, ++told) {
        const int64_t remaining = strtoll(at + 6, NULL, 10);
        assert_true(remaining >= last - TW_SECOND);
        last = remaining;
    }
    for (int i = 0; i < MANY; ++i)
        sooner += known[i] < last - 50 * TW_SECOND;
    assert_int_equal(told, 64);
    assert_true(sooner <= 64); /* `sooner`: timers that are due before the last timer that the answer lists */
    close(fd);
    assert_ok(tw_runtime_free(rt));
}

/* --- where ----------------------------------------------------------------------------- */

TEST(is_refused) {
    char long_path[120];
    struct tw_runtime *const rt = started_runtime((struct tw_runtime_options){.thread_name = "timers"});
    memset(long_path, '/', sizeof long_path);
    long_path[108] = 0;
    assert_int_equal(tw_inspect_start(NULL, path), -EINVAL);
    assert_int_equal(tw_inspect_start(rt, "socket"), -EINVAL);
    assert_int_equal(tw_inspect_start(rt, ""), -EINVAL);
    assert_int_equal(tw_inspect_start(rt, long_path), -EINVAL);
    assert_int_equal(tw_inspect_start(rt, "/no/such/folder/socket"), -ENOENT);
    assert_ok(tw_runtime_free(rt));
}

static void start_in_callback(UNUSED struct tw_node *node, void *arg) {
    struct tw_runtime *const rt = *(struct tw_runtime **)arg;
    assert_int_equal(tw_inspect_start(rt, path), -EBUSY);
}

TEST(is_refused_in_callbacks) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_node node;
    tw_node_init(&node, start_in_callback, &rt);
    assert_ok(tw_inspect_start(rt, path));
    assert_ok(tw_runtime_after(rt, &node, 0));
    assert_ok(tw_runtime_advance(rt, MS));
    assert_int_equal(process_that_answers(), getpid());
    assert_ok(tw_runtime_free(rt));
}

TEST(replaces_what_a_dead_process_has_left_and_nothing_else) {
    struct tw_runtime *const rt = looked_at(), *const other = new_runtime((struct tw_runtime_options){0});
    assert_int_equal(tw_inspect_start(other, path), -EADDRINUSE);
    assert_int_equal(process_that_answers(), getpid());
    assert_ok(tw_runtime_free(rt));
    assert_int_equal(access(path, F_OK), -1);

    const int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(tw_inspect_start(other, path), -EADDRINUSE);
    assert_int_equal(unlink(path), 0);
    close(file);

    struct sockaddr_un name = {.sun_family = AF_UNIX};
    memcpy(name.sun_path, path, strlen(path));
    const int left_over = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(left_over, (const struct sockaddr *)&name, sizeof name), 0);
    close(left_over);
    assert_ok(tw_inspect_start(other, path));
    assert_int_equal(process_that_answers(), getpid());
    assert_ok(tw_inspect_start(other, path)); /* again */
    assert_int_equal(process_that_answers(), getpid());
    assert_ok(tw_runtime_free(other));
}

TEST(stays_where_it_is_if_another_path_is_refused_and_moves_to_one_that_is_not) {
    struct tw_runtime *const rt = looked_at();
    char other[sizeof path + 2];
    assert_int_equal(tw_inspect_start(rt, "/no/such/folder/socket"), -ENOENT);
    assert_int_equal(process_that_answers(), getpid());
    assert_true(snprintf(other, sizeof other, "%s.2", path) > 0);
    assert_ok(tw_inspect_start(rt, other));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(other, F_OK), 0);
    assert_ok(tw_runtime_free(rt));
    assert_int_equal(access(other, F_OK), -1);
}

TEST(leaves_a_file_alone_that_has_taken_the_place_of_its_socket) {
    struct tw_runtime *const rt = looked_at();
    assert_int_equal(unlink(path), 0);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_ok(tw_runtime_free(rt));
    assert_int_equal(unlink(path), 0);
}

TEST(is_in_a_folder_of_the_users_own) {
    char own[120], link[120];
    struct stat status;
    snprintf(own, sizeof own, "%s/tickwheel", folder);
    snprintf(link, sizeof link, "%s/elsewhere", folder);
    struct tw_runtime *const rt = started_runtime((struct tw_runtime_options){0});
    assert_int_equal(setenv("XDG_RUNTIME_DIR", folder, 1), 0);

    assert_int_equal(mkdir(own, 0755), 0);
    assert_int_equal(tw_inspect_start(rt, NULL), -EPERM);
    assert_int_equal(rename(own, link), 0);
    assert_int_equal(symlink(link, own), 0);
    assert_int_equal(tw_inspect_start(rt, NULL), -ENOTDIR);
    assert_int_equal(unlink(own) | rmdir(link), 0);

    assert_ok(tw_inspect_start(rt, NULL));
    assert_int_equal(stat(own, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    DIR *const entries = opendir(own);
    const struct dirent *entry;
    while ((entry = readdir(entries)) != NULL && entry->d_name[0] == '.') {
    }
    assert_non_null(entry);
    assert_int_equal(number_in(entry->d_name, ""), getpid());
    assert_int_equal(fstatat(dirfd(entries), entry->d_name, &status, 0), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    closedir(entries);
    assert_ok(tw_runtime_free(rt));
    assert_int_equal(rmdir(own), 0);
}

/* --- for whom -------------------------------------------------------------------------- */

TEST(another_user_gets_nothing) {
    if (geteuid() != 0) {
        print_message("left out: only root can become another user\n");
        skip();
    }
    struct tw_runtime *const rt = looked_at();
    for (int is_open = 0; is_open < 2; ++is_open) { /* also with modes that would let every user in */
        const pid_t child = fork();
        if (child == 0) {
            expect(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0);
            const int fd = connect_to(path);
            expect(is_open ? fd >= 0 && is_hung_up(fd) : fd == -EACCES);
            leave(0);
        }
        assert_child_is_well(child);
        assert_int_equal(chmod(path, 0666) | chmod(folder, 0755), 0);
    }
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(process_that_answers(), getpid());
    assert_ok(tw_runtime_free(rt));
}

/* --- bad clients ----------------------------------------------------------------------- */

TEST(answers_what_it_does_not_know_with_an_error_and_hangs_up) {
    static const char *const wrong[] = {
        "\n",           "stat\n",
        "stats \n",     "STATS\n",
        "pending\n",    "pending \n",
        "pending 65\n", "pending -1\n",
        "pending 1 \n", "pending 001\n",
        "stats\r\n",    "what is it that you want me to tell you about yourself?"};
    struct tw_runtime *const rt = looked_at();
    for (size_t i = 0; i < COUNT_OF(wrong); ++i) {
        const int fd = connected();
        read_until(fd, "\n");
        assert_true(write(fd, wrong[i], strlen(wrong[i])) > 0);
        assert_string_equal(read_until(fd, "\n"), "error\n");
        assert_true(is_hung_up(fd));
    }
    assert_int_equal(process_that_answers(), getpid());
    assert_ok(tw_runtime_free(rt));
}

/* Silent clients take all places, and one sends requests without reading. After a while the server drops
 * them, and the last client, which has waited until then, gets its answer. */
TEST(drops_those_that_do_nothing) {
    enum { PLACES = 4 };
    struct tw_runtime *const rt = looked_at();
    int fds[PLACES];
    for (int i = 0; i < PLACES; ++i)
        fds[i] = connected();
    const int small = 1;
    setsockopt(fds[0], SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    for (int i = 0; i < 1000; ++i)
        if (send(fds[0], "stats\n", 6, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            break;
    struct tw_node node;
    tw_node_init(&node, no_callback, NULL);
    assert_ok(tw_runtime_after(rt, &node, 20 * MS)); /* fires all the same */
    const int64_t begin = monotonic();
    wait_for(tw_runtime_count(rt) == 0);
    if (!SLOW)
        assert_true(monotonic() - begin < 2 * TW_SECOND);
    assert_int_equal(process_that_answers(), getpid());
    for (int i = 0; i < PLACES; ++i)
        close(fds[i]);
    assert_ok(tw_runtime_free(rt));
}

/* --- its end --------------------------------------------------------------------------- */

static int sockets_of_this_process(void) {
    int count = 0;
    for (int fd = 0; fd < 1024; ++fd) {
        struct stat status;
        count += fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
    }
    return count;
}

TEST(stays_with_the_parent_of_a_fork) {
    struct tw_runtime *const rt = looked_at();
    const int before = sockets_of_this_process();
    const int fd = connected();
    read_until(fd, "\n");
    int to_child[2], to_parent[2];
    char byte = 0;
    assert_int_equal(pipe(to_child) | pipe(to_parent), 0);
    wait_until_others_sleep();
    const pid_t child = fork();
    if (child == 0) {
        close(fd);
        close(to_child[1]);
        expect(sockets_of_this_process() == before - 1); /* no listener, and no other end of the client */
        const int there = connect_to(path);
        expect(there >= 0 && read_until(there, "\n")[0] == 't');
        expect(number_in(ask(there, "stats\n"), "pid ") == getppid());
        expect(tw_inspect_start(rt, path) == -ECHILD);
        if (THREADS_AFTER_FORK) {
            char own[120];
            snprintf(own, sizeof own, "%s/own", folder);
            expect(tw_runtime_after_fork(rt) == 0 && tw_inspect_start(rt, own) == 0);
            expect(connect_to(own) >= 0 && tw_runtime_free(rt) == 0 && access(own, F_OK) != 0);
        }
        expect(access(path, F_OK) == 0); /* the socket is not the child's to remove */
        expect(write(to_parent[1], &byte, 1) == 1);
        expect(read(to_child[0], &byte, 1) == 0); /* waits until the parent has seen the end */
        leave(0);
    }
    close(to_parent[1]);
    (void)!read(to_parent[0], &byte, 1);
    assert_int_equal(process_that_answers(), getpid());
    assert_ok(tw_runtime_free(rt));
    assert_true(is_hung_up(fd)); /* though the child lives: it has no copy of the descriptor */
    close(to_child[0]);
    close(to_child[1]);
    close(to_parent[0]);
    assert_child_is_well(child);
}

TEST(ends_with_its_runtime) {
    struct tw_runtime *const rt = looked_at();
    const int fd = connected();
    read_until(fd, "\n");
    assert_ok(tw_runtime_stop(rt)); /* the server stays until tw_runtime_free */
    assert_int_equal(number_in(ask(fd, "stats\n"), "pid "), getpid());
    assert_ok(tw_runtime_free(rt));
    assert_true(is_hung_up(fd));
    assert_int_equal(access(path, F_OK), -1);
}

/* --- against each other ---------------------------------------------------------------- */

static atomic_bool is_over;
static atomic_int drops;

static void *look_again_and_again(UNUSED void *arg) {
    while (!is_over) {
        const int fd = connect_to(path);
        char text[65536];
        if (fd < 0)
            continue;
        const char *const requests = "stats\npending 64\npending 8\n";
        if (send(fd, requests, strlen(requests), MSG_NOSIGNAL) > 0)
            for (int i = 0; i < 6 && recv(fd, text, sizeof text, 0) > 0; ++i) {
            }
        close(fd);
    }
    return NULL;
}

static void on_drop(UNUSED void *arg) { ++drops; }

TEST(looks_while_timers_come_and_go) {
    enum { TIMERS = 64, TIMES = SLOW ? 100 : 400 };
    struct tw_runtime *const rt = looked_at();
    struct tw_timers *handles = NULL;
    pthread_t thread;
    assert_ok(tw_timers_new(&handles, rt, NULL));
    assert_int_equal(pthread_create(&thread, NULL, look_again_and_again, NULL), 0);
    for (int i = 0; i < TIMES; ++i) {
        tw_handle timers[TIMERS];
        for (int n = 0; n < TIMERS; ++n) {
            const struct tw_task task = {.fn = no_task, .drop = on_drop, .label = "come and go"};
            const struct tw_when when = {.due_ns = n * MS / 8};
            assert_ok(tw_timer_start(handles, &timers[n], &when, &task));
        }
        if (i % 16 == 0)
            pause_ms(2);
        for (int n = 0; n < TIMERS; ++n)
            (void)!tw_timer_cancel(handles, timers[n]);
    }
    assert_ok(tw_runtime_free(rt));
    is_over = true;
    pthread_join(thread, NULL);
    assert_int_equal(drops, TIMES * TIMERS);
}
