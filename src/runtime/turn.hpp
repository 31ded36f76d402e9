// One turn: fire the due timers, then tell the driver how long to sleep. The runtime's thread,
// tw_runtime_dispatch and virtual time are all built from these functions.
//
// Only the firing thread calls these functions, except must_leave, what_is_next and drive_permit, which any
// thread may use. Making a runtime also calls measure_fires and settle_wakes.
#pragma once

#include "base/exceptions.h"
#include "state.hpp"

namespace tickwheel::runtime {

// Makes the meter measure the fires of a wheel's nodes. Call this when the wheel is made.
void measure_fires(tw_runtime &rt, tw &wheel);

inline bool is_in_turn(std::uint32_t turn_number) { return turn_number % 2 != 0; }

// Fires the due timers, within the budget. Returns true if no due timer can be left.
bool fire_due(tw_runtime &rt);

// Publishes the next tick of each timeline in `asleep_until`: from here on, arming a timer that is due
// earlier wakes the driver. Returns the deadlines to sleep until; 0 if there is something to do at once.
tw_deadlines publish_next_tick(tw_runtime &rt);

// Marks each timeline as awake: until the next publish_next_tick no call that arms wakes the driver. Call
// this once the driver has forgotten all wakes so far.
void mark_awake(tw_runtime &rt);

// Ends the sleep that the wakes so far were for; the next sleep needs a wake of its own. See wake_driver.
void settle_wakes(tw_runtime &rt);

// Call these around each sleep, to count how late it began and ended. measure_before_sleep returns false if
// the thread must not sleep, because something has to be done at once, or is already late.
bool measure_before_sleep(tw_runtime &rt, const tw_deadlines &until);
void measure_after_sleep(tw_runtime &rt);

// The first deadline of each timeline. Corrects the `next` of lanes, but leaves `asleep_until`. Any thread.
tw_deadlines what_is_next(tw_runtime &rt);

// Takes turns until the firing thread has to leave: the work of the runtime's thread, and of tw_runtime_run.
// The caller is inside user code.
void run_turns(tw_runtime &rt);

// True if the firing thread has to leave.
inline bool must_leave(const tw_runtime &rt) {
    return rt.stopping.load(std::memory_order_acquire) || rt.is_freed.load(std::memory_order_acquire) != 0 ||
           rt.forked.load(std::memory_order_acquire);
}

// Makes a caller the firing thread until this is destroyed or given back. error() is -EBUSY if another thread
// already fires, or if the caller is in a callback.
class drive_permit {
  public:
    explicit drive_permit(tw_runtime &rt);
    ~drive_permit() { give_back(); }
    void give_back();  // frees the runtime if a callback, here or on a worker, asked for that
    drive_permit(const drive_permit &) = delete;
    drive_permit &operator=(const drive_permit &) = delete;
    int error() const {
        return granted_ ? 0
                        : refuse(-EBUSY, "the runtime is already driven by its thread, by another call or "
                                         "around this callback");
    }

  private:
    tw_runtime &rt_;
    bool granted_ = false;
};

// Programs the driver's descriptor to become readable when the next timer is due. 0 or a negative
// errno.
int program(tw_runtime &rt);

// Ends a turn that a callback's exception has left in the middle.
void abandon_turn(tw_runtime &rt);

// Calls fire() as the firing thread; returns its result, or -EBUSY. A callback's exception passes through,
// and leaves the runtime as if the callback had returned. The destructors of this frame do not run then (see
// exceptions.h), so the code below does their work, in their order.
template <class Fire> int drive(tw_runtime &rt, Fire fire) {
    const no_thread_cancel guard;
    drive_permit permit(rt);
    if (permit.error() != 0)
        return permit.error();
    const inside_user_code frame(rt);
    int result = 0;
    base::passing_exceptions(
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
