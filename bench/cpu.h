// Measures cost as the processor time of the calling thread, kernel included. Other programs on
// the machine and time spent asleep do not count.
#ifndef TICKWHEEL_BENCH_CPU_H
#define TICKWHEEL_BENCH_CPU_H

#include <time.h>

#include <cstddef>

namespace bench {

inline double cpu_ns(clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
    timespec now;
    clock_gettime(clock, &now);
    return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

inline double per(double cost, std::size_t count) { return cost / static_cast<double>(count); }

// Returns the cost of each call work(0), work(1) ... work(count - 1).
template <class Work> double cost_of_each(std::size_t count, Work &&work) {
    const double start = cpu_ns();
    for (std::size_t i = 0; i < count; ++i)
        work(i);
    return per(cpu_ns() - start, count);
}

}  // namespace bench

#endif
