/* A callback stops or frees its runtime, or another one: the runtime makes no further callback, whatever else
 * is due and whichever thread drives it. */
#include "support/faults.h"

#define TOGETHER 8

static struct tw_runtime *rt;
static struct counter crowd[TOGETHER]; /* all due on one tick; the first one acts */
static struct counter actor;
static atomic_int answer; /* result of the actor's call */

static bool actor_has_run(void) { return atomic_load(&actor.fires) != 0; }
static bool whole_crowd_has_fired(void) {
    for (size_t i = 0; i < TOGETHER; ++i)
        if (atomic_load(&crowd[i].fires) == 0)
            return false;
    return true;
}

static void assert_crowd_fired(unsigned times) {
    for (size_t i = 0; i < TOGETHER; ++i)
        assert_int_equal(crowd[i].fires, times);
}

/* Arms the actor on a tick, ahead of the crowd; once, or every millisecond from then on. */
static void arm_actor_and_crowd(tw_callback *act, int64_t period) {
    const int64_t tick = (tw_runtime_now(rt) / TW_MILLISECOND + 5) * TW_MILLISECOND;
    const struct tw_when when = {.due_ns = tick, .absolute = 1, .period_ns = period};
    atomic_store(&answer, 1);
    atomic_store(&actor.fires, 0);
    tw_node_init(&actor.node, act, &actor);
    assert_int_equal(tw_runtime_arm(rt, &actor.node, &when), 0);
    for (size_t i = 0; i < TOGETHER; ++i) {
        init_counter(&crowd[i]);
        assert_int_equal(tw_runtime_at(rt, &crowd[i].node, tick), 0);
    }
}

static void act_in(const struct way *way, tw_callback *act, int64_t period) {
    rt = runtime_on(way->driver);
    arm_actor_and_crowd(act, period);
    set_going(way, rt);
    assert_true(go_on_until(way, rt, actor_has_run));
}

/* --- stop ---------------------------------------------------------------------------- */

static void stop_here(UNUSED struct tw_node *node, UNUSED void *arg) {
    if (atomic_load(&actor.fires) == 0)
        atomic_store(&answer, tw_runtime_stop(rt));
    atomic_fetch_add(&actor.fires, 1);
}

/* Joins the thread, so that no further callback can come. */
static void end_of(const struct way *way) {
    if (way->by == BY_THREAD)
        assert_int_equal(tw_runtime_stop(rt), 0);
}

static void resume(const struct way *way) {
    if (way->by == BY_THREAD)
        assert_int_equal(tw_runtime_start(rt), 0);
}

static void stop_inside_and_resume(const struct way *way, int64_t period, bool join) {
    const struct holdings before = holdings_now();
    act_in(way, stop_here, period);
    if (join)
        end_of(way);
    if (join || way->by != BY_THREAD) {
        assert_int_equal(actor.fires, 1);
        assert_crowd_fired(0);
    }
    assert_int_equal(answer, 0);
    resume(way);
    assert_true(go_on_until(way, rt, whole_crowd_has_fired));
    assert_int_equal(tw_runtime_free(rt), 0);
    assert_crowd_fired(1);
    assert_nothing_leaked(before);
}

TEST_EACH_WAY(stop_inside_a_one_shot_is_its_end_until_it_is_started_again) {
    stop_inside_and_resume(WAY, 0, true);
}

TEST_EACH_WAY(stop_inside_a_periodic_is_its_end_until_it_is_started_again) {
    stop_inside_and_resume(WAY, TW_MILLISECOND, true);
}

/* tw_runtime_start joins a thread that has stopped itself or is about to. */
TEST_BY_EACH_THREAD(start_right_after_a_stop_inside_needs_no_stop_in_between) {
    stop_inside_and_resume(WAY, 0, false);
}

/* The same for a loop: the runtime first joins the thread that has stopped itself. */
TEST_ONE_WAY(a_loop_right_after_a_stop_inside_needs_no_stop_in_between, 2) {
    act_in(WAY, stop_here, 0);
    assert_true(tw_runtime_fd(rt) >= 0);
    assert_true(go_on_until(&ways[3], rt, whole_crowd_has_fired));
    tw_runtime_free(rt);
}

