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

// The mutex of the wall timeline, held by calls on nodes and records. With one timeline there is none.
class wall_hold {
  public:
    explicit wall_hold(tw_runtime &rt) : mutex_(mutex_of(rt)) { lock(mutex_); }
    ~wall_hold() { unlock(mutex_); }
    wall_hold(const wall_hold &) = delete;
    wall_hold &operator=(const wall_hold &) = delete;

    // Without a scope.
    static void lock(tw_runtime &rt) { lock(mutex_of(rt)); }
    static void unlock(tw_runtime &rt) { unlock(mutex_of(rt)); }

  private:
    static pthread_mutex_t *mutex_of(tw_runtime &rt) { return has_wall(rt) ? &rt.wall_mutex : nullptr; }
    static void lock(pthread_mutex_t *mutex) {
        if (mutex != nullptr)
            pthread_mutex_lock(mutex);
    }
    static void unlock(pthread_mutex_t *mutex) {
        if (mutex != nullptr)
            pthread_mutex_unlock(mutex);
    }

    pthread_mutex_t *mutex_;
};

// Gives the runtime a wall timeline. 0 or a negative errno.
int make_wall(tw_runtime &rt, const tick_unit &unit);
void free_wall(tw_runtime &rt);

// Reads the wall clock, and shifts the wall timeline if it was set back.
// REQUIRES: wall_hold, a wall timeline, no lock of a wheel held
inline std::int64_t follow_wall(tw_runtime &rt) {
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
