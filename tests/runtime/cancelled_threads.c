/* pthread_cancel: a thread with a pending cancellation makes each call that waits, wakes or
 * calls back. None of them is a cancellation point: the call does its work and returns, and
 * other users of the runtime are unaffected. */
#include "support/gate.h"
#include "support/runtime_test.h"
#include "support/threads.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tickwheel/keyed.h>
#include <tickwheel/observe.h>
#include <tickwheel/timers.h>
#include <tickwheel/workers.h>

#define FAR (3600 * TW_SECOND)
#define KEY tw_key_number(7)

#define DRIVER ((const char *)*state)
#define TEST_WITH_EACH_DRIVER(name) \
    DECLARE_TEST(name); \
    CASE(name, 0, "sleep", "sleep") \
    CASE(name, 1, "epoll", "epoll") CASE(name, 2, "timerfd", "timerfd") DEFINE_TEST(name)

/* --- the scene --------------------------------------------------------------------------- */

/* A runtime with one of each kind of component and timer. */
static struct tw_runtime *rt;
static struct tw_node node, far_node;
static struct tw_workers *pool;
static struct tw_work item;
static struct tw_timers *handles;
static struct tw_keyed *keyed;
static tw_handle handle;
static struct gate gate;
static int watched;
static struct tw_node counter;
static atomic_uint fires;

static void count_fire(UNUSED struct tw_node *fired, UNUSED void *arg) { atomic_fetch_add(&fires, 1); }

/* A callback that contains a cancellation point, as user code may. */
static void reach_a_point(UNUSED struct tw_node *fired, UNUSED void *arg) { pthread_testcancel(); }
static void reach_a_point_in_fire(UNUSED const struct tw_event *event, UNUSED void *arg) {
    pthread_testcancel();
}
static void reach_a_point_in_drop(UNUSED void *arg) { pthread_testcancel(); }
static void reach_a_point_in_copy(UNUSED void *to, UNUSED void *from) { pthread_testcancel(); }
static int reach_a_point_in_each(UNUSED const struct tw_entry *entry, UNUSED void *visit_arg) {
    pthread_testcancel();
    return 0;
}
static int reach_a_point_in_each_handle(UNUSED const struct tw_entry *entry, UNUSED void *visit_arg) {
    pthread_testcancel();
    return 0;
}
static int64_t reach_a_point_in_next(int64_t due_ns, UNUSED void *arg) {
    pthread_testcancel();
    return due_ns + FAR;
}

static void wait_in_gate_on_event(UNUSED const struct tw_event *event, UNUSED void *arg) { pass(&gate); }
static void wait_in_gate_on_ready(UNUSED int fd, UNUSED uint32_t events, UNUSED void *arg) { pass(&gate); }

static const struct tw_task pointed = {.fn = reach_a_point_in_fire,
                                       .arg = &counter,
                                       .arg_size = 8,
                                       .next = reach_a_point_in_next,
                                       .drop = reach_a_point_in_drop,
                                       .copy = reach_a_point_in_copy};

