/* driver.h: the built-in drivers, the clocks each one supports, and custom drivers. */
#include "support/faults.h"

/* Loops that make a runtime go up to names_here(). */
static const char *const names[] = {"sleep", "epoll", "timerfd", "manual", "uring"};
static unsigned names_here(void) { return COUNT_OF(names) - !has_uring(); }

TEST(each_driver_is_found_by_its_name_and_no_other) {
    const char *const unknown[] = {"", "Sleep", "sleep ", "epol", "epolls", "select", "timerfd\n"};
    for (size_t i = 0; i < COUNT_OF(names); ++i) {
        const struct tw_driver *driver = tw_driver_named(names[i]);
        assert_non_null(driver);
        assert_string_equal(driver->name, names[i]);
        assert_ptr_equal(tw_driver_named(names[i]), driver);
        assert_non_null(driver->open);
        assert_non_null(driver->close);
        assert_non_null(driver->wake);
    }
    for (size_t i = 0; i < COUNT_OF(unknown); ++i) {
        struct tw_runtime *rt = NULL;
        const struct tw_runtime_options options = {.driver = unknown[i]};
        assert_null(tw_driver_named(unknown[i]));
        assert_int_equal(tw_runtime_new(&rt, &options), -ENOENT);
        assert_null(rt);
    }
    assert_null(tw_driver_named(NULL));
}

TEST(each_driver_takes_the_clocks_that_it_can_wait_on_and_no_others) {
    static const bool can_wait[COUNT_OF(names)][TW_CLOCK_VIRTUAL + 1] = {
        /*           default monotonic  boot   wall  virtual */
        /* sleep   */ {true, true, false, false, false},
        /* epoll   */ {true, true, true, true, false},
        /* timerfd */ {true, true, true, true, false},
        /* manual  */ {true, false, false, true, true},
        /* uring   */ {true, true, true, true, false},
    };
    for (size_t i = 0; i < names_here(); ++i) {
        for (unsigned clock = TW_CLOCK_DEFAULT; clock <= TW_CLOCK_VIRTUAL; ++clock) {
            struct tw_runtime *rt = NULL;
            const struct tw_runtime_options options = {.driver = names[i], .clock = (enum tw_clock)clock};
            assert_int_equal(tw_runtime_new(&rt, &options), can_wait[i][clock] ? 0 : -EOPNOTSUPP);
            assert_true(can_wait[i][clock] == (rt != NULL));
            tw_runtime_free(rt);
        }
    }
}

static void never_called(UNUSED int fd, UNUSED uint32_t events, UNUSED void *arg) {}

TEST(each_driver_refuses_what_it_cannot_do_and_nothing_changes) {
    for (size_t i = 0; i < names_here(); ++i) {
        const struct tw_driver *driver = tw_driver_named(names[i]);
        struct tw_runtime *rt = runtime_on(names[i]);
        const bool is_manual = driver->wait_until == NULL;
        if (driver->watch == NULL) {
            assert_int_equal(tw_runtime_watch(rt, 0, 1, never_called, NULL), -EOPNOTSUPP);
            assert_int_equal(tw_runtime_watch_modify(rt, 0, 1), -EOPNOTSUPP);
            assert_int_equal(tw_runtime_unwatch(rt, 0), -EOPNOTSUPP);
        }
        if (driver->descriptor == NULL) {
            assert_int_equal(tw_runtime_fd(rt), -EOPNOTSUPP);
            assert_int_equal(tw_runtime_dispatch(rt), -EOPNOTSUPP);
        }
        assert_int_equal(tw_runtime_advance(rt, 0), is_manual ? 0 : -EOPNOTSUPP);
        assert_int_equal(tw_runtime_leap(rt, 0), is_manual ? 0 : -EOPNOTSUPP);
        assert_int_equal(tw_runtime_set_wall(rt, 0), -EOPNOTSUPP);
        if (is_manual)
            assert_int_equal(tw_runtime_start(rt), -EOPNOTSUPP);
        for (size_t way = 0; way < ways_here(); ++way)
            if (strcmp(ways[way].driver, names[i]) == 0 && ways[way].by != BY_LOOP)
                assert_works_and_free(&ways[way], rt);
    }
}

TEST(a_lent_descriptor_and_a_thread_exclude_each_other) {
    struct tw_runtime *rt = runtime_on("timerfd");
    assert_int_equal(tw_runtime_start(rt), 0);
    assert_int_equal(tw_runtime_fd(rt), -EBUSY);
    assert_int_equal(tw_runtime_dispatch(rt), -EBUSY);
    assert_int_equal(tw_runtime_stop(rt), 0);
    const int fd = tw_runtime_fd(rt);
    assert_true(fd >= 0);
    assert_int_equal(tw_runtime_fd(rt), fd);
    assert_int_equal(tw_runtime_start(rt), -EBUSY);
    assert_works_and_free(&ways[3], rt);
}

/* --- custom drivers -------------------------------------------------------------------------- */

/* A driver that wraps `sleep` and counts its calls. */
static atomic_int opened, closed, waits, wakes;
static const struct tw_driver *inner;
static int open_result;
static size_t zeroed_bytes;

static int own_open(void *memory, enum tw_clock clock) {
    const unsigned char *bytes = memory;
    for (zeroed_bytes = 0; zeroed_bytes < 4096 && bytes[zeroed_bytes] == 0;)
        ++zeroed_bytes;
    atomic_fetch_add(&opened, 1);
    return open_result != 0 ? open_result : inner->open(memory, clock);
}

static void own_close(void *memory) {
    atomic_fetch_add(&closed, 1);
    inner->close(memory);
}

