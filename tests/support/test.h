/* CMocka with the headers that it requires before it, for C and C++. */
#ifndef TICKWHEEL_TESTS_SUPPORT_TEST_H
#define TICKWHEEL_TESTS_SUPPORT_TEST_H

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
#define TEST(name) static void name(UNUSED void **state)

/* A test that is skipped where the condition does not hold: where the library is without what it needs. Two
 * conditions are BOTH(one, other), as clang-format takes && between them for a reference. */
#define BOTH(one, other) ((one) && (other))
#define TEST_IF(condition, name) \
    static void name##_runs(void **state); \
    TEST(name) { \
        if (!(condition)) \
            skip(); \
        name##_runs(state); \
    } \
    static void name##_runs(UNUSED void **state)

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

/* For a call whose result a test has no use for. A cast to void alone does not keep gcc from warning. */
#define IGNORE(result) ((void)!(result))

#endif
