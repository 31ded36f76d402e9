// A recorder gets each fire when it is over, for a trace. The runtime knows a recorder only by its one
// function, so a program that makes none links none.
#pragma once

#include <tickwheel/observe.h>

#include "stopwatch.hpp"

namespace tickwheel::runtime {

struct running_callback;

struct fire_lateness {
    std::int64_t ns;
    tw_late_cause cause;
};

// fired: the callback ran on the firing thread. passed_on: the firing thread only passed the fire on to a
// worker. on_worker: a worker ran the callback. Only the firing thread knows the lateness.
enum class run_kind : std::uint8_t { fired, passed_on, on_worker };

struct recorded_fire {
    stopwatch::reading begun, ended;
    std::int64_t due;  // a reading of the runtime's clock
    fire_lateness late;
    std::uint64_t overruns;
    run_kind kind;
    const running_callback &what;  // label, node, handle and function
};

// The thread that ran the callback calls `record`, with no lock held or with the wheels' lock.
struct fire_recorder {
    void (*record)(fire_recorder &, const recorded_fire &);
};

}  // namespace tickwheel::runtime