static void start_here(UNUSED struct tw_node *node, UNUSED void *arg) {
    int result = tw_runtime_start(rt);
    if (result == -EBUSY) {
        tw_runtime_stop(rt);
        result = tw_runtime_start(rt);
    }
    atomic_store(&answer, result);
    atomic_fetch_add(&actor.fires, 1);
}

TEST_EACH_WAY(start_inside_a_callback_is_refused_also_after_a_stop) {
    act_in(WAY, start_here, 0);
    end_of(WAY);
    assert_int_equal(answer, WAY->by == BY_VIRTUAL_TIME ? -EOPNOTSUPP : -EBUSY);
    tw_runtime_free(rt);
}

static void drive_here(UNUSED struct tw_node *node, UNUSED void *arg) {
    const int dispatched = tw_runtime_dispatch(rt), advanced = tw_runtime_advance(rt, 1);
    atomic_store(&answer, dispatched == -EBUSY || advanced == -EBUSY ? -EBUSY : 0);
    atomic_fetch_add(&actor.fires, 1);
}

TEST_THREE_WAYS(dispatch_and_advance_inside_a_callback_are_refused, 2, 3, 4) {
    act_in(WAY, drive_here, 0);
    assert_int_equal(answer, -EBUSY);
    tw_runtime_free(rt);
}

TEST_EACH_WAY(free_after_a_stop_inside_joins_the_thread) {
    const struct holdings before = holdings_now();
    act_in(WAY, stop_here, 0);
    assert_int_equal(tw_runtime_free(rt), 0);
    assert_crowd_fired(0);
    assert_nothing_leaked(before);
}

/* --- free ---------------------------------------------------------------------------- */

static void free_here(UNUSED struct tw_node *node, UNUSED void *arg) {
    atomic_store(&answer, tw_runtime_free(rt));
    atomic_fetch_add(&actor.fires, 1);
}

static void stop_and_free_here(UNUSED struct tw_node *node, UNUSED void *arg) {
    tw_runtime_stop(rt);
    free_here(NULL, NULL);
}

static struct holdings without_it;

static bool this_thread_can_be_joined(void) {
    pthread_attr_t attributes;
    int state;
    assert_int_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
    pthread_attr_getdetachstate(&attributes, &state);
    pthread_attr_destroy(&attributes);
    return state == PTHREAD_CREATE_JOINABLE;
}

static void free_inside(const struct way *way, tw_callback *act, int64_t period) {
    without_it = holdings_now();
    act_in(way, act, period);
    wait_for(has_nothing_leaked(without_it));
    assert_int_equal(answer, 0);
    assert_int_equal(actor.fires, 1);
    assert_crowd_fired(0);
    assert_true(this_thread_can_be_joined()); /* though it may have called the callback */
}

TEST_EACH_WAY(free_inside_a_one_shot_is_its_end) { free_inside(WAY, free_here, 0); }
TEST_EACH_WAY(free_inside_a_periodic_is_its_end) { free_inside(WAY, free_here, TW_MILLISECOND); }
TEST_EACH_WAY(free_after_stop_inside_one_callback) { free_inside(WAY, stop_and_free_here, TW_MILLISECOND); }

/* The node of a periodic timer may be freed with its runtime once it is cancelled. */
static void free_all_here(struct tw_node *node, UNUSED void *arg) {
    tw_runtime_cancel(rt, node);
    free(node);
    free_here(NULL, NULL);
}

TEST_EACH_WAY(free_inside_a_periodic_that_frees_its_own_node) {
    without_it = holdings_now();
    struct tw_node *node = malloc(sizeof *node);
    assert_non_null(node);
    rt = runtime_on(WAY->driver);
    atomic_store(&actor.fires, 0);
    tw_node_init(node, free_all_here, NULL);
    assert_int_equal(tw_runtime_every(rt, node, TW_MILLISECOND, TW_BURST), 0);
    set_going(WAY, rt);
    assert_true(go_on_until(WAY, rt, actor_has_run));
    wait_for(has_nothing_leaked(without_it));
}

