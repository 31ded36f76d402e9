// Records fires for tickwheel/trace.h; trace_write.cpp writes them out. Any thread.
#include "trace.hpp"

#include <sys/syscall.h>
#include <tickwheel/port.h>
#include <tickwheel/trace.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <new>

namespace tickwheel::observe {

namespace {

// --- threads -----------------------------------------------------------------------------

// The system's number of a thread, queried once per thread, process and recording. A child increments
// `forks`, because the thread that forked has another number in the child.
constinit std::atomic<unsigned> forks{1};
constinit TW_THREAD_LOCAL unsigned asked_at = 0;
constinit TW_THREAD_LOCAL int id_here = 0;
constinit TW_THREAD_LOCAL std::uint64_t named_in = 0;  // serial of the last recording with this thread's name
constinit std::atomic<std::uint64_t> recordings{0};    // number made in this process

// Stores the thread's name in the first free entry, unless the thread has an entry already.
void take_name(trace &recording, int id) {
    for (traced_thread &each : recording.threads) {
        int none = 0;
        if (each.id.load(std::memory_order_acquire) == id)
            return;
        if (!each.id.compare_exchange_strong(none, id, std::memory_order_acq_rel))
            continue;
        pthread_getname_np(pthread_self(), each.name, sizeof each.name);
        each.has_name.store(true, std::memory_order_release);
        return;
    }
}

int this_thread(trace &recording) {
    const unsigned now = forks.load(std::memory_order_relaxed);
    if (asked_at == now && named_in == recording.serial)
        return id_here;
    id_here = static_cast<int>(::syscall(SYS_gettid));
    asked_at = now;
    named_in = recording.serial;
    take_name(recording, id_here);
    return id_here;
}

// --- recording ---------------------------------------------------------------------------

// The firing thread has measured its lateness. A worker's run is late by the time from its deadline to its
// start. That lateness is unknown (-1) if the runtime has two clocks, because the fire does not say which
// clock its deadline is on, and on virtual time, which the stopwatch does not measure.
std::int64_t lateness_of(const tw_runtime &rt, const runtime::recorded_fire &fire) {
    if (fire.kind != runtime::run_kind::on_worker)
        return fire.late.ns;
    if (runtime::has_wall(rt) || rt.steady.clock.is_virtual())
        return -1;
    const std::int64_t ran = runtime::stopwatch::between(fire.begun, runtime::stopwatch::now());
    const std::int64_t late = rt.steady.clock.read() - ran - fire.due;
    return late > 0 ? late : 0;
}

void record(runtime::fire_recorder &base, const runtime::recorded_fire &fire) {
    trace &recording = static_cast<trace &>(base);
    const auto *const node = fire.what.node.load(std::memory_order_relaxed);
    const tw_handle handle = fire.what.handle.load(std::memory_order_relaxed);
    const fire_tags tags = {this_thread(recording),
                            fire.what.label.load(std::memory_order_relaxed),
                            static_cast<unsigned>(fire.overruns < fire_tags::most_overruns
                                                      ? fire.overruns
                                                      : fire_tags::most_overruns),
                            fire.late.cause,
                            fire.kind,
                            node == nullptr && handle != TW_NO_HANDLE};
    recording.ring.put({fire.begun, fire.ended, fire.due, lateness_of(*recording.rt, fire),
                        node != nullptr ? reinterpret_cast<std::uintptr_t>(node) : handle,
                        reinterpret_cast<std::uintptr_t>(fire.what.function.load(std::memory_order_relaxed)),
                        tags.packed()});
}

// A recorded callback must be described when it begins. The meter describes callbacks only for onlookers, so
// the trace becomes one.
void begin_recording(trace &recording) {
    runtime::fire_meter &meter = recording.rt->meter;
    meter.recorder.store(&recording, std::memory_order_release);
    meter.onlookers.fetch_or(runtime::fire_meter::trace_of_fires, std::memory_order_relaxed);
}

// Returns false if nothing was being recorded.
bool end_recording(runtime::fire_meter &meter) {
    meter.onlookers.fetch_and(~runtime::fire_meter::trace_of_fires, std::memory_order_relaxed);
    return meter.recorder.exchange(nullptr, std::memory_order_acq_rel) != nullptr;
}

// --- the component -----------------------------------------------------------------------

void begin_recording_in_child(runtime::component &base) {
    trace &recording = static_cast<trace &>(base);
    end_recording(recording.rt->meter);
    forks.fetch_add(1, std::memory_order_relaxed);
    recording.ring.begin_in_child();
    for (traced_thread &each : recording.threads) {
        each.has_name.store(false, std::memory_order_relaxed);
        each.id.store(0, std::memory_order_relaxed);
    }
}

void free_memory(trace &recording) {
    std::free(recording.memory);
    std::free(&recording);
}

void destroy_recording(runtime::component &base) {
    trace &recording = static_cast<trace &>(base);
    end_recording(recording.rt->meter);
    remove_component(recording);
    free_memory(recording);
}

constexpr runtime::component_hooks trace_hooks = {
    .begin_in_child = begin_recording_in_child,
    .destroy = destroy_recording,
};

trace *make(tw_runtime &rt, std::size_t fires) {
    constexpr std::size_t line = sizeof(trace_ring::place);
    const std::size_t size = std::bit_ceil(fires);
    void *const memory = std::calloc(1, sizeof(trace));
    void *const places = std::calloc(size + 1, line);
    if (memory == nullptr || places == nullptr) {
        std::free(memory);
        std::free(places);
        return nullptr;
    }
    tw_port_hide(memory, sizeof(trace));
    tw_port_hide(places, (size + 1) * line);
    auto *const recording = new (memory) trace{};  // cppcheck-suppress legacyUninitvar
    char *const first = static_cast<char *>(places) + line - reinterpret_cast<std::uintptr_t>(places) % line;
    recording->serial = recordings.fetch_add(1, std::memory_order_relaxed) + 1;
    recording->record = record;
    recording->memory = places;
    recording->ring.use(reinterpret_cast<trace_ring::place *>(first), size);
    recording->began = clock_pair::now();
    recording->rt = &rt;
    return recording;
}

// If two threads begin the first recording at once, both get the one that was added first.
trace *open(tw_runtime &rt, std::size_t fires) {
    if (trace *const known = trace_of(rt); known != nullptr)
        return known;
    trace *const made = make(rt, fires);
    if (made != nullptr && !add_only_component(*made, rt, trace_hooks)) {
        free_memory(*made);
        return trace_of(rt);
    }
    return made;
}

}  // namespace

trace *trace_of(tw_runtime &rt) { return static_cast<trace *>(find_component(rt, trace_hooks)); }

}  // namespace tickwheel::observe

using namespace tickwheel;
using namespace tickwheel::observe;

TW_API int tw_trace_start(tw_runtime *rt, size_t fires) {
    if (const int error = fires == 0 ? runtime::check_usable(rt) : runtime::check_arming(rt); error != 0)
        return error;
    if (fires == 0)
        return end_recording(rt->meter) ? 0 : runtime::refuse(-ENOENT, "nothing is being recorded");
    if (fires > TW_TRACE_MAX)
        return runtime::refuse(-EINVAL, "the number of fires is more than TW_TRACE_MAX");
    const runtime::no_thread_cancel guard;
    trace *const recording = open(*rt, fires);
    if (recording == nullptr)
        return runtime::explain_system_error(-ENOMEM);
    if (fires > recording->ring.size())
        return runtime::refuse(-ENOSPC, "the first recording of this runtime was made for fewer fires");
    recording->ring.forget();
    begin_recording(*recording);
    return 0;
}
