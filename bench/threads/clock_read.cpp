// No timers: measures the clock read that every arming starts with.
#include "../threads.h"

namespace {

class ClockRead {
  public:
    explicit ClockRead(std::size_t) {}
    void arm(std::uint32_t, std::int64_t delay_ns) { deadline_ = bench::monotonic_ns() + delay_ns; }
    void cancel(std::uint32_t) {}
    std::uint64_t fired() const { return 0; }

  private:
    volatile std::int64_t deadline_ = 0;
};

const bench::Module module{"this system", "clock_gettime alone", false, bench::run_threads<ClockRead>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
