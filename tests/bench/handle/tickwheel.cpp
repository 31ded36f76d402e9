// handle.h of this library.
#include <tickwheel/handle.h>

#include "handle.h"

namespace {

class Handles {
  public:
    explicit Handles(std::size_t n)
        : ids_(static_cast<tw_handle *>(bench::fresh_memory(n * sizeof(tw_handle)))) {
        bench::require(tw_handles_new(&handles_, runtime_, nullptr) == 0, "tw_handles_new");
    }

    void start(std::uint32_t i, std::int64_t delay_ns) {
        tw_handle_after(
            handles_, &ids_[i], delay_ns, [](const tw_event *, void *) {}, nullptr);
    }
    void move(std::uint32_t i, std::int64_t delay_ns) { tw_handle_move(handles_, ids_[i], delay_ns); }
    void stop(std::uint32_t i) { bench::require(tw_handle_stop(handles_, ids_[i]) == 1, "tw_handle_stop"); }

  private:
    bench::SleepingRuntime runtime_;
    tw_handles *handles_ = nullptr;  // freed with the runtime
    tw_handle *ids_;
};

const bench::Module module{"this tree", "tw_handle_after, _stop, _move", false, bench::run_handle<Handles>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
