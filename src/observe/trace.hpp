// A recording of fires: a component of its runtime, from the first tw_trace_start to the end of the runtime.
#pragma once

#include "runtime/components.hpp"
#include "trace_ring.hpp"

namespace tickwheel::observe {

// A thread that has run callbacks.
struct traced_thread {
    std::atomic<int> id;  // 0: none yet
    char name[runtime::thread_name_size];
    std::atomic<bool> has_name;
};

inline constexpr unsigned most_traced_threads = 256;  // further threads have no name in a trace

// One moment on two clocks.
struct clock_pair {
    runtime::stopwatch::reading counter;
    std::int64_t monotonic_ns;

    static clock_pair now() {
        const runtime::stopwatch::reading before = runtime::stopwatch::now();
        const std::int64_t monotonic_ns = runtime::system_reading(CLOCK_MONOTONIC);
        const runtime::stopwatch::reading after = runtime::stopwatch::now();
        return {before + (after - before) / 2, monotonic_ns};
    }
};

struct trace : runtime::component, runtime::fire_recorder {
    std::uint64_t serial;  // number of this recording in the process
    trace_ring ring;
    void *memory;      // of the ring
    clock_pair began;  // start of the first recording; times count from there
    traced_thread threads[most_traced_threads];
};

// The contents of kept_fire::tags.
struct fire_tags {
    int thread;
    unsigned label;
    unsigned overruns;  // `most_overruns` also stands for more
    tw_late_cause cause;
    runtime::run_kind kind;
    bool is_handle;  // whether `timer` is a handle

    static constexpr unsigned most_overruns = 0xFFFF;

    std::uint64_t packed() const {
        return std::uint64_t{static_cast<std::uint32_t>(thread)} | std::uint64_t{overruns} << 32 |
               std::uint64_t{label} << 48 | std::uint64_t{static_cast<unsigned>(cause)} << 56 |
               std::uint64_t{static_cast<unsigned>(kind)} << 58 | std::uint64_t{is_handle} << 60;
    }
    static fire_tags of(std::uint64_t packed) {
        return {
            static_cast<int>(packed & 0xFFFF'FFFF),           static_cast<unsigned>(packed >> 48 & 0xFF),
            static_cast<unsigned>(packed >> 32 & 0xFFFF),     static_cast<tw_late_cause>(packed >> 56 & 3),
            static_cast<runtime::run_kind>(packed >> 58 & 3), (packed >> 60 & 1) != 0};
    }
};
static_assert(TW_LABELS <= 256);

// The recording of a runtime; null if there never was one.
trace *trace_of(tw_runtime &rt);

}  // namespace tickwheel::observe
