// The calls on nodes: time in nanoseconds becomes ticks, the wheel does the rest, and
// the driver is woken if that is due earlier than what it sleeps for. Any thread.
#include <cerrno>

#include "nodes.hpp"
#include "wall.hpp"

namespace {

using namespace tickwheel::runtime;

// What is wrong with the node comes before what is the matter with the runtime.
int check_node(int error_of_runtime, const tw_node *node) {
    if (error_of_runtime != -EINVAL && (node == nullptr || node->fn == nullptr))
        return refuse_as_the_wheel(-EINVAL);
    return error_of_runtime;
}

int check_usable(const tw_runtime *rt, const tw_node *node) {
    return check_node(tickwheel::runtime::check_usable(rt), node);
}

int check_arming(const tw_runtime *rt, const tw_node *node) {
    return check_node(tickwheel::runtime::check_arming(rt), node);
}

// A delay rounds up with what it counts from; but what is to fire at once need not wait
// for the next tick.
tick tick_after(const tw_runtime &rt, std::int64_t from, std::int64_t delay) {
    return delay == 0 ? rt.unit.down(from) : rt.unit.up(deadline_after(from, delay));
}

tick tick_after_now(const tw_runtime &rt, std::int64_t delay) {
    return tick_after(rt, rt.clocks.steady(), delay);
}

tick wall_tick_after(tw_runtime &rt, std::int64_t delay) {
    const tick present = wall_present(rt);  // first, as it follows a clock that was set
    return delay == 0 ? present : wall_tick(rt, deadline_after(rt.clocks.wall(), delay));
}

// Whoever frees the runtime closes it to arming before it empties the wheels. Who has armed a
// node after that, or moved one that was about to go, sees so, by the wheel's lock, and takes
// it off again.
int still_armed(tw_runtime &rt, timeline &line, tw_node *node, int result) {
    const int error = rt.closed.load(std::memory_order_relaxed);
    if (error == 0)
        return result;
    tw_cancel(&line.wheel, node);
    return error;
}

// Takes a node off the other timeline, where arming it on this one would be refused.
int leave_for(tw_runtime &rt, const timeline &line, tw_node *node) {
    timeline &now_on = line_of(rt, node);
    return &now_on != &line ? explain_wheel_error(tw_cancel(&now_on.wheel, node)) : 0;
}

// Ticks in which a node may be due for the first time.
struct window {
    timeline &line;
    tick first, last;
    std::int64_t deadline;  // that rounds up to `first`, but if that is at once
};

// Not to a tick that never comes, unless it has to be.
tick end_of_window(const tw_runtime &rt, tick first, std::int64_t earliest, std::int64_t slack) {
    const tick latest = rt.unit.up(deadline_after(earliest, slack));
    return slack == 0 || first >= rt.unit.last() ? first : latest < rt.unit.last() ? latest : rt.unit.last();
}

window window_of(tw_runtime &rt, const tw_when &when) {
    if (when.absolute != 0 && rt.wall != nullptr) {
        wall_present(rt);  // follows the clock first
        const tick first = rt.unit.up(when.due_ns);
        const tick last = end_of_window(rt, first, when.due_ns, when.slack_ns);
        return {*rt.wall, first + rt.wall->set_back, last + rt.wall->set_back, when.due_ns};
    }
    const std::int64_t from = when.absolute != 0 ? 0 : rt.clocks.steady();
    const std::int64_t deadline = deadline_after(from, when.due_ns);
    const tick first = tick_after(rt, from, when.due_ns);
    return {rt.steady, first, end_of_window(rt, first, deadline, when.slack_ns), deadline};
}

// P5: the grid begins at the deadline, or, where that was left to choose, at the tick.
int arm_every(const tw_runtime &rt, tw_node *node, const window &in, tick due, const tw_when &when) {
    tw *const wheel = &in.line.wheel;
    if (rt.unit.divides(when.period_ns))
        return tw_arm_every(wheel, node, due, static_cast<tick>(when.period_ns) / rt.unit.ns, when.missed,
                            when.fires);
    tw_grid grid = {};
    grid.first = due;
    grid.early = when.due_ns != 0 && when.slack_ns == 0 ? rt.unit.early(in.deadline) : 0;
    grid.parts = rt.unit.parts();
    grid.period = static_cast<tick>(when.period_ns) / rt.unit.part;
    grid.missed = when.missed;
    grid.fires = when.fires;
    return tw_arm_grid(wheel, node, &grid);
}

int arm_in(tw_runtime &rt, tw_node *node, const window &in, const tw_when &when) {
    const int left = leave_for(rt, in.line, node);
    if (left < 0)
        return left;
    tw *const wheel = &in.line.wheel;
    const tick due = in.first == in.last ? in.first : tw_choose(wheel, in.first, in.last - in.first);
    const int armed = when.period_ns == 0 ? tw_arm_at(wheel, node, due) : arm_every(rt, node, in, due, when);
    if (armed < 0)
        return refuse_as_the_wheel(armed);
    wake_for(rt, in.line, due);
    return still_armed(rt, in.line, node, armed | left);
}

int arm(tw_runtime &rt, tw_node *node, const tw_when &when) {
    const wall_hold hold(rt);
    return arm_in(rt, node, window_of(rt, when), when);
}

int arm_once(tw_runtime *rt, tw_node *node, std::int64_t due_ns, int absolute) {
    tw_when when = {};
    when.due_ns = due_ns;
    when.absolute = absolute;
    return tw_runtime_arm(rt, node, &when);
}

// How a node is disarmed: tw_cancel or tw_node_shutdown.
using disarming = int(tw *, tw_node *);

// Of a node that may be on either timeline.
int disarm(tw_runtime &rt, tw_node *node, disarming *how) {
    const wall_hold hold(rt);
    return explain_wheel_error(how(&line_of(rt, node).wheel, node));
}

// The same, with the fires that were passed on.
int disarm_and_withdraw(tw_runtime *rt, tw_node *node, disarming *how) {
    if (const int error = check_usable(rt, node); error != 0)
        return error;
    const int prevented = disarm(*rt, node, how);
    return prevented >= 0 && withdraw_fires(*rt, *node) != 0 ? 1 : prevented;
}

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

tickwheel::runtime::delayed_call::delayed_call(tw_runtime &rt, std::int64_t delay) : rt_(rt), delay_(delay) {
    if (rt.wall == nullptr)
        due_ = tick_after_now(rt, delay);
}

int tickwheel::runtime::delayed_call::noted(int result) {
    wakes_ = result >= 0 && must_wake_for(rt_.steady, due_);
    return explain_wheel_error(result);
}

int tickwheel::runtime::delayed_call::arm(tw_node *node) {
    if (rt_.wall != nullptr)
        return tw_runtime_after(&rt_, node, delay_);
    const int armed = tw_arm_at(&rt_.steady.wheel, node, due_);
    return noted(armed < 0 ? armed : still_armed(rt_, rt_.steady, node, armed));
}

int tickwheel::runtime::delayed_call::move(tw_node *node) {
    return rt_.wall != nullptr ? tw_runtime_move(&rt_, node, delay_)
                               : noted(tw_move(&rt_.steady.wheel, node, due_));
}

int tickwheel::runtime::cancel(tw_runtime &rt, tw_node *node) { return disarm(rt, node, tw_cancel); }

const char *tickwheel::runtime::what_is_wrong(const tw_runtime &rt, const tw_when &when) {
    if (when.due_ns < 0)
        return when.absolute != 0 ? "the deadline is negative" : "the delay is negative";
    if (when.slack_ns < 0)
        return "the slack is negative";
    if (when.period_ns < 0)
        return "the period is negative";
    if (when.period_ns != 0 && static_cast<std::uint64_t>(when.period_ns) < rt.unit.ns)
        return "the period is shorter than the runtime's tick";
    if (when.period_ns != 0 && !rt.unit.counts(when.period_ns))
        return "the period is finer than ticks of more than 4 s can count";
    if (!is_one_of(when.missed, TW_BURST, TW_DELAY))
        return "missed is none of TW_BURST, TW_SKIP, TW_DELAY";
    return when.fires > TW_FIRES_MAX ? "fires is more than TW_FIRES_MAX" : nullptr;
}

// The common case by itself, for it is to be fast: the node is fetched while the clock is
// read, and looked at by the wheel alone.
TW_API int tw_runtime_after(tw_runtime *rt, tw_node *node, int64_t delay_ns) {
    if (const int error = check_arming(rt); error != 0)
        return error;
    if (delay_ns < 0)
        return refuse_delay();
    if (rt->wall != nullptr)
        return arm_once(rt, node, delay_ns, 0);
    __builtin_prefetch(node, 1);
    const tick due = tick_after_now(*rt, delay_ns);
    const int armed = tw_arm_at(&rt->steady.wheel, node, due);
    if (armed < 0)
        return refuse_as_the_wheel(armed);
    wake_for(*rt, rt->steady, due);
    return still_armed(*rt, rt->steady, node, armed);
}

TW_API int tw_runtime_at(tw_runtime *rt, tw_node *node, int64_t deadline_ns) {
    return arm_once(rt, node, deadline_ns, 1);
}

TW_API int tw_runtime_every(tw_runtime *rt, tw_node *node, int64_t period_ns, tw_missed missed) {
    if (period_ns == 0)
        return refuse(-EINVAL, "the period is 0");
    const tw_when when = every(period_ns, missed);
    return tw_runtime_arm(rt, node, &when);
}

TW_API int tw_runtime_arm(tw_runtime *rt, tw_node *node, const tw_when *when) {
    if (const int error = check_arming(rt, node); error != 0)
        return error;
    if (when == nullptr)
        return refuse(-EINVAL, "when is null");
    const char *const wrong = what_is_wrong(*rt, *when);
    return wrong != nullptr ? refuse(-EINVAL, wrong) : arm(*rt, node, *when);
}

TW_API int tw_runtime_move(tw_runtime *rt, tw_node *node, int64_t delay_ns) {
    if (const int error = check_arming(rt, node); error != 0)
        return error;
    if (delay_ns < 0)
        return refuse_delay();
    const wall_hold hold(*rt);
    timeline &line = line_of(*rt, node);
    const tick due = is_on_wall(*rt, node) ? wall_tick_after(*rt, delay_ns) : tick_after_now(*rt, delay_ns);
    if (const int error = tw_move(&line.wheel, node, due); error != 0)
        return refuse_as_the_wheel(error);
    wake_for(*rt, line, due);
    return still_armed(*rt, line, node, 0);
}

TW_API int tw_runtime_postpone(tw_runtime *rt, tw_node *node, int64_t delay_ns) {
    if (const int error = check_arming(rt, node); error != 0)
        return error;
    if (delay_ns < 0)
        return refuse_delay();
    const wall_hold hold(*rt);
    if (is_on_wall(*rt, node))
        return tw_pending(&rt->wall->wheel, node) != 0
                   ? refuse(-EINVAL, "the node has an absolute deadline on the wall clock")
                   : refuse_as_the_wheel(-ENOENT);
    const int error = tw_postpone(&rt->steady.wheel, node, tick_after_now(*rt, delay_ns));
    return error == -EINVAL ? 0 : explain_wheel_error(error);  // it is due later than that
}

TW_API int tw_runtime_cancel(tw_runtime *rt, tw_node *node) {
    return disarm_and_withdraw(rt, node, tw_cancel);
}

TW_API int tw_runtime_cancel_wait(tw_runtime *rt, tw_node *node) {
    return disarm_and_wait(rt, node, tw_cancel);
}

TW_API int tw_runtime_shutdown(tw_runtime *rt, tw_node *node) {
    return disarm_and_wait(rt, node, tw_node_shutdown);
}
