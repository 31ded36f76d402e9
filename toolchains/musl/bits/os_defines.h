// What the headers of libstdc++ assume of the C library. It stands before the one that Debian's has for
// glibc.
#ifndef _GLIBCXX_OS_DEFINES
#define _GLIBCXX_OS_DEFINES 1

#define __NO_CTYPE 1
#include <features.h>
#include <pthread.h>

#define __locale_t locale_t

// Named by an inline function of <atomic>'s that nothing here uses; musl has it not.
extern "C" int pthread_cond_clockwait(pthread_cond_t *, pthread_mutex_t *, clockid_t,
                                      const struct timespec *);

#endif
