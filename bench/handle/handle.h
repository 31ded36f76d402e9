// Workloads of kind `handle`: timers that the library keeps, compared with nodes in the user's memory.
//
// An implementation is a class `Timers` on a runtime:
//   Timer                     what the user keeps of a timer: a node, or a handle
//   Timers(runtime)
//   init(timer)               makes it idle
//   start(timer, delay_ns)    of an idle one
//   move(timer, delay_ns)     of a pending one
//   stop(timer)               of a pending one
//   fired()                   how often callbacks have run, on virtual time
//   tick()                    without a runtime: lets a millisecond pass
#ifndef TICKWHEEL_BENCH_HANDLE_H
#define TICKWHEEL_BENCH_HANDLE_H

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "../cpu.h"
#include "../delays.h"
#include "../module.h"
#include "../sleeping_runtime.h"
#include "../virtual_runtime.h"

namespace bench {

// Never given back: the process ends with the run.
template <class T> T *fresh_array(std::size_t n) { return static_cast<T *>(fresh_memory(n * sizeof(T))); }

template <class Timers> auto *idle_timers(Timers &timers, std::size_t n) {
    auto *all = fresh_array<typename Timers::Timer>(n);
    for (std::size_t i = 0; i < n; ++i)
        timers.init(all[i]);
    return all;
}

// A connection has 56 bytes of its own. It is touched before its timer is moved, as if a packet had
// just come in on it.
template <class Timer> struct alignas(64) Connection {
    std::uint64_t packets;
    char more[48];
    Timer timer;
};

// Starts and stops one more timer than the n pending ones.
template <class Timers> double start_and_stop(Timers &timers, auto &timer, const Delays &delays) {
    return cost_of_each(stream_length, [&](std::size_t k) {
        timers.start(timer, delays[k]);
        timers.stop(timer);
    });
}

template <class Timers>
double move(Timers &timers, auto *all, const Delays &delays, const std::vector<std::uint32_t> &victims) {
    return cost_of_each(stream_length, [&](std::size_t k) {
        auto &connection = all[victims[k]];
        ++connection.packets;
        timers.move(connection.timer, delays[k]);
    });
}

template <class Timers> std::vector<Sample> handle_group(const Task &task) {
    const Delays delays = far_delays_of(task.inputs.ticks);
    const SleepingRuntime runtime;
    Timers timers(runtime);
    auto *all = fresh_array<Connection<typename Timers::Timer>>(task.n + 1);
    for (std::size_t i = 0; i <= task.n; ++i)
        timers.init(all[i].timer);
    for (std::size_t i = 0; i < task.n; ++i)
        timers.start(all[i].timer, delays[i & stream_mask]);

    std::vector<Sample> samples;
    if (task.wants(Workload::handle_start))
        samples.push_back({Workload::handle_start, start_and_stop(timers, all[task.n].timer, delays)});
    if (task.wants(Workload::handle_move))
        samples.push_back({Workload::handle_move, move(timers, all, delays, task.inputs.victims)});
    return samples;
}

template <class Timers> void pass_a_millisecond(const VirtualRuntime &runtime, Timers &timers) {
    if constexpr (requires { timers.tick(); })
        timers.tick();
    else
        runtime.leap(millisecond);
}

// Stops a random one of n timers and starts another.
template <class Timers> double churn(const Task &task) {
    const Delays delays = delays_of(task.inputs.ticks, millisecond, horizon * millisecond);
    VirtualRuntime runtime;
    Timers timers(runtime);
    auto *all = idle_timers(timers, task.n);
    for (std::size_t i = 0; i < task.n; ++i)
        timers.start(all[i], delays[i & stream_mask]);
    return cost_of_each(stream_length, [&](std::size_t k) {
        auto &timer = all[task.inputs.victims[k]];
        timers.stop(timer);
        timers.start(timer, delays[k]);
    });
}

// The whole cost of a timer's life: start it, advance tick by tick, call it.
template <class Timers> double life(const Task &task) {
    const Delays delays = delays_of(task.inputs.deadlines, millisecond, horizon * millisecond);
    VirtualRuntime runtime;
    Timers timers(runtime);
    auto *all = idle_timers(timers, task.n);
    const double start = cpu_ns();
    for (std::size_t i = 0; i < task.n; ++i)
        timers.start(all[i], delays[i]);
    for (std::uint32_t tick = 1; tick <= horizon; ++tick)
        pass_a_millisecond(runtime, timers);
    const double cost = cpu_ns() - start;
    require(timers.fired() == task.n && tw_runtime_count(runtime) == 0, "not every timer fired once");
    return per(cost, task.n);
}

constexpr std::uint32_t block_ticks = 1u << 16;
constexpr std::int64_t block_ns = block_ticks * millisecond;
constexpr std::size_t ticks_passed = 3 * block_ticks;

// n timers inside one block, two blocks ahead. They are started far away and moved there in random
// order; if they arrived in the order of their starts, a tick would read memory in sequence.
template <class Timers> class Block {
  public:
    explicit Block(const Task &task) : n_(task.n), timers_(runtime_) {
        auto *all = idle_timers(timers_, n_);
        for (std::size_t i = 0; i < n_; ++i)
            timers_.start(all[i], 1024 * block_ns);
        for (std::uint32_t i : task.inputs.order)
            timers_.move(all[i], 2 * block_ns + task.inputs.deadlines[i] % block_ticks * millisecond);
    }

    // Advances tick by tick until the block is over, and calls after(k) when k + 1 ticks have passed.
    template <class Work> void pass(Work &&after) {
        for (std::size_t k = 0; k < ticks_passed; ++k) {
            runtime_.leap(millisecond);
            after(k);
        }
        require(timers_.fired() == n_ && tw_runtime_count(runtime_) == 0, "not every timer fired once");
    }

  private:
    const std::size_t n_;
    VirtualRuntime runtime_;
    Timers timers_;
};

template <class Timers> double block_total_ns(const Task &task) {
    Block<Timers> block(task);
    const double start = cpu_ns();
    block.pass([](std::size_t) {});
    return cpu_ns() - start;
}

// Returns the cost of each tick, sorted. Fills the vector beforehand, because the first access to a huge page
// can take longer than any tick.
template <class Timers> std::vector<double> block_ticks_us(const Task &task) {
    Block<Timers> block(task);
    std::vector<double> us(ticks_passed);
    double before = cpu_ns();
    block.pass([&](std::size_t k) {
        const double after = cpu_ns();
        us[k] = (after - before) / 1000;
        before = after;
    });
    std::sort(us.begin(), us.end());
    return us;
}

// The total comes from a pass of its own, because reading the clock at each tick would add to it.
template <class Timers> std::vector<Sample> block_group(const Task &task) {
    const double total = block_total_ns<Timers>(task);
    const std::vector<double> us = block_ticks_us<Timers>(task);
    return {{Workload::block_longest, us.back()},
            {Workload::block_p999, us[(us.size() * 999 - 1) / 1000]},
            {Workload::block_total, per(total, task.n)}};
}

// Bytes of memory that this process occupies and that no file backs.
inline double resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    double size = 0, resident = 0, shared = 0;
    statm >> size >> resident >> shared;
    require(static_cast<bool>(statm), "no count of resident pages");
    return (resident - shared) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// What the library occupies for each timer, without the handle that the user keeps. Resident memory
// is measured because it counts all memory, however it was allocated: malloc's own count misses memory
// that is mapped directly, and freed memory that malloc keeps. It counts no page that is reserved but
// never touched. The run first gives back the heap's free pages, because timers could otherwise use them
// unnoticed.
template <class Timers> double memory_bytes(const Task &task) {
    const Delays delays = far_delays_of(task.inputs.ticks);
    VirtualRuntime runtime;
    Timers timers(runtime);
    auto *all = idle_timers(timers, task.n);
    malloc_trim(0);
    const double before = resident_bytes();
    for (std::size_t i = 0; i < task.n; ++i)
        timers.start(all[i], delays[i & stream_mask]);
    return per(resident_bytes() - before, task.n);
}

template <class Timers> std::vector<Sample> run_handle(const Task &task) {
    switch (task.workloads.front()) {
    case Workload::life:
        return {{Workload::life, life<Timers>(task)}};
    case Workload::churn:
        return {{Workload::churn, churn<Timers>(task)}};
    case Workload::block_longest:
        return block_group<Timers>(task);
    case Workload::handle_memory:
        return {{Workload::handle_memory, memory_bytes<Timers>(task)}};
    default:
        return handle_group<Timers>(task);
    }
}

}  // namespace bench

#endif
