/* The checking build finds a program's mistakes with runtimes, and warns of a runtime that no thread
 * drives. */
#include "runtime/checks.h"

#include <pthread.h>

#include <tickwheel/driver.h>

static struct tw_runtime *rt;
static struct tw_node node;

EXPORTED void make(const char *driver);
void make(const char *driver) {
    expect(tw_runtime_new(&rt, &(struct tw_runtime_options){.driver = driver}) == 0);
    expect(tw_node_init(&node, no_callback, NULL) == 0);
}

EXPORTED void end(void);
void end(void) {
    tw_runtime_free(rt);
    __asm__ volatile("");
}

/* --- used after it was freed ---------------------------------------------------------------------- */

static void arm_after_free(void) {
    make("manual");
    end();
    tw_runtime_after(rt, &node, 1);
}

static void start_after_free(void) {
    make("sleep");
    end();
    expect(tw_runtime_start(rt) == 0);
}

static void ask_after_free(void) {
    make("manual");
    end();
    expect(tw_runtime_count(rt) == 0);
}

static void free_twice(void) {
    make("manual");
    end();
    end();
}

static void free_many_in_turn(void) {
    for (int i = 0; i < 300; ++i) {
        make("manual");
        expect(tw_runtime_after(rt, &node, 1) == 0);
        end();
    }
}

static void free_twice_in_a_callback(UNUSED struct tw_node *fired, UNUSED void *arg) {
    end();
    end(); /* the runtime still exists: it goes when the callback has returned */
}

static void free_inside(void) {
    make("manual");
    expect(tw_node_init(&node, free_twice_in_a_callback, NULL) == 0);
    expect(tw_runtime_after(rt, &node, 1) == 0);
    tw_runtime_advance(rt, TW_SECOND);
}

TEST(checks_name_a_runtime_that_is_used_after_it_was_freed) {
    assert_stops(arm_after_free, "runtime 0x", "used after it was freed", "made in make", "freed in end");
    assert_stops(start_after_free, "used after it was freed", "freed in end", "found in the call from");
    assert_stops(ask_after_free, "used after it was freed", "freed in end", "found in the call from");
    assert_well(free_inside);
}

TEST(checks_name_a_runtime_that_is_freed_twice) {
    assert_stops(free_twice, "freed a second time", "made in make", "freed in end");
    assert_well(free_many_in_turn);
}

/* --- freed by two threads --------------------------------------------------------------------------- */

static atomic_bool is_closing;

static void close_for_ever(UNUSED void *state) {
    atomic_store(&is_closing, true);
    for (;;)
        pause();
}

static void *end_on_a_thread(UNUSED void *arg) {
    end();
    return NULL;
}

static void free_on_two_threads(void) {
    struct tw_driver slow = *tw_driver_named("manual");
    pthread_t thread;
    slow.close = close_for_ever;
    expect(tw_runtime_new(&rt, &(struct tw_runtime_options){.own_driver = &slow}) == 0);
    expect(pthread_create(&thread, NULL, end_on_a_thread, NULL) == 0);
    while (!atomic_load(&is_closing))
        doze();
    end();
}

TEST(checks_name_a_runtime_that_two_threads_free) {
    if (!THREADS_AFTER_FORK)
        skip();
    assert_stops(free_on_two_threads, "two threads free it at the same time", "freed in end");
}

/* --- garbage ---------------------------------------------------------------------------------------- */

static void use_a_wild_pointer(void) {
    expect(tw_node_init(&node, no_callback, NULL) == 0);
    tw_runtime_after((struct tw_runtime *)0xDEADBEE0, &node, 1);
}

static void free_a_wild_pointer(void) { tw_runtime_free((struct tw_runtime *)0xDEADBEE0); }

static void use_a_null_pointer(void) {
    expect(tw_node_init(&node, no_callback, NULL) == 0);
    expect(tw_runtime_after(NULL, &node, 1) == -EINVAL);
    expect(tw_runtime_free(NULL) == 0);
}

TEST(checks_name_a_pointer_that_is_no_runtime) {
    assert_stops(use_a_wild_pointer, "runtime 0xdeadbee0", "there is no runtime at this address");
    assert_stops(free_a_wild_pointer, "there is no runtime at this address");
    assert_well(use_a_null_pointer);
}

/* --- never started ---------------------------------------------------------------------------------- */

static void forget_to_start(void) {
    make("sleep");
    expect(tw_runtime_after(rt, &node, 0) >= 0);
    end();
}

static void forget_to_start_and_leave(void) {
    make("sleep");
    expect(tw_runtime_after(rt, &node, 0) >= 0);
    exit(0);
}

/* The node has been due for a second, so the next call reports that no thread drives the runtime. */
static void forget_to_start_and_go_on(void) {
    static struct tw_node more[100];
    make("sleep");
    expect(tw_runtime_after(rt, &node, 0) >= 0);
    pause_ms(1100);
    for (size_t i = 0; i < COUNT_OF(more); ++i) {
        expect(tw_node_init(&more[i], no_callback, NULL) == 0);
        expect(tw_runtime_after(rt, &more[i], TW_SECOND) >= 0);
    }
}

static void cancel_instead_of_starting(void) {
    make("sleep");
    expect(tw_runtime_after(rt, &node, 0) >= 0);
    expect(tw_runtime_cancel(rt, &node) == 1);
    end();
}

static void arm_what_is_not_due(void) {
    make("sleep");
    expect(tw_runtime_after(rt, &node, 3600 * TW_SECOND) >= 0);
    end();
}

static void dispatch_instead_of_starting(void) {
    make("timerfd");
    expect(tw_runtime_fd(rt) >= 0);
    expect(tw_runtime_after(rt, &node, 0) >= 0);
    end();
}

static void start_and_stop(void) {
    make("sleep");
    expect(tw_runtime_start(rt) == 0 && tw_runtime_stop(rt) == 0);
    expect(tw_runtime_after(rt, &node, 0) >= 0);
    end();
}

static void assert_warned_once(void (*scene)(void)) {
    const struct end ended = end_of(scene);
    const char *const first =
        strstr(ended.said, "warning: timers are armed on it and due, but it was never started");
    assert_true(WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 0);
    if (first == NULL || strstr(ended.said, "it was made in make") == NULL ||
        strstr(first + 1, "warning") != NULL)
        fail_msg("it said \"%s\"", ended.said);
}

TEST(checks_warn_once_of_a_runtime_that_is_never_started) {
    assert_warned_once(forget_to_start);
    assert_warned_once(forget_to_start_and_leave);
    assert_warned_once(forget_to_start_and_go_on);
    assert_well(cancel_instead_of_starting);
    assert_well(arm_what_is_not_due);
    assert_well(dispatch_instead_of_starting);
    if (THREADS_AFTER_FORK)
        assert_well(start_and_stop);
}
