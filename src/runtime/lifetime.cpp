// tw_runtime_new, start, stop and free. Any thread; `lifecycle_mutex` serializes starting and stopping.
//
// Stopping from inside a callback. A thread cannot wait for itself, so a stop or free in a callback
// interrupts the firing thread and returns; the rest happens when the callbacks have returned.
//
// The order of freeing (`destroy`). First close the runtime to arming, then empty its wheels: a call that
// arms at that moment either comes first, and its node is taken off, or reads that the runtime is closed and
// takes the node off itself (disarm_if_closed). So no node stays pending, and the owners of the nodes may
// free them. Then, while all components still exist, give back everything that belongs to the user (`drop`),
// by calling functions that may call anything, fork included. Once no function of the user can run any more,
// destroy the components, close the driver, and free the memory.
#include "lifetime.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <tickwheel/port.h>

#include <cassert>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "components.hpp"
#include "core/door.h"
#include "fork.hpp"
#include "nodes.hpp"
#include "processors.hpp"
#include "turn.hpp"
#include "wall.hpp"

namespace tickwheel::runtime {

namespace {

constexpr std::int64_t default_tick_ns = 1'000'000;
constexpr std::int64_t longest_tick_ns = 3'600'000'000'000;
constexpr std::uint32_t default_budget = 1024;

// Returns null if the options are valid, else the reason why not.
const char *what_is_wrong(const tw_runtime_options &o) {
    if (o.tick_ns < 0 || o.tick_ns > longest_tick_ns)
        return "tick_ns is negative, or more than an hour";
    if (o.slack_ns < 0)
        return "slack_ns is negative";
    if (o.priority < 0 || o.priority > 99)
        return "priority is outside 0 .. 99";
    if (o.lanes > most_lanes)
        return "lanes is more than 64";
    if (!base::is_one_of(o.clock, TW_CLOCK_DEFAULT, TW_CLOCK_VIRTUAL))
        return "there is no such clock";
    if (o.driver != nullptr && o.own_driver != nullptr)
        return "both driver and own_driver are set";
    if (!is_thread_name(o.thread_name))
        return "thread_name has more than 15 bytes";
    return nullptr;
}

bool is_whole(const tw_driver &driver) {
    return driver.name != nullptr && driver.open != nullptr && driver.close != nullptr &&
           driver.wake != nullptr && (driver.descriptor == nullptr) == (driver.program == nullptr);
}

tw_clock clock_for(const tw_driver &driver, tw_clock asked) {
    if (asked != TW_CLOCK_DEFAULT)
        return asked;
    return is_manual(driver) ? TW_CLOCK_VIRTUAL : TW_CLOCK_MONOTONIC;
}

// On a manual driver all time is virtual, the wall clock too. No other driver has virtual time.
bool has_clock(const tw_driver &driver, tw_clock clock) {
    if ((driver.clocks & TW_CLOCK_BIT(clock)) == 0)
        return false;
    return is_manual(driver) ? clock == TW_CLOCK_VIRTUAL || clock == TW_CLOCK_WALL
                             : clock != TW_CLOCK_VIRTUAL;
}

// Zeroed memory for a runtime, followed by its driver's state. Hidden from tools that look for data races,
// which would report the library's atomic accesses (port.h).
tw_runtime *allocate(const tw_driver &driver) {
    constexpr std::size_t alignment = alignof(std::max_align_t);
    constexpr std::size_t state_at = (sizeof(tw_runtime) + alignment - 1) / alignment * alignment;
    if (driver.state_size > SIZE_MAX - state_at)
        return nullptr;
    const std::size_t size = state_at + driver.state_size;
    char *memory = static_cast<char *>(std::calloc(1, size));
    if (memory == nullptr)
        return nullptr;
    tw_port_hide(memory, size);
    auto *rt = new (memory) tw_runtime;
    rt->driver = &driver;
    rt->driver_state = memory + state_at;
    return rt;
}

void take_options(tw_runtime &rt, const tw_runtime_options &o) {
    rt.clock = clock_for(*rt.driver, o.clock);
    rt.budget = o.budget != 0 ? o.budget : default_budget;
    rt.slack_ns = o.slack_ns != 0 ? o.slack_ns : 1;
    rt.cpus = o.cpus;
    rt.priority = o.priority;
    copy_thread_name(rt.thread_name, o.thread_name, "tickwheel");
}

// With a wall timeline every call on a record takes `wall_mutex`, and lanes would gain nothing. On virtual
// time usually one thread arms.
unsigned lanes_for(const tw_runtime &rt, const tw_runtime_options &o) {
    if (rt.clock == TW_CLOCK_WALL)
        return 1;
    if (o.lanes != 0)
        return o.lanes;
    if (lanes_in_turn != 0)
        return lanes_in_turn;
    return is_manual(*rt.driver) ? 1 : most_lanes;
}

// Virtual clocks start at 0. A steady timeline never follows the wall clock, whatever the options say:
// setting that clock must not affect delays.
int open_timelines(tw_runtime &rt, const tw_runtime_options &o) {
    tick_unit unit;
    unit.set(static_cast<std::uint64_t>(o.tick_ns != 0 ? o.tick_ns : default_tick_ns));
    if (is_manual(*rt.driver))
        rt.steady.clock.be_virtual(nullptr);
    else
        rt.steady.clock.be_system(rt.clock == TW_CLOCK_BOOT ? CLOCK_BOOTTIME : CLOCK_MONOTONIC);
    rt.steady.open(unit, false);
    measure_fires(rt, rt.steady.wheel);
    open_lanes(rt.steady.lanes, rt.steady.wheel, rt.steady.clock, lanes_for(rt, o));
    if (rt.clock != TW_CLOCK_WALL)
        return 0;
    const int error = make_wall(rt, unit);
    if (error == 0)
        measure_fires(rt, rt.absolute->wheel);
    return error;
}

// Every step that can fail comes after the steps that destroy() relies on, so that destroy() can undo them
// all. The runtime joins the list for forks last, so that the handlers find no half-made runtime.
int make(const tw_driver &driver, const tw_runtime_options &o, tw_runtime *&made) {
    stopwatch::prepare();
    tw_runtime *rt = allocate(driver);
    if (rt == nullptr)
        return -ENOMEM;
    take_options(*rt, o);
    rt->lifecycle_mutex.init();
    rt->components_mutex.init();
    rt->wall_mutex.init();
    int error = open_timelines(*rt, o);
    if (error == 0)
        error = open_driver(*rt);
    if (error == 0)
        error = watch_for_forks(*rt);
    if (error != 0) {
        destroy(*rt);
        return error;
    }
    seed_jitter(*rt);
    registry::note_made(*rt);
    made = rt;
    return 0;
}

int explain_refused_driver(int error) {
    switch (error) {
    case -ENOSYS:
        return refuse(error,
                      "the kernel lacks what the driver needs; \"uring\" needs Linux 6.1, with io_uring");
    case -EPERM:
        return refuse(error, "the system forbids what the driver needs; for \"uring\", see the sandbox or "
                             "kernel.io_uring_disabled");
    case -EOPNOTSUPP:
        return refuse(error,
                      "the driver cannot wait on this clock; \"uring\" cannot on any in a time namespace");
    default:
        return explain_system_error(error);
    }
}

// --- the thread --------------------------------------------------------------------

// The slack of this thread: with its default the kernel would round each wait up by as much as 50 us (P2).
void set_timer_slack(std::int64_t ns) { prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(ns)); }

// Asks for short slices: from Linux 6.12 on, a thread that wakes preempts one with longer slices. Otherwise,
// if this thread has waited for a lock, the threads of its processor may use up their slices before it runs.
void set_short_slice() {
    struct {
        std::uint32_t size, policy;
        std::uint64_t flags;
        std::int32_t nice;
        std::uint32_t priority;
        std::uint64_t runtime, deadline, period;
    } attributes = {};
    if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 ||
        attributes.policy != SCHED_OTHER)
        return;
    constexpr std::uint64_t shortest = 100'000;  // ns
    attributes.runtime = shortest;
    ::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void *thread_main(void *arg) {
    tw_runtime &rt = *static_cast<tw_runtime *>(arg);
    begin_thread(rt.thread_name);
    set_timer_slack(rt.slack_ns);
    set_short_slice();
    {
        const inside_user_code frame(rt);
        run_turns(rt);
    }
    if (rt.to_be_freed) {
        {
            const base::mutex_hold after_start(&rt.lifecycle_mutex);
        }  // the call that started this thread has left
        destroy(rt);
    }
    return nullptr;
}

cpu_set_t cpu_set_of(std::uint64_t cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu = 0; cpus != 0; ++cpu, cpus >>= 1)
        if ((cpus & 1) != 0)
            CPU_SET(cpu, &set);
    return set;
}

