// A runtime: its timelines, its driver and the components made on it. This file has its state, with the rules
// for who may touch what, and the few functions that all files of this folder share.
//
// Threads. At any time at most one thread fires: the runtime's own, or a user's thread in tw_runtime_run,
// _dispatch, _advance or _leap. The comments call it the firing thread. Any thread may make any other call at
// any time.
//
// Locks are taken in this order:
//   1. `process_mutex`, which guards the list of all runtimes (fork.hpp)
//   2. `components_mutex`
//   3. `wall_mutex`
//   4. the lock of a lane, which also guards its records; the wall timeline has that of lane 0. Two at a time
//      only in the order of their numbers
//   5. the locks of components, newest first
// `lifecycle_mutex` comes before 2 and is special: a thread may hold it while it waits for a callback to
// return, so callbacks never take it, and neither does a fork.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include <tickwheel/runtime.h>

#include "base/mutex.hpp"
#include "base/numbers.hpp"
#include "lanes.hpp"
#include "meter.hpp"
#include "no_thread_cancel.hpp"
#include "on_stack.hpp"
#include "refusal.hpp"
#include "registry.hpp"
#include "threads.hpp"
#include "timeline.hpp"

#define TW_API extern "C" __attribute__((visibility("default")))

namespace tickwheel::runtime {

struct component;   // components.hpp
struct fire_relay;  // components.hpp

// Which thread fires. If a worker's run frees the runtime while a caller drives it, that caller becomes the
// last caller, and frees the runtime when it is done (see drive_permit::give_back).
enum class driven { by_none, by_thread, by_caller, by_last_caller };

// How often something was late, and by how much.
struct lateness {
    std::atomic<std::uint64_t> times{0};
    std::atomic<std::int64_t> sum{0}, max{0};
};

// The firing thread writes all of these except `wakes`; any thread may read them.
struct runtime_counters {
    std::atomic<std::uint64_t> wakeups{0}, wakes{0}, wait_errors{0};
    lateness waking, held_up;
};

inline constexpr tw_deadlines no_deadlines = {TW_NO_DEADLINE, TW_NO_DEADLINE};

// The deadlines that the firing thread sleeps until, and the readings of the clocks when the sleep began.
// Only the firing thread uses this struct.
struct sleep_begun {
    tw_deadlines until = no_deadlines;
    tw_deadlines began = {0, 0};
};

}  // namespace tickwheel::runtime

struct tw_runtime {
    // Fixed by tw_runtime_new.
    const tw_driver *driver;
    void *driver_state;
    tw_clock clock;
    std::uint32_t budget;
    std::int64_t slack_ns;
    char thread_name[tickwheel::runtime::thread_name_size];
    std::uint64_t cpus;
    int priority;

    // Delays live on the steady timeline. So do absolute deadlines, except with TW_CLOCK_WALL: then they have
    // their own timeline, which follows the wall clock. `wall_mutex` guards the conversions of that timeline
    // and the choice of timeline for a node. On such a runtime every call on a node takes it (wall_hold), and
    // so does every call on a record. No thread holds it while callbacks run.
    tickwheel::runtime::timeline steady;
    tickwheel::runtime::timeline *absolute = &steady;
    tickwheel::base::mutex wall_mutex;
    std::atomic<std::uint64_t> jitter{0};  // the state of the random numbers; see drawn_jitter
    tickwheel::runtime::runtime_counters counters;
    tickwheel::runtime::sleep_begun measured_sleep;
    tickwheel::runtime::fire_meter meter;
    tickwheel::runtime::callback_counts<tickwheel::runtime::by_any_thread> on_workers;
    std::atomic<const char *> label_texts[TW_LABELS];  // see labels.hpp
    std::atomic<unsigned> label_count{0};

    // Stopping and freeing. `stopping` (for a while) and `is_freed` (for good) both make the firing thread
    // leave (must_leave).
    //
    // tw_runtime_free may be called from inside any of the user's functions. It cannot finish there, because
    // the library continues when that function returns. So it does at once what others may rely on: no node
    // is pending, and nothing more can be armed. It leaves the rest to this runtime's outermost frame on the
    // calling thread (inside_user_code), the last code there that uses the runtime. If that frame is a turn,
    // it sees `to_be_freed`; any other frame finds its own `deferred_free` filled in.
    //
    // Invariants: is_freed implies closed != 0; closed == -ECHILD if and only if forked.
    std::atomic<tickwheel::runtime::driven> driven{tickwheel::runtime::driven::by_none};
    std::atomic<bool> stopping{false};       // until a thread begins to fire again
    std::atomic<bool> forked{false};         // set in a child: only freeing and after_fork work
    std::atomic<std::uint32_t> is_freed{0};  // 0 or 1; a word, because RISC-V cannot exchange less
    std::atomic<int> closed{0};              // the result of check_arming: 0, -ESHUTDOWN or -ECHILD
    bool to_be_freed = false;                // used by the firing thread alone
    bool lent = false;                       // its descriptor is in the user's loop
    bool driver_is_open = false;
    std::atomic<std::uint32_t> sleep_number{0};  // see wake_driver

