// The calls on nodes convert nanoseconds to ticks, let the wheel do the rest, and wake the driver if the node
// is due before the driver's sleep ends. Any thread.
//
// A call that arms reads the clock itself. So no delay counts from a stale present, however long the firing
// thread has slept.
#include <sys/random.h>

#include <cerrno>

#include "core/door.h"
#include "nodes.hpp"
#include "wall.hpp"

namespace {

using namespace tickwheel::runtime;

// Reports a null node before a closed or forked runtime, but after a null runtime.
int check_node(int error_of_runtime, const tw_node *node) {
    if (error_of_runtime != -EINVAL && node == nullptr)
        return refuse_as_the_wheel(-EINVAL);
    return error_of_runtime;
}

int check_arming(const tw_runtime *rt, const tw_node *node) {
    return check_node(tickwheel::runtime::check_arming(rt), node);
}

// Returns `result`, unless the runtime is closed to arming: then cancels the node again, and returns the
// error.
//
// A call that frees the runtime closes it before it empties the wheels. A call that arms a node after that,
// or moves one that was about to be taken off, reads here that the runtime is closed, because both calls have
// had the wheel's lock. So nothing stays pending on a freed runtime.
int disarm_if_closed(tw_runtime &rt, timeline &line, tw_node *node, int result) {
    const int error = rt.closed.load(std::memory_order_relaxed);
    if (error == 0)
        return result;
    tw_cancel(&line.wheel, node);
    return error;
}

// Arms or moves a node by place(wheel, node, due). All calls that arm end up here. The order matters: first
// the wheel, then `closed` (see disarm_if_closed) and `asleep_until` (see timeline). The destructor of `wake`
// wakes the driver after the caller has released its locks. A refused call wakes nothing: the runtime is
// being freed, or this is the child of a fork and the driver is the parent's.
template <class Place>
[[gnu::always_inline]] inline int place_on(tw_runtime &rt, timeline &line, tw_node *node, tick due,
                                           deferred_wake &wake, Place place) {
    const int placed = place(&line.wheel, node, due);
    if (placed < 0)
        return refuse_as_the_wheel(placed);
    const int result = disarm_if_closed(rt, line, node, placed);
    wake.note(result >= 0 && note_armed(rt, line, 0, due));
    return result;
}

// Cancels a node that is pending on the other timeline; otherwise this wheel would answer -EBUSY.
[[gnu::always_inline]] inline int leave_other(tw_runtime &rt, const timeline &line, tw_node *node)
    TW_REQUIRES(rt.wall_mutex) {
    timeline &now_on = timeline_of(rt, node);
    const int result = &now_on != &line ? tw_cancel(&now_on.wheel, node) : 0;
    return result < 0 ? explain_wheel_error(result) : 0;
}

// Arms a node on this timeline.
template <class Place>
[[gnu::always_inline]] inline int arm_on(tw_runtime &rt, timeline &line, tw_node *node, tick due,
                                         deferred_wake &wake, Place place) TW_REQUIRES(rt.wall_mutex) {
    if (const int error = leave_other(rt, line, node); error != 0)
        return error;
    return place_on(rt, line, node, due, wake, place);
}

// Arms a node once, after a delay that it remembers for tw_runtime_again.
struct arming_after {
    std::int64_t delay;
    std::uint64_t moment;
    int operator()(tw *wheel, tw_node *node, tick due) const {
        return tw_core_arm_with_delay(wheel, node, due, static_cast<tick>(delay), moment);
    }
};

// Computes when a node is due again, from a reading of its timeline's clock.
struct due_again {
    const timeline &line;
    std::int64_t reading;
    tick due;

