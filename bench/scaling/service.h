// A runtime with its thread and a set of timers by handle.
#ifndef TICKWHEEL_BENCH_SCALING_SERVICE_H
#define TICKWHEEL_BENCH_SCALING_SERVICE_H

#include <tickwheel/runtime.h>
#include <tickwheel/timers.h>

#include <atomic>
#include <thread>
#include <vector>

#include "delays.h"
#include "inputs.h"
#include "team.h"

namespace bench::scaling {

enum class Lanes : unsigned { usual = 0, one = 1 };

// How timers that fire every 100 ms share that time.
enum class Phases { spread, equal };

constexpr std::size_t pending_timers = 100'000, firing_timers = 100'000;

// 10 to 20 s, so that the timer does not come due during a run.
inline std::int64_t far_delay(Random &random) { return (10'000 + random.below(10'000)) * millisecond; }

class Service {
  public:
    explicit Service(Lanes lanes) {
        tw_runtime_options options{};
        options.driver = "epoll";
        options.lanes = static_cast<unsigned>(lanes);
        require(tw_runtime_new(&runtime_, &options) == 0, "tw_runtime_new");
        require(tw_runtime_start(runtime_) == 0, "tw_runtime_start");
        require(tw_timers_new(&timers_, runtime_, nullptr) == 0, "tw_timers_new");
    }
    ~Service() { tw_runtime_free(runtime_); }
    Service(const Service &) = delete;
    Service &operator=(const Service &) = delete;

    tw_runtime *runtime() const { return runtime_; }
    tw_timers *timers() const { return timers_; }

    tw_handle start(std::int64_t delay_ns) {
        tw_handle handle;
        require(tw_timer_after(timers_, &handle, delay_ns, count, &fired_) == 0, "tw_timer_after");
        return handle;
    }

    // Starts timers with a period of 100 ms: the same number from each of several threads, one for each
    // processor.
    void fire_every_100_ms(std::size_t timers, Phases phases) {
        const std::int64_t first = tw_runtime_now(runtime_) + 5 * period_ns;
        const std::size_t threads = processors().size();
        std::vector<std::thread> team;
        for (std::size_t thread = 0; thread < threads; ++thread)
            team.emplace_back([this, thread, phases, first, own = timers / threads] {
                pin(thread);
                Random random(thread);
                for (std::size_t i = 0; i < own; ++i)
                    start_periodic(first + (phases == Phases::equal ? 0 : random.below(period_ns)));
            });
        for (std::thread &each : team)
            each.join();
        sleep_for(0.6);  // until all of them fire
    }
    std::uint64_t fired() const { return fired_.load(std::memory_order_relaxed); }

  private:
    static constexpr std::uint32_t period_ns = 100 * millisecond;

    void start_periodic(std::int64_t first) {
        tw_task task{};
        task.fn = count;
        task.arg = &fired_;
        tw_when when{};
        when.absolute = 1;
        when.due_ns = first;
        when.period_ns = period_ns;
        when.missed = TW_COALESCE;
        tw_handle handle;
        require(tw_timer_start(timers_, &handle, &when, &task) == 0, "tw_timer_start");
    }

    // Only the runtime's thread writes the count.
    static void count(const tw_event *, void *fired) {
        auto &counter = *static_cast<std::atomic<std::uint64_t> *>(fired);
        counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }

    tw_runtime *runtime_ = nullptr;
    tw_timers *timers_ = nullptr;  // freed with the runtime
    alignas(128) std::atomic<std::uint64_t> fired_{0};
};

}  // namespace bench::scaling

#endif
