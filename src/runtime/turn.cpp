// The turn, one pass of the runtime's loop (take_turn):
//
//     fire_due               fire the due timers of each timeline, within the budget
//     publish_next_tick      find each timeline's next tick; from here on an earlier timer wakes the driver
//     measure_before_sleep   count deadlines that have already passed; skip the sleep if work is left
//     wait_until             the driver sleeps
//     measure_after_sleep    count how late the wake-up was
//     mark_awake             from here on no call that arms wakes the driver
//
// The runtime's thread takes turns in `run_turns`. tw_runtime_dispatch starts at the end of a sleep and ends
// with the start of the next; the user's loop sleeps in between. Virtual time has no sleep. The firing thread
// calls these functions, except `lower`, must_wake, wake_driver, what_is_next and drive_permit, which any
// thread may use.
#include "turn.hpp"

#include <tickwheel/port.h>

#include "base/numbers.hpp"
#include "components.hpp"
#include "core/door.h"
#include "lifetime.hpp"
#include "nodes.hpp"
#include "wall.hpp"

namespace tickwheel::runtime {

namespace {

// Converts a wheel's answer, `next`, to the deadline to sleep until: none for `never`; 0 if the wheel needs
// attention at once. In that case either the wheel is behind, because the budget was used up, or look-ahead
// is due, even if no timer is due soon.
std::int64_t deadline_to_wait_for(const timeline &line, tick next, tick present) {
    return next <= present ? 0 : line.deadline_of(next);
}

// Only the firing thread writes, any thread reads: relaxed accesses are enough, and raising the maximum needs
// no exchange.
void count_late(lateness &of, std::int64_t late) {
    of.times.fetch_add(1, std::memory_order_relaxed);
    of.sum.fetch_add(late, std::memory_order_relaxed);
    if (late > of.max.load(std::memory_order_relaxed))
        of.max.store(late, std::memory_order_relaxed);
}

// If the driver fails to wait, the timers must still fire, and the loop must not burn the processor.
void wait_without_driver(tw_runtime &rt) {
    constexpr timespec a_millisecond = {0, 1'000'000};
    rt.counters.wait_errors.fetch_add(1, std::memory_order_relaxed);
    ::nanosleep(&a_millisecond, nullptr);
}

void wait_for_driver(tw_runtime &rt, const tw_deadlines &until) {
    const int slept = rt.driver->wait_until(rt.driver_state, &until);
    if (slept < 0) {
        wait_without_driver(rt);
    } else if (slept > 0) {
        measure_after_sleep(rt);
    }
}

// A driver that watches descriptors gets control in every turn, even if there is no time to wait: many timers
// must not starve the descriptors.
void sleep_in_driver(tw_runtime &rt, const tw_deadlines &until) {
    constexpr tw_deadlines at_once = {0, TW_NO_DEADLINE};
    if (measure_before_sleep(rt, until))
        wait_for_driver(rt, until);
    else if (rt.driver->watch != nullptr)
        rt.driver->wait_until(rt.driver_state, &at_once);
}

constexpr std::uint32_t woken = 1;  // in a sleep_number

}  // namespace

// One wake is enough for each sleep: after a wake, further calls make no system call.
//
// `sleep_number` is even at first. It becomes odd when the driver's `wake` has returned, if the number has
// not changed since before that call. The current sleep, or the next one, then ends at once. When a sleep is
// over and the driver has forgotten all wakes so far, the firing thread moves on to the next even number.
//
// A call that finds the number odd returns without a wake, but the firing thread must see what that call
// armed, or that it must stop. So the call exchanges the number for the same value. Its exchange comes before
// the firing thread's exchange, which comes before the firing thread looks. A thread that is still in `wake`
// does not spare others the call, because it may have been preempted before its system call.
void wake_driver(tw_runtime &rt) {
    std::uint32_t sleep = rt.sleep_number.fetch_or(0, std::memory_order_acq_rel);
    if ((sleep & woken) != 0)
        return;
    const no_thread_cancel guard;
    rt.counters.wakes.fetch_add(1, std::memory_order_relaxed);
    rt.driver->wake(rt.driver_state);
    rt.sleep_number.compare_exchange_strong(sleep, sleep | woken, std::memory_order_acq_rel,
                                            std::memory_order_relaxed);
}

void lower(tick &next, tick due) {
    tick seen = __atomic_load_n(&next, __ATOMIC_RELAXED);
    while (due < seen &&
           !__atomic_compare_exchange_n(&next, &seen, due, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
    }
}

// During a turn, the firing thread looks at the lane again, and needs no wake.
bool must_wake(tw_runtime &rt, timeline &line, unsigned lane, tick until) {
    if (!is_in_turn(__atomic_load_n(&rt.turn_number, __ATOMIC_ACQUIRE)))
        return until != falling_asleep;
    __atomic_fetch_or(&line.lanes.touched, std::uint64_t{1} << lane, __ATOMIC_ACQ_REL);
    return false;
}

void settle_wakes(tw_runtime &rt) {
    const std::uint32_t sleep = rt.sleep_number.load(std::memory_order_relaxed);
    rt.sleep_number.exchange((sleep | woken) + 1, std::memory_order_acq_rel);
}

namespace {

// Runs a node's callback for a wheel, and measures it. A null `fire` pauses the meter.
void make_fire(const tw_fire *fire, unsigned label, void *runtime) {
    tw_runtime &rt = *static_cast<tw_runtime *>(runtime);
    if (fire == nullptr) {
        rt.meter.pause();
        return;
    }
    if (rt.meter.begin_callback(rt.meter.line().deadline_of(fire->due), label, is_passed_on(rt, fire->fn)))
        [[unlikely]]
        rt.meter.show_callback(label, fire->node, TW_NO_HANDLE, reinterpret_cast<const void *>(fire->fn));
    fire->fn(fire->node, fire->arg);
    rt.meter.end_callback(fire->overruns);
}

}  // namespace

void measure_fires(tw_runtime &rt, tw &wheel) {
    if (measures)
        tw_core_set_caller(&wheel, make_fire, &rt);
}

namespace {

// The lookout for slow callbacks announces that it parks, and then sleeps as long as the turn number stays
// the same. The firing thread changes the number, and then looks for the announcement. So either the firing
// thread sees the announcement, or the kernel sees the new number as the lookout falls asleep.
void wake_lookout(tw_runtime &rt) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (__atomic_load_n(&rt.is_lookout_parked, __ATOMIC_RELAXED) != 0)
        tw_port_wake_all(&rt.turn_number);
}

void set_turn_number(tw_runtime &rt, std::uint32_t number) {
    __atomic_store_n(&rt.turn_number, number, __ATOMIC_RELEASE);
}

void begin_turn(tw_runtime &rt) {
    set_turn_number(rt, rt.turn_number | 1);
    if (rt.lookout.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
        wake_lookout(rt);
}

// Also ends a turn that an exception has left.
void end_turn(tw_runtime &rt) {
    rt.meter.end_turn();
    if (is_in_turn(rt.turn_number))
        set_turn_number(rt, rt.turn_number + 1);
}

// How much has fired.
enum class fired { all, some, stopped };  // stopped: nothing more may fire in this turn

// An interruption may be left over from an earlier turn: in its last callback a component asked to be settled
// (ask_to_settle), and by now is settled. That interruption must not stop this turn. If a stop has
// interrupted the wheel, `must_leave` says so.
//
// While the lanes advance, calls that arm for this turn's ticks say so (note_armed).
fired fire_on(tw_runtime &rt, timeline &line, tick present) {
    for_each_lane(line.lanes, [](tw &wheel, unsigned) { tw_core_forget_interruption(&wheel); });
    if (must_leave(rt))
        return fired::stopped;
    line.fired_to.store(present, std::memory_order_relaxed);
    if (line.lanes.limit != 1)
        line.asleep_until.store(present + 1);
    const int left = advance_lanes(line.lanes, present, rt.budget);
    line.asleep_until.store(awake, std::memory_order_relaxed);
    if (!settle_components(rt) || must_leave(rt))
        return fired::stopped;
    return left == 0 ? fired::all : fired::some;
}

}  // namespace

// Settles components before the first wheel and after each. A pool over its bound thus shrinks before a
// callback can make it worse, and outside all callbacks (ask_to_settle). If the thread must then leave, the
// second timeline does not fire: a callback or another thread has stopped or freed the runtime, or a callback
// has forked and this is the child.
bool fire_due(tw_runtime &rt) {
    begin_turn(rt);
    fired how_far = settle_components(rt) ? fired::all : fired::stopped;
    for_each_timeline(rt, [&](timeline &line) {
        if (how_far == fired::stopped)
            return;
        std::int64_t reading;
        const tick present = present_to_tell(rt, line, reading);
        rt.meter.begin(line, reading);
        const fired here = fire_on(rt, line, present);
        rt.meter.end(line, here == fired::some);
        how_far = here == fired::all ? how_far : here;
    });
    end_turn(rt);
    return how_far == fired::all && !has_wall(rt);
}

// The library's own measure of P2. If a deadline has passed before the sleep begins, callbacks held its timer
// up, not the system, so `held_up` counts it instead of `waking`.
bool measure_before_sleep(tw_runtime &rt, const tw_deadlines &until) {
    tw_deadlines began = {};
    std::int64_t late = INT64_MIN;
    for_each_timeline(rt, [&](const timeline &line) {
        if (line.can_be_set && until.*line.deadline_field == TW_NO_DEADLINE)
            return;  // no use for that clock's reading; the steady clock measures the sleep
        const std::int64_t reading = line.clock.read();
        began.*line.deadline_field = reading;
        late = base::larger(late, reading - until.*line.deadline_field);
    });
    const bool is_at_once = until.steady_ns == 0 || until.wall_ns == 0;
    if (!is_at_once && late <= 0) {
        rt.measured_sleep = {until, began};
        return true;
    }
    rt.measured_sleep = {no_deadlines, began};  // the program's loop may still come back late
    if (!is_at_once)
        count_late(rt.counters.held_up, late);
    return false;
}

// A wake-up is late by how far its clock has passed the deadline. Setting the wall clock meanwhile, forwards
// or back, makes nothing late. So a wake-up on the wall clock counts as late by at most the time by which the
// sleep, measured by the steady clock, was too long.
void measure_after_sleep(tw_runtime &rt) {
    rt.counters.wakeups.fetch_add(1, std::memory_order_relaxed);
    const sleep_begun &sleep = rt.measured_sleep;
    const std::int64_t slept = rt.steady.clock.read() - sleep.began.steady_ns;
    std::int64_t late = -1;
    for_each_timeline(rt, [&](const timeline &line) {
        const std::int64_t deadline = sleep.until.*line.deadline_field;
        if (deadline == TW_NO_DEADLINE)
            return;
        const std::int64_t by_length = slept - (deadline - sleep.began.*line.deadline_field);
        late = base::larger(late, line.can_be_set ? base::smaller(by_length, line.clock.read() - deadline)
                                                  : by_length);
    });
    if (late >= 0)
        count_late(rt.counters.waking, late);
    rt.meter.note_sleep({sleep.began, late});
    rt.measured_sleep.until = no_deadlines;
}

namespace {

// The deadlines to sleep until, by tick_of(line). Holds the wall mutex, so that no thread sets the clock back
// between the answer and its conversion to a deadline.
template <class Find> tw_deadlines deadlines_by(tw_runtime &rt, Find tick_of) {
    const wall_hold hold(rt);
    tw_deadlines until = no_deadlines;
    for_each_timeline(rt, [&](timeline &line) {
        until.*line.deadline_field =
            deadline_to_wait_for(line, tick_of(line), line.fired_to.load(std::memory_order_relaxed));
    });
    return until;
}

tick least_next(const lane_table &lanes) {
    tick least = never;
    for_each_lane(lanes,
                  [&](tw &, unsigned number) { least = base::smaller(least, next_of(lanes, number)); });
    return least;
}

// The first tick at which a lane needs attention. The timer for which a `next` was lowered may be gone, so
// this computes the least one, until that makes no difference.
tick find_next(lane_table &lanes) {
    for (tick least = least_next(lanes);;) {
        for_each_lane(lanes, [&](tw &wheel, unsigned number) {
            if (next_of(lanes, number) == least)
                tw_core_publish_next(&wheel, &lanes.attention[number].next);
        });
        const tick now = least_next(lanes);
        if (now <= least)
            return now;
        least = now;
    }
}

}  // namespace

tw_deadlines what_is_next(tw_runtime &rt) {
    return deadlines_by(rt, [](timeline &line) { return find_next(line.lanes); });
}

// In the order that loses no wake-up: see `timeline`.
tw_deadlines publish_next_tick(tw_runtime &rt) {
    return deadlines_by(rt, [](timeline &line) {
        line.asleep_until.store(falling_asleep);
        tick until = find_next(line.lanes);
        for (tick again = until;; until = again) {
            line.asleep_until.store(base::smaller(until, falling_asleep - 1));
            again = least_next(line.lanes);
            if (again >= until)
                return until;
        }
    });
}

void mark_awake(tw_runtime &rt) {
    for_each_timeline(rt, [](timeline &line) { line.asleep_until.store(awake, std::memory_order_relaxed); });
    settle_wakes(rt);
}

namespace {

// One turn of the runtime's thread. If a callback has stopped the runtime, the thread does not sleep: no call
// would end that sleep.
void take_turn(tw_runtime &rt) {
    fire_due(rt);
    if (must_leave(rt))
        return;
    sleep_in_driver(rt, publish_next_tick(rt));
    mark_awake(rt);
}

}  // namespace

void run_turns(tw_runtime &rt) {
    rt.meter.note_sleep(absence);
    while (!must_leave(rt))
        take_turn(rt);
}

// The descriptor becomes readable in the user's loop, so the sleep begins here and ends with the next
// tw_runtime_dispatch.
int program(tw_runtime &rt) {
    const tw_deadlines until = publish_next_tick(rt);
    measure_before_sleep(rt, until);
    return explain_system_error(rt.driver->program(rt.driver_state, &until));
}

// The wheel counts the callback as returned, and leaves the other due timers to the next turn. A lent
// descriptor is programmed again, or the user's loop would never come back for them. Not in the child of a
// fork, where the descriptor belongs to the parent.
void abandon_turn(tw_runtime &rt) {
    rt.meter.abandon_callback();
    end_turn(rt);
    for_each_wheel(rt, [](tw &wheel) { tw_core_abandon(&wheel); });
    if (rt.driver->program != nullptr && usable(&rt) && rt.is_freed == 0)
        program(rt);
}

// The store overwrites a stop that comes after the exchange. Such a stop counts as one before this call,
// which has no effect on the call. If a worker's run frees the runtime at that moment, that is not lost,
// because `is_freed` is never reset.
drive_permit::drive_permit(tw_runtime &rt) : rt_(rt) {
    auto none = driven::by_none;
    if (inside_user_code::of(rt))
        return;
    join_if_stopped(rt);
    granted_ = rt.driven.compare_exchange_strong(none, driven::by_caller);
    if (granted_) {
        rt.stopping.store(false, std::memory_order_relaxed);
        registry::note_driven(rt);
    }
}

// If the exchange fails, a worker's run has made this thread the last caller (by_last_caller), and relies on
// it to free the runtime. `to_be_freed` says that a callback on this thread asked for that. Read it before
// the exchange, because afterwards another caller may drive the runtime and free it.
void drive_permit::give_back() {
    if (!granted_)
        return;
    const bool is_to_free = rt_.to_be_freed;
    auto a_caller = driven::by_caller;
    if (!rt_.driven.compare_exchange_strong(a_caller, driven::by_none) || is_to_free)
        destroy(rt_);
}

}  // namespace tickwheel::runtime
