// One turn: fire what is due, then say what to sleep for. The runtime's thread, loops of
// others and virtual time all go round by these; one of them at a time calls them.
#pragma once

#include "exceptions.h"
#include "runtime.hpp"

namespace tickwheel::runtime {

// Fires what is due, within the budget.
void fire_due(tw_runtime &rt);

// From here on arming a node wakes the driver if it is due before these deadlines. A
// deadline of 0: there is something to do at once.
tw_deadlines fall_asleep(tw_runtime &rt);

// Until the next fall_asleep nobody needs to wake the driver.
void wake_up(tw_runtime &rt);

// Around each sleep, counts how late it began and ended. False: something is to be done at
// once, or should have been.
bool begin_sleep(tw_runtime &rt, const tw_deadlines &until);
void end_sleep(tw_runtime &rt);

// The time of whatever comes first on either timeline, now that nothing sleeps.
tw_deadlines what_is_next(tw_runtime &rt);

// The runtime's thread.
void run(tw_runtime &rt);

// Whether whoever fires should come to an end.
inline bool must_leave(const tw_runtime &rt) {
    return rt.stopping.load(std::memory_order_acquire) || rt.is_freed.load(std::memory_order_acquire) != 0 ||
           rt.forked.load(std::memory_order_acquire);
}

// For the time that a caller does the firing; answers -EBUSY if somebody else does, or
// if the caller is in a callback.
class drive_permit {
  public:
    explicit drive_permit(tw_runtime &rt);
    ~drive_permit() { give_back(); }
    void give_back();  // may free the runtime, if a callback or a worker's run asked for that
    drive_permit(const drive_permit &) = delete;
    drive_permit &operator=(const drive_permit &) = delete;
    int error() const {
        return granted_
                   ? 0
                   : refuse(-EBUSY, "a callback, its thread or another call drives this runtime already");
    }

  private:
    tw_runtime &rt_;
    bool granted_ = false;
};

// Has the driver's descriptor ring for what is next. 0 or a negative errno.
int program(tw_runtime &rt);

// What a callback left undone, by an exception, of a call that drives the runtime.
void abandon_turn(tw_runtime &rt);

// Calls fire() as the one who drives the runtime; returns its result, or -EBUSY. What a
// callback throws passes, and leaves the runtime as if the callback had returned.
template <class Fire> int drive(tw_runtime &rt, Fire fire) {
    const uncancelled whole;
    drive_permit mine(rt);
    if (mine.error() != 0)
        return mine.error();
    const inside_user_code callbacks(rt);
    int result = 0;
    passing_exceptions([&] { result = fire(); },
                       [&] {
                           callbacks.leave();
                           abandon_turn(rt);
                           mine.give_back();
                           whole.end();
                       });
    return result;
}

}  // namespace tickwheel::runtime