    static tick of(const tw_node *node, void *self) {
        due_again &next = *static_cast<due_again *>(self);
        const std::int64_t period = period_of(*node, next.line.unit);
        next.due = period != 0
                       ? next.line.tick_after(next.reading, period)
                       : next.line.tick_once_after(next.reading, static_cast<std::int64_t>(node->period - 1));
        return next.due;
    }
};

// With two timelines a node may be on either, and other threads must not see a call that moves it between
// them half done. So this holds the mutex. Out of line, because most runtimes have one timeline.
[[gnu::noinline]] int arm_with_wall(tw_runtime &rt, tw_node *node, tick due, std::int64_t delay,
                                    deferred_wake &wake) {
    if (node == nullptr)
        return refuse_as_the_wheel(-EINVAL);
    const wall_hold hold(rt);
    return arm_on(rt, rt.steady, node, due, wake, arming_after{delay, 0});
}

// Arms a node on the steady timeline. If that is the only one, only the wheel reads the node, which may not
// be in the cache yet.
[[gnu::always_inline]] inline int arm_after(tw_runtime &rt, tw_node *node, std::int64_t delay) {
    const std::int64_t reading = rt.steady.clock.read();
    const tick due = rt.steady.tick_once_after(reading, delay);
    deferred_wake wake(rt);
    if (has_wall(rt)) [[unlikely]]
        return arm_with_wall(rt, node, due, delay, wake);
    return place_on(rt, rt.steady, node, due, wake, arming_after{delay, moment_at(rt.steady.lanes, reading)});
}

// Moves a node on its current timeline. `reading` is the steady clock's.
[[gnu::always_inline]] inline int move_to(tw_runtime &rt, tw_node *node, std::int64_t delay,
                                          std::int64_t reading, deferred_wake &wake) {
    tick due = rt.steady.tick_after(reading, delay);
    const wall_hold hold(rt);
    timeline &line = timeline_of(rt, node);
    if (&line != &rt.steady) [[unlikely]]
        due = line.tick_after(follow_wall(rt), delay);
    return place_on(rt, line, node, due, wake, [&](tw *wheel, tw_node *timer, tick to) {
        return tw_core_move(wheel, timer, to, moment_at(rt.steady.lanes, reading));
    });
}

// The end of the window. Slack never extends it to a tick that never comes, unless the window starts at one.
tick end_of_window(const timeline &line, tick first, std::int64_t earliest, std::int64_t slack) {
    const tick latest = line.tick_of(deadline_after(earliest, slack));
    return slack == 0 || first >= line.last() ? first : latest < line.last() ? latest : line.last();
}

// Arms a periodic node. P5: its grid starts at the deadline itself, which may lie within a tick; or, if the
// wheel chose a tick in the window, at that tick.
int arm_every(tw *wheel, tw_node *node, tick due, const window &in, const tw_when &when,
              std::uint64_t moment) {
    const tick_unit &unit = in.line.unit;
    if (unit.divides(when.period_ns))
        return tw_core_arm_every(wheel, node, due, static_cast<tick>(when.period_ns) / unit.ns, when.missed,
                                 when.fires, moment);
    tw_core_grid grid = {};
    grid.first = due;
    grid.early = when.slack_ns == 0 ? unit.early(in.deadline) : 0;
    grid.parts = unit.parts();
    grid.period = static_cast<tick>(when.period_ns) / unit.part;
    grid.missed = when.missed;
    grid.fires = when.fires;
    grid.moment = moment;
    return tw_core_arm_grid(wheel, node, &grid);
}

tick choose(const window &in) {
    return in.first == in.last ? in.first : tw_core_choose(&in.line.wheel, in.first, in.last - in.first);
}

// The general case: any of deadline, delay, slack and period.
int arm(tw_runtime &rt, tw_node *node, const tw_when &when) {
    deferred_wake wake(rt);
    const wall_hold hold(rt);
    if (when.absolute != 0 && has_wall(rt))
        follow_wall(rt);
    const window in = window_of(rt, when);
    return arm_on(rt, in.line, node, choose(in), wake, [&](tw *wheel, tw_node *timer, tick due) {
        if (when.period_ns != 0)
            return arm_every(wheel, timer, due, in, when, in.moment);
        return when.absolute != 0
                   ? tw_core_arm_at(wheel, timer, due, in.moment)
                   : tw_core_arm_with_delay(wheel, timer, due, static_cast<tick>(when.due_ns), in.moment);
    });
}

// A random duration in [0, limit]. The numbers follow each other as in SplitMix64 (Steele, Lea and Flood,
// 2014); on virtual time every runtime draws the same numbers.
std::int64_t drawn_jitter(tw_runtime &rt, std::int64_t limit) {
    if (limit == 0)
        return 0;
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
    std::uint64_t drawn = rt.jitter.fetch_add(golden, std::memory_order_relaxed) + golden;
    drawn = (drawn ^ drawn >> 30) * 0xbf58476d1ce4e5b9;
    drawn = (drawn ^ drawn >> 27) * 0x94d049bb133111eb;
    drawn ^= drawn >> 31;
    return static_cast<std::int64_t>(drawn % (static_cast<std::uint64_t>(limit) + 1));
}

// How a node is disarmed: tw_cancel or tw_retire.
using disarming = int(tw *, tw_node *);

// Disarms a node that may be on either timeline.
int disarm(tw_runtime &rt, tw_node *node, disarming *how) {
    const wall_hold hold(rt);
    return explain_wheel_error(how(&timeline_of(rt, node).wheel, node));
}

// The same, and withdraws the fires that were passed on. The node is off its wheel by then, so no further
// fire can follow.
int disarm_and_withdraw(tw_runtime *rt, tw_node *node, disarming *how) {
    if (const int error = check_node(check_usable(rt), node); error != 0)
        return error;
    const int prevented = disarm(*rt, node, how);
    return prevented >= 0 && withdraw_fires(*rt, *node) != 0 ? 1 : prevented;
}

// The same, and waits for the runs that have begun: the runs elsewhere, or the callback on the firing thread.
// Does not wait if called from inside one of them (tw_wait, wait_for_runs).
int disarm_and_wait(tw_runtime *rt, tw_node *node, disarming *how) {
    const int prevented = disarm_and_withdraw(rt, node, how);
    if (prevented < 0)
        return prevented;
    if (const fire_relay *const relay = relay_of(*rt, node); relay != nullptr)
        relay->wait_for_runs(*node);
    else
        wait_for_callback(*rt, node);
    return prevented;
}

}  // namespace

