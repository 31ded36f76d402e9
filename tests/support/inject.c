/* Wraps the system calls of the library. A call fails if a test has asked for that; see inject.h. */
#define _GNU_SOURCE
#include "support/inject.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

static const int usual_errors[CALLS] = {
    [CALL_MALLOC] = ENOMEM,
    [CALL_CALLOC] = ENOMEM,
    [CALL_REALLOC] = ENOMEM,
    [CALL_POSIX_MEMALIGN] = ENOMEM,
    [CALL_EPOLL_CREATE] = EMFILE,
    [CALL_EPOLL_CTL] = ENOSPC,
    [CALL_EPOLL_WAIT] = EINTR,
    [CALL_EPOLL_PWAIT2] = ENOSYS,
    [CALL_EVENTFD] = ENFILE,
    [CALL_TIMERFD_CREATE] = EMFILE,
    [CALL_TIMERFD_SETTIME] = ENOMEM,
    [CALL_POLL] = ENOMEM,
    [CALL_PTHREAD_CREATE] = EAGAIN,
    [CALL_PTHREAD_ATFORK] = ENOMEM,
    [CALL_ATTR_INIT] = ENOMEM,
    [CALL_ATTR_AFFINITY] = ENOMEM,
    [CALL_ATTR_SCHEDPARAM] = EINVAL,
    [CALL_FUTEX_WAIT] = EINTR,
    [CALL_MEMBARRIER] = ENOSYS,
    [CALL_URING_SETUP] = ENOSYS,
    [CALL_URING_ENTER] = ENOMEM,
    [CALL_URING_BEGIN] = EPERM,
    [CALL_MMAP] = ENOMEM,
};

static atomic_uint faulty;
static atomic_int chosen_error, spared_calls, faults_left, faults, last_error;
static atomic_ullong counts[COUNTED_CALLS];
static _Thread_local uint64_t own_counts[COUNTED_CALLS];
static atomic_llong live;
static atomic_int batch;
static atomic_llong epoll_timeout, timerfd_deadline;

void inject(unsigned calls, int error, int spared, int times) {
    atomic_store(&faulty, 0);
    atomic_store(&chosen_error, error);
    atomic_store(&spared_calls, spared);
    atomic_store(&faults_left, times);
    atomic_store(&faults, 0);
    atomic_store(&faulty, calls);
}

void inject_nothing(void) { inject(0, 0, 0, 0); }

static void (*_Atomic after_creation)(void);

void call_after_next_thread_creation(void (*fn)(void)) { atomic_store(&after_creation, fn); }

int injected(void) { return atomic_load(&faults); }
int injected_error(void) { return atomic_load(&last_error); }
uint64_t calls_of(enum call call) { return atomic_load(&counts[call]); }
uint64_t own_calls_of(enum call call) { return own_counts[call]; }
int64_t live_allocations(void) { return atomic_load(&live); }
int largest_batch(void) { return atomic_exchange(&batch, 0); }
int64_t longest_epoll_timeout(void) { return atomic_exchange(&epoll_timeout, -1); }
int64_t last_timerfd_deadline(void) { return atomic_load(&timerfd_deadline); }

static atomic_int fetching_is_hidden;

void hide_fetching(int is_hidden) { atomic_store(&fetching_is_hidden, is_hidden); }

static void keep_larger(atomic_int *largest, int value) {
    int before = atomic_load(largest);
    while (value > before && !atomic_compare_exchange_weak(largest, &before, value)) {
    }
}

static void keep_longer(int64_t timeout) {
    long long before = atomic_load(&epoll_timeout);
    while (timeout > before && !atomic_compare_exchange_weak(&epoll_timeout, &before, timeout)) {
    }
}

static void (*_Atomic before_allocation)(void);
static atomic_int spared_allocations;

void call_before_allocation(int spared, void (*fn)(void)) {
    atomic_store(&spared_allocations, spared);
    atomic_store(&before_allocation, fn);
}

