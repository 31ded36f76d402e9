/* CMocka with the headers that it requires before it, for C and C++. */
#ifndef TICKWHEEL_TESTS_SUPPORT_TEST_H
#define TICKWHEEL_TESTS_SUPPORT_TEST_H

#include <assert.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif
#include <cmocka.h>
#ifdef __cplusplus
}
#endif

#define UNUSED __attribute__((unused))

/* A test, or a fixture for the tests below it in its file. A constructor registers it before main begins. */
struct registered_test {
    struct CMUnitTest test; /* a fixture: without a test_func */
    const char *file;
    int place; /* in the file */
    struct registered_test *next;
};

#ifdef __cplusplus
extern "C" {
#endif
void register_test(struct registered_test *test);
/* Run before and after all tests of the program. GROUP_FIXTURE sets them, once. */
extern CMFixtureFunction group_setup, group_teardown;
/* Runs the tests whose names match the pattern (fnmatch), or those of the source that the pattern names
 * ("fork" for fork.c), or all if it is NULL, in the order of their files. Returns how many have failed; 1 if
 * there are none. */
int run_registered_tests(const char *group, const char *pattern);
#ifdef __cplusplus
}
#endif

#define REGISTER_TEST(id, name, function, setup, teardown, state) \
    static struct registered_test registered_##id = { \
        {name, function, setup, teardown, state}, __BASE_FILE__, __COUNTER__, NULL}; \
    __attribute__((constructor)) static void register_##id(void) { register_test(&registered_##id); }

/* A test: TEST(name) { ... }. The program runs its tests in the order in which they stand in their file.
 * main.c has the program's main, whose arguments choose tests: names of tests or of sources, or patterns of
 * names. */
#define TEST(name) \
    static void name(void **state); \
    REGISTER_TEST(name, #name, name, NULL, NULL, NULL) \
    static void name(UNUSED void **state)

/* A test that is skipped if the condition is false, because the library lacks what the test needs. */
#define TEST_IF(condition, name) \
    static void name##_runs(void **state); \
    TEST(name) { \
        if (!(condition)) \
            skip(); \
        name##_runs(state); \
    } \
    static void name##_runs(UNUSED void **state)

/* For macros that define a test of several cases: DECLARE_TEST(name); the cases; DEFINE_TEST(name) and its
 * body. CASE(name, id, label, state) is one more run of the test, as "name (label)", with *state as given. */
#define DECLARE_TEST(name) static void name(void **state)
#define DEFINE_TEST(name) static void name(UNUSED void **state)
#define CASE(name, id, label, state) REGISTER_TEST(name##_##id, #name " (" label ")", name, NULL, NULL, state)

/* FIXTURE(setup, teardown); applies to the tests below it in the file, up to the next FIXTURE. NULL: none. */
#define FIXTURE(setup, teardown) FIXTURE_AT(__COUNTER__, setup, teardown)
#define FIXTURE_AT(number, setup, teardown) FIXTURE_NAMED(number, setup, teardown)
#define FIXTURE_NAMED(number, setup, teardown) \
    REGISTER_TEST(fixture_##number, NULL, NULL, setup, teardown, NULL) \
    static_assert(1, "")

/* GROUP_FIXTURE(setup, teardown); once in a program: before its first test, and after its last. */
#define GROUP_FIXTURE(setup, teardown) \
    __attribute__((constructor)) static void set_group_fixture(void) { \
        group_setup = setup; \
        group_teardown = teardown; \
    } \
    static_assert(1, "")

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* For a call whose result a test has no use for. A cast to void alone does not keep gcc from warning. */
#define IGNORE(result) ((void)!(result))

#endif
