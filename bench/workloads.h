// Workloads of kind `calls`, as templates over an implementation, so that a figure covers the
// implementation's calls and not the benchmark's.
//
// An implementation is a class `Timers` over n timers, numbered from 0:
//   Timers(n, scale)       n idle timers; each fire is counted
//   Time time(tick)        a deadline in the implementation's own unit, so that no
//                          figure includes the conversion
//   Time timeout(tick)     the same, for postpone
//   arm(i, time)           of an idle timer
//   move(i, time)          of a pending one, to any time
//   postpone(i, time)      of a pending one, to a later time, in the fastest way there is
//   cancel(i)              of a pending one
//   every(i, period)       of an idle one, periodic, in ticks
//   fired()                how often callbacks have run
// and, if Timers::virtual_time,
//   advance(tick)          fires everything due by then
//   run_tickless()         goes from deadline to deadline until none is pending
// and if not,
//   inside(work)           runs work where the loop is fastest, in a callback
//   dispatch()             fires timers that are due, without waiting
//   wait()                 waits for the next deadline, and fires it
//
// Cost is processor time, see cpu.h.
#ifndef TICKWHEEL_BENCH_WORKLOADS_H
#define TICKWHEEL_BENCH_WORKLOADS_H

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "cpu.h"
#include "inputs.h"
#include "module.h"

