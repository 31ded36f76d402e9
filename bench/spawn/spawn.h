// Workload `spawn`: lambdas that are called once, later, and that the caller keeps no handle to.
//
// An implementation is a class `Loop` on virtual time in ticks of a millisecond:
//   Loop()
//   spawn(tick, f)   calls f() when the time has come
//   leap(ticks)      advances the time and calls everything due by then
#ifndef TICKWHEEL_BENCH_SPAWN_H
#define TICKWHEEL_BENCH_SPAWN_H

#include "../cpu.h"
#include "../module.h"

namespace bench {

// Measures all that a lambda costs from spawn to call, memory included.
template <class Loop> std::vector<Sample> run_spawn(const Task &task) {
    constexpr std::uint32_t leap = 1024;
    const std::vector<std::uint32_t> &deadlines = task.inputs.deadlines;
    std::uint64_t fired = 0, sum = 0, expected = 0;
    for (std::size_t i = 0; i < task.n; ++i)
        expected += i;
    Loop loop;
    const double start = cpu_ns();
    for (std::size_t i = 0; i < task.n; ++i)
        loop.spawn(deadlines[i], [i, &fired, &sum] {
            ++fired;
            sum += i;
        });
    for (std::uint32_t tick = 0; tick < horizon; tick += leap)
        loop.leap(leap);
    const double cost = cpu_ns() - start;
    require(fired == task.n && sum == expected, "not every lambda was called once");
    return {{Workload::spawn, per(cost, task.n)}};
}

}  // namespace bench

#endif
