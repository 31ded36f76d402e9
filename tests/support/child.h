/* Helpers for tests that fork: when to fork, and how a child reports its result. */
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

/* ThreadSanitizer supports neither new threads in the child of a process with several nor the
 * end of its only one; everything else is tested under it as well. qemu-user (7.2) fails an
 * assertion of its own when such a child makes a thread. */
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

/* Defined in a build that measures coverage, where a child's counts matter, too. */
extern void __gcov_dump(void) __attribute__((weak));

/* Ends a child at once, without the parent's exit handlers. */
static inline _Noreturn void leave(int status) {
    if (__gcov_dump)
        __gcov_dump();
    _exit(status);
}

static inline void leave_well(void) { leave(0); }

/* Lets a child whose only thread is one of the library's exit with 0 when that thread returns. */
static inline void leave_with_the_thread(void) { atexit(leave_well); }

/* A child's report: 0, or the line of the check that failed. */
#define expect(condition) \
    do { \
        if (!(condition)) \
            leave(__LINE__ % 251 + 1); \
    } while (0)

/* --- when to fork ------------------------------------------------------------------------- */

/* Returns true if each of the other threads is asleep. `seen` changes if any of them has run
 * between two calls. */
static inline bool others_sleep_at_a_look(uint64_t *seen) {
    const long self = syscall(SYS_gettid);
    bool all_sleep = true;
    DIR *const threads = opendir("/proc/self/task");
    *seen = 0;
    if (threads == NULL)
        abort();
    for (const struct dirent *entry; all_sleep && (entry = readdir(threads)) != NULL;) {
        struct thread_look look;
        const long thread = strtol(entry->d_name, NULL, 10);
        if (thread == 0 || thread == self)
            continue;
        all_sleep = look_at_thread(thread, &look) && look.state == 'S';
        *seen = (*seen + (uint64_t)thread) * 1000003 + look.voluntary + look.involuntary;
    }
    closedir(threads);
    return all_sleep;
}

/* Returns when all other threads were seen asleep twice with no run in between. A thread that
 * is starting or allocating may hold a sanitizer's own lock, which stays held in the child of
 * a fork: glibc resets its locks there, but the sanitizers of gcc 12 do not reset all of
 * theirs. Only for tests whose threads no longer use the heap at that point. */
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

/* --- the end of a child ---------------------------------------------------------------------- */

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
