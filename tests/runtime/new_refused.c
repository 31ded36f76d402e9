/* tw_runtime_new and tw_runtime_after_fork when system calls fail: each returns the error of
 * the call that failed, and leaks nothing. */
#include "support/child.h"
#include "support/faults.h"

/* Every kind of runtime that tw_runtime_new can make. Loops go up to kinds_here(). */
static const struct tw_runtime_options kinds[] = {
    {.driver = "sleep"},
    {.driver = "epoll"},
    {.driver = "epoll", .clock = TW_CLOCK_BOOT},
    {.driver = "epoll", .clock = TW_CLOCK_WALL},
    {.driver = "timerfd"},
    {.driver = "timerfd", .clock = TW_CLOCK_BOOT},
    {.driver = "timerfd", .clock = TW_CLOCK_WALL},
    {.driver = "manual"},
    {.driver = "manual", .clock = TW_CLOCK_WALL},
    {.driver = "uring"},
    {.driver = "uring", .clock = TW_CLOCK_BOOT},
    {.driver = "uring", .clock = TW_CLOCK_WALL},
};
static size_t kinds_here(void) { return COUNT_OF(kinds) - (has_uring() ? 0 : 3); }

/* The minimum of system calls that each kind makes. */
static const int fewest_calls[COUNT_OF(kinds)] = {1, 6, 6, 9, 2, 2, 7, 1, 2, 11, 11, 13};

static const struct way *way_of(const struct tw_runtime_options *options) {
    for (size_t i = 0; i < ways_here(); ++i)
        if (strcmp(ways[i].driver, options->driver) == 0)
            return &ways[i];
    return NULL;
}

/* Fails the first call, then the second, and so on, until tw_runtime_new works. Returns how many calls
 * failed. */
static int fail_each_in_turn(const struct tw_runtime_options *options, struct tw_runtime **rt) {
    struct tw_runtime *const untouched = (struct tw_runtime *)(uintptr_t)16;
    const struct holdings before = holdings_now();
    for (int spared = 0; spared < 100; ++spared) {
        *rt = untouched;
        inject(EVERY_CALL, USUAL_ERROR, spared, 1);
        const int result = tw_runtime_new(rt, options);
        const int failed = injected();
        inject_nothing();
        if (failed == 0) {
            assert_int_equal(result, 0);
            return spared;
        }
        assert_int_equal(result, -injected_error());
        assert_ptr_equal(*rt, untouched);
        assert_nothing_leaked(before);
    }
    fail_msg("no end of failing calls");
    return 0;
}

/* The first runtime of a process registers fork handlers, so this test must run first. */
TEST(new_asks_for_fork_handlers_until_it_gets_them) {
    struct tw_runtime *rt = NULL;
    const struct holdings before = holdings_now();
    const uint64_t earlier = calls_of(CALL_PTHREAD_ATFORK); /* before main, in a checking build */
    inject(ONLY(CALL_PTHREAD_ATFORK), USUAL_ERROR, 0, 2);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(tw_runtime_new(&rt, &kinds[6]), -ENOMEM);
        assert_null(rt);
        assert_nothing_leaked(before);
    }
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(tw_runtime_new(&rt, &kinds[6]), 0);
        assert_int_equal(tw_runtime_free(rt), 0);
    }
    inject_nothing();
    assert_int_equal(calls_of(CALL_PTHREAD_ATFORK) - earlier, 3);
    assert_nothing_leaked(before);
}

TEST(new_returns_the_error_of_each_call_that_fails_and_leaks_nothing) {
    for (size_t i = 0; i < kinds_here(); ++i) {
        struct tw_runtime *rt = NULL;
        const struct holdings before = holdings_now();
        assert_true(fail_each_in_turn(&kinds[i], &rt) >= fewest_calls[i]);
        assert_works_and_free(way_of(&kinds[i]), rt);
        assert_nothing_leaked(before);
    }
}

TEST(new_that_is_refused_for_its_options_asks_the_system_for_nothing) {
    const struct tw_runtime_options refused[] = {
        {.driver = "nonesuch"}, {.driver = "sleep", .clock = TW_CLOCK_WALL}, {.tick_ns = -1},
        {.priority = 100},      {.thread_name = "sixteen letters!"},
    };
    struct tw_runtime *rt = NULL;
    const struct holdings before = holdings_now();
    inject(EVERY_CALL, EIO, 0, FOREVER);
    for (size_t i = 0; i < COUNT_OF(refused); ++i)
        assert_true(tw_runtime_new(&rt, &refused[i]) < 0);
    assert_int_equal(injected(), 0);
    inject_nothing();
    assert_null(rt);
    assert_nothing_leaked(before);
}

/* --- after a fork, when the driver is opened again ------------------------------------------- */

/* Returns how many calls tw_runtime_after_fork makes that can fail, or minus the number of the
 * step that went wrong. */
static int fail_each_after_fork(const struct way *way, struct tw_runtime *rt) {
    const struct holdings before = holdings_now();
    int spared = 0;
    for (int failed = 1; failed != 0; ++spared) {
        inject(EVERY_CALL, USUAL_ERROR, spared, 1);
        const int result = tw_runtime_after_fork(rt);
        failed = injected();
        inject_nothing();
        if (result != (failed != 0 ? -injected_error() : 0))
            return -1;
        if (failed != 0 && tw_runtime_stop(rt) != -ECHILD)
            return -2;
        if (failed != 0 && count_descriptors() > before.descriptors)
            return -3;
    }
    if (count_descriptors() != before.descriptors || live_allocations() != before.allocations)
        return -4;
    assert_works_and_free(way, rt);
    return spared - 1;
}

static void assert_after_fork_survives(const struct tw_runtime_options *options, int fewest) {
    struct tw_runtime *rt = NULL;
    int status;
    assert_int_equal(tw_runtime_new(&rt, options), 0);
    const pid_t child = fork();
    if (child == 0)
        _exit(fail_each_after_fork(way_of(options), rt) + 100);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_in_range(WEXITSTATUS(status), 100 + fewest, 150);
    assert_works_and_free(way_of(options), rt);
}

TEST(after_fork_returns_the_error_of_each_call_that_fails_and_may_be_called_again) {
    for (size_t i = 0; i < kinds_here(); ++i) {
        const struct holdings before = holdings_now();
        const bool is_wall = kinds[i].clock == TW_CLOCK_WALL;
        assert_after_fork_survives(&kinds[i], fewest_calls[i] - 1 - is_wall);
        assert_nothing_leaked(before);
    }
}

static int fail_and_free(struct tw_runtime *rt) {
    const struct holdings before = holdings_now();
    inject(EVERY_CALL, USUAL_ERROR, 0, 1);
    if (tw_runtime_after_fork(rt) >= 0 || tw_runtime_free(rt) != 0)
        return 1;
    return live_allocations() < before.allocations && count_descriptors() < before.descriptors ? 0 : 2;
}

TEST(after_fork_that_failed_leaves_a_runtime_that_can_be_freed) {
    const char *const names[] = {"epoll", "timerfd", "uring"};
    for (size_t i = 0; i < COUNT_OF(names) - !has_uring(); ++i) {
        struct tw_runtime *rt = runtime_on(names[i]);
        const pid_t child = fork();
        if (child == 0)
            _exit(fail_and_free(rt));
        assert_child_is_well(child);
        tw_runtime_free(rt);
    }
}
