// Workload `handle`: timers that the library keeps, compared with nodes in the user's structs.
//
// An implementation is a class `Timers` over the timers of n connections, numbered from 0, on a
// runtime whose thread sleeps. A connection has 56 bytes of its own plus a node or a handle. It
// is touched before its timer is moved, as if a packet had just come in on it.
//   Timers(n)            n idle timers
//   start(i, delay_ns)   of an idle timer
//   move(i, delay_ns)    of a pending one
//   stop(i)              of a pending one
#ifndef TICKWHEEL_BENCH_HANDLE_H
#define TICKWHEEL_BENCH_HANDLE_H

#include "../cpu.h"
#include "../delays.h"
#include "../module.h"
#include "../sleeping_runtime.h"

namespace bench {

template <class Timer> struct alignas(64) Connection {
    std::uint64_t packets;
    char more[48];
    Timer timer;
};

// Starts and stops one more timer than the n pending ones, then moves random ones of the n.
template <class Timers> std::vector<Sample> run_handle(const Task &task) {
    const Delays delays = far_delays_of(task.inputs.ticks);
    const auto n = static_cast<std::uint32_t>(task.n);
    Timers timers(task.n + 1);
    for (std::uint32_t i = 0; i < n; ++i)
        timers.start(i, delays[i & stream_mask]);

    const double start_stop = cost_of_each(stream_length, [&](std::size_t k) {
        timers.start(n, delays[k]);
        timers.stop(n);
    });
    const double move =
        cost_of_each(stream_length, [&](std::size_t k) { timers.move(task.inputs.victims[k], delays[k]); });
    return {{Workload::handle_start, start_stop}, {Workload::handle_move, move}};
}

}  // namespace bench

#endif
