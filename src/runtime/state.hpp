// A runtime: timelines, a driver, and the components that were made on it. Here is its state, with who
// may touch what, and the few functions that all files of this folder share.
//
// Threads. At any time at most one thread fires: the runtime's own, or one of the user's in
// tw_runtime_dispatch or tw_runtime_advance. The comments call it the firing thread. All other calls
// may come from any thread at any time.
//
// Locks are taken in this order:
//   1. the list of all runtimes (fork.cpp)
//   2. `components_mutex`
//   3. `wall_mutex`
//   4. the lock of the wheels, which all timelines of a runtime share, and which guards records, too
//   5. the locks of components, newest first
// `lifecycle_mutex` comes before 2 and stands apart: a thread may hold it while it waits for a callback to
// return, so it is never taken inside callbacks, and a fork does not take it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <tickwheel/runtime.h>

#include "base/mutex.hpp"
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

// Which thread fires. A caller becomes the last caller if a worker's run frees the runtime meanwhile:
// it then frees the runtime when it is done (see drive_permit::give_back).
enum class driven { by_none, by_thread, by_caller, by_last_caller };

// How often something was late, and by how much.
struct lateness {
    std::atomic<std::uint64_t> times{0};
    std::atomic<std::int64_t> sum{0}, max{0};
};

// Counted by the firing thread, but for `wakes`; any thread may read them.
struct runtime_counters {
    std::atomic<std::uint64_t> wakeups{0}, wakes{0}, wait_errors{0};
    lateness waking, held_up;
};

inline constexpr tw_deadlines no_deadlines = {TW_NO_DEADLINE, TW_NO_DEADLINE};

// The deadlines that the firing thread sleeps until, and the readings of the clocks when the sleep began.
// Only the firing thread uses it.
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

    // Delays live on the steady timeline. So do absolute deadlines, except with TW_CLOCK_WALL: then
    // they have a timeline of their own, which follows the wall clock. `wall_mutex` guards its
    // conversions and the choice of timeline for a node. On such a runtime every call on a node takes it
    // (wall_hold), and every call on a record. No thread holds it while callbacks run.
    tickwheel::runtime::timeline steady;
    tickwheel::runtime::timeline *absolute = &steady;
    tickwheel::base::mutex wall_mutex;
    tickwheel::runtime::runtime_counters counters;
    tickwheel::runtime::sleep_begun measured_sleep;
    tickwheel::runtime::fire_meter meter;
    tickwheel::runtime::callback_counts<tickwheel::runtime::by_any_thread> on_workers;
    std::atomic<const char *> label_texts[TW_LABELS];  // see labels.hpp
    std::atomic<unsigned> label_count{0};

    // How it ends. `stopping` and `is_freed` both make the firing thread leave (must_leave):
    // `stopping` for a while, `is_freed` for good.
    //
    // tw_runtime_free may be called from inside any function of the user's. It cannot do all of its
    // work there, because the library goes on when that function returns. So it does at once what
    // others may rely on: no node is pending, nothing more is armed. It leaves the rest to the
    // outermost frame of this runtime's on its thread (inside_user_code), which is the last thing
    // there that uses the runtime. If that frame is a turn, it sees `to_be_freed`; any other frame
    // finds its own `deferred_free` filled in.
    //
    // Invariants: is_freed implies closed != 0; closed == -ECHILD if and only if forked.
    std::atomic<tickwheel::runtime::driven> driven{tickwheel::runtime::driven::by_none};
    std::atomic<bool> stopping{false};       // until a thread begins to fire again
    std::atomic<bool> forked{false};         // set in a child: only freeing and after_fork work
    std::atomic<std::uint32_t> is_freed{0};  // 0 or 1; a word, because RISC-V exchanges no less
    std::atomic<int> closed{0};              // what check_arming answers: 0, -ESHUTDOWN or -ECHILD
    bool to_be_freed = false;                // the firing thread's own
    bool lent = false;                       // its descriptor is in a loop of the user's
    bool driver_is_open = false;
    std::atomic<std::uint32_t> sleep_number{0};  // see wake_driver

    tickwheel::base::mutex lifecycle_mutex;           // makes starting and stopping one at a time
    pthread_t thread TW_GUARDED_BY(lifecycle_mutex);  // valid while driven by it

    tickwheel::base::mutex components_mutex;
    // What was made on it, newest first.
    tickwheel::runtime::component *components TW_GUARDED_BY(components_mutex) = nullptr;
    std::uint64_t components_made TW_GUARDED_BY(components_mutex) = 0;
    std::uint64_t walks = 0;  // see for_each_component_once
    // Where the walk that is under way goes on.
    tickwheel::runtime::component *unreached TW_GUARDED_BY(components_mutex) = nullptr;

    // The component whose `settle` the firing thread calls before it fires more; usually none.
    // See ask_to_settle.
    std::atomic<tickwheel::runtime::component *> unsettled{nullptr};

    // How jobs are recognised, copied from the hooks by add_component so that a call on a node needs
    // no walk over components. It is set once, before the first such node can exist: a thread that
    // has got hold of the node therefore reads the value, by whatever way the node came to it, and
    // relaxed loads are enough.
    std::atomic<const tickwheel::runtime::fire_relay *> job_relay{nullptr};

    // The lookout for slow callbacks, which is one of the components; null if there is none. Written with
    // `lifecycle_mutex`, or when no other thread is in a call.
    std::atomic<tickwheel::runtime::component *> lookout{nullptr};
    std::uint32_t turn_number = 0;        // atomic; odd during a turn. The lookout sleeps on it
    std::uint32_t is_lookout_parked = 0;  // atomic

    // What all sets of timers share; null until the first is made. Set once, with `components_mutex`.
    std::atomic<tickwheel::runtime::component *> records{nullptr};

    tw_runtime *next = nullptr, *previous = nullptr;  // in the list that fork.cpp keeps
};

