// This library's timers by handle, with the sleep driver. Built twice: with lanes, and with one lane.
#include <tickwheel/timers.h>

#include "../threads.h"

namespace {

using bench::require;

class Handles {
  public:
    explicit Handles(std::size_t n) : handles_(n) {
        tw_runtime_options options{};
        options.lanes = BENCH_LANES;
        require(tw_runtime_new(&runtime_, &options) == 0, "tw_runtime_new");
        require(tw_runtime_start(runtime_) == 0, "tw_runtime_start");
        require(tw_timers_new(&timers_, runtime_, nullptr) == 0, "tw_timers_new");
    }
    ~Handles() { tw_runtime_free(runtime_); }
    Handles(const Handles &) = delete;
    Handles &operator=(const Handles &) = delete;

    // Two threads may both find that a timer has fired, and start one in its place: the second cancels the
    // first's.
    void arm(std::uint32_t i, std::int64_t delay_ns) {
        std::atomic<tw_handle> &place = handles_[i];
        const tw_handle former = place.load(std::memory_order_relaxed);
        if (former != TW_NO_HANDLE && tw_timer_move(timers_, former, delay_ns) == 0)
            return;
        tw_handle started;
        require(tw_timer_after(timers_, &started, delay_ns, count, &fired_) == 0, "tw_timer_after");
        const tw_handle replaced = place.exchange(started, std::memory_order_relaxed);
        if (replaced != former)
            tw_timer_cancel(timers_, replaced);
    }
    void cancel(std::uint32_t i) {
        tw_timer_cancel(timers_, handles_[i].exchange(TW_NO_HANDLE, std::memory_order_relaxed));
    }
    std::uint64_t fired() const { return fired_; }

  private:
    static void count(const tw_event *, void *fired) { ++*static_cast<std::atomic<std::uint64_t> *>(fired); }

    tw_runtime *runtime_ = nullptr;
    tw_timers *timers_ = nullptr;  // freed with the runtime
    std::vector<std::atomic<tw_handle>> handles_;
    std::atomic<std::uint64_t> fired_{0};
};

const bench::Module module{"this tree",
                           BENCH_LANES == 1 ? "tw_timer_move, tw_timer_after, driver sleep, one lane"
                                            : "tw_timer_move, tw_timer_after, driver sleep",
                           false, bench::run_threads<Handles>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