static void announce(enum call call) {
    if (call > CALL_POSIX_MEMALIGN || atomic_load(&before_allocation) == NULL)
        return;
    if (atomic_fetch_sub(&spared_allocations, 1) > 0)
        return;
    void (*const fn)(void) = atomic_exchange(&before_allocation, NULL);
    if (fn != NULL)
        fn();
}

static void count(enum call call) {
    atomic_fetch_add(&counts[call], 1);
    ++own_counts[call];
}

/* Returns the error that this call must fail with, or 0. */
static int fault(enum call call) {
    announce(call);
    count(call);
    if ((atomic_load(&faulty) & ONLY(call)) == 0)
        return 0;
    if (atomic_fetch_sub(&spared_calls, 1) > 0 || atomic_fetch_sub(&faults_left, 1) <= 0)
        return 0;
    const int chosen = atomic_load(&chosen_error);
    const int error = chosen != USUAL_ERROR ? chosen : usual_errors[call];
    atomic_store(&last_error, error);
    atomic_fetch_add(&faults, 1);
    return error;
}

/* For calls that set errno. */
static int fails(enum call call) {
    const int error = fault(call);
    if (error != 0)
        errno = error;
    return error != 0;
}

/* --- the heap ------------------------------------------------------------------ */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
void __real_free(void *memory);

void *__wrap_malloc(size_t size) {
    void *memory = fails(CALL_MALLOC) ? NULL : __real_malloc(size);
    atomic_fetch_add(&live, memory != NULL);
    return memory;
}

void *__wrap_calloc(size_t count, size_t size) {
    void *memory = fails(CALL_CALLOC) ? NULL : __real_calloc(count, size);
    atomic_fetch_add(&live, memory != NULL);
    return memory;
}

void *__wrap_realloc(void *old, size_t size) {
    const int is_new = old == NULL;
    void *memory = fails(CALL_REALLOC) ? NULL : __real_realloc(old, size);
    atomic_fetch_add(&live, memory != NULL && is_new);
    return memory;
}

/* Returns its error instead of setting errno. */
int __wrap_posix_memalign(void **out, size_t alignment, size_t size) {
    int error = fault(CALL_POSIX_MEMALIGN);
    if (error == 0)
        error = __real_posix_memalign(out, alignment, size);
    atomic_fetch_add(&live, error == 0);
    return error;
}

void __wrap_free(void *memory) {
    const int counts_for = memory != NULL;
    __real_free(memory);
    atomic_fetch_sub(&live, counts_for);
}

/* --- descriptors ---------------------------------------------------------------- */

int __real_epoll_create1(int flags);
int __real_epoll_ctl(int set, int operation, int fd, struct epoll_event *event);
int __real_epoll_wait(int set, struct epoll_event *events, int room, int timeout);
int __real_epoll_pwait2(int set, struct epoll_event *events, int room, const struct timespec *timeout,
                        const sigset_t *mask);
int __real_eventfd(unsigned count, int flags);
int __real_timerfd_create(int clock, int flags);
int __real_timerfd_settime(int fd, int flags, const struct itimerspec *to, struct itimerspec *before);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout);

int __wrap_epoll_create1(int flags) { return fails(CALL_EPOLL_CREATE) ? -1 : __real_epoll_create1(flags); }

int __wrap_epoll_ctl(int set, int operation, int fd, struct epoll_event *event) {
    return fails(CALL_EPOLL_CTL) ? -1 : __real_epoll_ctl(set, operation, fd, event);
}

int __wrap_epoll_wait(int set, struct epoll_event *events, int room, int timeout) {
    if (fails(CALL_EPOLL_WAIT))
        return -1;
    keep_longer(timeout * INT64_C(1000000));
    const int fetched = __real_epoll_wait(set, events, room, timeout);
    keep_larger(&batch, fetched);
    return fetched;
}