namespace tickwheel::runtime {

// A note that tw_runtime_free leaves for the owner of an outer frame, who frees the runtime when that
// frame no longer uses it. Null if there is nothing to free.
struct deferred_free {
    tw_runtime *rt;
};

// The end of a call in which functions of the user's may run. If one of them frees the runtime, the
// destructor does that as the call returns. So it stands before everything that uses the runtime.
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

// A frame on this thread in which functions of the user's run on behalf of a runtime:
//   - callbacks on the firing thread;
//   - callbacks that run elsewhere, on a thread that can free the runtime after them;
//   - what a call of the user's calls back (`drop`, `each`, `next`, `copy`).
// Frames of one runtime may nest: a callback stops a timer, whose `drop` frees the runtime. Only the
// outermost of them knows when the runtime is not used any more.
class inside_user_code : on_stack<inside_user_code> {
  public:
    explicit inside_user_code(const tw_runtime &rt) : rt_(&rt), place_(place::firing) {}
    inside_user_code(const tw_runtime &rt, deferred_free &deferred)
        : rt_(&rt), place_(place::elsewhere), deferred_(&deferred) {}
    inside_user_code(const tw_runtime &rt, end_of_call &end)
        : rt_(&rt), place_(place::call), deferred_(&end.deferred()) {}
    using stack_frame::end_inner, stack_frame::leave;

    // True if this thread is in callbacks of the runtime.
    static bool of(const tw_runtime &rt) {
        return find([&rt](const inside_user_code &each) {
                   return each.rt_ == &rt && each.place_ != place::call;
               }) != nullptr;
    }

    // The frame of this runtime that the thread has entered first and leaves last; null if none.
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
    deferred_free *deferred() const { return deferred_; }  // null on the thread that fires

  private:
    friend on_stack;
    enum class place { firing, elsewhere, call };
    const tw_runtime *rt_;
    place place_;
    deferred_free *deferred_ = nullptr;
};

// True if a value from a caller in C is one of first .. last. It is copied as a number, because the
// compiler may assume an enum holds a valid value, and drop the check.
template <class Enum> bool is_one_of(const Enum &value, Enum first, Enum last) {
    std::underlying_type_t<Enum> number;
    std::memcpy(&number, &value, sizeof number);
    return number >= static_cast<std::underlying_type_t<Enum>>(first) &&
           number <= static_cast<std::underlying_type_t<Enum>>(last);
}

// The invariants of tw_runtime, for moments at which no other thread changes those fields.
inline bool is_consistent(const tw_runtime &rt) {
    const int closed = rt.closed;
    return (rt.is_freed == 0 || closed != 0) && (closed == -ECHILD) == rt.forked;
}

// 0 if a call on this runtime may go on, else the negative errno to answer with.
inline int check_usable(const tw_runtime *rt) {
    registry::is_runtime(rt);
    if (rt == nullptr)
        return refuse(-EINVAL, "the runtime is null");
    return rt->forked.load(std::memory_order_relaxed) ? -ECHILD : 0;
}

// The same for a call that arms, moves, starts or makes something.
inline int check_arming(const tw_runtime *rt) {
    registry::is_runtime(rt);
    return rt == nullptr ? refuse(-EINVAL, "the runtime is null")
                         : rt->closed.load(std::memory_order_relaxed);
}

inline bool usable(const tw_runtime *rt) { return check_usable(rt) == 0; }

// True if the driver has neither a thread nor a descriptor: the program moves time.
inline bool is_manual(const tw_driver &driver) {
    return driver.wait_until == nullptr && driver.descriptor == nullptr;
}

// Ends the driver's sleep. Any thread, with any locks held. Not inline: a call that wakes pays for a
// system call anyway, and one that does not is to pay for nothing.
[[gnu::cold, gnu::noinline]] void wake_driver(tw_runtime &rt);

// Wakes the driver when it goes out of scope, if it was noted that it has to be woken. That is
// after every lock that the scope has taken, if it stands before them.
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

// The timeline that a node is, or was last, armed on. With one timeline the node is not read, as no
// lock keeps another thread from arming it.
inline timeline &timeline_of(tw_runtime &rt, const tw_node *node) TW_REQUIRES(rt.wall_mutex) {
    const auto names = [&](const timeline &line) {
        constexpr unsigned half = 4 * sizeof(std::uintptr_t);
        const auto address = reinterpret_cast<std::uintptr_t>(node);
        return node->wheel - (address << half | address >> half) ==
               reinterpret_cast<std::uintptr_t>(&line.wheel);
    };
    return has_wall(rt) && names(*rt.absolute) ? *rt.absolute : rt.steady;
}

}  // namespace tickwheel::runtime
