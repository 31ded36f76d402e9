// Fires that run elsewhere than in the wheel's own callback: a frame of the thread that runs one.
#pragma once

#include "on_stack.hpp"
#include "runtime.hpp"

namespace tickwheel::runtime {

// The fire that this thread runs, as a worker or in a worker's place. tw_runtime_due and
// tw_runtime_overruns tell of it: the wheel has gone on since. Frames may nest, as a callback may drive
// another runtime.
class off_wheel : on_stack<off_wheel> {
  public:
    off_wheel(const tw_runtime &rt, std::int64_t due, std::uint64_t overruns)
        : rt_(&rt), due_(due), overruns_(overruns) {}

    // The fire of this runtime that the thread runs; null if none.
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
