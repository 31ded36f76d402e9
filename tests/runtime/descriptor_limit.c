/* Once made, a runtime needs no more descriptors: it works when the process has reached its limit. */
#include "support/faults.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

static struct rlimit usual;

static int read_limit(UNUSED void **state) { return getrlimit(RLIMIT_NOFILE, &usual); }
static int lift_limit(UNUSED void **state) { return setrlimit(RLIMIT_NOFILE, &usual); }

FIXTURE(read_limit, lift_limit);

/* From now on no descriptor can be opened. */
static void be_at_the_limit(void) {
    const int lowest_free = dup(0);
    assert_true(lowest_free >= 0);
    close(lowest_free);
    const struct rlimit limit = {(rlim_t)lowest_free, usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(dup(0), -1);
}

TEST_EACH_WAY(a_runtime_works_whole_at_the_limit) {
    struct tw_runtime *rt = runtime_on(WAY->driver);
    be_at_the_limit();
    assert_works_and_free(WAY, rt);
}

static atomic_uint readable;

static void count_and_empty(int fd, UNUSED uint32_t events, UNUSED void *arg) {
    uint64_t value;
    if (read(fd, &value, sizeof value) == sizeof value)
        atomic_fetch_add(&readable, 1);
}

DECLARE_TEST(descriptors_are_watched_at_the_limit);
THE_WAY(descriptors_are_watched_at_the_limit, 1)
THE_WAY(descriptors_are_watched_at_the_limit, 5)
DEFINE_TEST(descriptors_are_watched_at_the_limit) {
    struct tw_runtime *rt = runtime_on(WAY->driver);
    const int fd = eventfd(1, EFD_CLOEXEC);
    atomic_store(&readable, 0);
    be_at_the_limit();
    assert_int_equal(tw_runtime_start(rt), 0);
    assert_int_equal(tw_runtime_watch(rt, fd, EPOLLIN, count_and_empty, NULL), 0);
    wait_for(readable == 1);
    assert_int_equal(tw_runtime_unwatch(rt, fd), 0);
    tw_runtime_free(rt);
    close(fd);
}
