// This library, built three times: unlocked, locked, and unlocked without look-ahead.
#include <tickwheel/tw.h>

#include "../workloads.h"

namespace {

class Tickwheel {
  public:
    using Time = std::uint64_t;
    using Record = tw_node;
    static constexpr bool virtual_time = true;

    Tickwheel(std::size_t n, bench::Scale)
        : nodes_(static_cast<tw_node *>(bench::fresh_memory(n * sizeof(tw_node)))) {
        tw_init(&wheel_, 0, BENCH_WHEEL_FLAGS);
        for (std::size_t i = 0; i < n; ++i)
            tw_node_init(&nodes_[i], count, &fired_);
    }

    Time time(std::uint64_t tick) const { return tick; }
    Time timeout(std::uint64_t tick) const { return tick; }
    std::uint64_t fired() const { return fired_; }

    void arm(std::uint32_t i, Time tick) { tw_arm_at(&wheel_, &nodes_[i], tick); }
    void move(std::uint32_t i, Time tick) { tw_arm_at(&wheel_, &nodes_[i], tick); }
    void postpone(std::uint32_t i, Time tick) { tw_postpone(&wheel_, &nodes_[i], tick); }
    void cancel(std::uint32_t i) { tw_cancel(&wheel_, &nodes_[i]); }
    void every(std::uint32_t i, std::uint32_t period) {
        tw_arm_every(&wheel_, &nodes_[i], tw_now(&wheel_) + period, period, TW_BURST, 0);
    }

    void advance(Time tick) { tw_advance(&wheel_, tick, TW_UNBOUNDED); }

    void run_tickless() {
        std::uint64_t advanced_to = TW_NEVER;
        for (std::uint64_t next; (next = tw_next(&wheel_)) != TW_NEVER;) {
            if (next == advanced_to)
                tw_idle(&wheel_, 64);
            else
                advance(advanced_to = next);
            bench::require(next >= tw_now(&wheel_), "time went back");
        }
    }

  private:
    static void count(tw_node *, void *fired) { ++*static_cast<std::uint64_t *>(fired); }

    tw wheel_;
    tw_node *nodes_;
    std::uint64_t fired_ = 0;
};

#define TEXT_OF(value) #value
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const bench::Module module{VERSION_TEXT(TW_VERSION_MAJOR, TW_VERSION_MINOR, TW_VERSION_PATCH), "tw_postpone",
                           true, bench::run<Tickwheel>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
