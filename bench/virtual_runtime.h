// The runtime of the workloads in which timers that the library keeps fire.
#ifndef TICKWHEEL_BENCH_VIRTUAL_RUNTIME_H
#define TICKWHEEL_BENCH_VIRTUAL_RUNTIME_H

#include <tickwheel/runtime.h>

#include "module.h"

namespace bench {

// A runtime on virtual time, in ticks of a millisecond.
class VirtualRuntime {
  public:
    VirtualRuntime() {
        tw_runtime_options options{};
        options.driver = "manual";
        require(tw_runtime_new(&runtime_, &options) == 0, "tw_runtime_new");
    }
    ~VirtualRuntime() { tw_runtime_free(runtime_); }
    VirtualRuntime(const VirtualRuntime &) = delete;
    VirtualRuntime &operator=(const VirtualRuntime &) = delete;

    void leap(std::int64_t ns) const { require(tw_runtime_leap(runtime_, ns) == 0, "tw_runtime_leap"); }
    operator tw_runtime *() const { return runtime_; }

  private:
    tw_runtime *runtime_ = nullptr;
};

}  // namespace bench

#endif
