/* The contract that driver.h states for `wait_until`, `wake` and `program`, tested on each
 * built-in driver without a runtime. */
#include "support/faults.h"

#include <poll.h>

#define AGES (30 * TW_SECOND) /* a wait that must end much earlier */

static const struct tw_driver *driver;
static void *memory;

static void open_driver_on(enum tw_clock clock, const struct way *way) {
    driver = tw_driver_named(way->driver);
    memory = calloc(1, driver->state_size);
    assert_non_null(memory);
    assert_int_equal(driver->open(memory, clock), 0);
}

static void open_driver(const struct way *way) { open_driver_on(TW_CLOCK_MONOTONIC, way); }

static int close_driver(UNUSED void **state) {
    if (memory == NULL)
        return 0;
    driver->close(memory);
    free(memory);
    memory = NULL;
    return 0;
}

FIXTURE(NULL, close_driver);

static struct tw_deadlines in(int64_t ns) {
    const struct tw_deadlines until = {monotonic() + ns, TW_NO_DEADLINE};
    return until;
}

static const struct tw_deadlines never = {TW_NO_DEADLINE, TW_NO_DEADLINE};

/* Returns true if a wait for AGES has ended early. */
static bool ends_early(void) {
    const struct tw_deadlines until = in(AGES);
    return driver->wait_until(memory, &until) >= 0 && monotonic() < until.steady_ns;
}

/* Returns true if one or a few waits reach a deadline: the driver does not spin. */
static bool sleeps(void) {
    const struct tw_deadlines soon = in(5 * TW_MILLISECOND);
    for (unsigned times = 0; times < 10 && monotonic() < soon.steady_ns; ++times)
        assert_true(driver->wait_until(memory, &soon) >= 0);
    return monotonic() >= soon.steady_ns;
}

TEST_BY_EACH_THREAD(a_wake_that_comes_first_ends_the_next_wait_and_no_other) {
    open_driver(WAY);
    for (unsigned i = 0; i < 3; ++i) {
        driver->wake(memory);
        assert_true(ends_early());
        assert_true(sleeps());
    }
}

static atomic_bool waits, was_ended;

static void *wait_for_ages(UNUSED void *arg) {
    atomic_store(&waits, true);
    atomic_store(&was_ended, ends_early());
    return NULL;
}

TEST_BY_EACH_THREAD(a_wake_ends_the_wait_that_runs) {
    open_driver(WAY);
    for (unsigned i = 0; i < 100; ++i) {
        pthread_t waiter;
        atomic_store(&waits, false);
        assert_int_equal(pthread_create(&waiter, NULL, wait_for_ages, NULL), 0);
        wait_for(waits);
        pause_ms(i % 10 == 0 ? 5 : 0);
        driver->wake(memory);
        pthread_join(waiter, NULL);
        assert_true(was_ended);
        /* The wake ends no second wait, except with uring, which makes a new ring for this thread, and that
         * ring sees the wake again. */
        const struct tw_deadlines soon = in(TW_MILLISECOND);
        assert_true(driver->wait_until(memory, &soon) >= 0);
        assert_true(monotonic() >= soon.steady_ns || strcmp(driver->name, "uring") == 0);
    }
}

TEST_BY_EACH_THREAD(a_deadline_that_has_passed_is_no_cause_to_sleep) {
    open_driver(WAY);
    const struct tw_deadlines past[] = {in(0), {0, TW_NO_DEADLINE}, {1, TW_NO_DEADLINE}};
    const int64_t began = monotonic();
    for (size_t i = 0; i < COUNT_OF(past); ++i)
        assert_true(driver->wait_until(memory, &past[i]) >= 0);
    assert_true(monotonic() - began < AGES);
}

/* Drivers use different means for short and long waits. */
TEST_BY_EACH_THREAD(a_wait_ends_at_its_deadline) {
    open_driver(WAY);
    const int64_t lengths[] = {200 * TW_MICROSECOND, 3 * TW_MILLISECOND, 30 * TW_MILLISECOND};
    for (size_t i = 0; i < COUNT_OF(lengths); ++i) {
        const struct tw_deadlines until = in(lengths[i]);
        unsigned early = 0; /* returns, except when this processor's clock is merely a little behind */
        while (monotonic() < until.steady_ns && early < 10) {
            assert_true(driver->wait_until(memory, &until) >= 0);
            early += until.steady_ns - monotonic() > lengths[i] / 4;
        }
        assert_true(early < 10); /* else the driver spins until the deadline */
    }
}

/* A long wait that was ended must not make a later, shorter one end too late, nor the reverse. */
TEST_BY_EACH_THREAD(a_wait_that_was_ended_leaves_nothing_to_the_next) {
    open_driver(WAY);
    const struct tw_deadlines ages = in(AGES), soon = in(5 * TW_MILLISECOND);
    driver->wake(memory);
    assert_true(driver->wait_until(memory, &ages) >= 0);
    while (monotonic() < soon.steady_ns)
        assert_true(driver->wait_until(memory, &soon) >= 0);
    assert_true(monotonic() < ages.steady_ns);
    driver->wake(memory);
    assert_true(ends_early());
}

/* A clock that was set back reaches the same deadline once more. */
TEST_THREE_WAYS(a_deadline_of_the_wall_clock_that_has_ended_a_wait_ends_the_next_one_too, 1, 2, 5) {
    open_driver_on(TW_CLOCK_WALL, WAY);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const struct tw_deadlines until = {monotonic() + AGES,
                                       now.tv_sec * TW_SECOND + now.tv_nsec + 2 * TW_MILLISECOND};
    for (unsigned i = 0; i < 3; ++i)
        assert_true(driver->wait_until(memory, &until) >= 0 && monotonic() < until.steady_ns);
}

/* --- the descriptor ------------------------------------------------------------------ */

static bool is_readable(int timeout_ms) {
    struct pollfd descriptor = {driver->descriptor(memory), POLLIN, 0};
    return poll(&descriptor, 1, timeout_ms) == 1;
}

#define AGES_MS ((int)(AGES / TW_MILLISECOND))

TEST_ONE_WAY(the_descriptor_is_readable_from_a_deadline_on_until_it_is_programmed, 2) {
    open_driver(WAY);
    const struct tw_deadlines soon = in(5 * TW_MILLISECOND), ages = in(AGES);
    assert_int_equal(driver->program(memory, &soon), 0);
    assert_true(is_readable(AGES_MS));
    assert_true(monotonic() >= soon.steady_ns);
    assert_true(is_readable(0));
    assert_int_equal(driver->program(memory, &ages), 0);
    assert_false(is_readable(0));
    assert_int_equal(driver->program(memory, &never), 0);
    assert_false(is_readable(0));
}

TEST_ONE_WAY(a_wake_makes_the_descriptor_readable_until_it_is_attended_to, 2) {
    open_driver(WAY);
    assert_int_equal(driver->program(memory, &never), 0);
    driver->wake(memory);
    assert_true(is_readable(AGES_MS));
    for (unsigned i = 0; i < 2; ++i) {
        assert_int_equal(driver->program(memory, &never), 0);
        assert_true(is_readable(0));
    }
    assert_int_equal(driver->program(memory, NULL), 0);
    assert_int_equal(driver->program(memory, &never), 0);
    assert_false(is_readable(0));
}