    tickwheel::base::mutex lifecycle_mutex;           // serializes starting and stopping
    pthread_t thread TW_GUARDED_BY(lifecycle_mutex);  // valid while `driven` is by_thread

    tickwheel::base::mutex components_mutex;
    // The runtime's components, newest first.
    tickwheel::runtime::component *components TW_GUARDED_BY(components_mutex) = nullptr;
    std::uint64_t components_made TW_GUARDED_BY(components_mutex) = 0;
    std::uint64_t walks = 0;  // see for_each_component_once
    // Where the current walk continues.
    tickwheel::runtime::component *unreached TW_GUARDED_BY(components_mutex) = nullptr;

    // The component whose `settle` the firing thread calls before it fires more; usually null. See
    // ask_to_settle.
    std::atomic<tickwheel::runtime::component *> unsettled{nullptr};

    // Recognises work items. add_component copies it from the hooks, so that a call on a node need not walk
    // the components. It is set once, before the first work item exists, so every thread that has a work
    // item's node also sees this value, and relaxed loads are enough.
    std::atomic<const tickwheel::runtime::fire_relay *> work_relay{nullptr};

    // The lookout for slow callbacks, which is a component; null if there is none. Written with
    // `lifecycle_mutex` held, or while no other thread is in a call.
    std::atomic<tickwheel::runtime::component *> lookout{nullptr};
    std::uint32_t turn_number = 0;        // atomic; odd during a turn. The lookout sleeps on it
    std::uint32_t is_lookout_parked = 0;  // atomic

    // The record spaces, one for each lane that sets use; null until the first set is made. Set once, with
    // `components_mutex` held.
    std::atomic<tickwheel::runtime::component *> records{nullptr};

    tw_runtime *next = nullptr, *previous = nullptr;  // in the list that fork.cpp keeps
};

namespace tickwheel::runtime {

// A note from tw_runtime_free to the owner of an outer frame, which frees the runtime once that frame no
// longer uses it. Null if there is nothing to free.
struct deferred_free {
    tw_runtime *rt;
};

// The end of a call that may run the user's functions. If one of them frees the runtime, the destructor
// completes that as the call returns. So declare an end_of_call before everything that uses the runtime.
class end_of_call {
  public:
    end_of_call() = default;
    ~end_of_call() {
        if (deferred_.rt != nullptr)
            tw_runtime_free(deferred_.rt);
    }
    end_of_call(const end_of_call &) = delete;
    end_of_call &operator=(const end_of_call &) = delete;

    deferred_free &deferred() { return deferred_; }

  private:
    deferred_free deferred_ = {nullptr};
};

// A frame on this thread that runs the user's functions on behalf of a runtime:
//   - callbacks on the firing thread;
//   - callbacks elsewhere, on a thread that can free the runtime after them;
//   - functions that a user's call invokes (`drop`, `each`, `next`, `copy`).
// Frames of one runtime may nest: a callback stops a timer, whose `drop` frees the runtime. Only the
// outermost frame knows when the runtime is no longer in use.
class inside_user_code : on_stack<inside_user_code> {
  public:
    explicit inside_user_code(const tw_runtime &rt) : rt_(&rt), place_(place::firing) {}
    inside_user_code(const tw_runtime &rt, deferred_free &deferred)
        : rt_(&rt), place_(place::elsewhere), deferred_(&deferred) {}
    inside_user_code(const tw_runtime &rt, end_of_call &end)
        : rt_(&rt), place_(place::call), deferred_(&end.deferred()) {}
    using stack_frame::end_inner, stack_frame::leave;

    // True if this thread is in a callback of the runtime.
    static bool of(const tw_runtime &rt) {
        return find([&rt](const inside_user_code &each) {
                   return each.rt_ == &rt && each.place_ != place::call;
               }) != nullptr;
    }

