/* In a time namespace the monotonic clock and boot time are ahead of the system's, or behind. Each driver is
 * on time there all the same, or refuses to be made. */
#define _GNU_SOURCE
#include "support/child.h"
#include "support/runtime_test.h"
#include "support/sanitized.h"

#include <fcntl.h>

#include <tickwheel/observe.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

#define NO_NAMESPACE 77

static atomic_int fires;
static atomic_bool is_early;
static int64_t due, late;

static void note_fire(UNUSED struct tw_node *node, UNUSED void *arg) {
    late = monotonic() - due;
    atomic_store(&is_early, late < 0);
    atomic_fetch_add(&fires, 1);
}

/* Fires once, 50 ms from now. A deadline of another clock would be seconds away, or turn the wait into a
 * loop.
 */
static void expect_on_time(const char *driver) {
    const struct tw_runtime_options options = {.driver = driver};
    struct tw_runtime *rt = NULL;
    struct tw_node node;
    struct tw_stats stats;
    const int result = tw_runtime_new(&rt, &options);
    if (strcmp(driver, "uring") == 0 && result == -EOPNOTSUPP)
        return;
    expect(result == 0);
    atomic_store(&fires, 0);
    tw_node_init(&node, note_fire, NULL);
    due = monotonic() + 50 * TW_MILLISECOND;
    expect(tw_runtime_at(rt, &node, due) == 0);
    expect(tw_runtime_start(rt) == 0);
    for (int i = 0; i < 10000 && fires == 0; ++i)
        doze();
    expect(fires == 1 && !is_early && late < TW_SECOND);
    expect(tw_runtime_stats(rt, &stats) == 0 && stats.wakeups < 5);
    tw_runtime_free(rt);
}

static bool write_file(const char *path, const char *text) {
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    const bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return is_written;
}

/* The children of the caller are in a new time namespace from now on, where boot time is ahead of the
 * monotonic clock. */
static bool offset_children(int seconds) {
    char text[64];
    snprintf(text, sizeof text, "monotonic %d 0\nboottime %d 0\n", seconds, seconds + 500);
    if (unshare(CLONE_NEWTIME) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWTIME) != 0)
        return false;
    return write_file("/proc/self/timens_offsets", text);
}

static int status_of(pid_t child) {
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void is_on_time_with_an_offset_of(int seconds, const char *driver) {
    const pid_t maker = fork();
    if (maker == 0) {
        if (!offset_children(seconds))
            leave(NO_NAMESPACE);
        const pid_t child = fork();
        if (child == 0) {
            expect_on_time(driver);
            leave(0);
        }
        leave(status_of(child));
    }
    const int status = status_of(maker);
    if (status == NO_NAMESPACE) {
        print_message("the system lets this program make no time namespace\n");
        skip();
    }
    if (status != 0)
        print_error("%s, %d seconds\n", driver, seconds);
    assert_int_equal(status, 0);
}

TEST(each_driver_is_on_time_in_a_time_namespace_or_refuses) {
    if (!THREADS_AFTER_FORK) {
        print_message("no threads after a fork here\n");
        skip();
    }
    for (unsigned d = 0; d < thread_drivers_here(); ++d) {
        is_on_time_with_an_offset_of(1000, thread_drivers[d]);
        is_on_time_with_an_offset_of(-1, thread_drivers[d]);
    }
}
