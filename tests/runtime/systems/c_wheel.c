/* The features of the C wheel, with 3 x 256 slots on a sleeping or an epoll driver: oneshot,
 * periodic and custom tasks. The cooldown demo is examples/cooldown.c. */
#include "systems.h"

#include <sys/epoll.h>
#include <unistd.h>

static_assert(TW_BITS == 8 && TW_LEVELS == 3, "3 x 256");

/* Ticks of a millisecond; the test's initial state names the driver. */
static int running(void **state) {
    rt = started_runtime((struct tw_runtime_options){.driver = *state});
    return 0;
}

FIXTURE(running, freed);

#define ON(name, driver, id) CASE(name, id, driver, (void *)(driver))
#define TEST_ON_BOTH(name) \
    DECLARE_TEST(name); \
    ON(name, "sleep", 0) ON(name, "epoll", 1) DEFINE_TEST(name)
#define TEST_ON_EPOLL(name) \
    DECLARE_TEST(name); \
    ON(name, "epoll", 0) DEFINE_TEST(name)

TEST_ON_BOTH(c_wheel_a_oneshot_fires_once_and_not_early) {
    static struct noted task;
    const int64_t begin = monotonic();
    start_after(&task, 5 * TW_MILLISECOND);
    wait_for(task.fires > 0);
    assert_true(task.now_ns >= begin + 5 * TW_MILLISECOND);
    outlast(20 * TW_MILLISECOND);
    assert_int_equal(task.fires, 1);
}

TEST_ON_BOTH(c_wheel_a_periodic_fires_on_its_grid_until_it_is_cancelled) {
    static struct noted task;
    init(&task);
    const int64_t begin = monotonic();
    assert_int_equal(tw_runtime_every(rt, &task.node, 2 * TW_MILLISECOND, TW_BURST), 0);
    wait_for(task.fires >= 5);
    assert_int_equal(tw_runtime_cancel_wait(rt, &task.node), 1);
    const unsigned fires = task.fires;
    assert_true(task.last_ns >= begin + fires * 2 * TW_MILLISECOND);
    assert_int_equal(task.last_ns % TW_MILLISECOND, 0);
    outlast(20 * TW_MILLISECOND);
    assert_int_equal(task.fires, fires);
}

/* A custom task decides when it fires next, and frees its own memory. */
struct custom {
    struct tw_node node;
    unsigned runs;
    int64_t due[3];
};

static atomic_int custom_gone;
static int64_t custom_due[3];

static void back_off(struct tw_node *node, void *arg) {
    struct custom *task = arg;
    task->due[task->runs++] = tw_runtime_due(rt);
    if (task->runs < 3) {
        tw_runtime_after(rt, node, (1 << task->runs) * TW_MILLISECOND);
        return;
    }
    memcpy(custom_due, task->due, sizeof custom_due);
    free(task);
    atomic_store(&custom_gone, 1);
}

TEST_ON_BOTH(c_wheel_a_custom_task_chooses_its_times_and_frees_itself) {
    struct custom *task = calloc(1, sizeof *task);
    assert_non_null(task);
    atomic_store(&custom_gone, 0);
    assert_int_equal(tw_node_init(&task->node, back_off, task), 0);
    assert_int_equal(tw_runtime_after(rt, &task->node, TW_MILLISECOND), 0);
    wait_for(custom_gone);
    assert_true(custom_due[1] - custom_due[0] >= 2 * TW_MILLISECOND);
    assert_true(custom_due[2] - custom_due[1] >= 4 * TW_MILLISECOND);
    assert_int_equal(tw_runtime_count(rt), 0);
}

TEST_ON_BOTH(c_wheel_tasks_added_and_cancelled_by_other_threads_while_it_sleeps) {
    static struct noted far, near;
    start_after(&far, 3600 * TW_SECOND); /* the thread sleeps for this one */
    start_after(&near, TW_MILLISECOND);  /* arming this one wakes it */
    wait_for(near.fires == 1);
    assert_int_equal(tw_runtime_cancel_wait(rt, &far.node), 1);
    assert_int_equal(far.fires, 0);
}

/* --- epoll ------------------------------------------------------------------------- */

static int channel[2];
static pthread_t timers_ran_on, bytes_came_on;
static atomic_int bytes_came, timers_ran;

static void on_byte(int fd, UNUSED uint32_t events, UNUSED void *arg) {
    char byte;
    bytes_came_on = pthread_self();
    if (read(fd, &byte, 1) == 1)
        atomic_store(&bytes_came, 1);
}

static void send_byte(UNUSED struct tw_node *node, UNUSED void *arg) {
    timers_ran_on = pthread_self();
    if (write(channel[1], "b", 1) == 1)
        atomic_store(&timers_ran, 1);
}

TEST_ON_EPOLL(c_wheel_epoll_serves_descriptors_and_timers_on_one_thread) {
    static struct tw_node sender;
    assert_int_equal(pipe(channel), 0);
    assert_int_equal(tw_runtime_watch(rt, channel[0], EPOLLIN, on_byte, NULL), 0);
    assert_int_equal(tw_node_init(&sender, send_byte, NULL), 0);
    assert_int_equal(tw_runtime_after(rt, &sender, TW_MILLISECOND), 0);
    wait_for(timers_ran && bytes_came);
    assert_int_equal(tw_runtime_unwatch(rt, channel[0]), 0);
    tw_runtime_cancel_wait(rt, &sender);
    assert_true(pthread_equal(timers_ran_on, bytes_came_on));
    assert_false(pthread_equal(timers_ran_on, pthread_self()));
    close(channel[0]);
    close(channel[1]);
}

/* --- 3 x 256 ------------------------------------------------------------------------- */

FIXTURE(NULL, NULL);

/* A delay fires on its own tick, at every level and from every tick. */
TEST(c_wheel_every_level_of_3_by_256_slots_fires_to_the_tick) {
    static const int64_t ticks[] = {1,     255,   256,      257,      511,      512,     65535,
                                    65536, 65537, 16777215, 16777216, 16777217, 33554433};
    static const int64_t begins[] = {0, 1, 255, 256, 65535, 16777215};
    for (size_t b = 0; b < COUNT_OF(begins); ++b) {
        static struct noted tasks[COUNT_OF(ticks)];
        at_zero(NULL);
        let_pass(begins[b] * TW_SECOND);
        for (size_t i = 0; i < COUNT_OF(ticks); ++i)
            start_after(&tasks[i], ticks[i] * TW_SECOND);
        let_pass(40000000 * TW_SECOND);
        for (size_t i = 0; i < COUNT_OF(ticks); ++i)
            assert_fired(&tasks[i], 1, (begins[b] + ticks[i]) * TW_SECOND);
        freed(NULL);
    }
}
