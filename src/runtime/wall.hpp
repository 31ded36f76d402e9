// P12: deadlines on the wall clock, which may be set.
//
// The wall timeline's ticks are those of the wall clock plus `set_back`, which grows by as much as
// the clock is set back, so that the wheel's time never runs backwards. Delays live on the steady
// timeline and do not notice.
//
// When the clock is set forwards, the timers whose deadlines it passes fire. When it is set back, every timer
// of the wall timeline shifts by as many ticks, so that it is still due at the same reading. The first thread
// that then reads the clock makes the shift: the firing thread before it fires, or a call before it arms. So
// a reading that was withdrawn makes no timer due (P1). `set_back` accumulates. With ticks of 1 ns it cannot
// overflow within 584 years.
#pragma once

#include "state.hpp"

namespace tickwheel::runtime {

// The mutex of the wall timeline, held by calls on nodes and records. With one timeline the mutex stays free,
// while clang is told that the thread holds it.
class TW_SCOPED_CAPABILITY wall_hold {
  public:
    explicit wall_hold(tw_runtime &rt) TW_ACQUIRE(rt.wall_mutex) : mutex_(mutex_of(rt)) { lock(mutex_); }
    ~wall_hold() TW_RELEASE() { unlock(mutex_); }
    wall_hold(const wall_hold &) = delete;
    wall_hold &operator=(const wall_hold &) = delete;

    // Without a scope.
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

// Called by the firing thread without the hold: the clock's reading, and the present tick, for the wheel to
// be told next. If the wall clock is set back before that has happened, timers are shifted beyond this tick:
// so what is armed by the new reading does not fire by the former one (P1).
inline tick present_to_tell(tw_runtime &rt, timeline &line, std::int64_t &reading) {
    if (!line.can_be_set)
        return line.present(reading);
    const base::mutex_hold hold(&rt.wall_mutex);
    return line.told = line.present(reading);
}

}  // namespace tickwheel::runtime
