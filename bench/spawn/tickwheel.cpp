// spawn.h with this library's tickwheel.hpp, on virtual time.
#include <tickwheel/tickwheel.hpp>

#include "spawn.h"

namespace {

class Loop {
  public:
    template <class F> void spawn(std::uint32_t tick, F &&f) {
        runtime_.spawn(std::chrono::milliseconds(tick), std::forward<F>(f));
    }
    void leap(std::uint32_t ticks) { runtime_.leap(std::chrono::milliseconds(ticks)); }

  private:
    tickwheel::virtual_runtime runtime_;
};

const bench::Module module{"this tree", "virtual_runtime, spawn, leap", true, bench::run_spawn<Loop>};

}  // namespace

const bench::Module *bench::tickwheel_bench_module() { return &module; }
