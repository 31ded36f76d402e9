/* A program in C with the two files and their runtime. Timers of each kind fire on virtual time, and a node
 * and a work item on the thread of each driver. */
#include "tickwheel.h"

#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "expect.h"

static void count(struct tw_node *node, void *fires) {
    (void)node;
    ++*(int *)fires;
}

static void count_event(const struct tw_event *event, void *fires) {
    (void)event;
    ++*(int *)fires;
}

static void post(struct tw_node *node, void *fired) {
    (void)node;
    sem_post(fired);
}

static void fire_on_virtual_time(void) {
    const struct tw_runtime_options options = {.driver = "manual"};
    struct tw_runtime *rt;
    struct tw_timers *timers;
    struct tw_keyed *keyed;
    struct tw_node node;
    tw_handle handle;
    int fires = 0;
    EXPECT(tw_runtime_new(&rt, &options) == 0);
    EXPECT(tw_timers_new(&timers, rt, NULL) == 0 && tw_keyed_new(&keyed, rt, NULL) == 0);
    EXPECT(tw_node_init(&node, count, &fires) == 0 &&
           tw_runtime_every(rt, &node, TW_SECOND, TW_COALESCE) == 0);
    EXPECT(tw_timer_after(timers, &handle, 2 * TW_SECOND, count_event, &fires) == 0);
    EXPECT(tw_keyed_after(keyed, tw_key_string("session 7"), 9 * TW_SECOND, count_event, &fires) == 0);
    EXPECT(tw_keyed_move(keyed, tw_key_string("session 7"), 3 * TW_SECOND) == 0);
    EXPECT(tw_runtime_advance(rt, 3 * TW_SECOND) == 0 && fires == 5);
    EXPECT(tw_timer_cancel(timers, handle) == -ESTALE && tw_runtime_cancel(rt, &node) == 1);
    EXPECT(tw_runtime_free(rt) == 0);
}

static void fire_on_a_thread(const char *driver) {
    const struct tw_runtime_options options = {.driver = driver};
    const struct tw_workers_options pool = {.threads = 1};
    struct tw_runtime *rt;
    struct tw_workers *workers;
    struct tw_work work;
    struct tw_node node;
    sem_t fired;
    const int error = tw_runtime_new(&rt, &options);
    if (error != 0) {
        EXPECT(strcmp(driver, "uring") == 0); /* kernels and containers may forbid io_uring */
        printf("without %s: %s\n", driver, tw_explain(error));
        return;
    }
    EXPECT(sem_init(&fired, 0, 0) == 0 && tw_workers_new(&workers, rt, &pool) == 0);
    EXPECT(tw_work_init(&work, workers, post, &fired, 0) == 0 && tw_node_init(&node, post, &fired) == 0);
    EXPECT(tw_runtime_after(rt, &work.node, TW_MILLISECOND) == 0);
    EXPECT(tw_runtime_after(rt, &node, TW_MILLISECOND) == 0 && tw_runtime_start(rt) == 0);
    EXPECT(sem_wait(&fired) == 0 && sem_wait(&fired) == 0);
    EXPECT(tw_runtime_free(rt) == 0 && sem_destroy(&fired) == 0);
}

int main(void) {
    EXPECT(tw_version() == TW_VERSION && tw_node_size() == sizeof(struct tw_node));
    fire_on_virtual_time();
    fire_on_a_thread("sleep");
    fire_on_a_thread("epoll");
    fire_on_a_thread("timerfd");
    fire_on_a_thread("uring");
    return 0;
}
