/* The children that tests fork. */
#ifndef TICKWHEEL_TESTS_SUPPORT_CHILD_H
#define TICKWHEEL_TESTS_SUPPORT_CHILD_H

#include "support/test.h"
#include "support/threads.h"

#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ThreadSanitizer supports no new threads in the child of a process with several, nor the
 * end of its only one; everything else is tried under it as well. qemu-user (7.2) stops at
 * an assertion of its own when such a child makes a thread. */
#if defined(__SANITIZE_THREAD__) || defined(TW_EMULATED)
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

/* --- when to fork ------------------------------------------------------------------------- */

/* True if each of the other threads sleeps when it is looked at. `seen` changes if any has
 * run between two such looks. */
static inline bool others_sleep_at_a_look(uint64_t *seen) {
    const long self = syscall(SYS_gettid);
    bool all_sleep = true;
    DIR *const threads = opendir("/proc/self/task");
    *seen = 0;
    if (threads == NULL)
        abort();
    for (const struct dirent *it; all_sleep && (it = readdir(threads)) != NULL;) {
        struct thread_look look;
        const long thread = strtol(it->d_name, NULL, 10);
        if (thread == 0 || thread == self)
            continue;
        all_sleep = look_at_thread(thread, &look) && look.state == 'S';
        *seen = (*seen + (uint64_t)thread) * 1000003 + look.voluntary + look.involuntary;
    }
    closedir(threads);
    return all_sleep;
}

/* Returns when all other threads have been seen asleep twice, with no run in between. One
 * that only begins, or is in the middle of an allocation, may hold a lock of a sanitizer's
 * own, which stays held in the child of a fork: glibc resets its locks there, the sanitizers
 * of gcc 12 do not reset all of theirs. For tests whose threads use the heap no more by then. */
static inline void wait_until_others_sleep(void) {
    const time_t patience = time(NULL) + 60;
    for (;;) {
        uint64_t before, after;
        if (others_sleep_at_a_look(&before) && others_sleep_at_a_look(&after) && before == after)
            return;
        if (time(NULL) > patience) {
            print_error("waited a minute for the other threads to sleep\n");
            abort();
        }
        sched_yield();
    }
}

/* --- how a child went --------------------------------------------------------------------- */

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
