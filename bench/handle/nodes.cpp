// handle.h with intrusive nodes on the same runtime.
#include "handle.h"

namespace {

class Nodes {
  public:
    explicit Nodes(std::size_t n)
        : all_(static_cast<Connection *>(bench::fresh_memory(n * sizeof(Connection)))) {
        for (std::size_t i = 0; i < n; ++i)
            tw_node_init(
                &all_[i].timer, [](tw_node *, void *) {}, nullptr);
    }

    void start(std::uint32_t i, std::int64_t delay_ns) {
        tw_runtime_after(runtime_, &all_[i].timer, delay_ns);
    }
    void move(std::uint32_t i, std::int64_t delay_ns) {
        ++all_[i].packets;
        start(i, delay_ns);
    }
    void stop(std::uint32_t i) {
        bench::require(tw_runtime_cancel(runtime_, &all_[i].timer) == 1, "tw_runtime_cancel");
    }

  private:
    using Connection = bench::Connection<tw_node>;

    bench::SleepingRuntime runtime_;
    Connection *all_;
};

const bench::Module module{"this tree", "tw_runtime_after, _cancel", false, bench::run_handle<Nodes>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
