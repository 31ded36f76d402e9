// Workloads `contend` and `foreign`: timers that several threads share, and that a separate thread fires.
//
// An implementation is a class `Shared` over n timers, numbered from 0:
//   Shared(n)            n idle timers; starts the thread that fires them
//   arm(i, delay_ns)     of any timer, pending or not, from any thread; the delay
//                        counts from the clock at the call
//   cancel(i)            of any timer, from any thread
//   fired()              how often callbacks have run
#ifndef TICKWHEEL_BENCH_THREADS_H
#define TICKWHEEL_BENCH_THREADS_H

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <thread>

#include "cpu.h"
#include "delays.h"
#include "module.h"

namespace bench {

using std::chrono::steady_clock;
inline std::int64_t monotonic_ns() {
    return std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count();
}

// Two threads keep arming random ones of n timers. Some timers come due before they are armed
// again, and fire. Measured per arming in elapsed time rather than processor time, because the
// point is how long the threads hold each other up.
template <class Shared> double contend(const Task &task) {
    const Delays delays = delays_of(task.inputs.ticks, millisecond, 10'000 * millisecond);
    const auto duration = std::chrono::milliseconds(task.quick ? 1000 : 3000);
    Shared timers(task.n);
    for (std::size_t i = 0; i < task.n; ++i)
        timers.arm(static_cast<std::uint32_t>(i), delays[i & stream_mask]);

    std::array<std::uint64_t, 2> armed{};
    std::atomic<bool> over{false};
    std::barrier all_there(3);
    auto go_on_arming = [&](std::size_t thread) {
        all_there.arrive_and_wait();
        std::uint64_t count = 0;
        for (std::size_t k = thread * stream_length / 2; !over.load(std::memory_order_relaxed); ++k, ++count)
            timers.arm(task.inputs.victims[k & stream_mask], delays[k & stream_mask]);
        armed[thread] = count;
    };
    std::thread one(go_on_arming, 0), other(go_on_arming, 1);
    all_there.arrive_and_wait();
    const auto start = steady_clock::now();
    std::this_thread::sleep_for(duration);
    over = true;
    one.join();
    other.join();
    const std::chrono::duration<double, std::nano> lasted = steady_clock::now() - start;
    require(timers.fired() > 0, "no timer fired");
    return lasted.count() / static_cast<double>(armed[0] + armed[1]);
}

// Arms idle timers while the thread that fires them sleeps. It already wakes for an earlier
// timer, so no call needs to wake it.
template <class Shared> double foreign(const Task &task) {
    constexpr std::size_t rounds = 500;
    const Delays delays = delays_of(task.inputs.ticks, 120'000 * millisecond, 10'000 * millisecond);
    const auto n = static_cast<std::uint32_t>(task.n);
    Shared timers(task.n + 1);
    timers.arm(n, 60'000 * millisecond);
    double cost = 0;
    for (std::size_t round = 0; round < rounds; ++round) {
        const double start = cpu_ns();
        for (std::uint32_t i = 0; i < n; ++i)
            timers.arm(i, delays[(round * n + i) & stream_mask]);
        cost += cpu_ns() - start;
        for (std::uint32_t i = 0; i < n; ++i)
            timers.cancel(i);
    }
    require(timers.fired() == 0, "a timer fired that is not due");
    return cost / static_cast<double>(rounds * task.n);
}

template <class Shared> std::vector<Sample> run_threads(const Task &task) {
    const Workload workload = task.workloads.front();
    return {{workload, workload == Workload::contend ? contend<Shared>(task) : foreign<Shared>(task)}};
}

}  // namespace bench

#endif
