// Making and naming the library's own threads. Any thread.
#include "threads.hpp"

#include <signal.h>

#include <cstring>

namespace tickwheel::runtime {

// A new thread inherits its creator's signal mask. So the creator blocks every signal while it creates the
// thread, and the new thread never takes one.
int create_thread(pthread_t &made, const pthread_attr_t *attributes, void *(*body)(void *), void *arg) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&made, attributes, body, arg);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return -error;
}

void begin_thread(const char *name) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    pthread_setname_np(pthread_self(), name);
}

bool is_thread_name(const char *name) { return name == nullptr || std::strlen(name) < thread_name_size; }

void copy_thread_name(char (&to)[thread_name_size], const char *name, const char *by_default) {
    const char *const chosen = name != nullptr ? name : by_default;
    std::memcpy(to, chosen, std::strlen(chosen) + 1);
}

}  // namespace tickwheel::runtime
