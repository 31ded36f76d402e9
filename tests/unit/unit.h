/* CMocka for tests in C++: the headers that it wants in front of it. */
#ifndef TICKWHEEL_TESTS_UNIT_H
#define TICKWHEEL_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#include <cmocka.h>
#ifdef __cplusplus
}
#endif

#define TEST(name) static void name(__attribute__((unused)) void **state)

#endif
