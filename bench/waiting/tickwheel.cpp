// This library, once per driver. The callbacks run on the runtime's own thread.
#include <tickwheel/runtime.h>

#include <semaphore>

#include "../waiting.h"

namespace {

using bench::require;

class Tickwheel {
  public:
    Tickwheel(bench::Listener &listener, std::size_t pending) : nodes_(pending) {
        tw_runtime_options options{};
        options.tick_ns = bench::microsecond;
        options.driver = BENCH_DRIVER;
        require(tw_runtime_new(&runtime_, &options) == 0, "tw_runtime_new");
        tw_node_init(&node_, fire, &listener);
        bench::FarDelays delays;
        for (tw_node &each : nodes_) {
            tw_node_init(&each, fire, &listener);
            tw_runtime_after(runtime_, &each, delays.next_ns());
        }
    }
    ~Tickwheel() { tw_runtime_free(runtime_); }
    Tickwheel(const Tickwheel &) = delete;
    Tickwheel &operator=(const Tickwheel &) = delete;

    void at(std::int64_t deadline_ns) { tw_runtime_at(runtime_, &node_, deadline_ns); }
    void run() {
        require(tw_runtime_start(runtime_) == 0, "tw_runtime_start");
        stopped_.acquire();
        tw_runtime_stop(runtime_);
    }
    void stop() { stopped_.release(); }

  private:
    static void fire(tw_node *, void *listener) { static_cast<bench::Listener *>(listener)->fired(); }

    tw_runtime *runtime_ = nullptr;
    tw_node node_;
    std::vector<tw_node> nodes_;
    std::binary_semaphore stopped_{0};
};

const char *why_not() {
    tw_runtime_options options{};
    options.driver = BENCH_DRIVER;
    tw_runtime *runtime = nullptr;
    const int error = tw_runtime_new(&runtime, &options);
    tw_runtime_free(runtime);
    return error == 0 ? nullptr : tw_explain(error);
}

const bench::Module module{"this tree", "tw_runtime_at, ticks of 1 us, driver " BENCH_DRIVER, false,
                           bench::run_waiting<Tickwheel>, why_not};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
