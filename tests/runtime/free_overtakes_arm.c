/* P7: tw_runtime_free overtakes a call that arms. The call has found the runtime open and
 * reads the clock; meanwhile a callback on another thread frees the runtime, which empties its
 * wheels. The call is refused and leaves nothing pending on the runtime that is about to go. P13: a fork at
 * that moment, and a fork that has to wait for a call that holds a lock. */
#include "support/child.h"
#include "support/faults.h"

#include <tickwheel/timers.h>

static struct tw_runtime *rt;
static struct tw_timers *set;
static struct tw_node node;
static atomic_bool is_reading, is_freed, is_refused;
static atomic_uint drops;

static void stall(void) {
    atomic_store(&is_reading, true);
    while (!atomic_load(&is_freed))
        doze();
}

static void never_fires(UNUSED struct tw_node *fired, UNUSED void *arg) { abort(); }
static void never_due(UNUSED const struct tw_event *event, UNUSED void *arg) { abort(); }
static void count_drop(UNUSED void *arg) { atomic_fetch_add(&drops, 1); }

/* The runtime exists until this callback returns. */
static void free_runtime(UNUSED struct tw_node *fired, UNUSED void *arg) {
    while (!atomic_load(&is_reading))
        doze();
    tw_runtime_free(rt);
    atomic_store(&is_freed, true);
    while (!atomic_load(&is_refused))
        doze();
}

static int arm_after(void) { return tw_runtime_after(rt, &node, TW_SECOND); }
static int arm_every(void) { return tw_runtime_every(rt, &node, TW_SECOND, TW_COALESCE); }
static int arm_within(void) {
    return tw_runtime_arm(rt, &node, &(struct tw_when){.due_ns = TW_SECOND, .slack_ns = TW_SECOND});
}
static int start_handle(void) {
    tw_handle handle;
    return tw_timer_after(set, &handle, TW_SECOND, never_due, NULL);
}

/* The child can only free the runtime. */
static void fork_while_it_is_being_freed(void) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        expect(tw_runtime_after_fork(rt) == 0);
        expect(tw_runtime_after(rt, &node, TW_SECOND) == -ESHUTDOWN);
        expect(tw_runtime_start(rt) == -ESHUTDOWN);
        expect(tw_runtime_free(rt) == 0);
        leave(0);
    }
    assert_child_is_well(child);
}

TEST(p7_a_call_that_arms_leaves_nothing_on_a_runtime_that_is_freed_meanwhile) {
    int (*const calls[])(void) = {arm_after, arm_every, arm_within, start_handle};
    for (unsigned i = 0; i < COUNT_OF(calls); ++i) {
        const struct tw_task kept = {.fn = never_due, .drop = count_drop};
        struct tw_node frees;
        tw_handle handle;
        is_reading = is_freed = is_refused = false;
        drops = 0;
        rt = started_runtime((struct tw_runtime_options){.driver = "sleep"});
        assert_ok(tw_timers_new(&set, rt, NULL));
        assert_ok(tw_timer_start(set, &handle, &(struct tw_when){.due_ns = 3600 * TW_SECOND}, &kept));
        tw_node_init(&node, never_fires, NULL);
        tw_node_init(&frees, free_runtime, NULL);
        assert_ok(tw_runtime_after(rt, &frees, 0));

        call_before_next_reading(stall);
        assert_int_equal(calls[i](), -ESHUTDOWN);
        assert_int_equal(node.state, TW_IDLE);
        fork_while_it_is_being_freed();
        atomic_store(&is_refused, true);
        wait_for(drops == 1); /* the callback has returned, and the runtime is being freed */
    }
}

/* --- a fork waits for a call that holds a lock -------------------------------------------------- */

static atomic_bool has_gone_on, is_forked;

static void pause_with_the_lock(void) {
    atomic_store(&is_reading, true);
    pause_ms(20); /* time in which a fork that did not wait would return */
    atomic_store(&has_gone_on, true);
}

static int arm_at(void) { return tw_runtime_at(rt, &node, TW_SECOND); }
static int start_periodic_handle(void) {
    tw_handle handle;
    return tw_timer_every(set, &handle, TW_SECOND, TW_COALESCE, never_due, NULL);
}

/* The thread outlives the fork, because in the child ThreadSanitizer would report an ended thread as
 * leaked. */
static void *call_and_pause(void *call) {
    call_before_next_reading(pause_with_the_lock);
    void *const result = (*(int (**)(void))call)() == 0 ? call : NULL;
    wait_for(is_forked);
    return result;
}

TEST(p13_a_fork_waits_for_a_call_that_holds_a_lock) {
    int (*calls[])(void) = {arm_at, start_periodic_handle};
    for (unsigned i = 0; i < COUNT_OF(calls); ++i) {
        pthread_t caller;
        void *result;
        const bool on_wall = calls[i] == arm_at; /* holds wall_mutex; otherwise the record lock */
        is_reading = has_gone_on = is_forked = false;
        rt = new_runtime((struct tw_runtime_options){.driver = "epoll",
                                                     .clock = on_wall ? TW_CLOCK_WALL : TW_CLOCK_DEFAULT});
        assert_ok(tw_timers_new(&set, rt, NULL));
        tw_node_init(&node, never_fires, NULL);
        assert_int_equal(pthread_create(&caller, NULL, call_and_pause, &calls[i]), 0);
        wait_for(is_reading);
        const pid_t child = fork();
        if (child == 0)
            leave(0);
        atomic_store(&is_forked, true);
        assert_true(has_gone_on);
        assert_child_is_well(child);
        pthread_join(caller, &result);
        assert_ptr_equal(result, &calls[i]);
        tw_runtime_free(rt);
    }
}