int tickwheel::runtime::cancel(tw_runtime &rt, tw_node *node) { return disarm(rt, node, tw_cancel); }

void tickwheel::runtime::seed_jitter(tw_runtime &rt) {
    std::uint64_t seed = 0;
    if (is_manual(*rt.driver))
        return;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
        seed = static_cast<std::uint64_t>(rt.steady.clock.read());
    rt.jitter.store(seed, std::memory_order_relaxed);
}

// An absolute deadline needs no clock reading, except for its place among the lanes. A delay counts from a
// reading taken here.
window tickwheel::runtime::window_of(tw_runtime &rt, const tw_when &when) {
    const std::int64_t due = deadline_after(when.due_ns, drawn_jitter(rt, when.jitter_ns));
    if (when.absolute != 0) {
        timeline &line = *rt.absolute;
        const tick first = line.tick_of(due);
        return {line, first, end_of_window(line, first, due, when.slack_ns), due,
                moment_now(rt.steady.lanes)};
    }
    timeline &line = rt.steady;
    const std::int64_t now = line.clock.read(), deadline = deadline_after(now, due);
    const tick first = when.period_ns == 0 ? line.tick_once_after(now, due) : line.tick_after(now, due);
    return {line, first, end_of_window(line, first, deadline, when.slack_ns), deadline,
            moment_at(rt.steady.lanes, now)};
}

const char *tickwheel::runtime::what_is_wrong(const tw_runtime &rt, const tw_when &when) {
    if (when.period_ns < 0)
        return "the period is negative";
    if (when.due_ns < 0)
        return when.absolute != 0 ? "the deadline is negative" : "the delay is negative";
    if (when.slack_ns < 0)
        return "the slack is negative";
    if (when.jitter_ns < 0)
        return "the jitter is negative";
    if (when.period_ns == 0 && when.fires != 0)
        return "fires is set, but there is no period";
    if (when.period_ns != 0 && static_cast<std::uint64_t>(when.period_ns) < rt.steady.unit.ns)
        return "the period is shorter than the runtime's tick";
    if (when.period_ns != 0 && !rt.steady.unit.counts(when.period_ns))
        return "ticks of more than 4 s cannot count this period exactly";
    if (!base::is_one_of(when.missed, TW_COALESCE, TW_BURST))
        return "missed is not TW_COALESCE, TW_DELAY or TW_BURST";
    if (when.period_ns == 0 && when.missed != TW_COALESCE)
        return "missed is set, but there is no period";
    return when.fires > TW_FIRES_MAX ? "fires is more than TW_FIRES_MAX" : nullptr;
}

