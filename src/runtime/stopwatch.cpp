// See stopwatch.hpp.
#include "stopwatch.hpp"

#include <pthread.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tickwheel::runtime {

constinit std::atomic<std::uint64_t> stopwatch::rate_{0};

namespace {

#if defined(__x86_64__)

// True if the counter always runs at one speed, whatever the processor does, and never stops.
bool has_steady_counter() {
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & 1U << 8) != 0;
}

struct both_readings {
    std::uint64_t counter, ns;
};

// The quickest of three tries, because another thread or an interrupt may come in between.
template <class Clock> both_readings read_both(Clock clock) {
    both_readings best = {};
    std::uint64_t shortest = UINT64_MAX;
    for (int tries = 0; tries < 3; ++tries) {
        const std::uint64_t before = __builtin_ia32_rdtsc();
        const std::uint64_t ns = clock(), after = __builtin_ia32_rdtsc();
        if (after - before < shortest) {
            shortest = after - before;
            best = {before + (after - before) / 2, ns};
        }
    }
    return best;
}

template <class Clock> std::uint64_t measured_rate(Clock clock) {
    constexpr std::uint64_t long_enough = 20'000;  // nanoseconds: two readings of 25 ns are a 400th of it
    const both_readings begin = read_both(clock);
    while (clock() - begin.ns < long_enough) {
    }
    const both_readings end = read_both(clock);
    if (end.counter <= begin.counter || end.ns - begin.ns > UINT32_MAX)
        return 0;
    return ((end.ns - begin.ns) << 32) / (end.counter - begin.counter);
}

template <class Clock> std::uint64_t rate_of_counter(Clock clock) {
    return has_steady_counter() ? measured_rate(clock) : 0;
}

#elif defined(__aarch64__)

template <class Clock> std::uint64_t rate_of_counter(Clock) {
    std::uint64_t per_second;
    asm volatile("mrs %0, cntfrq_el0" : "=r"(per_second));
    return per_second == 0 ? 0 : (std::uint64_t{1'000'000'000} << 32) / per_second;
}

#else

template <class Clock> std::uint64_t rate_of_counter(Clock) { return 0; }

#endif

}  // namespace

void stopwatch::prepare() {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, [] { rate_.store(rate_of_counter(of_system), std::memory_order_relaxed); });
}

}  // namespace tickwheel::runtime
