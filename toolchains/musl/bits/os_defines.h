// What the headers of libstdc++ assume about the C library. The compiler finds this header before Debian's,
// which is for glibc.
#ifndef _GLIBCXX_OS_DEFINES
#define _GLIBCXX_OS_DEFINES 1

#define __NO_CTYPE 1
#include <features.h>
#include <pthread.h>

#define __locale_t locale_t

// An inline function of <atomic>, which nothing here uses, names this function, which musl lacks.
extern "C" int pthread_cond_clockwait(pthread_cond_t *, pthread_mutex_t *, clockid_t,
                                      const struct timespec *);

#endif