int __wrap_epoll_pwait2(int set, struct epoll_event *events, int room, const struct timespec *timeout,
                        const sigset_t *mask) {
    if (fails(CALL_EPOLL_PWAIT2))
        return -1;
    if (timeout != NULL)
        keep_longer((int64_t)timeout->tv_sec * 1000000000 + timeout->tv_nsec);
    const int fetched = __real_epoll_pwait2(set, events, room, timeout, mask);
    keep_larger(&batch, fetched);
    return fetched;
}

int __wrap_eventfd(unsigned count, int flags) {
    return fails(CALL_EVENTFD) ? -1 : __real_eventfd(count, flags);
}

int __wrap_timerfd_create(int clock, int flags) {
    return fails(CALL_TIMERFD_CREATE) ? -1 : __real_timerfd_create(clock, flags);
}

/* ECANCELED means that the wall clock was set. After this error alone, the kernel has set the timer all the
 * same. */
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *to, struct itimerspec *before) {
    const int error = fault(CALL_TIMERFD_SETTIME);
    int result = -1;
    if (error == 0 || error == ECANCELED) {
        atomic_store(&timerfd_deadline, (int64_t)to->it_value.tv_sec * 1000000000 + to->it_value.tv_nsec);
        result = __real_timerfd_settime(fd, flags, to, before);
    }
    if (error == 0)
        return result;
    errno = error;
    return -1;
}

ssize_t __real_write(int fd, const void *from, size_t size);
ssize_t __wrap_write(int fd, const void *from, size_t size) {
    count(CALL_WRITE);
    return __real_write(fd, from, size);
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout) {
    return fails(CALL_POLL) ? -1 : __real_poll(fds, count, timeout);
}

/* --- clocks --------------------------------------------------------------------------------- */

static _Thread_local void (*before_reading)(void);

void call_before_next_reading(void (*fn)(void)) { before_reading = fn; }

int __real_clock_gettime(clockid_t clock, struct timespec *reading);
int __wrap_clock_gettime(clockid_t clock, struct timespec *reading) {
    void (*const hook)(void) = before_reading;
    before_reading = NULL;
    if (hook != NULL)
        hook();
    return __real_clock_gettime(clock, reading);
}

/* --- memory that is shared with the kernel -------------------------------------------------- */

void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__real_mmap64(void *at, size_t size, int protection, int flags, int fd, int64_t offset);

int __real_munmap(void *at, size_t size);

static void *counted_mapping(void *memory) {
    atomic_fetch_add(&live, memory != MAP_FAILED);
    return memory;
}

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    return fails(CALL_MMAP) ? MAP_FAILED
                            : counted_mapping(__real_mmap(at, size, protection, flags, fd, offset));
}

/* The name of mmap in programs with 64-bit offsets. */
void *__wrap_mmap64(void *at, size_t size, int protection, int flags, int fd, int64_t offset) {
    return fails(CALL_MMAP) ? MAP_FAILED
                            : counted_mapping(__real_mmap64(at, size, protection, flags, fd, offset));
}

int __wrap_munmap(void *at, size_t size) {
    atomic_fetch_sub(&live, 1);
    return __real_munmap(at, size);
}

/* --- threads: calls that return their errors ------------------------------------------------- */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *),
                          void *arg);
int __real_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int __real_pthread_attr_init(pthread_attr_t *attributes);
int __real_pthread_attr_setschedparam(pthread_attr_t *attributes, const struct sched_param *parameters);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *),
                          void *arg) {
    int error = fault(CALL_PTHREAD_CREATE);
    if (error == 0)
        error = __real_pthread_create(thread, attributes, fn, arg);
    void (*const hook)(void) = atomic_exchange(&after_creation, NULL);
    if (hook != NULL)
        hook();
    return error;
}

int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    const int error = fault(CALL_PTHREAD_ATFORK);
    return error != 0 ? error : __real_pthread_atfork(prepare, parent, child);
}

