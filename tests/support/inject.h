/* Faults on demand: the linker redirects the library's system calls to the functions in
 * inject.c (--wrap, see CMakeLists.txt), which fail when a test asks for it. */
#ifndef TICKWHEEL_TESTS_INJECT_H
#define TICKWHEEL_TESTS_INJECT_H

#include <stdint.h>

enum call {
    CALL_MALLOC,
    CALL_CALLOC,
    CALL_REALLOC,
    CALL_POSIX_MEMALIGN,
    CALL_EPOLL_CREATE,
    CALL_EPOLL_CTL,
    CALL_EPOLL_WAIT,
    CALL_EPOLL_PWAIT2,
    CALL_EVENTFD,
    CALL_TIMERFD_CREATE,
    CALL_TIMERFD_SETTIME,
    CALL_POLL,
    CALL_PTHREAD_CREATE,
    CALL_PTHREAD_ATFORK,
    CALL_ATTR_INIT,
    CALL_ATTR_AFFINITY,
    CALL_ATTR_SCHEDPARAM,
    CALL_FUTEX_WAIT,
    CALL_MEMBARRIER,
    CALL_URING_SETUP,
    CALL_URING_ENTER,
    CALL_URING_BEGIN,
    CALL_MMAP,
    CALLS,
    /* Counted but never failed, because a thread would sleep forever. */
    CALL_FUTEX_WAKE = CALLS,
    CALL_WRITE,
    COUNTED_CALLS
};

#define ONLY(call) (1u << (call))
#define EVERY_CALL ((1u << CALLS) - 1)
#define USUAL_ERROR 0 /* the usual error of each call */
#define FOREVER INT32_MAX

/* From now on, the first `spared` calls of the set work, and the next `times` fail with `error`. Replaces the
 * previous request. */
void inject(unsigned calls, int error, int spared, int times);
void inject_nothing(void);

/* How many calls have failed since, and the error of the last one. */
int injected(void);
int injected_error(void);

/* Calls fn once: after the next thread was created, and before its creator's call returns. */
void call_after_next_thread_creation(void (*fn)(void));

/* Calls fn once: before the next allocation of this program that follows `spared` others. NULL: no longer. */
void call_before_allocation(int spared, void (*fn)(void));

/* Returns how often the program has made this call, failing or not. */
uint64_t calls_of(enum call call);

/* The same for the calls of this thread. */
uint64_t own_calls_of(enum call call);

/* Allocations not freed, and mappings not unmapped yet. */
int64_t live_allocations(void);

/* Returns the most events that one epoll wait has fetched since the previous call of this function. It does
 * not see events that a ring fetches. */
int largest_batch(void);

/* From now on a ring of io_uring cannot fetch the events of an epoll set, as before Linux 6.15. */
void hide_fetching(int is_hidden);

/* Returns the longest timeout, in ns, with which epoll has waited since the previous call of this function;
 * -1 if it has had none. */
int64_t longest_epoll_timeout(void);

/* Calls fn once: before this thread next reads a clock. */
void call_before_next_reading(void (*fn)(void));

/* The absolute deadline that a timerfd was last set to, in ns; 0 if it was disarmed. */
int64_t last_timerfd_deadline(void);

#endif