static int own_wait(void *memory, const struct tw_deadlines *until) {
    atomic_fetch_add(&waits, 1);
    return inner->wait_until(memory, until);
}

static void own_wake(void *memory) {
    atomic_fetch_add(&wakes, 1);
    inner->wake(memory);
}

static int own_descriptor(UNUSED void *memory) { return 0; }
static int own_program(UNUSED void *memory, UNUSED const struct tw_deadlines *until) { return 0; }

static struct tw_driver whole_driver(void) {
    inner = tw_driver_named("sleep");
    const struct tw_driver own = {.name = "own",
                                  .clocks = TW_CLOCK_BIT(TW_CLOCK_MONOTONIC),
                                  .state_size = 4096,
                                  .open = own_open,
                                  .close = own_close,
                                  .wait_until = own_wait,
                                  .wake = own_wake};
    open_result = 0;
    atomic_store(&opened, 0);
    atomic_store(&closed, 0);
    return own;
}

static int new_with(const struct tw_driver *own, struct tw_runtime **rt) {
    const struct tw_runtime_options options = {.own_driver = own};
    *rt = NULL;
    return tw_runtime_new(rt, &options);
}

static void assert_refused(struct tw_driver own, int error) {
    struct tw_runtime *rt;
    const struct holdings before = holdings_now();
    assert_int_equal(new_with(&own, &rt), error);
    assert_null(rt);
    assert_nothing_leaked(before);
}

TEST(an_own_driver_with_functions_missing_is_refused) {
    struct tw_driver own[6];
    for (size_t i = 0; i < COUNT_OF(own); ++i)
        own[i] = whole_driver();
    own[0].name = NULL;
    own[1].open = NULL;
    own[2].close = NULL;
    own[3].wake = NULL;
    own[4].descriptor = own_descriptor; /* without `program` */
    own[5].program = own_program;       /* without `descriptor` */
    for (size_t i = 0; i < COUNT_OF(own); ++i)
        assert_refused(own[i], -EINVAL);
    assert_int_equal(opened, 0);
}

TEST(an_own_driver_without_the_clock_or_with_too_large_a_state_is_refused) {
    struct tw_driver own = whole_driver();
    own.clocks = 0;
    assert_refused(own, -EOPNOTSUPP);
    own = whole_driver();
    own.clocks = TW_CLOCK_BIT(TW_CLOCK_VIRTUAL);
    assert_refused(own, -EOPNOTSUPP);
    own = whole_driver();
    own.state_size = SIZE_MAX;
    assert_refused(own, -ENOMEM);
    own.state_size = SIZE_MAX - 64;
    assert_refused(own, -ENOMEM);
    assert_int_equal(opened, 0);
}

TEST(an_own_driver_that_does_not_open_is_not_closed) {
    const struct tw_driver own = whole_driver();
    open_result = -EIO;
    assert_refused(own, -EIO);
    assert_int_equal(opened, 1);
    assert_int_equal(closed, 0);
}

TEST(a_name_and_an_own_driver_exclude_each_other) {
    struct tw_runtime *rt = NULL;
    const struct tw_driver own = whole_driver();
    const struct tw_runtime_options options = {.driver = "sleep", .own_driver = &own};
    assert_int_equal(tw_runtime_new(&rt, &options), -EINVAL);
    assert_null(rt);
}

TEST(an_own_driver_that_wraps_a_built_in_one_works) {
    struct tw_runtime *rt;
    const struct holdings before = holdings_now();
    const struct tw_driver own = whole_driver();
    assert_int_equal(new_with(&own, &rt), 0);
    assert_int_equal(zeroed_bytes, 4096);
    assert_int_equal(tw_runtime_watch(rt, 0, 1, never_called, NULL), -EOPNOTSUPP);
    assert_int_equal(tw_runtime_fd(rt), -EOPNOTSUPP);
    assert_int_equal(tw_runtime_advance(rt, 1), -EOPNOTSUPP);
    assert_works_and_free(&ways[0], rt);
    assert_true(waits > 0 && wakes > 0);
    assert_int_equal(opened, 1);
    assert_int_equal(closed, 1);
    assert_nothing_leaked(before);
}

/* Whatever clocks the driver declares. */
TEST(an_own_driver_has_virtual_time_if_it_cannot_wait_and_only_then) {
    for (int can_wait = 0; can_wait < 2; ++can_wait)
        for (unsigned clock = TW_CLOCK_DEFAULT; clock <= TW_CLOCK_VIRTUAL; ++clock) {
            struct tw_driver own = whole_driver();
            struct tw_runtime *rt = NULL;
            const struct tw_runtime_options options = {.own_driver = &own, .clock = (enum tw_clock)clock};
            const bool fits =
                can_wait ? clock != TW_CLOCK_VIRTUAL : clock != TW_CLOCK_MONOTONIC && clock != TW_CLOCK_BOOT;
            own.clocks = ~0u;
            if (!can_wait)
                own.wait_until = NULL;
            assert_int_equal(tw_runtime_new(&rt, &options), fits ? 0 : -EOPNOTSUPP);
            tw_runtime_free(rt);
        }
}

/* Without a way to wait, time is virtual. */
TEST(an_own_driver_that_cannot_wait_is_a_manual_one) {
    struct tw_runtime *rt;
    struct tw_driver own = whole_driver();
    own.wait_until = NULL;
    assert_refused(own, -EOPNOTSUPP); /* no virtual clock */
    own.clocks = TW_CLOCK_BIT(TW_CLOCK_VIRTUAL);
    assert_int_equal(new_with(&own, &rt), 0);
    assert_int_equal(tw_runtime_start(rt), -EOPNOTSUPP);
    assert_works_and_free(&ways[4], rt);
}