int set_attributes(pthread_attr_t &attributes, processors_of_new_thread &processors, const tw_runtime &rt) {
    int error = 0;
    if (rt.cpus != 0)
        error = processors.set(attributes, cpu_set_of(rt.cpus));
    if (error == 0 && rt.priority != 0) {
        sched_param priority = {};
        priority.sched_priority = rt.priority;
        pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
        pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
        error = pthread_attr_setschedparam(&attributes, &priority);
    }
    return error;
}

// The system refuses a priority that the process has no right to, and a set of processors that does not
// exist; then no thread is made, and tw_runtime_start fails.
int create_firing_thread(tw_runtime &rt) TW_REQUIRES(rt.lifecycle_mutex) {
    pthread_attr_t attributes;
    if (const int error = pthread_attr_init(&attributes); error != 0)
        return -error;
    processors_of_new_thread processors;
    int error = -set_attributes(attributes, processors, rt);
    if (error == 0)
        error = create_thread(rt.thread, &attributes, thread_main, &rt);
    pthread_attr_destroy(&attributes);
    return error;
}

int explain_refused_thread(const tw_runtime &rt, int error) {
    if (error == -EINVAL && rt.cpus != 0)
        return refuse(error, "the machine has none of the processors in cpus");
    if (error == -EPERM && rt.priority != 0)
        return refuse(error, "the system does not permit this priority");
    return explain_system_error(error);
}

