// Reports callbacks that run too long, while they run. The lookout is a thread that inspects the current
// callbacks of the runtime's threads. It is a component of the runtime, and ends with it.
//
// The lookout inspects the callbacks every quarter of the limit while the runtime takes turns. When no
// callback runs, no fire waits for a worker, and no turn has begun for a while, it parks; the firing thread
// wakes it at the start of its next turn. So the lookout does not disturb a sleeping runtime (P9).
#include <tickwheel/observe.h>
#include <tickwheel/port.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>

#include "runtime/components.hpp"
#include "runtime/labels.hpp"
#include "runtime/turn.hpp"

namespace tickwheel::observe {

namespace {

struct lookout : runtime::component {
    std::int64_t limit;
    tw_slow_report *report;
    void *arg;
    pthread_t thread;
    bool has_thread;        // false in the child of a fork
    std::uint32_t leaving;  // 0 or 1; atomic
};

lookout &lookout_in(runtime::component &base) { return static_cast<lookout &>(base); }

// --- looking -----------------------------------------------------------------------------

// One look reports at most this many slow callbacks. The next look finds the others.
constexpr unsigned most_at_once = 8;

// The findings of one look.
struct look {
    tw_slow_callback slow[most_at_once];
    unsigned count = 0;
    bool anything_runs = false;  // or will run without another turn
};

// Reads `begun` again at the end: if another callback has begun, the fields may be a mix of both. Skips a
// fire that is being passed on to a worker: that can take long if other threads hold the pool's mutex, but no
// callback is slow then.
void look_at(const tw_runtime &rt, runtime::running_callback &callback, bool on_worker, std::int64_t limit,
             look &seen) {
    const runtime::stopwatch::reading begun = callback.begun.load(std::memory_order_acquire);
    if (begun == 0)
        return;
    seen.anything_runs = true;
    const std::int64_t ns = runtime::stopwatch::between(begun, runtime::stopwatch::now());
    if (ns < limit || callback.is_passed_on.load(std::memory_order_relaxed) ||
        begun == callback.reported.load(std::memory_order_relaxed) || seen.count == most_at_once)
        return;
    tw_slow_callback &slow = seen.slow[seen.count];
    slow = {runtime::label_text(rt, callback.label.load(std::memory_order_relaxed)),
            callback.node.load(std::memory_order_relaxed),
            callback.handle.load(std::memory_order_relaxed),
            callback.function.load(std::memory_order_relaxed),
            ns,
            on_worker ? 1 : 0};
    std::atomic_thread_fence(std::memory_order_acquire);
    if (callback.begun.load(std::memory_order_relaxed) != begun)
        return;
    callback.reported.store(begun, std::memory_order_relaxed);
    ++seen.count;
}

void look_at_all(tw_runtime &rt, std::int64_t limit, look &seen) {
    const base::mutex_hold hold(&rt.components_mutex);
    look_at(rt, rt.meter.running, false, limit, seen);
    for (runtime::component *each = rt.components; each != nullptr; each = each->next) {
        if (each->hooks->callbacks == nullptr)
            continue;
        const runtime::running_callbacks on_workers = each->hooks->callbacks(*each);
        seen.anything_runs = seen.anything_runs || on_workers.has_more;
        for (unsigned i = 0; i < on_workers.count; ++i)
            look_at(rt, on_workers.first[i], true, limit, seen);
    }
}

// --- the thread ----------------------------------------------------------------------------

constexpr unsigned looks_before_parking = 8;

void sleep_for(lookout &watcher, std::int64_t ns) {
    tw_port_wait(&watcher.leaving, 0, runtime::system_reading(CLOCK_MONOTONIC) + ns);
}

// Sleeps until a turn after `turn` begins, or the lookout must end. It cannot miss a turn: see wake_lookout.
void park(lookout &watcher, std::uint32_t turn) {
    __atomic_store_n(&watcher.rt->is_lookout_parked, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&watcher.leaving, __ATOMIC_SEQ_CST) == 0)
        tw_port_wait(&watcher.rt->turn_number, turn, INT64_MAX);
    __atomic_store_n(&watcher.rt->is_lookout_parked, 0, __ATOMIC_RELAXED);
}

// A report may fork and return in the child. There it may have freed the runtime, so the thread ends without
// touching the runtime again.
void look_out(lookout &watcher) {
    const pid_t process = ::getpid();
    std::uint32_t last_turn = 0;
    for (unsigned quiet = 0; __atomic_load_n(&watcher.leaving, __ATOMIC_ACQUIRE) == 0;) {
        const std::uint32_t turn = __atomic_load_n(&watcher.rt->turn_number, __ATOMIC_ACQUIRE);
        look seen;
        look_at_all(*watcher.rt, watcher.limit, seen);
        for (unsigned i = 0; i < seen.count; ++i) {
            watcher.report(&seen.slow[i], watcher.arg);
            if (::getpid() != process)
                return;
        }
        const bool is_quiet = !seen.anything_runs && turn == last_turn && !runtime::is_in_turn(turn);
        quiet = is_quiet ? quiet + 1 : 0;
        last_turn = turn;
        if (quiet < looks_before_parking)
            sleep_for(watcher, watcher.limit / 4);
        else
            park(watcher, turn);
    }
}

thread_local const tw_runtime *watched_here = nullptr;  // set in the thread of a lookout

void *lookout_main(void *arg) {
    runtime::begin_thread("tickwheel-slow");
    watched_here = static_cast<lookout *>(arg)->rt;
    look_out(*static_cast<lookout *>(arg));
    return nullptr;
}

int start_thread(lookout &watcher) {
    watcher.leaving = 0;
    const int error = create_thread(watcher.thread, nullptr, lookout_main, &watcher);
    watcher.has_thread = error == 0;
    return error;
}

void end_thread(lookout &watcher) {
    if (!watcher.has_thread)
        return;
    __atomic_store_n(&watcher.leaving, 1, __ATOMIC_SEQ_CST);
    tw_port_wake_all(&watcher.leaving);
    tw_port_wake_all(&watcher.rt->turn_number);
    pthread_join(watcher.thread, nullptr);
    watcher.has_thread = false;
}

// --- the component ---------------------------------------------------------------------------

void destroy_watcher(runtime::component &base) {
    lookout &watcher = lookout_in(base);
    end_thread(watcher);
    watcher.rt->lookout.store(nullptr, std::memory_order_relaxed);
    watcher.rt->meter.onlookers.fetch_and(~runtime::fire_meter::lookout_for_slow, std::memory_order_relaxed);
    remove_component(watcher);
    std::free(&watcher);
}

constexpr runtime::component_hooks lookout_hooks = {
    .begin_in_child = [](runtime::component &base) { lookout_in(base).has_thread = false; },
    .revive =
        [](runtime::component &base) {
            return lookout_in(base).has_thread ? 0 : start_thread(lookout_in(base));
        },
    .destroy = destroy_watcher,
};

int make(tw_runtime &rt, std::int64_t limit, tw_slow_report *report, void *arg) {
    void *const memory = std::calloc(1, sizeof(lookout));
    if (memory == nullptr)
        return -ENOMEM;
    tw_port_hide(memory, sizeof(lookout));
    auto *const watcher = new (memory) lookout{};  // cppcheck-suppress legacyUninitvar
    watcher->limit = limit;
    watcher->report = report;
    watcher->arg = arg;
    add_component(*watcher, rt, lookout_hooks);
    if (const int error = start_thread(*watcher); error != 0) {
        destroy_watcher(*watcher);
        return error;
    }
    rt.lookout.store(watcher, std::memory_order_relaxed);
    rt.meter.onlookers.fetch_or(runtime::fire_meter::lookout_for_slow, std::memory_order_relaxed);
    return 0;
}

bool is_in_report(const tw_runtime &rt) { return watched_here == &rt; }

}  // namespace

}  // namespace tickwheel::observe

using namespace tickwheel;
using namespace tickwheel::observe;

TW_API int tw_runtime_report_slow(tw_runtime *rt, int64_t limit_ns, tw_slow_report *report, void *arg) {
    if (const int error = report != nullptr ? runtime::check_arming(rt) : runtime::check_usable(rt);
        error != 0)
        return error;
    if (report != nullptr && limit_ns < TW_MILLISECOND)
        return runtime::refuse(-EINVAL, "the limit is less than a millisecond");
    if (runtime::inside_user_code::of(*rt) || is_in_report(*rt))
        return runtime::refuse(-EBUSY, "called from inside a callback of the runtime, or from a report");
    const runtime::no_thread_cancel guard;
    const base::mutex_hold hold(&rt->lifecycle_mutex);
    if (runtime::component *const former = rt->lookout.load(std::memory_order_relaxed); former != nullptr)
        destroy_watcher(*former);
    return report != nullptr ? runtime::explain_system_error(make(*rt, limit_ns, report, arg)) : 0;
}
