// What a runtime is made of. Who may touch what stands beside each field.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <tickwheel/runtime.h>

#include "clock.hpp"
#include "on_stack.hpp"

#define TW_API extern "C" __attribute__((visibility("default")))

namespace tickwheel::runtime {

inline constexpr tick never = TW_NEVER;
inline constexpr tick awake = 0;  // no tick is earlier, so nobody is woken for one

// A wheel and what the runtime's thread sleeps for on its account.
//
// No wake-up is lost (P2): before it sleeps, the thread first sets `asleep_until` to
// `never`, then asks the wheel what is next, under the wheel's lock, and sets it to the
// answer. A call that arms a node before that question is part of the answer. One that
// does so after it has the lock later, and therefore sees `never` or the answer, and
// wakes the thread if its node is due earlier. Drivers remember a wake that comes
// before the wait (tests/models/sleep_wake.pml). The wheel's lock orders it all, so that
// relaxed access will do.
struct timeline {
    tw wheel;
    std::atomic<tick> asleep_until{awake};  // set by whoever fires, but see wake_for_anything
};

// The one clock that may be set has a timeline of its own, for nodes with absolute
// deadlines: its ticks are those of the wall clock plus `set_back`, which grows by as
// much as the clock is set back, so that they never run backwards. Delays live on the
// steady timeline and do not notice.
struct wall_timeline : timeline {
    // Guards `set_back` and which of the two timelines a node is on. Taken by every
    // call on nodes; not held while callbacks run.
    pthread_mutex_t mutex;
    tick set_back = 0;

    // The callback during which the clock was found to be set back, and `set_back` when
    // it began: what its node was due at is counted from that.
    struct {
        const tw_node *node = nullptr;
        tick due = never, set_back = 0;
    } interrupted;
};

struct part;  // parts.hpp

// The last caller frees the runtime when it is done.
enum class driven { by_nobody, by_thread, by_caller, by_last_caller };

// Counted by the thread that fires, but for `wakes`; read by anyone.
struct counters {
    std::atomic<std::uint64_t> wakeups{0}, wakes{0}, timed{0}, clock_sets{0}, wait_errors{0};
    std::atomic<std::int64_t> late_sum{0}, late_max{0};
};

}  // namespace tickwheel::runtime

struct tw_workers;  // pool.hpp

struct tw_runtime {
    // Fixed by tw_runtime_new.
    const tw_driver *driver;
    void *driver_state;
    tw_clock clock;
    tickwheel::runtime::tick_unit unit;
    std::uint32_t budget;
    std::int64_t slack_ns;
    char thread_name[16];
    std::uint64_t cpus;
    int priority;

    tickwheel::runtime::clocks clocks;
    tickwheel::runtime::timeline steady;
    tickwheel::runtime::wall_timeline *wall = nullptr;  // but for TW_CLOCK_WALL
    tickwheel::runtime::counters seen;

    std::atomic<tickwheel::runtime::driven> driven{tickwheel::runtime::driven::by_nobody};
    std::atomic<bool> stopping{false};  // whoever fires is to come to an end
    std::atomic<bool> forked{false};    // set in a child: nothing works but freeing and after_fork
    bool to_be_freed = false;           // by a callback: whoever fires does it when it ends
    bool lent = false;                  // its descriptor is in somebody's loop
    bool driver_is_open = false;

    pthread_mutex_t control;  // start and stop, one at a time; never taken inside callbacks
    pthread_t thread;         // while driven by it
    std::uint64_t stops = 0;  // so far; with control held

    pthread_mutex_t parts_mutex;
    tickwheel::runtime::part *parts = nullptr;  // what was made on it, newest first

    // Workers with too many fires that wait, which whoever fires sees to before it fires
    // more. Set by it, with their mutex; read with parts_mutex, so that they are there.
    std::atomic<tw_workers *> over_full{nullptr};

    tw_runtime *next = nullptr, *previous = nullptr;  // in the list that fork.cpp keeps
};

namespace tickwheel::runtime {

// Holds a mutex for a scope; none, if there is none.
class mutex_hold {
  public:
    explicit mutex_hold(pthread_mutex_t *mutex) : mutex_(mutex) {
        if (mutex_ != nullptr)
            pthread_mutex_lock(mutex_);
    }
    ~mutex_hold() {
        if (mutex_ != nullptr)
            pthread_mutex_unlock(mutex_);
    }
    mutex_hold(const mutex_hold &) = delete;
    mutex_hold &operator=(const mutex_hold &) = delete;

  private:
    pthread_mutex_t *mutex_;
};

// Says that this thread may be in callbacks of a runtime, for as long as it lives.
class inside : on_stack<inside> {
  public:
    explicit inside(const tw_runtime &rt) : rt_(&rt) {}

    static bool of(const tw_runtime &rt) {
        return find([&rt](const inside &each) { return each.rt_ == &rt; }) != nullptr;
    }

  private:
    friend on_stack;
    const tw_runtime *rt_;
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
inline int refusal(const tw_runtime *rt) {
    if (rt == nullptr)
        return -EINVAL;
    return rt->forked.load(std::memory_order_relaxed) ? -ECHILD : 0;
}

inline bool usable(const tw_runtime *rt) { return refusal(rt) == 0; }

// Neither a thread nor a descriptor: somebody else moves time.
inline bool is_manual(const tw_driver &driver) {
    return driver.wait_until == nullptr && driver.descriptor == nullptr;
}

inline void wake(tw_runtime &rt) {
    rt.seen.wakes.fetch_add(1, std::memory_order_relaxed);
    rt.driver->wake(rt.driver_state);
}

template <class Do> void for_each_timeline(tw_runtime &rt, Do what) {
    what(rt.steady);
    if (rt.wall != nullptr)
        what(static_cast<timeline &>(*rt.wall));
}

}  // namespace tickwheel::runtime
