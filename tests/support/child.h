/* The children that tests fork. */
#ifndef TICKWHEEL_TESTS_SUPPORT_CHILD_H
#define TICKWHEEL_TESTS_SUPPORT_CHILD_H

#include "support/test.h"

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

/* ThreadSanitizer supports no new threads in the child of a process with several, nor the
 * end of its only one; everything else is tried under it as well. */
#if defined(__SANITIZE_THREAD__)
#define THREADS_AFTER_FORK false
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREADS_AFTER_FORK false
#endif
#endif
#ifndef THREADS_AFTER_FORK
#define THREADS_AFTER_FORK true
#endif

/* There in a build that measures coverage, where a child's counts matter too. */
extern void __gcov_dump(void) __attribute__((weak));

/* Ends a child at once: nothing of the parent's is run down. */
static inline _Noreturn void leave(int status) {
    if (__gcov_dump)
        __gcov_dump();
    _exit(status);
}

/* What a child says: 0, or the line of the check that failed. */
#define expect(condition) \
    do { \
        if (!(condition)) \
            leave(__LINE__ % 251 + 1); \
    } while (0)

static inline void assert_child_is_well(pid_t child) {
    int status = 0;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status))
        print_error("killed by signal %d\n", WTERMSIG(status));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#endif
