// handle.h with this library's timers by handle.
#include <tickwheel/timers.h>

#include "handle.h"

namespace {

class Handles {
  public:
    using Timer = tw_handle;

    explicit Handles(tw_runtime *runtime) {
        bench::require(tw_timers_new(&handles_, runtime, nullptr) == 0, "tw_timers_new");
    }

    void init(Timer &handle) { handle = TW_NO_HANDLE; }
    void start(Timer &handle, std::int64_t delay_ns) {
        const int result = tw_timer_after(
            handles_, &handle, delay_ns,
            [](const tw_event *, void *fired) { ++*static_cast<std::uint64_t *>(fired); }, &fired_);
        bench::require(result == 0, "tw_timer_after");
    }
    void move(Timer &handle, std::int64_t delay_ns) { tw_timer_move(handles_, handle, delay_ns); }
    void stop(Timer &handle) { bench::require(tw_timer_cancel(handles_, handle) == 1, "tw_timer_cancel"); }
    std::uint64_t fired() const { return fired_; }

  private:
    tw_timers *handles_ = nullptr;  // freed with the runtime
    std::uint64_t fired_ = 0;
};

const bench::Module module{"this tree", "tw_timer_after, _stop, _move", false, bench::run_handle<Handles>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
