// The calls on nodes: time in nanoseconds becomes ticks, the wheel does the rest, and
// the driver is woken if that is due earlier than what it sleeps for. Any thread.
#include <cerrno>

#include "nodes.hpp"
#include "wall.hpp"
#include "workers.hpp"

namespace {

using namespace tickwheel::runtime;

int refusal(const tw_runtime *rt, const tw_node *node) {
    if (rt == nullptr || node == nullptr || node->fn == nullptr)
        return -EINVAL;
    return tickwheel::runtime::refusal(rt);
}

// See `timeline` for why no wake-up is lost.
bool must_wake_for(const timeline &line, tick due) {
    return due < line.asleep_until.load(std::memory_order_relaxed);
}

void wake_for(tw_runtime &rt, const timeline &line, tick due) {
    if (must_wake_for(line, due))
        wake(rt);
}

// A delay rounds up with what it counts from; but what is to fire at once need not wait
// for the next tick.
tick tick_after(const tw_runtime &rt, std::int64_t from, std::int64_t delay) {
    return delay == 0 ? rt.unit.down(from) : rt.unit.up(later(from, delay));
}

tick tick_after_now(const tw_runtime &rt, std::int64_t delay) {
    return tick_after(rt, rt.clocks.steady(), delay);
}

tick wall_tick_after(tw_runtime &rt, std::int64_t delay) {
    const tick present = wall_present(rt);  // first, as it follows a clock that was set
    return delay == 0 ? present : wall_tick(rt, later(rt.clocks.wall(), delay));
}

// Takes a node off the other timeline, where arming it on this one would be refused.
int leave_for(tw_runtime &rt, const timeline &line, tw_node *node) {
    timeline &now_on = line_of(rt, node);
    return &now_on != &line ? tw_cancel(&now_on.wheel, node) : 0;
}

// Ticks in which a node may be due for the first time.
struct window {
    timeline &line;
    tick first, last;
};

window window_of(tw_runtime &rt, const tw_when &when) {
    if (when.absolute != 0 && rt.wall != nullptr) {
        wall_present(rt);  // follows the clock first
        return {*rt.wall, wall_tick(rt, when.due_ns), wall_tick(rt, later(when.due_ns, when.slack_ns))};
    }
    const std::int64_t from = when.absolute != 0 ? 0 : rt.clocks.steady();
    const std::int64_t latest = later(later(from, when.due_ns), when.slack_ns);
    const tick first = tick_after(rt, from, when.due_ns);
    return {rt.steady, first, when.slack_ns == 0 ? first : rt.unit.up(latest)};
}

int arm_in(tw_runtime &rt, tw_node *node, const window &in, const tw_when &when) {
    const int left = leave_for(rt, in.line, node);
    if (left < 0)
        return left;
    tw *const wheel = &in.line.wheel;
    const tick due = in.first == in.last ? in.first : tw_choose(wheel, in.first, in.last - in.first);
    const tick period = static_cast<tick>(when.period_ns) / rt.unit.ns;
    const int armed = period == 0 ? tw_arm_at(wheel, node, due)
                                  : tw_arm_every(wheel, node, due, period, when.missed, when.fires);
    if (armed < 0)
        return armed;
    wake_for(rt, in.line, due);
    return armed | left;
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

// Sees off a node that may be on either timeline; `off` is tw_cancel or tw_node_shutdown.
int take_off(tw_runtime &rt, tw_node *node, int (*off)(tw *, tw_node *)) {
    const wall_hold hold(rt);
    return off(&line_of(rt, node).wheel, node);
}

// A callback of the node may run on account of the other timeline, if it was armed anew.
void wait_for_callback(tw_runtime &rt, const tw_node *node) {
    for_each_timeline(rt, [node](timeline &line) { tw_wait(&line.wheel, node); });
}

// The same for a job's node as well: the runtime's thread may be about to enqueue it, which
// takes a moment, and is over before what waits is taken back. So nothing will touch
// the job but the runs that other threads are in.
int see_off(tw_runtime *rt, tw_node *node, int (*off)(tw *, tw_node *)) {
    if (const int error = refusal(rt, node); error != 0)
        return error;
    const int prevented = take_off(*rt, node, off);
    tw_runnable *const job = runnable_of(node);
    if (prevented < 0 || job == nullptr)
        return prevented;
    wait_for_callback(*rt, node);
    return withdraw(*job) != 0 ? 1 : prevented;
}

int see_off_and_wait(tw_runtime *rt, tw_node *node, int (*off)(tw *, tw_node *)) {
    const int prevented = see_off(rt, node, off);
    if (prevented < 0)
        return prevented;
    if (tw_runnable *const job = runnable_of(node); job != nullptr)
        wait_for_runs(*job);
    else
        wait_for_callback(*rt, node);
    return prevented;
}

}  // namespace

tickwheel::runtime::delayed::delayed(tw_runtime &rt, std::int64_t delay) : rt_(rt), delay_(delay) {
    if (rt.wall == nullptr)
        due_ = tick_after_now(rt, delay);
}

int tickwheel::runtime::delayed::noted(int result) {
    wakes_ = result >= 0 && must_wake_for(rt_.steady, due_);
    return result;
}

int tickwheel::runtime::delayed::arm(tw_node *node) {
    return rt_.wall != nullptr ? tw_runtime_after(&rt_, node, delay_)
                               : noted(tw_arm_at(&rt_.steady.wheel, node, due_));
}

int tickwheel::runtime::delayed::move(tw_node *node) {
    return rt_.wall != nullptr ? tw_runtime_move(&rt_, node, delay_)
                               : noted(tw_move(&rt_.steady.wheel, node, due_));
}

int tickwheel::runtime::cancel(tw_runtime &rt, tw_node *node) { return take_off(rt, node, tw_cancel); }

bool tickwheel::runtime::is_valid(const tw_runtime &rt, const tw_when &when) {
    return when.due_ns >= 0 && when.slack_ns >= 0 && when.period_ns >= 0 &&
           (when.period_ns == 0 || rt.unit.divides(when.period_ns)) &&
           is_one_of(when.missed, TW_BURST, TW_DELAY) && when.fires <= TW_FIRES_MAX;
}

// The common case by itself, for it is to be fast: the node is fetched while the clock is
// read, and looked at by the wheel alone.
TW_API int tw_runtime_after(tw_runtime *rt, tw_node *node, int64_t delay_ns) {
    if (const int error = refusal(rt); error != 0)
        return error;
    if (delay_ns < 0)
        return -EINVAL;
    if (rt->wall != nullptr)
        return arm_once(rt, node, delay_ns, 0);
    __builtin_prefetch(node, 1);
    const tick due = tick_after_now(*rt, delay_ns);
    const int armed = tw_arm_at(&rt->steady.wheel, node, due);
    if (armed >= 0)
        wake_for(*rt, rt->steady, due);
    return armed;
}

TW_API int tw_runtime_at(tw_runtime *rt, tw_node *node, int64_t deadline_ns) {
    return arm_once(rt, node, deadline_ns, 1);
}

TW_API int tw_runtime_every(tw_runtime *rt, tw_node *node, int64_t period_ns, tw_missed missed) {
    if (period_ns == 0)
        return -EINVAL;
    const tw_when when = every(period_ns, missed);
    return tw_runtime_arm(rt, node, &when);
}

TW_API int tw_runtime_arm(tw_runtime *rt, tw_node *node, const tw_when *when) {
    if (const int error = refusal(rt, node); error != 0)
        return error;
    return when == nullptr || !is_valid(*rt, *when) ? -EINVAL : arm(*rt, node, *when);
}

TW_API int tw_runtime_move(tw_runtime *rt, tw_node *node, int64_t delay_ns) {
    if (const int error = refusal(rt, node); error != 0)
        return error;
    if (delay_ns < 0)
        return -EINVAL;
    const wall_hold hold(*rt);
    timeline &line = line_of(*rt, node);
    const tick due = is_on_wall(*rt, node) ? wall_tick_after(*rt, delay_ns) : tick_after_now(*rt, delay_ns);
    const int error = tw_move(&line.wheel, node, due);
    if (error == 0)
        wake_for(*rt, line, due);
    return error;
}

TW_API int tw_runtime_postpone(tw_runtime *rt, tw_node *node, int64_t delay_ns) {
    if (const int error = refusal(rt, node); error != 0)
        return error;
    if (delay_ns < 0)
        return -EINVAL;
    const wall_hold hold(*rt);
    if (is_on_wall(*rt, node))
        return tw_pending(&rt->wall->wheel, node) != 0 ? -EINVAL : -ENOENT;
    const int error = tw_postpone(&rt->steady.wheel, node, tick_after_now(*rt, delay_ns));
    return error == -EINVAL ? 0 : error;  // it is due later than that
}

TW_API int tw_runtime_cancel(tw_runtime *rt, tw_node *node) { return see_off(rt, node, tw_cancel); }

TW_API int tw_runtime_cancel_wait(tw_runtime *rt, tw_node *node) {
    return see_off_and_wait(rt, node, tw_cancel);
}

TW_API int tw_runtime_shutdown(tw_runtime *rt, tw_node *node) {
    return see_off_and_wait(rt, node, tw_node_shutdown);
}
