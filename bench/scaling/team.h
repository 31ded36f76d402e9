// Threads that work at the same time, pinned one to each processor in turn.
#ifndef TICKWHEEL_BENCH_SCALING_TEAM_H
#define TICKWHEEL_BENCH_SCALING_TEAM_H

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "cpu.h"
#include "module.h"

namespace bench::scaling {

using std::chrono::steady_clock;

inline std::int64_t monotonic_ns() {
    return std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count();
}

// The processors that this process may use.
inline const std::vector<int> &processors() {
    static const std::vector<int> usable = [] {
        cpu_set_t set;
        require(sched_getaffinity(0, sizeof set, &set) == 0, "sched_getaffinity");
        std::vector<int> numbers;
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(cpu, &set))
                numbers.push_back(cpu);
        return numbers;
    }();
    return usable;
}

inline void pin(std::size_t thread) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processors()[thread % processors().size()], &set);
    require(pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0, "pthread_setaffinity_np");
}

using Flag = std::atomic<bool>;

// Each of the threads pins itself, prepares with make(thread), waits for the others, and then runs what
// `make` has returned until the flag is set. Between, this thread calls during(), which returns when it is
// over.
template <class Make, class During> void work_together(std::size_t threads, Make make, During during) {
    std::barrier all_there(static_cast<std::ptrdiff_t>(threads) + 1);
    Flag over{false};
    std::vector<std::thread> team;
    for (std::size_t thread = 0; thread < threads; ++thread)
        team.emplace_back([&, thread] {
            pin(thread);
            auto work = make(thread);
            all_there.arrive_and_wait();
            work(over);
        });
    all_there.arrive_and_wait();
    during();
    over = true;
    for (std::thread &each : team)
        each.join();
}

inline void sleep_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

struct Calls {
    double millions_a_second;  // of all threads together
    double cpu_ns;             // of a call: other programs and time asleep do not count
};

// make(thread) returns a call, which the threads make over and over.
template <class Make> Calls make_calls(std::size_t threads, double seconds, Make make) {
    std::atomic<std::uint64_t> calls{0}, cpu{0};
    std::int64_t lasted = 0;
    work_together(
        threads,
        [&](std::size_t thread) {
            return [&calls, &cpu, call = make(thread)](const Flag &over) mutable {
                const double start = cpu_ns();
                std::uint64_t count = 0;
                for (; !over.load(std::memory_order_relaxed); ++count)
                    call();
                cpu += static_cast<std::uint64_t>(cpu_ns() - start);
                calls += count;
            };
        },
        [&] {
            const std::int64_t start = monotonic_ns();
            sleep_for(seconds);
            lasted = monotonic_ns() - start;
        });
    require(calls != 0, "no thread made a call");
    return {1e3 * static_cast<double>(calls) / static_cast<double>(lasted),
            per(static_cast<double>(cpu), calls)};
}

}  // namespace bench::scaling

#endif
