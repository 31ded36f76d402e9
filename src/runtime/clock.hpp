// Clock readings in nanoseconds, and their conversion to ticks of a wheel. Any thread; a tick_unit is fixed
// when its runtime is made.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include <tickwheel/driver.h>

#include "base/system_clock.hpp"

namespace tickwheel::runtime {

using tick = std::uint64_t;

inline constexpr std::int64_t last_reading = TW_NO_DEADLINE - 1;

// The sum, but at most `most`. No argument is negative.
inline std::int64_t capped_sum(std::int64_t a, std::int64_t b, std::int64_t most) {
    return b > most - a ? most : a + b;
}

// A clock stands still at the end of time; a deadline beyond that counts as no deadline.
inline std::int64_t reading_after(std::int64_t reading, std::int64_t delay) {
    return capped_sum(reading, delay, last_reading);
}
inline std::int64_t deadline_after(std::int64_t reading, std::int64_t delay) {
    return capped_sum(reading, delay, TW_NO_DEADLINE);
}

// The time left until a deadline, as tw_runtime_remaining returns it: never TW_NO_DEADLINE, which there means
// that the node is not pending.
inline std::int64_t time_left(std::int64_t deadline, std::int64_t reading) {
    const std::int64_t left = deadline - reading;
    return left < 0 ? 0 : left < last_reading ? left : last_reading;
}

// The same for tw_entry: negative once the deadline has passed, and TW_NO_DEADLINE if no clock reaches it.
inline std::int64_t until(std::int64_t deadline, std::int64_t reading) {
    return deadline == TW_NO_DEADLINE ? TW_NO_DEADLINE : deadline - reading;
}

// The length of a tick. Tick t is the reading t * ns, counted from the clock's own zero: there is no origin
// to keep, and nothing can drift.
struct tick_unit {
    std::uint64_t ns;
    std::uint64_t part;  // the unit that periods are counted in, in nanoseconds
    tick last;           // the last tick of any reading

    // A tick has fewer than 2^32 - 1 parts, so that a node can count them in 32 bits. A part is a nanosecond.
    // In ticks of more than four seconds it is a microsecond if the tick is a whole number of these, and
    // otherwise the whole tick.
    void set(std::uint64_t to) {
        constexpr std::uint64_t most = UINT32_MAX - 1;
        ns = to;
        part = ns <= most ? 1 : ns % 1000 == 0 ? 1000 : ns;
        last = down(last_reading);
    }
    std::uint32_t parts() const { return static_cast<std::uint32_t>(ns / part); }

    // P1: deadlines round up, the present rounds down. So when the wheel takes a timer as due, the clock has
    // reached its deadline. A deadline that no clock will reach has a tick after the last one.
    tick up(std::int64_t deadline) const { return (static_cast<std::uint64_t>(deadline) + (ns - 1)) / ns; }
    tick down(std::int64_t reading) const { return static_cast<std::uint64_t>(reading) / ns; }

    // TW_NO_DEADLINE for a tick that no clock will reach.
    std::int64_t reading(tick t) const {
        return t > last ? TW_NO_DEADLINE : static_cast<std::int64_t>(t * ns);
    }
    bool divides(std::int64_t period) const { return static_cast<std::uint64_t>(period) % ns == 0; }
    bool counts(std::int64_t period) const { return static_cast<std::uint64_t>(period) % part == 0; }

    // The number of parts by which a deadline precedes the tick that it rounds up to.
    std::uint32_t early(std::int64_t deadline) const {
        const std::uint64_t over = static_cast<std::uint64_t>(deadline) % ns;
        return over == 0 ? 0 : static_cast<std::uint32_t>((ns - over) / part);
    }
};

using base::system_reading;

// A system clock, or a virtual one that the program moves.
class clock_source {
  public:
    void be_system(clockid_t id) { id_ = id; }

    // Makes this a virtual clock, which reads 0 until the program moves it. `base`, unless null, is a virtual
    // clock without a base; this clock then moves along with the base, and can be set.
    void be_virtual(const clock_source *base) {
        is_virtual_ = true;
        base_ = base;
    }

    bool is_virtual() const { return is_virtual_; }

    std::int64_t read() const {
        if (is_virtual_) [[unlikely]]
            return read_virtual();
        return system_reading(id_);
    }

    // For virtual clocks; `set` needs a base. One thread at a time may call `move`, any thread `set`.
    void move(std::int64_t by) { own_.store(reading_after(own_, by), std::memory_order_release); }
    void set(std::int64_t to) { own_.store(reading_after(0, to) - base_->read(), std::memory_order_release); }

  private:
    std::int64_t read_virtual() const {
        const std::int64_t base = base_ != nullptr ? base_->own_.load(std::memory_order_acquire) : 0;
        const std::int64_t own = own_.load(std::memory_order_acquire);
        return own < 0 ? base + own : reading_after(base, own);
    }

    clockid_t id_ = CLOCK_MONOTONIC;
    bool is_virtual_ = false;
    const clock_source *base_ = nullptr;
    std::atomic<std::int64_t> own_{0};  // how far the clock is ahead of its base, or of 0
};

}  // namespace tickwheel::runtime
