// Cost as processor time of the thread, kernel included: neighbours on the machine do not
// count, sleeping does not count.
#ifndef TICKWHEEL_BENCH_CPU_H
#define TICKWHEEL_BENCH_CPU_H

#include <time.h>

#include <cstddef>

namespace bench {

inline double cpu_ns() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

inline double per(double cost, std::size_t count) { return cost / static_cast<double>(count); }

// What calling work(0), work(1) ... costs each.
template <class Work> double cost_of_each(std::size_t count, Work &&work) {
    const double start = cpu_ns();
    for (std::size_t i = 0; i < count; ++i)
        work(i);
    return per(cpu_ns() - start, count);
}

}  // namespace bench

#endif
