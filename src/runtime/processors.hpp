// The processors that a thread may run on, from its first instruction.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <cerrno>

namespace tickwheel::runtime {

// Keep this object until the thread is made.
#ifdef __GLIBC__
class processors_of_new_thread {
  public:
    // Returns 0 or an errno, like the pthread functions.
    // NOLINTNEXTLINE(readability-convert-member-functions-to-static): the other version is not static
    int set(pthread_attr_t &attributes, const cpu_set_t &set) {
        return pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
    }
};
#else
// musl has no such attribute. A new thread inherits its creator's processors, so the creator moves to the new
// thread's processors while it creates the thread.
class processors_of_new_thread {
  public:
    processors_of_new_thread() = default;
    ~processors_of_new_thread() {
        if (is_set_)
            pthread_setaffinity_np(pthread_self(), sizeof before_, &before_);
    }
    processors_of_new_thread(const processors_of_new_thread &) = delete;
    processors_of_new_thread &operator=(const processors_of_new_thread &) = delete;

    int set(pthread_attr_t &, const cpu_set_t &set) {
        if (sched_getaffinity(0, sizeof before_, &before_) != 0 ||
            sched_setaffinity(0, sizeof set, &set) != 0)
            return errno;
        is_set_ = true;
        return 0;
    }

  private:
    cpu_set_t before_;
    bool is_set_ = false;
};
#endif

}  // namespace tickwheel::runtime
