// Timelines: a wheel, the clock that it follows, and the conversions between the two.
//
// Every runtime has a steady timeline, for delays. A runtime on the wall clock has a second one, for
// absolute deadlines. Its clock can be set, so it alone makes use of `set_back` and `told`; wall.hpp
// explains them.
//
// Any thread may call these functions; on the wall timeline it holds the wall_hold of the runtime.
#pragma once

#include <atomic>
#include <cstdint>

#include <tickwheel/driver.h>
#include <tickwheel/port.h>
#include <tickwheel/tw.h>

#include "clock.hpp"

namespace tickwheel::runtime {

inline constexpr tick never = TW_NEVER;
inline constexpr tick awake = 0;  // no tick is earlier, so the driver is woken for none

// Sleep and wake: why no wake-up is lost (P2), although only a call whose timer is due earlier than
// the firing thread sleeps makes a system call.
//
// Before it sleeps, the firing thread sets `asleep_until` to `never`, then asks the wheel what is
// next, under the wheel's lock, and sets `asleep_until` to the answer. A call that arms a node or a record
// before that question is part of the answer. A call that arms one after it has had the wheel's lock later
// than the question; so it reads `never` or the answer, and wakes the driver if its timer is due
// earlier. A driver remembers a wake that comes before its wait. The wheel's lock orders all of this,
// so relaxed accesses are enough (tests/runtime/sleep_wake.pml).
struct timeline {
    tw wheel;
    std::atomic<tick> asleep_until{awake};  // written by the firing thread, but see wake_for_anything

    clock_source clock;
    tick_unit unit;
    bool can_be_set;                             // fixed: this is the wall timeline
    std::int64_t tw_deadlines::*deadline_field;  // fixed: where drivers find its deadline

    // Ticks of the wheel are this much ahead of the clock's. Only grows, and is written with the wall_hold.
    // The firing thread reads it without the hold, to convert a node's deadline for the meter; if the clock
    // is set back just then, that one reading is wrong.
    std::atomic<tick> set_back{0};
    tick told = 0;  // if it can be set: the latest tick that the wheel was told, or is about to be
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

    // The same for a timer that fires once: with a delay of 0 it fires at once, and does not wait for the
    // next tick. A period counts from the first deadline, so there that would be too early (P1).
    tick tick_once_after(std::int64_t reading, std::int64_t delay) const {
        return delay == 0 ? tick_at(reading) : tick_after(reading, delay);
    }

    // Shifts all timers if the clock was set back since the wheel was last told the time. With a clock
    // that can be set, a reading is passed to this before it is converted. Takes the wheel's lock.
    void follow(std::int64_t reading) {
        if (can_be_set && tick_at(reading) < told)
            shift(told - tick_at(reading));
    }

    tick present(std::int64_t &reading) {
        reading = clock.read();
        follow(reading);
        return tick_at(reading);
    }

    // To be called when something was armed for this tick. Returns true if the driver has to be woken for it.
    bool note_armed(tick due) const { return due < asleep_until.load(std::memory_order_relaxed); }

  private:
    void shift(tick back);
};

}  // namespace tickwheel::runtime
