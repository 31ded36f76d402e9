// handle.h with intrusive nodes on the same runtime.
#include "handle.h"

namespace {

class Nodes {
  public:
    using Timer = tw_node;

    explicit Nodes(tw_runtime *runtime) : runtime_(runtime) {}

    void init(Timer &node) {
        tw_node_init(
            &node, [](tw_node *, void *fired) { ++*static_cast<std::uint64_t *>(fired); }, &fired_);
    }
    void start(Timer &node, std::int64_t delay_ns) { tw_runtime_after(runtime_, &node, delay_ns); }
    void move(Timer &node, std::int64_t delay_ns) { tw_runtime_move(runtime_, &node, delay_ns); }
    void stop(Timer &node) { bench::require(tw_runtime_cancel(runtime_, &node) == 1, "tw_runtime_cancel"); }
    std::uint64_t fired() const { return fired_; }

  private:
    tw_runtime *runtime_;
    std::uint64_t fired_ = 0;
};

const bench::Module module{"this tree", "tw_runtime_after, _cancel, _move", false, bench::run_handle<Nodes>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
