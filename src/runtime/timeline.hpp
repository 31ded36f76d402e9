// A timeline: a wheel, the clock that it follows, and the conversions between the two.
//
// Every runtime has a steady timeline, for delays. A runtime on the wall clock has a second one, for absolute
// deadlines. Only the clock of the second timeline can be set, so only that timeline uses `set_back` and
// `told`; wall.hpp explains them.
//
// Any thread may call these functions; on the wall timeline it holds the runtime's wall_hold.
#pragma once

#include <atomic>
#include <cstdint>

#include <tickwheel/driver.h>
#include <tickwheel/port.h>
#include <tickwheel/tw.h>

#include "clock.hpp"
#include "lanes.hpp"

namespace tickwheel::runtime {

inline constexpr tick never = TW_NEVER;
inline constexpr tick awake = 0;               // no tick is earlier, so no timer wakes the driver
inline constexpr tick falling_asleep = never;  // see timeline

// Sleep and wake: why no wake-up is lost (P2), although a call makes a system call only if its timer is due
// before the firing thread's sleep ends.
//
// Each lane has a `next`, no later than its first timer: a call that arms lowers it, after it has armed;
// find_next and advance_lanes compute it with the wheel locked. Before the firing thread sleeps, it sets
// `asleep_until` to `falling_asleep`, then to the least `next`, and then reads all of them again. A call that
// has lowered a `next`, or found it low enough, reads `asleep_until`. If it reads the tick, and its own is
// earlier, it wakes the driver, which remembers a wake that comes before its wait. If it reads anything
// older, it did so before the firing thread set the tick, and so `next` was low before the thread read it
// again. These accesses are sequentially consistent (tests/runtime/sleep_wake.pml).
struct timeline {
    tw wheel;  // lane 0
    lane_table lanes;
    std::atomic<tick> asleep_until{awake};  // the firing thread writes it, and so does wake_for_anything
    std::atomic<tick> fired_to{0};          // the tick that the firing thread has given to the wheels last

    clock_source clock;
    tick_unit unit;
    bool can_be_set;                             // fixed: this is the wall timeline
    std::int64_t tw_deadlines::*deadline_field;  // fixed: where drivers find its deadline

    // The wheel's ticks are this far ahead of the clock's. Only grows; written under the wall_hold. The
    // firing thread reads it without the hold, to convert a node's deadline for the meter; if the clock is
    // set back at that moment, that one value is wrong.
    std::atomic<tick> set_back{0};
    tick told = 0;  // if can_be_set: the latest tick given to the wheel, or about to be
    std::atomic<std::uint64_t> times_set_back{0};  // any thread may read it

    void open(const tick_unit &ticks, bool wall) {
        unit = ticks;
        can_be_set = wall;
        deadline_field = wall ? &tw_deadlines::wall_ns : &tw_deadlines::steady_ns;
        const tick present = unit.down(clock.read());
        told = wall ? present : 0;
        tw_init(&wheel, present, 0);
        TW_CHECKS(wheel_lasts(&wheel));
    }

    // P1: the present rounds down, a deadline rounds up.
    tick tick_at(std::int64_t reading) const { return unit.down(reading) + set_back; }
    tick tick_of(std::int64_t deadline) const { return unit.up(deadline) + set_back; }
    tick last() const { return unit.last + set_back; }
    std::int64_t deadline_of(tick t) const { return unit.reading(t - set_back); }

    // The tick of a delay that counts from a reading.
    tick tick_after(std::int64_t reading, std::int64_t delay) const {
        return tick_of(deadline_after(reading, delay));
    }

    // The same for a one-shot timer: with a delay of 0 it fires at once, without waiting for the next tick. A
    // period counts from the first deadline, so for a periodic timer that would be too early (P1).
    tick tick_once_after(std::int64_t reading, std::int64_t delay) const {
        return delay == 0 ? tick_at(reading) : tick_after(reading, delay);
    }

    // The same for a delay from now.
    tick tick_after_now(std::int64_t delay) const { return tick_after(clock.read(), delay); }

    // Shifts all timers if the clock was set back since the wheel last got the time. If the clock can be set,
    // pass every reading to this function before you convert it. Takes the wheel's lock.
    void follow(std::int64_t reading) {
        if (can_be_set && tick_at(reading) < told)
            shift(told - tick_at(reading));
    }

    tick present(std::int64_t &reading) {
        reading = clock.read();
        follow(reading);
        return tick_at(reading);
    }

  private:
    void shift(tick back);
};

}  // namespace tickwheel::runtime
