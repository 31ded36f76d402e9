// pthread_cancel: no call of the library is a cancellation point. A thread that ended in the middle of one
// would leave locks held and others waiting forever. So a no_thread_cancel covers everything that may contain
// a cancellation point: waits, drivers (which may be the user's), and the user's functions on the user's
// threads. The library's own threads are never cancelled (threads.hpp).
#pragma once

#include <pthread.h>

namespace tickwheel::runtime {

// While this lives, a cancellation of the thread stays pending.
class no_thread_cancel {
  public:
    no_thread_cancel() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
    ~no_thread_cancel() { end(); }
    void end() const { pthread_setcancelstate(before_, nullptr); }  // called alone if an exception passes
    no_thread_cancel(const no_thread_cancel &) = delete;
    no_thread_cancel &operator=(const no_thread_cancel &) = delete;

  private:
    int before_;
};

}  // namespace tickwheel::runtime
