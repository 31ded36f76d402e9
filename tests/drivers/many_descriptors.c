/* Thousands of descriptors, and timers among descriptors that are always ready. */
#include "watches.h"

#include <sys/resource.h>

#define MOST 4000

static int fds[MOST];
static struct note notes[MOST];
static size_t opened;

static int lift_limit(UNUSED void **state) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return -1;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit);
}

GROUP_FIXTURE(lift_limit, NULL);

/* Opens `count` descriptors, or as many as the limit allows. */
static void open_many(size_t count, unsigned value) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (count > limit.rlim_cur - 100)
        count = (size_t)limit.rlim_cur - 100;
    memset(notes, 0, sizeof notes);
    for (opened = 0; opened < count; ++opened)
        fds[opened] = new_event(value);
}

static void watch_all(uint32_t events, tw_watch_callback *fn) {
    for (size_t i = 0; i < opened; ++i)
        watch(fds[i], events, fn, &notes[i]);
}

static void close_all(void) {
    for (size_t i = 0; i < opened; ++i)
        close(fds[i]);
}

static unsigned round_to_see;

static bool each_has_been_called(void) {
    for (size_t i = 0; i < opened; ++i)
        if (atomic_load(&notes[i].calls) < round_to_see)
            return false;
    return true;
}

static void empty_and_note(int fd, uint32_t events, void *arg) {
    eventfd_t value;
    eventfd_read(fd, &value);
    note_event(fd, events, arg);
}

TEST(thousands_of_descriptors_are_each_called_once_for_each_event) {
    open_many(MOST, 1);
    watch_all(EPOLLIN, empty_and_note);
    start();
    for (round_to_see = 1; round_to_see <= 3; ++round_to_see) {
        wait_for(each_has_been_called());
        for (size_t i = 0; i < opened && round_to_see < 3; ++i)
            make_readable(fds[i]);
    }
    tw_runtime_stop(rt);
    for (size_t i = 0; i < opened; ++i) {
        assert_int_equal(notes[i].calls, 3);
        assert_int_equal(notes[i].fd, fds[i]);
    }
    close_all();
}

TEST(thousands_of_descriptors_are_removed_while_they_are_called) {
    open_many(MOST, 1);
    watch_all(EPOLLIN, note_event); /* readable forever */
    start();
    for (size_t i = 0; i < opened; ++i) {
        assert_int_equal(tw_runtime_unwatch(rt, fds[i]), 0);
        notes[i].result = (int)atomic_load(&notes[i].calls);
        close(fds[i]);
    }
    tw_runtime_stop(rt);
    for (size_t i = 0; i < opened; ++i)
        assert_int_equal(notes[i].calls, notes[i].result);
}

/* Adds and removes its own descriptor repeatedly while the thread runs. */
static void *come_and_go(void *arg) {
    struct note *note = arg;
    const int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    for (unsigned i = 0; i < 3000; ++i) {
        note->result |= tw_runtime_watch(rt, fd, EPOLLIN, note_event, note);
        note->result |= tw_runtime_watch_modify(rt, fd, EPOLLIN | EPOLLOUT);
        note->result |= tw_runtime_unwatch(rt, fd);
    }
    close(fd);
    return NULL;
}

TEST(three_threads_add_and_remove_descriptors_while_it_runs) {
    pthread_t threads[3];
    struct note own[3];
    memset(own, 0, sizeof own);
    start();
    for (size_t i = 0; i < COUNT_OF(threads); ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, &own[i]), 0);
    for (size_t i = 0; i < COUNT_OF(threads); ++i) {
        pthread_join(threads[i], NULL);
        assert_int_equal(own[i].result, 0);
    }
}

/* --- timers among descriptors ------------------------------------------------------------ */

static atomic_uint fires, astray;
static int64_t last_due;

static void judge_fire(UNUSED struct tw_node *node, void *arg) {
    const int64_t due = tw_runtime_due(rt);
    const int64_t period = *(const int64_t *)arg;
    atomic_fetch_add(&astray, monotonic() < due);
    atomic_fetch_add(&astray, last_due != 0 && due != last_due + period);
    last_due = due;
    atomic_fetch_add(&fires, 1);
}

TEST(timers_and_descriptors_that_never_rest_do_not_starve_each_other) {
    static int64_t period = TW_MILLISECOND;
    static struct tw_node node; /* pending until the runtime is freed */
    atomic_store(&fires, 0);
    last_due = 0;
    tw_node_init(&node, judge_fire, &period);
    open_many(300, 1);
    watch_all(EPOLLIN, note_event);
    round_to_see = 10;
    start();
    assert_int_equal(tw_runtime_every(rt, &node, period, TW_BURST), 0);
    wait_for(fires >= 100 && each_has_been_called());
    tw_runtime_stop(rt);
    assert_int_equal(astray, 0);
    close_all();
}

static void arm_again(struct tw_node *node, UNUSED void *arg) {
    atomic_fetch_add(&fires, 1);
    tw_runtime_after(rt, node, 0);
}

/* Begins again, with a runtime whose timer arms itself at each fire. With ticks of an hour, the timer is
 * always due and never just ahead of the present. */
static void keep_a_timer_due(uint32_t budget) {
    const struct tw_runtime_options options = {
        .driver = watching_driver, .tick_ns = 3600 * TW_SECOND, .budget = budget};
    static struct tw_node node;
    tw_runtime_free(rt);
    assert_int_equal(tw_runtime_new(&rt, &options), 0);
    tw_node_init(&node, arm_again, NULL);
    atomic_store(&fires, 0);
    assert_int_equal(tw_runtime_after(rt, &node, 0), 0);
}

TEST(timers_that_are_always_due_leave_room_for_descriptors) {
    keep_a_timer_due(0);
    open_many(100, 1);
    watch_all(EPOLLIN, note_event);
    round_to_see = 10;
    start();
    wait_for(fires >= 100 && each_has_been_called());
    tw_runtime_stop(rt);
    close_all();
}

/* The thread has looked at the descriptor before, and found nothing. */
TEST(a_descriptor_that_becomes_ready_late_is_served_among_timers_that_are_always_due) {
    keep_a_timer_due(1);
    open_many(1, 0);
    watch_all(EPOLLIN, empty_and_note);
    round_to_see = 1;
    start();
    wait_for(atomic_load(&fires) >= 100);
    make_readable(fds[0]);
    wait_for(fires >= 100 && each_has_been_called());
    tw_runtime_stop(rt);
    close_all();
}
