// handle.h with this library's handles.
#include <tickwheel/handle.h>

#include "handle.h"

namespace {

class Handles {
  public:
    explicit Handles(std::size_t n)
        : all_(static_cast<Connection *>(bench::fresh_memory(n * sizeof(Connection)))) {
        bench::require(tw_handles_new(&handles_, runtime_, nullptr) == 0, "tw_handles_new");
    }

    void start(std::uint32_t i, std::int64_t delay_ns) {
        tw_handle_after(
            handles_, &all_[i].timer, delay_ns, [](const tw_event *, void *) {}, nullptr);
    }
    void move(std::uint32_t i, std::int64_t delay_ns) {
        ++all_[i].packets;
        tw_handle_move(handles_, all_[i].timer, delay_ns);
    }
    void stop(std::uint32_t i) {
        bench::require(tw_handle_stop(handles_, all_[i].timer) == 1, "tw_handle_stop");
    }

  private:
    using Connection = bench::Connection<tw_handle>;

    bench::SleepingRuntime runtime_;
    tw_handles *handles_ = nullptr;  // freed with the runtime
    Connection *all_;
};

const bench::Module module{"this tree", "tw_handle_after, _stop, _move", false, bench::run_handle<Handles>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
