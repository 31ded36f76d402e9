// A stopwatch for callbacks. It uses the processor's counter where that is cheap and steady, because reading
// the system's clock around each fire would cost a tenth of the fire. Any thread.
//
// Readings of different threads are comparable as far as the counters of their processors agree. If a counter
// goes back between two readings (a virtual machine moves to another host), the duration is 0.
#pragma once

#include <atomic>
#include <cstdint>

#include "clock.hpp"

namespace tickwheel::runtime {

class stopwatch {
  public:
    using reading = std::uint64_t;

    // Measures the speed of the counter: once per process, for some 20 microseconds.
    static void prepare();

    static reading now() {
#if defined(__x86_64__)
        // Without <x86intrin.h>, which doubles the compile time of a source file of the library.
        if (rate_.load(std::memory_order_relaxed) != 0) [[likely]]
            return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
        if (rate_.load(std::memory_order_relaxed) != 0) [[likely]] {
            reading counter;
            asm volatile("mrs %0, cntvct_el0" : "=r"(counter));
            return counter;
        }
#endif
        return of_system();
    }

    // Nanoseconds from one reading to a later one.
    static std::int64_t between(reading begin, reading end) {
        const auto counted = static_cast<std::int64_t>(end - begin);
        if (counted <= 0)
            return 0;
        const std::uint64_t rate = rate_.load(std::memory_order_relaxed);
        return rate == 0 ? counted : scaled(static_cast<std::uint64_t>(counted), rate);
    }

  private:
    static std::int64_t scaled([[maybe_unused]] std::uint64_t counted, [[maybe_unused]] std::uint64_t rate) {
#ifdef __SIZEOF_INT128__
        __extension__ using wide = unsigned __int128;
        return static_cast<std::int64_t>(static_cast<wide>(counted) * rate >> 32);
#else
        return 0;  // these platforms have no such counter
#endif
    }

    static reading of_system() { return static_cast<reading>(system_reading(CLOCK_MONOTONIC)); }

    // Nanoseconds in 2^32 counts; 0 means that the stopwatch uses the system's clock.
    static std::atomic<std::uint64_t> rate_;
};

}  // namespace tickwheel::runtime
