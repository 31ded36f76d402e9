// Intrusive nodes on the same runtime.
#include "handle.h"

namespace {

class Nodes {
  public:
    explicit Nodes(std::size_t n) : nodes_(static_cast<tw_node *>(bench::fresh_memory(n * sizeof(tw_node)))) {
        for (std::size_t i = 0; i < n; ++i)
            tw_node_init(
                &nodes_[i], [](tw_node *, void *) {}, nullptr);
    }

    void start(std::uint32_t i, std::int64_t delay_ns) { tw_runtime_after(runtime_, &nodes_[i], delay_ns); }
    void move(std::uint32_t i, std::int64_t delay_ns) { start(i, delay_ns); }
    void stop(std::uint32_t i) {
        bench::require(tw_runtime_cancel(runtime_, &nodes_[i]) == 1, "tw_runtime_cancel");
    }

  private:
    bench::SleepingRuntime runtime_;
    tw_node *nodes_;
};

const bench::Module module{"this tree", "tw_runtime_after, _cancel", false, bench::run_handle<Nodes>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
