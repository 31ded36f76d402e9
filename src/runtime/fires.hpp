// Fires that are run elsewhere than in the wheel's own callback.
#pragma once

#include "runtime.hpp"

namespace tickwheel::runtime {

// The fire that this thread runs, off the wheel: by a worker, or by the runtime's thread
// in a worker's place. tw_runtime_due and tw_runtime_overruns ask it. Inside one of these
// a thread may be in callbacks of other runtimes, and run fires of those.
class off_wheel {
  public:
    off_wheel(const tw_runtime &rt, std::int64_t due, std::uint64_t overruns)
        : rt_(&rt), due_(due), overruns_(overruns), outer_(innermost) {
        innermost = this;
    }
    ~off_wheel() { innermost = outer_; }
    off_wheel(const off_wheel &) = delete;
    off_wheel &operator=(const off_wheel &) = delete;

    // Null if this thread runs none of this runtime.
    static const off_wheel *of(const tw_runtime &rt) {
        for (const off_wheel *each = innermost; each != nullptr; each = each->outer_)
            if (each->rt_ == &rt)
                return each;
        return nullptr;
    }
    std::int64_t due() const { return due_; }
    std::uint64_t overruns() const { return overruns_; }

  private:
    static constinit thread_local const off_wheel *innermost;
    const tw_runtime *rt_;
    std::int64_t due_;
    std::uint64_t overruns_;
    const off_wheel *outer_;
};

}  // namespace tickwheel::runtime
