// Holds a mutex for a scope.
#pragma once

#include <pthread.h>

namespace tickwheel::base {

class mutex_hold {
  public:
    explicit mutex_hold(pthread_mutex_t *mutex) : mutex_(mutex) { pthread_mutex_lock(mutex_); }
    ~mutex_hold() { pthread_mutex_unlock(mutex_); }
    mutex_hold(const mutex_hold &) = delete;
    mutex_hold &operator=(const mutex_hold &) = delete;

  private:
    pthread_mutex_t *mutex_;
};

}  // namespace tickwheel::base
