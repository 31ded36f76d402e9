// Handlers of pthread_atfork for all runtimes of the process, and tw_runtime_after_fork.
//
// The child has one thread, the one that forked, and a copy of all memory at that moment. If another thread
// held a lock, the lock would stay held forever, and the data that it guards might be half changed. So the
// parent takes every lock of every runtime before the fork: the copies are whole, and in the child the thread
// that took the locks releases them. Data that no lock guards belongs to a single thread (the turn of the
// firing thread, a worker's run), and the child resets it.
#include "fork.hpp"

#include <cassert>

#include "base/linked_list.hpp"
#include "components.hpp"
#include "lifetime.hpp"
#include "nodes.hpp"

namespace tickwheel::runtime {

base::mutex process_mutex = {PTHREAD_MUTEX_INITIALIZER};

namespace {

tw_runtime *runtimes TW_GUARDED_BY(process_mutex) = nullptr;  // all runtimes of the process
bool handlers_are_set TW_GUARDED_BY(process_mutex) = false;

template <class Do> void for_each_runtime(Do what) TW_REQUIRES(process_mutex) {
    for (tw_runtime *rt = runtimes; rt != nullptr; rt = rt->next)
        what(*rt);
}

// Takes the locks in their usual order (state.hpp). Not `lifecycle_mutex`: a thread that holds it may be
// waiting for the very callback that forks, and the fork would wait forever. The child initialises this mutex
// again, because the firing thread that it guards does not exist there.
void prepare() TW_ACQUIRE(process_mutex) {
    process_mutex.lock();
    for_each_runtime(lock_all);
}

void in_parent() TW_RELEASE(process_mutex) {
    for_each_runtime(unlock_all);
    process_mutex.unlock();
}

// Marks the runtime first. The thread that forked may be in a callback of the wheel or on a worker; when it
// returns there, it finds the mark, fires nothing more and leaves (must_leave). `prepare` took the wall mutex
// and the components' locks on this thread, so this thread may release or renew them.
void in_child() TW_RELEASE(process_mutex) {
    for_each_runtime([](tw_runtime &rt) TW_UNCHECKED_LOCKING {  // `prepare` took the locks
        rt.forked = true;
        rt.closed = -ECHILD;
        unlock_all_in_child(rt);
        rt.lifecycle_mutex.init();
    });
    process_mutex.unlock();
}

// Sets the handlers when the first runtime is made, and for good: handlers of pthread_atfork cannot be
// removed.
int set_handlers() TW_REQUIRES(process_mutex) {
    if (handlers_are_set)
        return 0;
    const int error = pthread_atfork(prepare, in_parent, in_child);
    handlers_are_set = error == 0;
    return -error;
}

// The nodes are copies, and their timers are the parent's to fire. So this empties the wheels, and the
// components give back everything that belongs to the user. They do so before anything is opened or started
// again, because they call the user's functions. These may fork again, and their child must not find a
// descriptor or thread that belongs to this process. On error the runtime stays marked, and the user may
// repeat the call.
int revive(tw_runtime &rt) {
    empty_wheels(rt);
    end_components(rt);
    if (rt.driver_is_open)
        rt.driver->close(rt.driver_state);
    if (const int error = open_driver(rt); error != 0)
        return error;
    return revive_components(rt);
}

// Accepts calls again. A runtime that was being freed when the process forked stays closed to arming, and can
// only be freed.
void reopen(tw_runtime &rt) {
    for_each_timeline(rt, [](timeline &line) { line.asleep_until = awake; });
    rt.meter.abandon_callback();
    rt.turn_number &= ~1U;
    rt.driven = driven::by_none;
    rt.lent = false;
    rt.forked = false;
    seed_jitter(rt);
    rt.closed = rt.is_freed != 0 ? -ESHUTDOWN : 0;
    assert(is_consistent(rt));
}

}  // namespace

int watch_for_forks(tw_runtime &rt) {
    const base::mutex_hold hold(&process_mutex);
    if (const int error = set_handlers(); error != 0)
        return error;
    base::link_first(runtimes, rt);
    return 0;
}

void stop_watching_for_forks(tw_runtime &rt) {
    const base::mutex_hold hold(&process_mutex);
    base::unlink(runtimes, rt);
}

}  // namespace tickwheel::runtime

using namespace tickwheel::runtime;

// Refused inside callbacks: they return to frames of the library that belong to the parent's turn, which
// would then continue in the child.
TW_API int tw_runtime_after_fork(tw_runtime *rt) {
    registry::check_runtime(rt, __builtin_return_address(0));
    if (rt == nullptr)
        return refuse(-EINVAL, "the runtime is null");
    if (!rt->forked)
        return 0;
    if (inside_user_code::outermost(*rt) != nullptr)
        return refuse(-EBUSY, "called from inside a callback of the runtime");
    const no_thread_cancel guard;
    end_of_call end;
    const inside_user_code frame(*rt, end);
    const int error = revive(*rt);
    if (error == 0)
        reopen(*rt);
    return explain_system_error(error);
}
