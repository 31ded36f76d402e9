// Reporting callbacks that run for too long, while they run: a thread that looks at what the runtime's
// threads are in. It is a component of the runtime, and ends with it.
//
// It looks every quarter of the limit for as long as the runtime takes turns. When nothing runs or waits for
// a worker, and no turn has begun for a while, it parks, and the firing thread wakes it as its next turn
// begins. So a runtime that sleeps is not disturbed (P9).
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
    bool has_thread;        // not in the child of a fork
    std::uint32_t leaving;  // 0 or 1; atomic
};

lookout &lookout_in(runtime::component &it) { return static_cast<lookout &>(it); }

// --- looking -----------------------------------------------------------------------------

// A few callbacks are reported at a time; others that are slow, too, are found by the next look.
constexpr unsigned most_at_once = 8;

// What one look has found.
struct look {
    tw_slow_callback slow[most_at_once];
    unsigned count = 0;
    bool anything_runs = false;  // or will without another turn
};

// Reads `begun` again at the end: if another callback has begun, the fields may be a mix of both. Passing a
// fire on to a worker can also take long, if other threads hold the pool's mutex, but then no callback is
// slow.
void look_at(const tw_runtime &rt, runtime::running_callback &it, bool on_worker, std::int64_t limit,
             look &seen) {
    const runtime::stopwatch::reading begun = it.begun.load(std::memory_order_acquire);
    if (begun == 0)
        return;
    seen.anything_runs = true;
    const std::int64_t ns = runtime::stopwatch::between(begun, runtime::stopwatch::now());
    if (ns < limit || it.is_passed_on.load(std::memory_order_relaxed) ||
        begun == it.reported.load(std::memory_order_relaxed) || seen.count == most_at_once)
        return;
    tw_slow_callback &slow = seen.slow[seen.count];
    slow = {runtime::label_text(rt, it.label.load(std::memory_order_relaxed)),
            it.node.load(std::memory_order_relaxed),
            it.handle.load(std::memory_order_relaxed),
            it.function.load(std::memory_order_relaxed),
            ns,
            on_worker ? 1 : 0};
    std::atomic_thread_fence(std::memory_order_acquire);
    if (it.begun.load(std::memory_order_relaxed) != begun)
        return;
    it.reported.store(begun, std::memory_order_relaxed);
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

void sleep_for(lookout &it, std::int64_t ns) {
    tw_port_wait(&it.leaving, 0, runtime::system_reading(CLOCK_MONOTONIC) + ns);
}

// Sleeps until a turn begins after the one that had this number, or the lookout is to end. No turn is missed:
// see tell_lookout.
void park(lookout &it, std::uint32_t turn) {
    __atomic_store_n(&it.rt->is_lookout_parked, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&it.leaving, __ATOMIC_SEQ_CST) == 0)
        tw_port_wait(&it.rt->turn_number, turn, INT64_MAX);
    __atomic_store_n(&it.rt->is_lookout_parked, 0, __ATOMIC_RELAXED);
}

// A report may fork and return in the child. There it may have freed the runtime, so the thread ends without
// another look at it.
void look_out(lookout &it) {
    const pid_t process = ::getpid();
    std::uint32_t last_turn = 0;
    for (unsigned quiet = 0; __atomic_load_n(&it.leaving, __ATOMIC_ACQUIRE) == 0;) {
        const std::uint32_t turn = __atomic_load_n(&it.rt->turn_number, __ATOMIC_ACQUIRE);
        look seen;
        look_at_all(*it.rt, it.limit, seen);
        for (unsigned i = 0; i < seen.count; ++i) {
            it.report(&seen.slow[i], it.arg);
            if (::getpid() != process)
                return;
        }
        const bool is_quiet = !seen.anything_runs && turn == last_turn && !runtime::is_in_turn(turn);
        quiet = is_quiet ? quiet + 1 : 0;
        last_turn = turn;
        if (quiet < looks_before_parking)
            sleep_for(it, it.limit / 4);
        else
            park(it, turn);
    }
}

thread_local const tw_runtime *looked_out_for_here = nullptr;  // in the thread of a lookout

void *lookout_main(void *arg) {
    runtime::begin_thread("tickwheel-slow");
    looked_out_for_here = static_cast<lookout *>(arg)->rt;
    look_out(*static_cast<lookout *>(arg));
    return nullptr;
}

int start_thread(lookout &it) {
    it.leaving = 0;
    const int error = create_thread(it.thread, nullptr, lookout_main, &it);
    it.has_thread = error == 0;
    return error;
}

void end_thread(lookout &it) {
    if (!it.has_thread)
        return;
    __atomic_store_n(&it.leaving, 1, __ATOMIC_SEQ_CST);
    tw_port_wake_all(&it.leaving);
    tw_port_wake_all(&it.rt->turn_number);
    pthread_join(it.thread, nullptr);
    it.has_thread = false;
}

// --- the component ---------------------------------------------------------------------------

void destroy(runtime::component &base) {
    lookout &it = lookout_in(base);
    end_thread(it);
    it.rt->lookout.store(nullptr, std::memory_order_relaxed);
    it.rt->meter.onlookers.fetch_and(~runtime::fire_meter::lookout_for_slow, std::memory_order_relaxed);
    remove_component(it);
    std::free(&it);
}

constexpr runtime::component_hooks lookout_hooks = {
    .begin_in_child = [](runtime::component &it) { lookout_in(it).has_thread = false; },
    .revive =
        [](runtime::component &it) { return lookout_in(it).has_thread ? 0 : start_thread(lookout_in(it)); },
    .destroy = destroy,
};

int make(tw_runtime &rt, std::int64_t limit, tw_slow_report *report, void *arg) {
    void *const memory = std::calloc(1, sizeof(lookout));
    if (memory == nullptr)
        return -ENOMEM;
    tw_port_hide(memory, sizeof(lookout));
    auto *const it = new (memory) lookout{};  // cppcheck-suppress legacyUninitvar
    it->limit = limit;
    it->report = report;
    it->arg = arg;
    add_component(*it, rt, lookout_hooks);
    if (const int error = start_thread(*it); error != 0) {
        destroy(*it);
        return error;
    }
    rt.lookout.store(it, std::memory_order_relaxed);
    rt.meter.onlookers.fetch_or(runtime::fire_meter::lookout_for_slow, std::memory_order_relaxed);
    return 0;
}

bool is_in_report(const tw_runtime &rt) { return looked_out_for_here == &rt; }

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
        destroy(*former);
    return report != nullptr ? runtime::explain_system_error(make(*rt, limit_ns, report, arg)) : 0;
}
