// The runtime of the workloads handle and keyed, in which no timer fires.
#ifndef TICKWHEEL_BENCH_SLEEPING_RUNTIME_H
#define TICKWHEEL_BENCH_SLEEPING_RUNTIME_H

#include <tickwheel/runtime.h>

#include "delays.h"
#include "module.h"

namespace bench {

// A runtime with default settings. A timer that is due before all others keeps every call from
// waking its thread.
class SleepingRuntime {
  public:
    SleepingRuntime() {
        require(tw_runtime_new(&runtime_, nullptr) == 0, "tw_runtime_new");
        require(tw_runtime_start(runtime_) == 0, "tw_runtime_start");
        tw_node_init(
            &first_, [](tw_node *, void *) { require(false, "a timer fired that is not due"); }, nullptr);
        tw_runtime_after(runtime_, &first_, 1'800'000 * millisecond);
    }
    ~SleepingRuntime() { tw_runtime_free(runtime_); }
    SleepingRuntime(const SleepingRuntime &) = delete;
    SleepingRuntime &operator=(const SleepingRuntime &) = delete;

    operator tw_runtime *() const { return runtime_; }

  private:
    tw_runtime *runtime_ = nullptr;
    tw_node first_;
};

}  // namespace bench

#endif
