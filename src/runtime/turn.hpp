// One turn: fire what is due, then say what to sleep for. The runtime's thread, tw_runtime_dispatch
// and virtual time are all made of these functions.
//
// Only the firing thread calls them, except must_leave and drive_permit, which any thread may.
#pragma once

#include "exceptions.h"
#include "state.hpp"

namespace tickwheel::runtime {

// Has the fires of a timeline's nodes measured. To be called when the timeline is made.
void measure_fires(tw_runtime &rt, timeline &line);

inline bool is_in_turn(std::uint32_t turn_number) { return turn_number % 2 != 0; }

// Fires what is due, within the budget. Returns true if nothing that is due can be left.
bool fire_due(tw_runtime &rt);

// Publishes on each timeline the tick of what is next, in `asleep_until`: from here on arming a timer
// that is due earlier wakes the driver. Returns the deadlines to sleep until; 0 if there is something to do
// at once.
tw_deadlines publish_next_tick(tw_runtime &rt);

// Marks each timeline as awake: until the next publish_next_tick no call that arms wakes the driver. Call
// this when the driver has forgotten the wakes so far.
void mark_awake(tw_runtime &rt);

// Ends the sleep that wakes were for; the next one needs a wake of its own. See wake_driver.
void settle_wakes(tw_runtime &rt);

// Called around each sleep, to count how late it began and ended. measure_before_sleep returns false if
// there is nothing to sleep for: something is to be done at once, or should have been done already.
bool measure_before_sleep(tw_runtime &rt, const tw_deadlines &until);
void measure_after_sleep(tw_runtime &rt);

// The deadlines of what comes first on each timeline. Publishes nothing.
tw_deadlines what_is_next(tw_runtime &rt);

// Takes turns until the firing thread has to leave: the work of the runtime's thread.
void run_turns(tw_runtime &rt);

// True if the firing thread has to leave.
inline bool must_leave(const tw_runtime &rt) {
    return rt.stopping.load(std::memory_order_acquire) || rt.is_freed.load(std::memory_order_acquire) != 0 ||
           rt.forked.load(std::memory_order_acquire);
}

// Makes a caller the firing thread for as long as it lives. error() is -EBUSY if another thread is
// that already, or if the caller is in a callback.
class drive_permit {
  public:
    explicit drive_permit(tw_runtime &rt);
    ~drive_permit() { give_back(); }
    void give_back();  // frees the runtime if a callback, here or on a worker, has asked for that
    drive_permit(const drive_permit &) = delete;
    drive_permit &operator=(const drive_permit &) = delete;
    int error() const {
        return granted_
                   ? 0
                   : refuse(-EBUSY, "its thread, another call or this callback drives the runtime already");
    }

  private:
    tw_runtime &rt_;
    bool granted_ = false;
};

// Programs the driver's descriptor to become readable when the next timer is due. 0 or a negative
// errno.
int program(tw_runtime &rt);

// Ends a turn that an exception of a callback has left in the middle.
void abandon_turn(tw_runtime &rt);

// Calls fire() as the firing thread; returns its result, or -EBUSY. An exception of a callback passes
// through, and leaves the runtime as if the callback had returned. The destructors of this frame do not
// run then (see exceptions.h), so what they do is spelled out; the order is theirs.
template <class Fire> int drive(tw_runtime &rt, Fire fire) {
    const no_thread_cancel guard;
    drive_permit permit(rt);
    if (permit.error() != 0)
        return permit.error();
    const inside_user_code frame(rt);
    int result = 0;
    passing_exceptions(
        [&] { result = fire(); },
        [&] {
            frame.end_inner();  // a `drop` may free the runtime, which then waits for this frame
            abandon_turn(rt);
            frame.leave();
            permit.give_back();
            guard.end();
        });
    return result;
}

}  // namespace tickwheel::runtime
