/* Faults on demand: the linker redirects what the library asks of the system to the
 * functions in inject.c (--wrap, see CMakeLists.txt), which fail when told to. */
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
    CALLS
};

#define ONLY(call) (1u << (call))
#define EVERY_CALL ((1u << CALLS) - 1)
#define USUAL_ERROR 0 /* each call's own */
#define FOR_EVER INT32_MAX

/* From now on, of the calls in the set, the first `spared` work and the next `times`
 * fail with `error`. Replaces what was asked for before. */
void inject(unsigned calls, int error, int spared, int times);
void inject_nothing(void);

/* How many have failed since, and with which error the last of them. */
int injected(void);
int injected_error(void);

/* Calls fn once, between the next creation of a thread and its maker's hearing of it. */
void call_after_next_thread_creation(void (*fn)(void));

/* How often it was called, failing or not, since the program began. */
uint64_t calls_of(enum call call);

/* Allocations that were not given back yet. */
int64_t live_allocations(void);

/* Most events that one wait of epoll has fetched since this was last asked. */
int largest_batch(void);

/* The longest timeout, in ms, that epoll_wait was given since this was last asked; -1
 * counts as none. */
int longest_epoll_timeout(void);

/* The absolute deadline that a timerfd was last set to, in ns; 0: it was unset. */
int64_t last_timerfd_deadline(void);

#endif
