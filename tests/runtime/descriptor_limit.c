/* Makes and revives runtimes at the process's real limit of open descriptors. */
#include "support/child.h"
#include "support/faults.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

static struct rlimit usual;

static int read_limit(UNUSED void **state) { return getrlimit(RLIMIT_NOFILE, &usual); }

static void limit_descriptors_to(rlim_t highest) {
    const struct rlimit limit = {highest, usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static int lift_limit(UNUSED void **state) { return setrlimit(RLIMIT_NOFILE, &usual); }

GROUP_FIXTURE(read_limit, NULL);
FIXTURE(NULL, lift_limit);

static rlim_t lowest_free_descriptor(void) {
    const int fd = dup(0);
    assert_true(fd >= 0);
    close(fd);
    return (rlim_t)fd;
}

/* Returns how many descriptors the runtime takes. With any fewer, making it is refused. */
static rlim_t descriptors_for(const struct tw_runtime_options *options) {
    const rlim_t lowest = lowest_free_descriptor();
    const struct holdings before = holdings_now();
    for (rlim_t allowed = 0; allowed < 10; ++allowed) {
        struct tw_runtime *rt = NULL;
        limit_descriptors_to(lowest + allowed);
        const int result = tw_runtime_new(&rt, options);
        lift_limit(NULL);
        if (result == 0) {
            tw_runtime_free(rt);
            assert_nothing_leaked(before);
            return allowed;
        }
        assert_int_equal(result, -EMFILE);
        assert_null(rt);
        assert_nothing_leaked(before);
    }
    fail_msg("it takes more than ten descriptors");
    return 0;
}

TEST(new_at_the_limit_answers_emfile_and_leaks_nothing) {
    const struct {
        struct tw_runtime_options options;
        rlim_t takes;
    } kinds[] = {
        {{.driver = "sleep"}, 0},   {{.driver = "epoll"}, 3},
        {{.driver = "timerfd"}, 1}, {{.driver = "epoll", .clock = TW_CLOCK_WALL}, 4},
        {{.driver = "manual"}, 0},  {{.driver = "timerfd", .clock = TW_CLOCK_WALL}, 3},
        {{.driver = "uring"}, 3},   {{.driver = "uring", .clock = TW_CLOCK_WALL}, 4},
    };
    for (size_t i = 0; i < COUNT_OF(kinds) - (has_uring() ? 0 : 2); ++i)
        assert_int_equal(descriptors_for(&kinds[i].options), kinds[i].takes);
}

TEST_EACH_WAY(a_runtime_works_whole_at_the_limit) {
    struct tw_runtime *rt = runtime_on(WAY->driver);
    limit_descriptors_to(lowest_free_descriptor());
    assert_works_and_free(WAY, rt);
}

static atomic_uint readable;

static void count_and_empty(int fd, UNUSED uint32_t events, UNUSED void *arg) {
    uint64_t value;
    if (read(fd, &value, sizeof value) == sizeof value)
        atomic_fetch_add(&readable, 1);
}

static bool was_readable(void) { return atomic_load(&readable) == 1; }

TEST_TWO_WAYS(descriptors_are_watched_at_the_limit, 1, 5) {
    struct tw_runtime *rt = runtime_on(WAY->driver);
    const int fd = eventfd(1, EFD_CLOEXEC);
    atomic_store(&readable, 0);
    limit_descriptors_to(lowest_free_descriptor());
    assert_int_equal(tw_runtime_start(rt), 0);
    assert_int_equal(tw_runtime_watch(rt, fd, EPOLLIN, count_and_empty, NULL), 0);
    wait_for(was_readable());
    assert_int_equal(tw_runtime_unwatch(rt, fd), 0);
    tw_runtime_free(rt);
    close(fd);
}

/* Runs in a child. Returns 0 on success, otherwise the number of the step that failed. */
static int after_fork_at_the_limit(const struct way *way, struct tw_runtime *rt) {
    limit_descriptors_to(3);
    if (tw_runtime_after_fork(rt) != -EMFILE)
        return 1;
    if (tw_runtime_after_fork(rt) != -EMFILE)
        return 2;
    lift_limit(NULL);
    if (tw_runtime_after_fork(rt) != 0)
        return 3;
    assert_works_and_free(way, rt);
    return 0;
}

TEST_THREE_WAYS(after_fork_at_the_limit_can_be_called_again, 1, 2, 5) {
    struct tw_runtime *rt = runtime_on(WAY->driver);
    const pid_t child = fork();
    if (child == 0)
        _exit(after_fork_at_the_limit(WAY, rt));
    assert_child_is_well(child);
    tw_runtime_free(rt);
}