// Prefetches the node while reading the clock; only the wheel looks at the node.
TW_API int tw_runtime_after(tw_runtime *rt, tw_node *node, int64_t delay_ns) {
    TW_NOTE_CALLER;
    if (const int error = check_arming(rt); error != 0)
        return error;
    if (delay_ns < 0)
        return refuse_delay();
    registry::warn_if_idle(*rt);
    __builtin_prefetch(node, 1);
    return arm_after(*rt, node, delay_ns);
}

TW_API int tw_runtime_at(tw_runtime *rt, tw_node *node, int64_t deadline_ns) {
    TW_NOTE_CALLER;
    tw_when when = {};
    when.due_ns = deadline_ns;
    when.absolute = 1;
    return tw_runtime_arm(rt, node, &when);
}

TW_API int tw_runtime_every(tw_runtime *rt, tw_node *node, int64_t period_ns, tw_missed missed) {
    TW_NOTE_CALLER;
    if (period_ns == 0)
        return refuse(-EINVAL, "the period is 0");
    const tw_when when = every(period_ns, missed);
    return tw_runtime_arm(rt, node, &when);
}

TW_API int tw_runtime_arm(tw_runtime *rt, tw_node *node, const tw_when *when) {
    TW_NOTE_CALLER;
    if (const int error = check_arming(rt, node); error != 0)
        return error;
    if (when == nullptr)
        return refuse(-EINVAL, "when is null");
    registry::warn_if_idle(*rt);
    const char *const wrong = what_is_wrong(*rt, *when);
    return wrong != nullptr ? refuse(-EINVAL, wrong) : arm(*rt, node, *when);
}

TW_API int tw_runtime_move(tw_runtime *rt, tw_node *node, int64_t delay_ns) {
    TW_NOTE_CALLER;
    if (const int error = check_arming(rt, node); error != 0)
        return error;
    if (delay_ns < 0)
        return refuse_delay();
    const std::int64_t reading = rt->steady.clock.read();
    deferred_wake wake(*rt);
    return move_to(*rt, node, delay_ns, reading, wake);
}

TW_API int tw_runtime_again(tw_runtime *rt, tw_node *node) {
    TW_NOTE_CALLER;
    if (const int error = check_arming(rt, node); error != 0)
        return error;
    deferred_wake wake(*rt);
    const wall_hold hold(*rt);
    timeline &line = timeline_of(*rt, node);
    due_again next = {line, &line != &rt->steady ? follow_wall(*rt) : line.clock.read(), 0};
    if (const int error =
            tw_core_again(&line.wheel, node, due_again::of, &next, moment_at(rt->steady.lanes, next.reading));
        error != 0)
        return error == -EINVAL ? refuse(-EINVAL, "the node has no delay to start again: its deadline is "
                                                  "absolute, or it was never armed")
                                : refuse_as_the_wheel(error);
    const int result = disarm_if_closed(*rt, line, node, 0);
    wake.note(result >= 0 && note_armed(*rt, line, 0, next.due));
    return result;
}

TW_API int tw_runtime_postpone(tw_runtime *rt, tw_node *node, int64_t delay_ns) {
    TW_NOTE_CALLER;
    if (const int error = check_arming(rt, node); error != 0)
        return error;
    if (delay_ns < 0)
        return refuse_delay();
    const wall_hold hold(*rt);
    if (timeline &line = timeline_of(*rt, node); &line != &rt->steady)
        return tw_pending(&line.wheel, node) != 0
                   ? refuse(-EINVAL, "the node has an absolute deadline on the wall clock")
                   : refuse_as_the_wheel(-ENOENT);
    return explain_wheel_error(tw_postpone(&rt->steady.wheel, node, rt->steady.tick_after_now(delay_ns)));
}

TW_API int tw_runtime_cancel(tw_runtime *rt, tw_node *node) {
    TW_NOTE_CALLER;
    return disarm_and_withdraw(rt, node, tw_cancel);
}

TW_API int tw_runtime_cancel_wait(tw_runtime *rt, tw_node *node) {
    TW_NOTE_CALLER;
    return disarm_and_wait(rt, node, tw_cancel);
}

TW_API int tw_runtime_retire(tw_runtime *rt, tw_node *node) {
    TW_NOTE_CALLER;
    return disarm_and_wait(rt, node, tw_retire);
}