namespace bench {

using std::chrono::steady_clock;

// Maps ticks to real time: a tick is `tick` long, and the first one is `ahead` of now.
struct Scale {
    std::chrono::nanoseconds tick;
    std::chrono::nanoseconds ahead;
};

// A scale on which nothing comes due during a run.
constexpr Scale far_ahead{std::chrono::milliseconds(1), std::chrono::hours(1)};

template <class Timers, class Work> double cost_ns(Timers &timers, Work &&work) {
    double cost = -1;
    auto timed = [&] {
        const double start = cpu_ns();
        work();
        cost = cpu_ns() - start;
    };
    if constexpr (Timers::virtual_time)
        timed();
    else
        timers.inside(timed);
    require(cost >= 0, "the work was not run");
    return cost;
}

template <class Timers> using Times = std::vector<typename Timers::Time>;

template <class Timers>
Times<Timers> times_of(const Timers &timers, const std::vector<std::uint32_t> &ticks) {
    Times<Timers> times(ticks.size());
    std::transform(ticks.begin(), ticks.end(), times.begin(), [&](auto tick) { return timers.time(tick); });
    return times;
}

// Converts a loop index to a timer's number.
inline std::uint32_t number(std::size_t i) { return static_cast<std::uint32_t>(i); }

template <class Timers> void arm_all(Timers &timers, const Times<Timers> &times) {
    for (std::size_t i = 0; i < times.size(); ++i)
        timers.arm(number(i), times[i]);
}

// Adds and cancels one more timer than the n pending ones.
template <class Timers>
double rearm_hot(Timers &timers, const Times<Timers> &times, std::size_t hot, std::size_t operations) {
    const double cost = cost_ns(timers, [&] {
        for (std::size_t k = 0; k < operations; ++k) {
            timers.arm(number(hot), times[k & stream_mask]);
            timers.cancel(number(hot));
        }
    });
    return per(cost, operations);
}

template <class Timers>
double rearm_cold(Timers &timers, const Times<Timers> &times, const std::vector<std::uint32_t> &victims) {
    const double cost = cost_ns(timers, [&] {
        for (std::size_t k = 0; k < stream_length; ++k)
            timers.move(victims[k], times[k]);
    });
    return per(cost, stream_length);
}

// Postpones timeouts to a constant distance from a clock that stands still. Each timer was
// postponed once before, in another order, as in a server that has run for a while. The later
// cost of a deferred move shows in serve.
template <class Timers> double postpone(Timers &timers, const Inputs &inputs) {
    constexpr std::uint64_t steps = 1024;
    auto postpone_all = [&](const std::vector<std::uint32_t> &victims, std::uint64_t from) {
        Times<Timers> times;
        times.reserve(victims.size());
        for (std::size_t k = 0; k < victims.size(); ++k)
            times.push_back(timers.timeout(from + k * steps / victims.size()));
        const double cost = cost_ns(timers, [&] {
            for (std::size_t k = 0; k < victims.size(); ++k)
                timers.postpone(victims[k], times[k]);
        });
        return per(cost, victims.size());
    };
    postpone_all(inputs.order, horizon);
    return postpone_all(inputs.victims, horizon + steps);
}

template <class Timers> std::vector<Sample> rearm_group(const Task &task) {
    const std::size_t hot_operations = task.operations ? task.operations : stream_length;
    Timers timers(task.n + 1, far_ahead);
    arm_all(timers, times_of(timers, task.inputs.deadlines));
    const Times<Timers> times = times_of(timers, task.inputs.ticks);

    std::vector<Sample> samples;
    if (task.wants(Workload::rearm_hot))
        samples.push_back({Workload::rearm_hot, rearm_hot(timers, times, task.n, hot_operations)});
    if (task.wants(Workload::rearm_cold))
        samples.push_back({Workload::rearm_cold, rearm_cold(timers, times, task.inputs.victims)});
    if (task.wants(Workload::postpone))
        samples.push_back({Workload::postpone, postpone(timers, task.inputs)});
    require(timers.fired() == 0, "a timer fired that is not due");
    return samples;
}

// The whole cost of a timer's life: arm it, advance tick by tick, call it.
template <class Timers> double expire(const Task &task) {
    Timers timers(task.n, Scale{});
    const Times<Timers> times = times_of(timers, task.inputs.deadlines);
    const double cost = cost_ns(timers, [&] {
        arm_all(timers, times);
        for (std::uint32_t tick = 1; tick <= horizon; ++tick)
            timers.advance(tick);
    });
    require(timers.fired() == task.n, "not every timer fired once");
    return per(cost, task.n);
}

// The same for a loop in real time: deadlines within half a second. The thread sleeps past all of
// them and then dispatches.
template <class Timers> double expire_in_real_time(const Task &task) {
    constexpr std::chrono::nanoseconds half_a_microsecond(500);
    Timers timers(task.n, Scale{half_a_microsecond, {}});
    const Times<Timers> times = times_of(timers, task.inputs.deadlines);
    double cost = cost_ns(timers, [&] { arm_all(timers, times); });
    require(timers.fired() == 0, "a timer fired before the loop ran");
    std::this_thread::sleep_for(horizon * half_a_microsecond + std::chrono::milliseconds(20));
    const double start = cpu_ns();
    for (int attempts = 0; timers.fired() < task.n && attempts < 1000; ++attempts)
        timers.dispatch();
    cost += cpu_ns() - start;
    require(timers.fired() == task.n, "not every timer fired once");
    return per(cost, task.n);
}

// Arms timers in random memory order inside one block of 2^16 ticks, two blocks ahead. A plain
// wheel empties a slot that holds all of them in one tick.
template <class Timers> double worst_tick_us(const Task &task) {
    constexpr std::uint32_t block = 1u << 16;
    Timers timers(task.n, Scale{});
    for (std::uint32_t i : task.inputs.order)
        timers.arm(i, timers.time(2 * block + task.inputs.deadlines[i] % block));
    double worst = 0, before = cpu_ns();
    for (std::uint32_t tick = 1; tick < 3 * block; ++tick) {
        timers.advance(tick);
        const double after = cpu_ns();
        worst = std::max(worst, after - before);
        before = after;
    }
    require(timers.fired() == task.n, "not every timer fired once");
    return worst / 1000;
}

// n connections with an idle timeout. Within a quarter of the timeout each gets a packet, every
// time in another order, while time advances tick by tick. The figure is the total cost per
// packet.
template <class Timers> double serve(const Task &task) {
    constexpr std::uint32_t patience = 1u << 16;
    constexpr std::size_t rounds = 8;
    const std::size_t packets_per_tick = std::max<std::size_t>(1, 4 * task.n / patience);
    std::vector<std::uint32_t> order = task.inputs.order, packets;
    Random random(2);
    for (std::size_t round = 0; round < rounds; ++round) {
        random.shuffle(order);
        packets.insert(packets.end(), order.begin(), order.end());
    }
    Timers timers(task.n, Scale{});
    for (std::size_t k = 0; k < task.n; ++k)
        timers.arm(number(k), timers.time(patience - k / packets_per_tick));
    const double cost = cost_ns(timers, [&] {
        for (std::size_t tick = 1, packet = 0; packet < packets.size(); ++tick) {
            timers.advance(tick);
            for (std::size_t k = 0; k < packets_per_tick && packet < packets.size(); ++k, ++packet)
                timers.postpone(packets[packet], timers.timeout(tick + patience));
        }
    });
    require(timers.fired() == 0, "a timer fired that was postponed");
    return per(cost, packets.size());
}

// A few timers and a lot of time, repeatedly.
template <class Timers> double sparse_us(const Task &task) {
    constexpr std::uint32_t span = 1u << 24;
    constexpr std::size_t rounds = 200;
    Timers timers(task.n, Scale{});
    Random random(1);
    std::vector<std::uint64_t> ticks(rounds * task.n);
    for (std::size_t k = 0; k < ticks.size(); ++k)
        ticks[k] = k / task.n * (span + 1ull) + 1 + random.below(span);
    const double cost = cost_ns(timers, [&] {
        for (std::size_t round = 0; round < rounds; ++round) {
            for (std::size_t i = 0; i < task.n; ++i)
                timers.arm(number(i), timers.time(ticks[round * task.n + i]));
            timers.run_tickless();
        }
    });
    require(timers.fired() == ticks.size(), "not every timer fired once");
    return per(cost, rounds) / 1000;
}

// Periods of 20 to 200 ticks of a millisecond. A loop in real time also pays for its thousand
// wake-ups a second, a few ns per fire.
template <class Timers> double periodic(const Task &task) {
    constexpr std::uint32_t duration = 1000;
    Timers timers(task.n, Scale{std::chrono::milliseconds(1), {}});
    std::uint64_t due = 0;
    const auto begin = steady_clock::now();
    for (std::size_t i = 0; i < task.n; ++i) {
        const std::uint32_t period = 20 + task.inputs.deadlines[i] % 181;
        timers.every(number(i), period);
        due += duration / period;
    }
    const double start = cpu_ns();
    if constexpr (Timers::virtual_time) {
        for (std::uint32_t tick = 1; tick <= duration; ++tick)
            timers.advance(tick);
        require(timers.fired() == due, "periodic timers fired too often or not often enough");
    } else {
        std::chrono::duration<double, std::milli> passed{};
        while ((passed = steady_clock::now() - begin).count() < duration || timers.fired() <= task.n)
            timers.wait();  // takes longer on a machine that is too busy to keep up
        const double most = 1.1 * static_cast<double>(due) * passed.count() / duration;
        require(static_cast<double>(timers.fired()) < most, "odd number of fires");
    }
    return per(cpu_ns() - start, timers.fired());
}

inline double heap_bytes() {
    const struct mallinfo2 info = mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
}

template <class Timers> std::vector<Sample> memory(const Task &task) {
    // Some libraries allocate something once, and malloc counts memory kept for reuse. Averaged
    // over many loops, both vanish.
    constexpr std::size_t loops = 64;
    std::vector<std::unique_ptr<Timers>> empty(loops);
    const double before = heap_bytes();
    for (auto &each : empty)
        each = std::make_unique<Timers>(0, far_ahead);
    const double loop = per(heap_bytes() - before, loops);

    const double empty_heap = heap_bytes();
    const auto full = std::make_unique<Timers>(task.n, far_ahead);
    for (std::size_t i = 0; i < task.n; ++i)
        full->arm(number(i), full->time(task.inputs.deadlines[i]));
    const double heap = heap_bytes() - empty_heap - loop;
    const double timer = sizeof(typename Timers::Record) + per(heap, task.n);
    return {{Workload::memory_timer, timer}, {Workload::memory_loop, loop}};
}

// Many timers pending, none due for long.
template <class Timers> double idle_tick(const Task &task) {
    Timers timers(task.n, Scale{});
    for (std::size_t i = 0; i < task.n; ++i)
        timers.arm(number(i), timers.time((1ull << 26) + task.inputs.deadlines[i]));
    const double cost = cost_ns(timers, [&] {
        for (std::size_t tick = 1; tick <= task.operations; ++tick)
            timers.advance(tick);
    });
    require(timers.fired() == 0, "a timer fired that is not due");
    return per(cost, task.operations);
}

template <class Timers> double run_one(const Task &task) {
    const Workload workload = task.workloads.front();
    if (workload == Workload::periodic)
        return periodic<Timers>(task);
    if constexpr (Timers::virtual_time) {
        if (workload == Workload::expire)
            return expire<Timers>(task);
        if (workload == Workload::worst_tick)
            return worst_tick_us<Timers>(task);
        if (workload == Workload::serve)
            return serve<Timers>(task);
        if (workload == Workload::sparse)
            return sparse_us<Timers>(task);
        if (workload == Workload::idle_tick)
            return idle_tick<Timers>(task);
    } else {
        if (workload == Workload::expire)
            return expire_in_real_time<Timers>(task);
    }
    require(false, "a workload that this implementation cannot run");
    return 0;
}

template <class Timers> std::vector<Sample> run(const Task &task) {
    switch (task.workloads.front()) {
    case Workload::rearm_hot:
    case Workload::rearm_cold:
    case Workload::postpone:
        return rearm_group<Timers>(task);
    case Workload::memory_timer:
    case Workload::memory_loop:
        return memory<Timers>(task);
    default:
        return {{task.workloads.front(), run_one<Timers>(task)}};
    }
}

}  // namespace bench

#endif
