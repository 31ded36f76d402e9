#include "turn.hpp"

#include "components.hpp"
#include "lifetime.hpp"
#include "wall.hpp"

namespace tickwheel::runtime {

namespace {

// The deadline of a tick that a wheel answered with: 0 if it wants attention at once.
std::int64_t deadline_of(timeline &line, tick next, std::int64_t reading) {
    if (next == never)
        return TW_NO_DEADLINE;
    return next <= tw_now(&line.wheel) ? 0 : reading;
}

// Asks both wheels; `found(line, tick)` hears the answers.
template <class Found> tw_deadlines ask(tw_runtime &rt, Found found) {
    const wall_hold hold(rt);
    const tick steady = tw_next(&rt.steady.wheel);
    found(rt.steady, steady);
    tw_deadlines until = {deadline_of(rt.steady, steady, rt.unit.reading(steady)), TW_NO_DEADLINE};
    if (rt.wall != nullptr) {
        const tick wall = tw_next(&rt.wall->wheel);
        found(*rt.wall, wall);
        until.wall_ns = deadline_of(*rt.wall, wall, wall_reading(rt, wall));
    }
    return until;
}

void count_late(lateness &of, std::int64_t late) {
    of.times.fetch_add(1, std::memory_order_relaxed);
    of.sum.fetch_add(late, std::memory_order_relaxed);
    if (late > of.max.load(std::memory_order_relaxed))
        of.max.store(late, std::memory_order_relaxed);
}

std::int64_t greater(std::int64_t a, std::int64_t b) { return a > b ? a : b; }

// A driver that cannot wait must neither stop the timers nor eat the processor.
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
        end_sleep(rt);
    }
}

// Descriptors are looked at in each turn, also if there is no time to wait for them.
void wait(tw_runtime &rt, const tw_deadlines &until) {
    constexpr tw_deadlines at_once = {0, TW_NO_DEADLINE};
    if (begin_sleep(rt, until))
        wait_for_driver(rt, until);
    else if (rt.driver->watch != nullptr)
        rt.driver->wait_until(rt.driver_state, &at_once);
}

}  // namespace

void fire_due(tw_runtime &rt) {
    if (!settle_components(rt))
        return;
    tw_advance(&rt.steady.wheel, rt.unit.down(rt.clocks.steady()), rt.budget);
    if (!settle_components(rt) || rt.wall == nullptr || must_leave(rt))
        return;
    tw_advance(&rt.wall->wheel, wall_present_to_tell(rt), rt.budget);
    settle_components(rt);
}

// P2, as far as the library can see it itself. What passed before is not the system's doing.
bool begin_sleep(tw_runtime &rt, const tw_deadlines &until) {
    const bool has_wall = until.wall_ns != TW_NO_DEADLINE;
    rt.sleep = {until, rt.clocks.steady(), has_wall ? rt.clocks.wall() : 0};
    if (until.steady_ns == 0 || until.wall_ns == 0) {
        rt.sleep.until = {TW_NO_DEADLINE, TW_NO_DEADLINE};
        return false;
    }
    std::int64_t late = rt.sleep.steady - until.steady_ns;
    if (has_wall)
        late = greater(late, rt.sleep.wall - until.wall_ns);
    if (late <= 0)
        return true;
    count_late(rt.counters.held_up, late);
    rt.sleep.until = {TW_NO_DEADLINE, TW_NO_DEADLINE};
    return false;
}

// A wall clock that was set meanwhile, forwards or back, makes no lateness of its own.
void end_sleep(tw_runtime &rt) {
    rt.counters.wakeups.fetch_add(1, std::memory_order_relaxed);
    const sleep_begun &began = rt.sleep;
    const std::int64_t now = rt.clocks.steady();
    std::int64_t late = now - began.until.steady_ns;
    if (began.until.wall_ns != TW_NO_DEADLINE) {
        const std::int64_t by_reading = rt.clocks.wall() - began.until.wall_ns;
        const std::int64_t by_length = now - began.steady - (began.until.wall_ns - began.wall);
        late = greater(late, by_reading < by_length ? by_reading : by_length);
    }
    if (late >= 0)
        count_late(rt.counters.waking, late);
    rt.sleep.until = {TW_NO_DEADLINE, TW_NO_DEADLINE};
}

tw_deadlines what_is_next(tw_runtime &rt) {
    return ask(rt, [](timeline &, tick) {});
}

tw_deadlines fall_asleep(tw_runtime &rt) {
    for_each_timeline(rt, [](timeline &line) { line.asleep_until.store(never, std::memory_order_relaxed); });
    return ask(rt,
               [](timeline &line, tick next) { line.asleep_until.store(next, std::memory_order_relaxed); });
}

void wake_up(tw_runtime &rt) {
    for_each_timeline(rt, [](timeline &line) { line.asleep_until.store(awake, std::memory_order_relaxed); });
}

void run(tw_runtime &rt) {
    const inside_user_code here(rt);
    while (!must_leave(rt)) {
        fire_due(rt);
        if (must_leave(rt))
            break;
        wait(rt, fall_asleep(rt));
        wake_up(rt);
    }
}

int program(tw_runtime &rt) {
    const tw_deadlines until = fall_asleep(rt);
    begin_sleep(rt, until);
    return explain_system_error(rt.driver->program(rt.driver_state, &until));
}

void abandon_turn(tw_runtime &rt) {
    for_each_timeline(rt, [](timeline &line) { tw_abandon(&line.wheel); });
    if (rt.driver->program != nullptr && usable(&rt))
        program(rt);
}

// A stop that comes between the two steps is as one that came before: this call fires again, as
// the next one after a stop does. A worker's run that frees the runtime there is not forgotten,
// for `is_freed` is never taken back.
drive_permit::drive_permit(tw_runtime &rt) : rt_(rt) {
    auto nobody = driven::by_nobody;
    if (inside_user_code::of(rt))
        return;
    join_if_stopped(rt);
    granted_ = rt.driven.compare_exchange_strong(nobody, driven::by_caller);
    if (granted_)
        rt.stopping.store(false, std::memory_order_relaxed);
}

void drive_permit::give_back() {
    if (!granted_)
        return;
    const bool free_it = rt_.to_be_freed;
    auto a_caller = driven::by_caller;
    if (!rt_.driven.compare_exchange_strong(a_caller, driven::by_nobody) || free_it)
        destroy(rt_);
}

}  // namespace tickwheel::runtime
