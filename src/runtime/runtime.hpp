// What a runtime is made of. Who may touch what stands beside each field.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <tickwheel/runtime.h>

#include "errors.hpp"
#include "on_stack.hpp"
#include "threads.hpp"
#include "timeline.hpp"
#include "uncancelled.hpp"

#define TW_API extern "C" __attribute__((visibility("default")))

namespace tickwheel::runtime {

struct component;   // components.hpp
struct fire_relay;  // components.hpp

// The last caller frees the runtime when it is done.
enum class driven { by_nobody, by_thread, by_caller, by_last_caller };

// Times that something was late, and by how much.
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

// What the firing thread has gone to sleep for, and what the clocks read then. Its own.
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

    // Delays are on the steady timeline. Absolute deadlines are too, but for TW_CLOCK_WALL: then
    // they have the wall timeline, and the mutex guards its conversions and which of the two
    // timelines a node is on. It is taken by every call on nodes, and not held while callbacks run.
    tickwheel::runtime::timeline steady;
    tickwheel::runtime::timeline *absolute = &steady;
    pthread_mutex_t wall_mutex;
    tickwheel::runtime::runtime_counters counters;
    tickwheel::runtime::sleep_begun sleep;

    // How it ends. `stopping` and `is_freed` both make the firing thread leave (must_leave): the
    // one for a while, the other for good. A call to tw_runtime_free from inside a function of
    // the user's cannot do all of its work, because the library goes on when that function
    // returns. It does what others may rely on (defer_free) and leaves the rest to the
    // outermost frame of the runtime's on its thread (inside_user_code): to a turn by
    // `to_be_freed`, to any other frame by the deferred_free that it has brought.
    //   is_freed implies closed != 0; closed == -ECHILD if and only if forked
    std::atomic<tickwheel::runtime::driven> driven{tickwheel::runtime::driven::by_nobody};
    std::atomic<bool> stopping{false};       // until somebody begins to fire again
    std::atomic<bool> forked{false};         // set in a child: nothing works but freeing and after_fork
    std::atomic<std::uint32_t> is_freed{0};  // a truth; a word, as RISC-V exchanges no less
    std::atomic<int> closed{0};              // what check_arming answers: 0, -ESHUTDOWN or -ECHILD
    bool to_be_freed = false;                // of whoever fires
    bool lent = false;                       // its descriptor is in somebody's loop
    bool driver_is_open = false;

    pthread_mutex_t control;  // start and stop, one at a time; never taken inside callbacks
    pthread_t thread;         // while driven by it

    pthread_mutex_t components_mutex;
    tickwheel::runtime::component *components = nullptr;  // what was made on it, newest first
    std::uint64_t rounds = 0;                             // see for_each_component_once
    tickwheel::runtime::component *unreached = nullptr;   // where the round that is under way goes on

    // The component whose `settle` the firing thread calls before it fires more; usually none.
    // See ask_to_settle.
    std::atomic<tickwheel::runtime::component *> unsettled{nullptr};

    // What the hooks of components said of their nodes (add_component). Set once, before such a
    // node can exist, so whoever has a node sees it.
    std::atomic<const tickwheel::runtime::fire_relay *> relay{nullptr};
    std::atomic<tw_callback *> kept_when_cleared{nullptr};

    tw_runtime *next = nullptr, *previous = nullptr;  // in the list that fork.cpp keeps
};

namespace tickwheel::runtime {

// Holds a mutex for a scope.
class mutex_hold {
  public:
    explicit mutex_hold(pthread_mutex_t *mutex) : mutex_(mutex) { pthread_mutex_lock(mutex_); }
    ~mutex_hold() { pthread_mutex_unlock(mutex_); }
    mutex_hold(const mutex_hold &) = delete;
    mutex_hold &operator=(const mutex_hold &) = delete;

  private:
    pthread_mutex_t *mutex_;
};

// A note to free a runtime, left by tw_runtime_free in the frame that it was called from inside
// of. The owner of the frame frees the runtime when it no longer uses it. Null: nothing to do.
struct deferred_free {
    tw_runtime *rt;
};

// The end of a call in which functions of the user's may run. If one of them frees the
// runtime, that is done as the call returns, when nothing of it is used any more.
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

// For as long as it lives, this thread may be in functions of the user's, in the name of a
// runtime:
//   - in callbacks, on the thread that fires;
//   - in callbacks that run elsewhere, on a thread that frees the runtime after them if asked to;
//   - in what a call by the user calls back (`drop`, `each`, `next`, `copy`).
class inside_user_code : on_stack<inside_user_code> {
  public:
    explicit inside_user_code(const tw_runtime &rt) : rt_(&rt), place_(place::firing) {}
    inside_user_code(const tw_runtime &rt, deferred_free &deferred)
        : rt_(&rt), place_(place::elsewhere), deferred_(&deferred) {}
    inside_user_code(const tw_runtime &rt, end_of_call &end)
        : rt_(&rt), place_(place::call), deferred_(&end.deferred()) {}
    using stack_frame::leave;

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

// Whether what a caller in C has put there is one of first .. last. Not for the language
// to assume: to load it as an enumerator would.
template <class Enum> bool is_one_of(const Enum &value, Enum first, Enum last) {
    std::underlying_type_t<Enum> number;
    std::memcpy(&number, &value, sizeof number);
    return number >= static_cast<std::underlying_type_t<Enum>>(first) &&
           number <= static_cast<std::underlying_type_t<Enum>>(last);
}

// The errno to answer with to a call on this runtime; 0 if it may go on.
inline int check_usable(const tw_runtime *rt) {
    if (rt == nullptr)
        return refuse(-EINVAL, "the runtime is null");
    return rt->forked.load(std::memory_order_relaxed) ? -ECHILD : 0;
}

// The same for a call that arms, moves, starts or makes something.
inline int check_arming(const tw_runtime *rt) {
    return rt == nullptr ? refuse(-EINVAL, "the runtime is null")
                         : rt->closed.load(std::memory_order_relaxed);
}

inline bool usable(const tw_runtime *rt) { return check_usable(rt) == 0; }

// Neither a thread nor a descriptor: somebody else moves time.
inline bool is_manual(const tw_driver &driver) {
    return driver.wait_until == nullptr && driver.descriptor == nullptr;
}

// Ends the driver's sleep. Any thread, also with locks held. Not inline: calls that need not wake
// are not to pay for it.
[[gnu::cold, gnu::noinline]] void wake(tw_runtime &rt);

inline bool has_wall(const tw_runtime &rt) { return rt.absolute != &rt.steady; }

template <class Do> void for_each_timeline(tw_runtime &rt, Do what) {
    what(rt.steady);
    if (has_wall(rt))
        what(*rt.absolute);
}

// The timeline that a node is, or was last, armed on.
// REQUIRES: wall_hold
inline timeline &timeline_of(tw_runtime &rt, const tw_node *node) {
    return node->wheel == &rt.absolute->wheel ? *rt.absolute : rt.steady;
}

}  // namespace tickwheel::runtime