    // This runtime's frame that the thread entered first and will leave last; null if none.
    static const inside_user_code *outermost(const tw_runtime &rt) {
        const inside_user_code *last = nullptr;
        find([&](const inside_user_code &each) {
            if (each.rt_ == &rt)
                last = &each;
            return false;
        });
        return last;
    }

    bool runs_elsewhere() const { return place_ == place::elsewhere; }
    deferred_free *deferred() const { return deferred_; }  // null on the firing thread

  private:
    friend on_stack;
    enum class place { firing, elsewhere, call };
    const tw_runtime *rt_;
    place place_;
    deferred_free *deferred_ = nullptr;
};

// Checks the invariants of tw_runtime. No other thread may change those fields meanwhile.
inline bool is_consistent(const tw_runtime &rt) {
    const int closed = rt.closed;
    return (rt.is_freed == 0 || closed != 0) && (closed == -ECHILD) == rt.forked;
}

// 0 if a call on this runtime may proceed, else the negative errno to return.
inline int check_usable(const tw_runtime *rt) {
    registry::check_runtime(rt);
    if (rt == nullptr)
        return refuse(-EINVAL, "the runtime is null");
    return rt->forked.load(std::memory_order_relaxed) ? -ECHILD : 0;
}

// The same for a call that arms, moves, starts or makes something.
inline int check_arming(const tw_runtime *rt) {
    registry::check_runtime(rt);
    return rt == nullptr ? refuse(-EINVAL, "the runtime is null")
                         : rt->closed.load(std::memory_order_relaxed);
}

inline bool usable(const tw_runtime *rt) { return check_usable(rt) == 0; }

// True if the driver neither waits nor has a descriptor: the program moves time.
inline bool is_manual(const tw_driver &driver) {
    return driver.wait_until == nullptr && driver.descriptor == nullptr;
}

// Ends the driver's sleep. Any thread, with any locks held. Out of line: a call that wakes pays for a system
// call anyway, and the others should not pay at all.
[[gnu::cold, gnu::noinline]] void wake_driver(tw_runtime &rt);

// Wakes the driver at the end of the scope, if `note` said that a wake is needed. Declare it before the scope
// takes its locks, so that the wake comes after their release.
class deferred_wake {
  public:
    explicit deferred_wake(tw_runtime &rt) : rt_(rt) {}
    ~deferred_wake() { now(); }
    deferred_wake(const deferred_wake &) = delete;
    deferred_wake &operator=(const deferred_wake &) = delete;

    void note(bool is_needed) { is_needed_ = is_needed; }
    void now() {
        if (is_needed_)
            wake_driver(rt_);
        is_needed_ = false;
    }

  private:
    tw_runtime &rt_;
    bool is_needed_ = false;
};

inline bool has_wall(const tw_runtime &rt) { return rt.absolute != &rt.steady; }

template <class Do> void for_each_timeline(tw_runtime &rt, Do what) {
    what(rt.steady);
    if (has_wall(rt))
        what(*rt.absolute);
}

template <class Do> void for_each_wheel(tw_runtime &rt, Do what) {
    for_each_timeline(rt, [&what](timeline &line) {
        for_each_lane(line.lanes, [&what](tw &wheel, unsigned) { what(wheel); });
    });
}

// Lowers the `next` of a lane to this tick, if that is earlier.
[[gnu::cold, gnu::noinline]] void lower(tick &next, tick due);

// Whether to wake the driver for a timer that is due before `until`, as read from `asleep_until`.
[[gnu::cold, gnu::noinline]] bool must_wake(tw_runtime &rt, timeline &line, unsigned lane, tick until);

// Call this after arming a timer for this tick. Returns true if the driver must be woken for it. Looks at
// `asleep_until` even if `next` is low enough: another call may have lowered it, and may not have woken the
// driver yet.
inline bool note_armed(tw_runtime &rt, timeline &line, unsigned lane, tick due) {
    tick &next = line.lanes.attention[lane].next;
    if (due < __atomic_load_n(&next, __ATOMIC_ACQUIRE))
        lower(next, due);
    const tick until = line.asleep_until.load();
    return due < until && must_wake(rt, line, lane, until);
}

// The timeline that a node is, or was last, armed on. On a runtime with one timeline this does not read the
// node, because no lock keeps another thread from arming it.
inline timeline &timeline_of(tw_runtime &rt, const tw_node *node) TW_REQUIRES(rt.wall_mutex) {
    return has_wall(rt) && tw_wheel_of(node) == &rt.absolute->wheel ? *rt.absolute : rt.steady;
}

}  // namespace tickwheel::runtime
