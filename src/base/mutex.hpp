// A mutex whose contracts clang checks, and a guard that holds it for a scope.
#pragma once

#include <pthread.h>

#include "thread_safety.hpp"

namespace tickwheel::base {

// `native` is for pthread_cond_wait.
struct TW_CAPABILITY("mutex") mutex {
    pthread_mutex_t native;

    void init() { pthread_mutex_init(&native, nullptr); }
    void destroy() { pthread_mutex_destroy(&native); }
    void lock() TW_ACQUIRE() TW_UNCHECKED_LOCKING { pthread_mutex_lock(&native); }
    void unlock() TW_RELEASE() TW_UNCHECKED_LOCKING { pthread_mutex_unlock(&native); }
    bool try_lock() TW_TRY_ACQUIRE(true) { return pthread_mutex_trylock(&native) == 0; }

    // Tells clang what it cannot see: the mutex is held, or no other thread exists that could hold it.
    void assume_held() const TW_ASSUME(this) {}
};

class TW_SCOPED_CAPABILITY mutex_hold {
  public:
    explicit mutex_hold(mutex *held) TW_ACQUIRE(held) : mutex_(held) { mutex_->lock(); }
    ~mutex_hold() TW_RELEASE() { mutex_->unlock(); }
    mutex_hold(const mutex_hold &) = delete;
    mutex_hold &operator=(const mutex_hold &) = delete;

  private:
    mutex *mutex_;
};

}  // namespace tickwheel::base
