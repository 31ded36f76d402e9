/* The drivers that tests of faults run on, and the search for leaks; see faults.h. */
#include "support/faults.h"

#include <dirent.h>
#include <poll.h>

struct way ways[6] = {
    {way_name_0, "sleep", BY_THREAD},        {way_name_1, "epoll", BY_THREAD},
    {way_name_2, "timerfd", BY_THREAD},      {way_name_3, "timerfd", BY_LOOP},
    {way_name_4, "manual", BY_VIRTUAL_TIME}, {way_name_5, "uring", BY_THREAD},
};

void set_going(const struct way *way, struct tw_runtime *rt) {
    if (way->by == BY_THREAD)
        assert_int_equal(tw_runtime_start(rt), 0);
    if (way->by == BY_LOOP)
        assert_true(tw_runtime_fd(rt) >= 0);
}

static void go_on(const struct way *way, struct tw_runtime *rt) {
    if (way->by == BY_THREAD)
        doze();
    if (way->by == BY_VIRTUAL_TIME)
        tw_runtime_advance(rt, TW_MILLISECOND);
    if (way->by == BY_LOOP) {
        struct pollfd readable = {tw_runtime_fd(rt), POLLIN, 0};
        poll(&readable, 1, 100);
        tw_runtime_dispatch(rt);
    }
}

bool go_on_until(const struct way *way, struct tw_runtime *rt, condition *done) {
    const int64_t give_up = monotonic() + 60 * TW_SECOND;
    while (!done()) {
        if (monotonic() > give_up)
            return false;
        go_on(way, rt);
    }
    return true;
}

int count_descriptors(void) {
    DIR *open_ones = opendir("/proc/self/fd");
    assert_non_null(open_ones);
    int count = 0;
    while (readdir(open_ones) != NULL)
        ++count;
    closedir(open_ones);
    return count;
}

struct holdings holdings_now(void) {
    const struct holdings now = {count_descriptors(), live_allocations()};
    return now;
}

bool has_nothing_leaked(struct holdings before) {
    return count_descriptors() == before.descriptors && live_allocations() == before.allocations;
}

void assert_nothing_leaked(struct holdings before) {
    assert_int_equal(count_descriptors(), before.descriptors);
    assert_int_equal(live_allocations(), before.allocations);
}

static void count_fire(UNUSED struct tw_node *node, void *arg) {
    atomic_fetch_add(&((struct counter *)arg)->fires, 1);
}

void init_counter(struct counter *counter) {
    atomic_store(&counter->fires, 0);
    assert_int_equal(tw_node_init(&counter->node, count_fire, counter), 0);
}

static struct counter once, again;

static bool both_have_fired(void) { return atomic_load(&once.fires) == 1 && atomic_load(&again.fires) >= 3; }

void assert_works_and_free(const struct way *way, struct tw_runtime *rt) {
    init_counter(&once);
    init_counter(&again);
    set_going(way, rt);
    assert_int_equal(tw_runtime_after(rt, &once.node, 2 * TW_MILLISECOND), 0);
    assert_int_equal(tw_runtime_every(rt, &again.node, TW_MILLISECOND, TW_BURST), 0);
    assert_true(go_on_until(way, rt, both_have_fired));
    assert_int_equal(tw_runtime_free(rt), 0);
}
