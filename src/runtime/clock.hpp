// Readings of clocks, and ticks: how time in nanoseconds becomes time of a wheel.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include <tickwheel/driver.h>

namespace tickwheel::runtime {

using tick = std::uint64_t;

inline constexpr std::int64_t last_reading = TW_NO_DEADLINE - 1;

// Both are not negative. What a clock reads: at the end of time it stands still.
inline std::int64_t later(std::int64_t reading, std::int64_t by) {
    return by > last_reading - reading ? last_reading : reading + by;
}

// A deadline beyond the end of time is none.
inline std::int64_t deadline_after(std::int64_t reading, std::int64_t by) {
    return by > TW_NO_DEADLINE - reading ? TW_NO_DEADLINE : reading + by;
}

// Tick t is the reading t * ns, since the clock's own zero. A tick is as long as ns.
struct tick_unit {
    std::uint64_t ns;
    std::uint64_t part;  // ns: what periods are counted in; see set

    // Parts of a tick number less than 2^32 - 1: nanoseconds, in ticks longer than four seconds
    // microseconds, or else ticks.
    void set(std::uint64_t to) {
        constexpr std::uint64_t most = UINT32_MAX - 1;
        ns = to;
        part = ns <= most ? 1 : ns % 1000 == 0 ? 1000 : ns;
    }
    std::uint32_t parts() const { return static_cast<std::uint32_t>(ns / part); }

    // P1: up for a deadline, down for the present. So what the wheel takes as due has
    // a deadline that the clock has reached. A deadline that no clock will reach has a tick
    // after the last one.
    tick up(std::int64_t deadline) const { return (static_cast<std::uint64_t>(deadline) + (ns - 1)) / ns; }
    tick down(std::int64_t reading) const { return static_cast<std::uint64_t>(reading) / ns; }
    tick last() const { return down(last_reading); }

    // TW_NO_DEADLINE for a tick that no clock will read.
    std::int64_t reading(tick t) const {
        return t > last() ? TW_NO_DEADLINE : static_cast<std::int64_t>(t * ns);
    }
    bool divides(std::int64_t period) const { return static_cast<std::uint64_t>(period) % ns == 0; }
    bool counts(std::int64_t period) const {
        return static_cast<std::uint64_t>(period) >= ns && static_cast<std::uint64_t>(period) % part == 0;
    }

    // The parts by which a deadline is before the tick that it rounds up to.
    std::uint32_t early(std::int64_t deadline) const {
        const std::uint64_t over = static_cast<std::uint64_t>(deadline) % ns;
        return over == 0 ? 0 : static_cast<std::uint32_t>((ns - over) / part);
    }
};

// The clocks of one runtime. Virtual ones are numbers that somebody sets.
class clocks {
  public:
    void choose(enum tw_clock clock, bool is_virtual) {
        steady_ = clock == TW_CLOCK_BOOT ? CLOCK_BOOTTIME : CLOCK_MONOTONIC;
        virtual_ = is_virtual;
    }

    std::int64_t steady() const {
        return virtual_ ? virtual_steady_.load(std::memory_order_acquire) : read(steady_);
    }
    std::int64_t wall() const { return virtual_ ? virtual_wall() : read(CLOCK_REALTIME); }

    // The first by one thread at a time, the second by any.
    void move_virtual(std::int64_t by) {
        virtual_steady_.store(later(virtual_steady_, by), std::memory_order_release);
    }
    void set_virtual_wall(std::int64_t to) {
        wall_ahead_.store(later(0, to) - virtual_steady_, std::memory_order_release);
    }

  private:
    static std::int64_t read(clockid_t clock) {
        timespec now;
        ::clock_gettime(clock, &now);
        return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
    }

    std::int64_t virtual_wall() const {
        const std::int64_t steady = virtual_steady_.load(std::memory_order_acquire);
        const std::int64_t ahead = wall_ahead_.load(std::memory_order_acquire);
        return ahead < 0 ? steady + ahead : later(steady, ahead);
    }

    clockid_t steady_ = CLOCK_MONOTONIC;
    bool virtual_ = false;
    std::atomic<std::int64_t> virtual_steady_{0}, wall_ahead_{0};
};

}  // namespace tickwheel::runtime
