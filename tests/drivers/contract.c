/* The contract that driver.h states for `wait_until`, `wake` and `program`, tested on each
 * built-in driver without a runtime. */
#include "support/faults.h"

#include <poll.h>

#define AGES (30 * TW_SECOND) /* a wait that must end much earlier */

static const struct tw_driver *driver;
static void *memory;

static int open_driver(void **state) {
    driver = tw_driver_named(WAY->driver);
    memory = calloc(1, driver->state_size);
    return memory == NULL ? -1 : driver->open(memory, TW_CLOCK_MONOTONIC);
}

static int close_driver(UNUSED void **state) {
    driver->close(memory);
    free(memory);
    return 0;
}

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

TEST(a_wake_that_comes_first_ends_the_next_wait) {
    for (unsigned i = 0; i < 3; ++i) {
        driver->wake(memory);
        assert_true(ends_early());
    }
}

static atomic_bool waits, was_ended;

static void *wait_for_ages(UNUSED void *arg) {
    atomic_store(&waits, true);
    atomic_store(&was_ended, ends_early());
    return NULL;
}

static bool it_waits(void) { return atomic_load(&waits); }

TEST(a_wake_ends_the_wait_that_runs) {
    for (unsigned i = 0; i < 100; ++i) {
        pthread_t waiter;
        atomic_store(&waits, false);
        assert_int_equal(pthread_create(&waiter, NULL, wait_for_ages, NULL), 0);
        wait_for(it_waits());
        pause_ms(i % 10 == 0 ? 5 : 0);
        driver->wake(memory);
        pthread_join(waiter, NULL);
        assert_true(was_ended);
    }
}

TEST(a_deadline_that_has_passed_is_no_cause_to_sleep) {
    const struct tw_deadlines past[] = {in(0), {0, TW_NO_DEADLINE}, {1, TW_NO_DEADLINE}};
    const int64_t began = monotonic();
    for (size_t i = 0; i < COUNT_OF(past); ++i)
        assert_true(driver->wait_until(memory, &past[i]) >= 0);
    assert_true(monotonic() - began < AGES);
}

/* Drivers use different means for short and long waits. */
TEST(a_wait_ends_at_its_deadline) {
    const int64_t lengths[] = {200 * TW_MICROSECOND, 3 * TW_MILLISECOND, 30 * TW_MILLISECOND};
    for (size_t i = 0; i < COUNT_OF(lengths); ++i) {
        const struct tw_deadlines until = in(lengths[i]);
        unsigned times = 0;
        while (monotonic() < until.steady_ns && times < 10) {
            assert_true(driver->wait_until(memory, &until) >= 0);
            ++times;
        }
        assert_true(times < 10); /* else it spins until the deadline */
    }
}

/* The setting of a longer wait must not end a later, shorter one too late, nor the reverse. */
TEST(a_wait_that_was_ended_leaves_nothing_to_the_next) {
    const struct tw_deadlines ages = in(AGES), soon = in(5 * TW_MILLISECOND);
    driver->wake(memory);
    assert_true(driver->wait_until(memory, &ages) >= 0);
    while (monotonic() < soon.steady_ns)
        assert_true(driver->wait_until(memory, &soon) >= 0);
    assert_true(monotonic() < ages.steady_ns);
    driver->wake(memory);
    assert_true(ends_early());
}

/* --- the descriptor ------------------------------------------------------------------ */

static bool is_readable(int timeout_ms) {
    struct pollfd descriptor = {driver->descriptor(memory), POLLIN, 0};
    return poll(&descriptor, 1, timeout_ms) == 1;
}

#define AGES_MS ((int)(AGES / TW_MILLISECOND))

TEST(the_descriptor_is_readable_from_a_deadline_on_until_it_is_programmed) {
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

TEST(a_wake_makes_the_descriptor_readable_until_it_is_attended_to) {
    assert_int_equal(driver->program(memory, &never), 0);
    driver->wake(memory);
    assert_true(is_readable(AGES_MS));
    assert_int_equal(driver->program(memory, &never), 0);
    assert_true(is_readable(AGES_MS)); /* it stays readable until it is programmed again */
    assert_int_equal(driver->program(memory, NULL), 0);
    assert_int_equal(driver->program(memory, &never), 0);
    assert_false(is_readable(0));
}

#define OF_DRIVER(test, i) \
    { #test " (" way_name_##i ")", test, open_driver, close_driver, &ways[i] }
#define OF_EACH(test) OF_DRIVER(test, 0), OF_DRIVER(test, 1), OF_DRIVER(test, 2)

int main(void) {
    const struct CMUnitTest tests[] = {
        OF_EACH(a_wake_that_comes_first_ends_the_next_wait),
        OF_EACH(a_wake_ends_the_wait_that_runs),
        OF_EACH(a_deadline_that_has_passed_is_no_cause_to_sleep),
        OF_EACH(a_wait_ends_at_its_deadline),
        OF_EACH(a_wait_that_was_ended_leaves_nothing_to_the_next),
        OF_DRIVER(the_descriptor_is_readable_from_a_deadline_on_until_it_is_programmed, 2),
        OF_DRIVER(a_wake_makes_the_descriptor_readable_until_it_is_attended_to, 2),
    };
    const struct CMUnitTest of_uring[] = {
        OF_DRIVER(a_wake_that_comes_first_ends_the_next_wait, 5),
        OF_DRIVER(a_wake_ends_the_wait_that_runs, 5),
        OF_DRIVER(a_deadline_that_has_passed_is_no_cause_to_sleep, 5),
        OF_DRIVER(a_wait_ends_at_its_deadline, 5),
        OF_DRIVER(a_wait_that_was_ended_leaves_nothing_to_the_next, 5),
    };
    const int failed = cmocka_run_group_tests_name("Drivers by themselves", tests, NULL, NULL);
    return failed + (has_uring() ? cmocka_run_group_tests_name("uring by itself", of_uring, NULL, NULL) : 0);
}