static void set_the_scene(const char *driver) {
    rt = new_runtime((struct tw_runtime_options){.driver = driver});
    shut(&gate);
    tw_node_init(&node, reach_a_point, NULL);
    tw_node_init(&far_node, no_callback, NULL);
    tw_node_init(&counter, count_fire, NULL);
    atomic_store(&fires, 0);
    assert_ok(tw_workers_new(&pool, rt, &(struct tw_workers_options){.threads = 1}));
    assert_ok(tw_work_init(&item, pool, wait_in_gate, &gate, 0));
    assert_ok(tw_timers_new(&handles, rt, &(struct tw_set_options){.storage = 8}));
    assert_ok(tw_keyed_new(&keyed, rt, &(struct tw_set_options){.storage = 8}));
    watched = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

static void clear_the_scene(void) {
    assert_ok(tw_runtime_free(rt));
    close(watched);
}

/* --- the calls under test -------------------------------------------------------------------- */

/* A callback is in the gate, so the call has to wait. */
static bool is_in_gate(void) { return atomic_load(&gate.inside) == 1; }

static void have_a_callback_in_gate(void) {
    assert_ok(tw_node_init(&node, wait_in_gate, &gate));
    assert_ok(tw_runtime_after(rt, &node, 0));
    wait_for(is_in_gate());
}
static void have_a_work_item_in_gate(void) {
    assert_ok(tw_runtime_after(rt, &item.node, 0));
    wait_for(is_in_gate());
}
static void have_a_handle_in_gate(void) {
    assert_ok(tw_timer_after(handles, &handle, 0, wait_in_gate_on_event, NULL));
    wait_for(is_in_gate());
}
static void have_a_key_in_gate(void) {
    assert_ok(tw_keyed_after(keyed, KEY, 0, wait_in_gate_on_event, NULL));
    wait_for(is_in_gate());
}
static void have_a_watch_in_gate(void) {
    assert_ok(tw_runtime_watch(rt, watched, EPOLLIN | EPOLLONESHOT, wait_in_gate_on_ready, NULL));
    eventfd_write(watched, 1);
    wait_for(is_in_gate());
}
static void have_a_watch(void) {
    assert_ok(tw_runtime_watch(rt, watched, EPOLLIN, wait_in_gate_on_ready, NULL));
}
static void have_a_pending_node(void) { assert_ok(tw_runtime_after(rt, &node, FAR)); }
static void have_a_handle(void) {
    assert_ok(tw_timer_start(handles, &handle, &(struct tw_when){.due_ns = FAR}, &pointed));
}
static void have_a_key(void) {
    assert_ok(tw_keyed_set(keyed, KEY, &(struct tw_when){.due_ns = FAR}, &pointed));
}
static void be_stopped(void) { assert_ok(tw_runtime_stop(rt)); }

static int after(void) { return tw_runtime_after(rt, &node, 0); }
static int at(void) { return tw_runtime_at(rt, &node, 0); }
static int every(void) { return tw_runtime_every(rt, &node, TW_MILLISECOND, TW_COALESCE); }
static int arm(void) { return tw_runtime_arm(rt, &node, &(struct tw_when){.slack_ns = TW_MILLISECOND}); }
static int move(void) { return tw_runtime_move(rt, &node, 0); }
static int postpone(void) { return tw_runtime_postpone(rt, &node, 2 * FAR); }
static int cancel(void) { return tw_runtime_cancel(rt, &node); }
static int cancel_all(void) { return tw_runtime_cancel_all(rt, reach_a_point, NULL); }
static int cancel_wait(void) { return tw_runtime_cancel_wait(rt, &node); }
static int cancel_work_item_wait(void) { return tw_runtime_cancel_wait(rt, &item.node); }
static int retire_work_item(void) { return tw_runtime_retire(rt, &item.node); }
static int stop_and_start(void) {
    const int error = tw_runtime_stop(rt);
    return error != 0 ? error : tw_runtime_start(rt);
}
static int start(void) { return tw_runtime_start(rt); }
static int make_and_free(void) {
    static const char *const names[] = {"sleep", "epoll", "timerfd", "manual"};
    int error = 0;
    for (unsigned i = 0; error == 0 && i < COUNT_OF(names); ++i) {
        struct tw_runtime *other;
        error = tw_runtime_new(&other, &(struct tw_runtime_options){.driver = names[i]});
        if (error == 0)
            error = tw_runtime_free(other);
    }
    return error;
}
static int ask(void) {
    struct tw_stats stats;
    return tw_runtime_remaining(rt, &node) < 0 || tw_runtime_count(rt) == 0 ? -1
                                                                            : tw_runtime_stats(rt, &stats);
}

static int make_workers_and_free_them(void) {
    struct tw_workers *other;
    const int error = tw_workers_new(&other, rt, NULL);
    return error != 0 ? error : tw_workers_free(other);
}
static int wait_for_workers(void) { return tw_workers_wait(pool); }
static int free_workers(void) { return tw_workers_free(pool); }

static int start_handle(void) { return tw_timer_start(handles, &handle, NULL, &pointed); }
static int start_handle_after(void) {
    return tw_timer_after(handles, &handle, 0, reach_a_point_in_fire, NULL);
}
static int move_handle(void) { return tw_timer_move(handles, handle, 0); }
static int stop_handle(void) { return tw_timer_cancel(handles, handle); }
static int cancel_all_handles(void) {
    return (int)tw_timers_cancel_all(handles, reach_a_point_in_each_handle, NULL);
}
static int stop_handle_wait(void) { return tw_timer_cancel_wait(handles, handle); }
static int free_handles(void) { return tw_timers_free(handles); }
static int make_handles_and_free_them(void) {
    struct tw_timers *other;
    const int error = tw_timers_new(&other, rt, NULL);
    return error != 0 ? error : tw_timers_free(other);
}

static int set_key(void) { return tw_keyed_set(keyed, KEY, NULL, &pointed); }
static int set_key_after(void) { return tw_keyed_after(keyed, KEY, 0, reach_a_point_in_fire, NULL); }
static int move_key(void) { return tw_keyed_move(keyed, KEY, 0); }
static int remove_key(void) { return tw_keyed_cancel(keyed, KEY); }
static int remove_key_wait(void) { return tw_keyed_cancel_wait(keyed, KEY); }
static int cancel_all_keys(void) { return (int)tw_keyed_cancel_all(keyed, reach_a_point_in_each, NULL); }
static int free_keyed(void) { return tw_keyed_free(keyed); }
static int make_keyed_and_free_it(void) {
    struct tw_keyed *other;
    const int error = tw_keyed_new(&other, rt, NULL);
    return error != 0 ? error : tw_keyed_free(other);
}

static int add_watch(void) { return tw_runtime_watch(rt, watched, EPOLLIN, wait_in_gate_on_ready, NULL); }
static int modify_watch(void) { return tw_runtime_watch_modify(rt, watched, EPOLLOUT | EPOLLET); }
static int unwatch(void) { return tw_runtime_unwatch(rt, watched); }

struct row {
    const char *name;
    void (*before)(void); /* prepares the call; may be null */
    int (*call)(void);    /* the call that the cancelled thread makes */
    bool waits;           /* the call waits for the callback in the gate */
    const char *driver;   /* the only driver it applies to; NULL: every driver */
};

#define ROW(call) #call, NULL, call, false, NULL
#define ROW_WITH(before, call) #call ", " #before, before, call, false, NULL
#define ROW_WAITING(before, call) #call ", " #before, before, call, true, NULL

static const struct row rows[] = {
    {ROW(after)},
    {ROW(at)},
    {ROW(every)},
    {ROW(arm)},
    {ROW_WITH(have_a_pending_node, move)},
    {ROW_WITH(have_a_pending_node, postpone)},
    {ROW_WITH(have_a_pending_node, cancel)},
    {ROW_WITH(have_a_pending_node, cancel_all)},
    {ROW_WITH(have_a_pending_node, ask)},
    {ROW_WAITING(have_a_callback_in_gate, cancel_wait)},
    {ROW_WAITING(have_a_work_item_in_gate, cancel_work_item_wait)},
    {ROW_WAITING(have_a_work_item_in_gate, retire_work_item)},
    {ROW_WAITING(have_a_callback_in_gate, stop_and_start)},
    {ROW_WAITING(have_a_work_item_in_gate, stop_and_start)},
    {ROW_WITH(be_stopped, start)},
    {ROW(make_and_free)},
    {ROW(make_workers_and_free_them)},
    {ROW_WAITING(have_a_work_item_in_gate, wait_for_workers)},
    {ROW_WAITING(have_a_work_item_in_gate, free_workers)},
    {ROW(start_handle)},
    {ROW(start_handle_after)},
    {ROW_WITH(have_a_handle, move_handle)},
    {ROW_WITH(have_a_handle, stop_handle)},
    {ROW_WITH(have_a_handle, stop_handle_wait)},
    {ROW_WAITING(have_a_handle_in_gate, stop_handle_wait)},
    {ROW_WITH(have_a_handle, cancel_all_handles)},
    {ROW_WAITING(have_a_handle_in_gate, cancel_all_handles)},
    {ROW_WITH(have_a_handle, free_handles)},
    {ROW_WAITING(have_a_handle_in_gate, free_handles)},
    {ROW(make_handles_and_free_them)},
    {ROW(set_key)},
    {ROW_WITH(have_a_key, set_key)},
    {ROW(set_key_after)},
    {ROW_WITH(have_a_key, move_key)},
    {ROW_WITH(have_a_key, remove_key)},
    {ROW_WAITING(have_a_key_in_gate, remove_key_wait)},
    {ROW_WITH(have_a_key, cancel_all_keys)},
    {ROW_WAITING(have_a_key_in_gate, cancel_all_keys)},
    {ROW_WITH(have_a_key, free_keyed)},
    {ROW(make_keyed_and_free_it)},
    {"add_watch", NULL, add_watch, false, "epoll"},
    {"modify_watch", have_a_watch, modify_watch, false, "epoll"},
    {"unwatch", have_a_watch, unwatch, false, "epoll"},
    {"unwatch, have_a_watch_in_gate", have_a_watch_in_gate, unwatch, true, "epoll"},
};

/* --- the cancelled thread -------------------------------------------------------------------- */

static struct {
    int (*call)(void);
    atomic_long thread; /* its kernel thread id */
    atomic_bool began, came_back;
    atomic_int result;
} cancelled;

static void *call_with_cancellation_pending(UNUSED void *arg) {
    atomic_store(&cancelled.thread, syscall(SYS_gettid));
    pthread_cancel(pthread_self());
    atomic_store(&cancelled.began, true);
    atomic_store(&cancelled.result, cancelled.call());
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    atomic_store(&cancelled.came_back, before == PTHREAD_CANCEL_ENABLE);
    return NULL;
}

/* The thread sleeps in its call, or cancellation ended it. */
static bool sleeps_or_is_gone(void) {
    struct thread_look look;
    return !look_at_thread(atomic_load(&cancelled.thread), &look) || look.state == 'S';
}

/* Returns true if the call returned with success. */
static bool comes_back(int (*call)(void), bool waits) {
    pthread_t thread;
    cancelled.call = call;
    atomic_store(&cancelled.began, false);
    atomic_store(&cancelled.came_back, false);
    assert_int_equal(pthread_create(&thread, NULL, call_with_cancellation_pending, NULL), 0);
    if (waits) {
        wait_for(cancelled.began);
        wait_for(sleeps_or_is_gone());
    }
    atomic_store(&gate.open, true);
    pthread_join(thread, NULL);
    return atomic_load(&cancelled.came_back) && atomic_load(&cancelled.result) >= 0;
}

static bool has_fired(void) { return atomic_load(&fires) == 1; }

TEST_WITH_EACH_DRIVER(cancelled_threads_come_back_from_every_call_and_others_go_on) {
    for (unsigned i = 0; i < COUNT_OF(rows); ++i) {
        const struct row *const row = &rows[i];
        if (row->driver != NULL && strcmp(row->driver, DRIVER) != 0)
            continue;
        set_the_scene(DRIVER);
        assert_ok(tw_runtime_after(rt, &far_node, FAR));
        assert_ok(tw_runtime_start(rt));
        if (row->before != NULL)
            row->before();
        if (!comes_back(row->call, row->waits))
            fail_msg("%s: the thread has not come back", row->name);
        assert_ok(tw_runtime_after(rt, &counter, 0));
        wait_for(has_fired());
        clear_the_scene();
    }
}

/* --- programs that drive the runtime themselves ---------------------------------------------- */

static int dispatch(void) { return tw_runtime_dispatch(rt); }
static int ask_for_descriptor(void) { return tw_runtime_fd(rt); }
static int advance(void) { return tw_runtime_advance(rt, TW_SECOND); }
static int leap(void) { return tw_runtime_leap(rt, TW_SECOND); }

static void arm_all_that_reaches_a_point(void) {
    assert_ok(tw_runtime_after(rt, &node, 0));
    assert_ok(tw_timer_start(handles, &handle, &(struct tw_when){0}, &pointed));
    assert_ok(tw_keyed_set(keyed, KEY, &(struct tw_when){0}, &pointed));
}

static void assert_driving_comes_back(int (*call)(void)) {
    arm_all_that_reaches_a_point();
    assert_true(comes_back(call, false));
    assert_ok(tw_runtime_after(rt, &counter, 0));
    const int64_t patience = monotonic() + 60 * TW_SECOND;
    while (!has_fired() && monotonic() < patience)
        assert_ok(call());
    assert_true(has_fired());
}

TEST(cancelled_threads_come_back_from_dispatching_what_reaches_a_point) {
    set_the_scene("timerfd");
    assert_true(comes_back(ask_for_descriptor, false));
    assert_driving_comes_back(dispatch);
    clear_the_scene();
}

TEST(cancelled_threads_come_back_from_moving_virtual_time) {
    int (*const ways_to_move[])(void) = {advance, leap};
    for (unsigned i = 0; i < COUNT_OF(ways_to_move); ++i) {
        set_the_scene("manual");
        assert_driving_comes_back(ways_to_move[i]);
        clear_the_scene();
    }
}

/* --- the library's own threads ------------------------------------------------------------------- */

static atomic_uint survivals;

static void cancel_own_thread(UNUSED struct tw_node *fired, UNUSED void *arg) {
    pthread_cancel(pthread_self());
    pthread_testcancel();
    atomic_fetch_add(&survivals, 1);
}

TEST_WITH_EACH_DRIVER(cancelled_threads_are_never_those_of_the_library) {
    set_the_scene(DRIVER);
    atomic_store(&survivals, 0);
    assert_ok(tw_node_init(&node, cancel_own_thread, NULL));
    assert_ok(tw_work_init(&item, pool, cancel_own_thread, NULL, 0));
    assert_ok(tw_runtime_start(rt));
    assert_ok(tw_runtime_after(rt, &node, 0));
    assert_ok(tw_runtime_after(rt, &item.node, 0));
    wait_for(survivals == 2);
    assert_ok(tw_runtime_after(rt, &counter, 0));
    wait_for(has_fired());
    clear_the_scene();
}
