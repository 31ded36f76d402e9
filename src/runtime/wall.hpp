// P12: deadlines on the wall clock, which may be set.
//
// The wall timeline's ticks are those of the wall clock plus `set_back`, which grows by the amount that the
// clock is set back, so that the wheel's time never runs backwards. Delays live on the steady timeline and
// are not affected.
//
// When the clock is set forwards, the timers whose deadlines it passes fire. When it is set back, every timer
// of the wall timeline shifts by as many ticks, so that it stays due at the same reading. The first thread
// that then reads the clock makes the shift: the firing thread before it fires, or a call before it arms. So
// a reading that was withdrawn makes no timer due (P1). `set_back` accumulates. With ticks of 1 ns it cannot
// overflow within 584 years.
#pragma once

#include "state.hpp"

namespace tickwheel::runtime {

// Holds the wall timeline's mutex; calls on nodes and records use it. With one timeline a wall_hold takes no
// mutex, and only tells clang that the thread holds `wall_mutex`.
class TW_SCOPED_CAPABILITY wall_hold {
  public:
    explicit wall_hold(tw_runtime &rt) TW_ACQUIRE(rt.wall_mutex) : mutex_(mutex_of(rt)) { lock(mutex_); }
    ~wall_hold() TW_RELEASE() { unlock(mutex_); }
    wall_hold(const wall_hold &) = delete;
    wall_hold &operator=(const wall_hold &) = delete;

    // The same without a scope.
    static void lock(tw_runtime &rt) TW_ACQUIRE(rt.wall_mutex) TW_UNCHECKED_LOCKING { lock(mutex_of(rt)); }
    static void unlock(tw_runtime &rt) TW_RELEASE(rt.wall_mutex) TW_UNCHECKED_LOCKING {
        unlock(mutex_of(rt));
    }

  private:
    static base::mutex *mutex_of(tw_runtime &rt) { return has_wall(rt) ? &rt.wall_mutex : nullptr; }
    static void lock(base::mutex *mutex) {
        if (mutex != nullptr)
            pthread_mutex_lock(&mutex->native);
    }
    static void unlock(base::mutex *mutex) {
        if (mutex != nullptr)
            pthread_mutex_unlock(&mutex->native);
    }

    base::mutex *mutex_;
};

// Gives the runtime a wall timeline. 0 or a negative errno.
int make_wall(tw_runtime &rt, const tick_unit &unit);
void free_wall(tw_runtime &rt);

// Reads the wall clock, and shifts the wall timeline if it was set back.
// REQUIRES: a wall timeline, no lock of a wheel held
inline std::int64_t follow_wall(tw_runtime &rt) TW_REQUIRES(rt.wall_mutex) {
    const std::int64_t reading = rt.absolute->clock.read();
    rt.absolute->follow(reading);
    return reading;
}

// The present tick that the firing thread tells the wheel next, and the clock's reading. Call this without
// the wall mutex. If the wall clock is set back before the wheel gets this tick, the shift moves timers
// beyond it, so a timer armed by the new reading does not fire by the old one (P1).
inline tick present_to_tell(tw_runtime &rt, timeline &line, std::int64_t &reading) {
    if (!line.can_be_set)
        return line.present(reading);
    const base::mutex_hold hold(&rt.wall_mutex);
    return line.told = line.present(reading);
}

}  // namespace tickwheel::runtime
