// This library's runtime with the sleep driver. Built twice: with the default tick of a
// millisecond, and with a tick of a microsecond.
#include <tickwheel/runtime.h>

#include "../threads.h"

namespace {

using bench::require;

class Tickwheel {
  public:
    explicit Tickwheel(std::size_t n)
        : nodes_(static_cast<tw_node *>(bench::fresh_memory(n * sizeof(tw_node)))) {
        tw_runtime_options options{};
        options.tick_ns = BENCH_TICK_NS;
        require(tw_runtime_new(&runtime_, &options) == 0, "tw_runtime_new");
        require(tw_runtime_start(runtime_) == 0, "tw_runtime_start");
        for (std::size_t i = 0; i < n; ++i)
            tw_node_init(&nodes_[i], count, &fired_);
    }
    ~Tickwheel() { tw_runtime_free(runtime_); }
    Tickwheel(const Tickwheel &) = delete;
    Tickwheel &operator=(const Tickwheel &) = delete;

    void arm(std::uint32_t i, std::int64_t delay_ns) { tw_runtime_after(runtime_, &nodes_[i], delay_ns); }
    void cancel(std::uint32_t i) { tw_runtime_cancel(runtime_, &nodes_[i]); }
    std::uint64_t fired() const { return fired_; }

  private:
    static void count(tw_node *, void *fired) { ++*static_cast<std::atomic<std::uint64_t> *>(fired); }

    tw_runtime *runtime_ = nullptr;
    tw_node *nodes_;
    std::atomic<std::uint64_t> fired_{0};
};

const bench::Module module{"this tree", "tw_runtime_after, driver sleep", false,
                           bench::run_threads<Tickwheel>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
