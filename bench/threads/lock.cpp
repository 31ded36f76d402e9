// No timers: measures the library's lock without contention.
#include <tickwheel/port.h>

#include "../threads.h"

namespace {

class Lock {
  public:
    explicit Lock(std::size_t) { tw_port_lock_init(&word_); }
    void arm(std::uint32_t, std::int64_t) {
        tw_port_lock(&word_);
        tw_port_unlock(&word_);
    }
    void cancel(std::uint32_t) {}
    std::uint64_t fired() const { return 0; }

  private:
    std::uint32_t word_;
};

const bench::Module module{"this tree", "the lock alone", false, bench::run_threads<Lock>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
