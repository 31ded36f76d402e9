/* P10 on a runtime: once it is started, neither calls on nodes nor the firing thread allocate. runtime.h
 * names the calls that do. */
#include "support/counted_heap.h"
#include "support/runtime_test.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <tickwheel/observe.h>

enum { NODES = 500 };
static struct tw_node nodes[NODES];
static atomic_uint fires, events;
static int descriptor;

static void count(UNUSED struct tw_node *node, UNUSED void *arg) { atomic_fetch_add(&fires, 1); }

static void count_event(int fd, UNUSED uint32_t ready, UNUSED void *arg) {
    eventfd_t value;
    eventfd_read(fd, &value);
    atomic_fetch_add(&events, 1);
}

static void use_every_call(struct tw_runtime *rt) {
    struct tw_stats stats;
    for (unsigned i = 0; i < NODES; ++i) {
        struct tw_node *node = &nodes[i];
        tw_runtime_retire(rt, node);
        tw_node_init(node, count, NULL);
        tw_runtime_at(rt, node, tw_runtime_now(rt) + 1000 * i);
        tw_runtime_after(rt, node, 10000 * i);
        tw_runtime_move(rt, node, 5000 * i);
        tw_runtime_postpone(rt, node, 20000 * i);
        if (i % 3 == 0)
            tw_runtime_every(rt, node, TW_MILLISECOND, (enum tw_missed)(i % 9 / 3));
        if (i % 5 == 0)
            tw_runtime_arm(rt, node, &(struct tw_when){.due_ns = 1000, .slack_ns = 50000});
        if (i % 7 == 0)
            tw_runtime_cancel(rt, node);
        if (i % 11 == 0)
            tw_runtime_cancel_wait(rt, node);
        if (i % 13 == 0)
            tw_runtime_retire(rt, node);
        IGNORE(tw_runtime_remaining(rt, node));
    }
    IGNORE(tw_runtime_count(rt));
    IGNORE(tw_runtime_due(rt));
    IGNORE(tw_runtime_overruns(rt));
    (void)tw_runtime_stats(rt, &stats);
    IGNORE(tw_explain(-EINVAL));
}

static void shut_all_down(struct tw_runtime *rt) {
    for (unsigned i = 0; i < NODES; ++i)
        tw_runtime_retire(rt, &nodes[i]);
}

static void stays_off_the_heap(struct tw_runtime_options options) {
    struct tw_runtime *rt = started_runtime(options);
    const int watches = tw_runtime_watch(rt, descriptor, EPOLLIN, count_event, NULL) == 0;
    atomic_store(&fires, 0);
    atomic_store(&events, 0);
    use_every_call(rt); /* at its first use, libc may allocate for a thread */
    wait_for(fires > 1000);
    allocations = 0;
    use_every_call(rt);
    if (watches)
        eventfd_write(descriptor, 1);
    const unsigned by_then = fires;
    wait_for(fires > by_then + 1000 && (events == 1 || !watches));
    assert_int_equal(allocations, 0);
    assert_int_equal(tw_runtime_stop(rt), 0);
    shut_all_down(rt);
    assert_int_equal(allocations, 0);
    tw_runtime_free(rt);
}

TEST(p10_a_started_runtime_does_not_allocate) {
    descriptor = eventfd(0, EFD_NONBLOCK);
    assert_true(descriptor >= 0);
    for (unsigned d = 0; d < thread_drivers_here(); ++d)
        stays_off_the_heap((struct tw_runtime_options){.driver = thread_drivers[d]});
    stays_off_the_heap((struct tw_runtime_options){.driver = "epoll", .clock = TW_CLOCK_WALL});
    close(descriptor);
}

TEST(p10_virtual_time_and_lent_descriptors_do_not_allocate) {
    struct tw_runtime *rt = virtual_runtime();
    struct tw_runtime *lent = new_runtime((struct tw_runtime_options){.driver = "timerfd"});
    allocations = 0;
    use_every_call(rt);
    assert_int_equal(tw_runtime_advance(rt, TW_SECOND), 0);
    assert_int_equal(tw_runtime_leap(rt, TW_SECOND), 0);
    shut_all_down(rt);
    use_every_call(lent);
    assert_true(tw_runtime_fd(lent) >= 0);
    assert_int_equal(tw_runtime_dispatch(lent), 0);
    assert_int_equal(allocations, 0);
    tw_runtime_free(rt);
    tw_runtime_free(lent);
}