// Waits for the runtime's thread, if that thread fires. Call this outside the runtime's callbacks, because
// the thread must not wait for itself.
void join(tw_runtime &rt) TW_REQUIRES(rt.lifecycle_mutex) {
    if (rt.driven != driven::by_thread)
        return;
    pthread_join(rt.thread, nullptr);
    rt.driven = driven::by_none;
}

// Lets no callback begin after the current one. Also interrupts the wheels, because their tw_advance would
// otherwise fire all due timers, and the components, because the firing thread may wait there for room in a
// queue.
void interrupt(tw_runtime &rt) {
    rt.stopping.store(true);
    for_each_wheel(rt, [](tw &wheel) { tw_core_interrupt(&wheel); });
    interrupt_components(rt);
}

// From inside user code. If that code runs elsewhere, the firing thread may be asleep, so this wakes it.
void interrupt_from_inside(tw_runtime &rt, const inside_user_code &outermost) {
    interrupt(rt);
    if (outermost.runs_elsewhere())
        wake_driver(rt);
}

// From outside the runtime's callbacks.
void interrupt_and_join(tw_runtime &rt) TW_REQUIRES(rt.lifecycle_mutex) {
    interrupt(rt);
    wake_driver(rt);
    join(rt);
}

int check_not_lent(const tw_runtime &rt) {
    return rt.lent ? refuse(-EBUSY, "a loop uses the runtime's descriptor (tw_runtime_fd)") : 0;
}

