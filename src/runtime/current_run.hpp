// Frames for the runs of fires that the wheel cannot describe while they run: records' fires, and all fires
// of work items. Each thread knows only its own frames.
#pragma once

#include "on_stack.hpp"
#include "state.hpp"

namespace tickwheel::runtime {

// The fire that this thread runs: a record's on the firing thread, or any fire on a worker or inline.
// tw_runtime_due and tw_runtime_overruns answer from this frame, because by the time a worker runs the fire,
// the wheel has moved on. Frames may nest: a callback may drive another runtime.
class current_run : on_stack<current_run> {
  public:
    current_run(const tw_runtime &rt, std::int64_t due, std::uint64_t overruns)
        : rt_(&rt), due_(due), overruns_(overruns) {}

    // The run of this runtime that the thread is in; null if none.
    static const current_run *of(const tw_runtime &rt) {
        return find([&rt](const current_run &each) { return each.rt_ == &rt; });
    }
    std::int64_t due() const { return due_; }
    std::uint64_t overruns() const { return overruns_; }

  private:
    friend on_stack;
    const tw_runtime *rt_;
    const std::int64_t due_;
    const std::uint64_t overruns_;
};

}  // namespace tickwheel::runtime
