// The library's own threads: the one that fires, workers, the lookout and the server of src/observe. They
// take no signals and are never cancelled.
#pragma once

#include <pthread.h>

namespace tickwheel::runtime {

inline constexpr unsigned thread_name_size = 16;  // the system's limit

// Starts a thread that runs body(arg), with every signal blocked. 0 or a negative errno.
int create_thread(pthread_t &made, const pthread_attr_t *attributes, void *(*body)(void *), void *arg);

// Such a thread calls this first.
void begin_thread(const char *name);

// The option `thread_name`; null means the default. copy_thread_name makes a copy that outlives the caller's
// string.
bool is_thread_name(const char *name);
void copy_thread_name(char (&to)[thread_name_size], const char *name, const char *by_default);

}  // namespace tickwheel::runtime