// A callback may have stopped the thread. The thread then ends by itself, and the next call from outside
// joins it: this call, a stop, or a call that drives the runtime. `driven` decides which thread fires: if a
// start and a tw_runtime_dispatch come at the same time, one of them is refused.
int start(tw_runtime &rt) {
    const base::mutex_hold hold(&rt.lifecycle_mutex);
    if (rt.stopping)
        join(rt);  // a callback has stopped it
    auto none = driven::by_none;
    if (!rt.driven.compare_exchange_strong(none, driven::by_thread))
        return none == driven::by_thread ? explain_system_error(-EALREADY)
                                         : refuse(-EBUSY, "another thread drives the runtime");
    rt.stopping = false;  // after the exchange, so that a thread that already fires keeps its stop
    int error = check_not_lent(rt);
    if (error == 0)
        error = explain_refused_thread(rt, create_firing_thread(rt));
    if (error != 0)
        rt.driven = driven::by_none;
    else
        registry::note_driven(rt);
    return error;
}

// From inside a callback this only interrupts, because a wait would be for the calling thread itself, or for
// a thread that holds `lifecycle_mutex` and waits for this callback. From outside, this returns when nothing
// fires any more and the components have stopped.
void stop(tw_runtime &rt) {
    if (inside_user_code::of(rt)) {
        interrupt_from_inside(rt, *inside_user_code::outermost(rt));
        return;
    }
    const base::mutex_hold hold(&rt.lifecycle_mutex);
    interrupt_and_join(rt);
    stop_components(rt);
}

int check_running(const tw_runtime *rt) {
    if (const int error = check_arming(rt); error != 0)
        return error;
    return rt->driver->wait_until != nullptr
               ? 0
               : refuse(-EOPNOTSUPP, "this driver does not wait, so the runtime cannot run");
}

// Closes the runtime: from here on no call can arm, start or make anything on it. Returns false if the
// runtime was already being freed.
bool begin_to_free(tw_runtime &rt) {
    int open = 0;
    rt.closed.compare_exchange_strong(open, -ESHUTDOWN);  // a child keeps its -ECHILD
    return rt.is_freed.exchange(1) == 0;
}

}  // namespace

// Most runtimes were not stopped, so this looks before it locks. A stop at this moment counts as one after
// this call.
void join_if_stopped(tw_runtime &rt) {
    if (!rt.stopping)
        return;
    const base::mutex_hold hold(&rt.lifecycle_mutex);
    if (rt.stopping)
        join(rt);
}

void end_firing(tw_runtime &rt) {
    const base::mutex_hold hold(&rt.lifecycle_mutex);
    interrupt_and_join(rt);
}

// Clears the state, because in the child of a fork it still holds the parent's descriptors.
int open_driver(tw_runtime &rt) {
    std::memset(rt.driver_state, 0, rt.driver->state_size);
    const int error = rt.driver->open(rt.driver_state, rt.clock);
    settle_wakes(rt);
    rt.driver_is_open = error >= 0;
    return rt.driver_is_open ? 0 : error;
}

// Holds the wall mutex: a call that finds the wall clock set back shifts nodes, and would put those that
// tw_cancel_all has not handed out yet back on the wheel.
void empty_wheels(tw_runtime &rt) {
    const wall_hold hold(rt);
    for_each_timeline(rt, [](timeline &line) { tw_cancel_all(&line.wheel, nullptr, nullptr); });
}

// Empties the wheels even though they are about to be freed: a wheel that is made later may have the same
// address, and no node may appear to be on it. The frame says that `drop` runs in user code of the runtime,
// so that a tw_runtime_free in `drop` does nothing more.
void destroy(tw_runtime &rt) {
    begin_to_free(rt);
    assert(is_consistent(rt));
    {
        const inside_user_code frame(rt);
        stop_components(rt);
        empty_wheels(rt);
        end_components(rt);
    }
    stop_watching_for_forks(rt);
    destroy_components(rt);
    if (rt.driver_is_open)
        rt.driver->close(rt.driver_state);
    for_each_timeline(rt, []([[maybe_unused]] timeline &line) { TW_CHECKS(wheel_ends(&line.wheel)); });
    free_lanes(rt.steady.lanes);
    free_wall(rt);
    rt.wall_mutex.destroy();
    rt.components_mutex.destroy();
    rt.lifecycle_mutex.destroy();
    registry::note_gone(rt);
    rt.~tw_runtime();
    std::free(&rt);
}

}  // namespace tickwheel::runtime