int __wrap_pthread_attr_init(pthread_attr_t *attributes) {
    const int error = fault(CALL_ATTR_INIT);
    return error != 0 ? error : __real_pthread_attr_init(attributes);
}

#ifdef __GLIBC__
int __real_pthread_attr_setaffinity_np(pthread_attr_t *attributes, size_t size, const cpu_set_t *set);
int __wrap_pthread_attr_setaffinity_np(pthread_attr_t *attributes, size_t size, const cpu_set_t *set) {
    const int error = fault(CALL_ATTR_AFFINITY);
    return error != 0 ? error : __real_pthread_attr_setaffinity_np(attributes, size, set);
}
#else /* see src/runtime/processors.hpp; the call that restores the processors never fails */
int __real_sched_setaffinity(pid_t thread, size_t size, const cpu_set_t *set);
int __wrap_sched_setaffinity(pid_t thread, size_t size, const cpu_set_t *set) {
    return fails(CALL_ATTR_AFFINITY) ? -1 : __real_sched_setaffinity(thread, size, set);
}
#endif

int __wrap_pthread_attr_setschedparam(pthread_attr_t *attributes, const struct sched_param *parameters) {
    const int error = fault(CALL_ATTR_SCHEDPARAM);
    return error != 0 ? error : __real_pthread_attr_setschedparam(attributes, parameters);
}

/* --- system calls without a wrapper in libc -------------------------------------------------- */

long __real_syscall(long number, ...);

/* The futex call with the library's own timespec; see src/ports/linux/lock.cpp. */
#ifdef SYS_futex_time64
#define FUTEX_CALL SYS_futex_time64
#else
#define FUTEX_CALL SYS_futex
#endif

static int is_futex_wait(long number, long operation) {
    const long command = operation & FUTEX_CMD_MASK;
    return number == FUTEX_CALL && (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET);
}

static int is_futex_wake(long number, long operation) {
    return number == FUTEX_CALL && (operation & FUTEX_CMD_MASK) == FUTEX_WAKE;
}

static int is_register(long number, long operation, long wanted) {
    return number == SYS_io_uring_register && operation == wanted;
}

/* Returns how many arguments the call passes: the real function reads six, passed or not, but C allows
 * reading only those that were passed. Knows the library's calls, and the tests' own call for the id of their
 * thread. */
static int arguments_of(long number) {
    switch (number) {
    case FUTEX_CALL:
    case SYS_epoll_pwait2:
        return 6;
    case SYS_membarrier:
        return 3;
    case SYS_io_uring_setup:
        return 2;
    case SYS_io_uring_enter:
        return 6;
    case SYS_io_uring_register:
        return 4;
    case SYS_sched_getattr:
        return 4;
    case SYS_sched_setattr:
        return 3;
    case SYS_gettid:
        return 0;
    default:
        abort();
    }
}

long __wrap_syscall(long number, ...) {
    long argument[6] = {0};
    const int passed = arguments_of(number);
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < passed; ++i)
        argument[i] = va_arg(arguments, long);
    va_end(arguments);
    if (is_futex_wake(number, argument[1]))
        count(CALL_FUTEX_WAKE);
    if (is_futex_wait(number, argument[1]) && fails(CALL_FUTEX_WAIT))
        return -1;
    if (number == SYS_membarrier && fails(CALL_MEMBARRIER))
        return -1;
    if (number == SYS_io_uring_setup && fails(CALL_URING_SETUP))
        return -1;
    if (number == SYS_io_uring_enter && fails(CALL_URING_ENTER))
        return -1;
    if (is_register(number, argument[1], IORING_REGISTER_ENABLE_RINGS) && fails(CALL_URING_BEGIN))
        return -1;
    if (is_register(number, argument[1], IORING_REGISTER_PROBE) && atomic_load(&fetching_is_hidden)) {
        errno = EPERM;
        return -1;
    }
    return __real_syscall(number, argument[0], argument[1], argument[2], argument[3], argument[4],
                          argument[5]);
}
