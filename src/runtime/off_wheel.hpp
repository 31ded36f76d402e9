// Fires that are run elsewhere than in the wheel's own callback.
#pragma once

#include "on_stack.hpp"
#include "runtime.hpp"

namespace tickwheel::runtime {

// The fire that this thread runs, off the wheel: by a worker, or by the runtime's thread
// in a worker's place. tw_runtime_due and tw_runtime_overruns ask it. Inside one of these
// a thread may be in callbacks of other runtimes, and run fires of those.
class off_wheel : on_stack<off_wheel> {
  public:
    off_wheel(const tw_runtime &rt, std::int64_t due, std::uint64_t overruns)
        : rt_(&rt), due_(due), overruns_(overruns) {}

    // Null if this thread runs none of this runtime.
    static const off_wheel *of(const tw_runtime &rt) {
        return find([&rt](const off_wheel &each) { return each.rt_ == &rt; });
    }
    std::int64_t due() const { return due_; }
    std::uint64_t overruns() const { return overruns_; }

  private:
    friend on_stack;
    const tw_runtime *rt_;
    std::int64_t due_;
    std::uint64_t overruns_;
};

}  // namespace tickwheel::runtime