using namespace tickwheel::runtime;

TW_API int tw_runtime_new(tw_runtime **rt, const tw_runtime_options *options) {
    TW_NOTE_CALLER;
    const tw_runtime_options o = options != nullptr ? *options : tw_runtime_options{};
    if (const char *const wrong = rt == nullptr ? "the place for the runtime (rt) is null" : what_is_wrong(o);
        wrong != nullptr)
        return refuse(-EINVAL, wrong);
    const tw_driver *const driver =
        o.own_driver != nullptr ? o.own_driver : tw_driver_named(o.driver != nullptr ? o.driver : "sleep");
    if (driver == nullptr)
        return refuse(-ENOENT,
                      "no driver has this name; the names are sleep, epoll, uring, timerfd and manual");
    if (!is_whole(*driver))
        return refuse(-EINVAL, "own_driver lacks a name or a function");
    if (!has_clock(*driver, clock_for(*driver, o.clock)))
        return refuse(
            -EOPNOTSUPP,
            "the driver cannot wait on this clock; epoll, uring and timerfd can wait on the wall clock");
    const no_thread_cancel guard;
    return explain_refused_driver(make(*driver, o, *rt));
}

TW_API int tw_runtime_start(tw_runtime *rt) {
    registry::check_runtime(rt, __builtin_return_address(0));
    if (const int error = check_running(rt); error != 0)
        return error;
    const no_thread_cancel guard;
    return inside_user_code::of(*rt) ? refuse(-EBUSY, "called from inside a callback of the runtime")
                                     : start(*rt);
}

TW_API int tw_runtime_run(tw_runtime *rt) {
    registry::check_runtime(rt, __builtin_return_address(0));
    if (const int error = check_running(rt); error != 0)
        return error;
    return drive(*rt, [rt] {
        if (const int error = check_not_lent(*rt); error != 0)
            return error;
        const int former = prctl(PR_GET_TIMERSLACK);
        set_timer_slack(rt->slack_ns);
        run_turns(*rt);
        set_timer_slack(former);
        return check_usable(rt);  // a callback may have forked
    });
}

TW_API int tw_runtime_stop(tw_runtime *rt) {
    registry::check_runtime(rt, __builtin_return_address(0));
    if (const int error = check_usable(rt); error != 0)
        return error;
    const no_thread_cancel guard;
    stop(*rt);
    return 0;
}

// tw_runtime_free from inside user code: does what the owners of nodes may rely on, and leaves the rest to
// the thread's outermost frame, the last code here that uses the runtime. That is the end of a call or of a
// worker's run (deferred_free), or the firing thread's own frame. The runtime's thread then frees its own
// runtime; it is detached, because no thread is there to join it.
static void defer_free(tw_runtime &rt, const inside_user_code &outermost) {
    if (!begin_to_free(rt))
        return;
    interrupt_from_inside(rt, outermost);
    empty_wheels(rt);
    if (outermost.deferred() != nullptr) {
        outermost.deferred()->rt = &rt;
        return;
    }
    rt.to_be_freed = true;
    if (rt.driven == driven::by_thread && !rt.forked)
        pthread_detach(pthread_self());
}

// In the child of a fork there is no thread to stop, and a thread of the parent may have held
// `lifecycle_mutex`.
TW_API int tw_runtime_free(tw_runtime *rt) {
    registry::check_free(rt, __builtin_return_address(0));
    if (rt == nullptr)
        return 0;
    if (const inside_user_code *const outermost = inside_user_code::outermost(*rt); outermost != nullptr) {
        defer_free(*rt, *outermost);
        return 0;
    }
    const no_thread_cancel guard;
    if (!rt->forked)
        stop(*rt);
    destroy(*rt);
    return 0;
}