/* The callback runs before tw_runtime_start has returned. Start still uses the runtime, so the runtime must
 * not be freed yet. */
static int64_t allocations_during_start;

static void wait_for_the_actor(void) {
    for (int64_t waited = 0; !actor_has_run() && waited < 60000; ++waited)
        pause_ms(1);
    pause_ms(5); /* time in which a runtime that start did not keep would be freed */
    allocations_during_start = live_allocations();
}

TEST_BY_EACH_THREAD(free_inside_a_callback_waits_for_start_to_return) {
    without_it = holdings_now();
    rt = runtime_on(WAY->driver);
    atomic_store(&actor.fires, 0);
    tw_node_init(&actor.node, free_here, NULL);
    assert_int_equal(tw_runtime_after(rt, &actor.node, 0), 0);
    call_after_next_thread_creation(wait_for_the_actor);
    assert_int_equal(tw_runtime_start(rt), 0);
    assert_int_equal(actor.fires, 1);
    assert_true(allocations_during_start > without_it.allocations);
    wait_for(has_nothing_leaked(without_it));
}

/* Leaves the race to chance, for the sanitizers. */
TEST_BY_EACH_THREAD(free_inside_a_callback_races_with_start) {
    for (unsigned i = 0; i < 200; ++i) {
        without_it = holdings_now();
        rt = runtime_on(WAY->driver);
        atomic_store(&actor.fires, 0);
        tw_node_init(&actor.node, free_here, NULL);
        assert_int_equal(tw_runtime_after(rt, &actor.node, 0), 0);
        assert_int_equal(tw_runtime_start(rt), 0);
        wait_for(has_nothing_leaked(without_it));
    }
}

/* --- another runtime ------------------------------------------------------------------ */

static struct tw_runtime *other;
static struct tw_node of_other;

static void free_other(UNUSED struct tw_node *node, UNUSED void *arg) {
    atomic_store(&answer, tw_runtime_free(other));
    atomic_fetch_add(&actor.fires, 1);
}

TEST_BY_EACH_THREAD(free_of_a_runtime_inside_a_callback_of_another_is_its_end_there_and_then) {
    const struct holdings before = holdings_now();
    for (unsigned i = 0; i < 100; ++i) {
        struct counter often;
        init_counter(&often);
        other = started_runtime((struct tw_runtime_options){.driver = WAY->driver});
        assert_int_equal(tw_runtime_every(other, &often.node, TW_MILLISECOND, TW_COALESCE), 0);
        wait_for(often.fires > 0);
        act_in(WAY, free_other, 0);
        const unsigned fires = atomic_load(&often.fires);
        assert_int_equal(tw_runtime_free(rt), 0);
        assert_int_equal(answer, 0);
        assert_int_equal(often.fires, fires);
        assert_nothing_leaked(before);
    }
}

static int answer_of_stop, answer_of_start;

static void stop_and_free_outer(UNUSED struct tw_node *node, UNUSED void *arg) {
    answer_of_stop = tw_runtime_stop(rt); /* a callback's stop does not wait for the callback */
    answer_of_start = tw_runtime_start(rt);
    free_here(NULL, NULL);
}

static void advance_other(UNUSED struct tw_node *node, UNUSED void *arg) {
    assert_int_equal(tw_runtime_advance(other, TW_SECOND), 0);
}

/* A callback moves the virtual time of another runtime, whose callback ends the first. */
TEST_BY_EACH_THREAD(free_inside_a_callback_inside_a_callback) {
    other = runtime_on("manual");
    tw_node_init(&of_other, stop_and_free_outer, NULL);
    assert_int_equal(tw_runtime_after(other, &of_other, 1), 0);
    without_it = holdings_now();
    act_in(WAY, advance_other, 0);
    wait_for(has_nothing_leaked(without_it));
    assert_int_equal(answer, 0);
    assert_int_equal(answer_of_stop, 0);
    assert_int_equal(answer_of_start, -EBUSY);
    assert_crowd_fired(0);
    tw_runtime_free(other);
}
