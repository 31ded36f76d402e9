// Workloads of kind `observing`: what it costs that a runtime measures each fire (observe.h). This source is
// built twice: with the library, and with a library that does not measure (TW_UNMEASURED).
//
// In real time, because on virtual time the runtime measures nothing.
#include <poll.h>

#include <tickwheel/timers.h>

#include "../cpu.h"
#include "../delays.h"
#include "../module.h"
#include "../sleeping_runtime.h"

namespace {

using namespace bench;

constexpr std::int64_t from = 800 * millisecond, spread = 400 * millisecond;  // time to start the timers

std::uint64_t fired;

// A runtime that this thread dispatches, so that sleeping does not count as its cost. One timer is due before
// all others, so that starting them wakes nothing.
class LentRuntime {
  public:
    LentRuntime() {
        tw_runtime_options options{};
        options.driver = "timerfd";
        require(tw_runtime_new(&runtime_, &options) == 0, "tw_runtime_new");
        ready_ = {tw_runtime_fd(runtime_), POLLIN, 0};
        tw_node_init(
            &first_, [](tw_node *, void *) {}, nullptr);
        tw_runtime_after(runtime_, &first_, from - millisecond);
        require(tw_runtime_dispatch(runtime_) == 0, "tw_runtime_dispatch");
        fired = 0;
    }
    ~LentRuntime() { tw_runtime_free(runtime_); }
    LentRuntime(const LentRuntime &) = delete;
    LentRuntime &operator=(const LentRuntime &) = delete;

    // Dispatches until n timers have fired. Returns the processor time for each.
    double fire(std::size_t n) {
        double cost = 0;
        while (fired < n) {
            require(poll(&ready_, 1, 10'000) == 1, "poll");
            const double start = cpu_ns();
            require(tw_runtime_dispatch(runtime_) == 0, "tw_runtime_dispatch");
            cost += cpu_ns() - start;
        }
        return per(cost, n);
    }
    operator tw_runtime *() const { return runtime_; }

  private:
    tw_runtime *runtime_ = nullptr;
    tw_node first_;
    pollfd ready_;
};

double fire_nodes(const Task &task) {
    const Delays delays = delays_of(task.inputs.deadlines, from, spread);
    LentRuntime runtime;
    auto *nodes = static_cast<tw_node *>(fresh_memory(task.n * sizeof(tw_node)));
    for (std::size_t i = 0; i < task.n; ++i) {
        tw_node_init(
            &nodes[i], [](tw_node *, void *) { ++fired; }, nullptr);
        tw_runtime_after(runtime, &nodes[i], delays[i]);
    }
    return runtime.fire(task.n);
}

double fire_handles(const Task &task) {
    const Delays delays = delays_of(task.inputs.deadlines, from, spread);
    LentRuntime runtime;
    tw_timers *handles;
    tw_handle id;
    require(tw_timers_new(&handles, runtime, nullptr) == 0, "tw_timers_new");
    for (std::size_t i = 0; i < task.n; ++i)
        require(tw_timer_after(
                    handles, &id, delays[i], [](const tw_event *, void *) { ++fired; }, nullptr) == 0,
                "tw_timer_after");
    return runtime.fire(task.n);
}

double rearm() {
    const SleepingRuntime runtime;
    tw_node node;
    tw_node_init(
        &node, [](tw_node *, void *) {}, nullptr);
    return cost_of_each(stream_length, [&](std::size_t) {
        tw_runtime_after(runtime, &node, 3'600'000 * millisecond);
        tw_runtime_cancel(runtime, &node);
    });
}

std::vector<Sample> run(const Task &task) {
    return {{Workload::observed_rearm, rearm()},
            {Workload::observed_nodes, fire_nodes(task)},
            {Workload::observed_handles, fire_handles(task)}};
}

const Module module{"this tree", "tw_runtime_after, _cancel, _dispatch; tw_timer_after", false, run};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
