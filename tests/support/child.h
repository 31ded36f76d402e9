/* The children that tests fork. */
#ifndef TICKWHEEL_TESTS_SUPPORT_CHILD_H
#define TICKWHEEL_TESTS_SUPPORT_CHILD_H

#include <unistd.h>

/* There in a build that measures coverage, where a child's counts matter too. */
extern void __gcov_dump(void) __attribute__((weak));

/* Ends a child at once: nothing of the parent's is run down. */
static inline _Noreturn void leave(int status) {
    if (__gcov_dump)
        __gcov_dump();
    _exit(status);
}

#endif
