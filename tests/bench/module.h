// What the benchmark and a module know of each other. A module is a shared object
// with one timer implementation in it, opened with RTLD_LOCAL: two builds of this
// library have the same symbols, and so do libev and libevent.
#ifndef TICKWHEEL_BENCH_MODULE_H
#define TICKWHEEL_BENCH_MODULE_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "inputs.h"

namespace bench {

enum class Workload {
    rearm_hot,
    rearm_cold,
    postpone,
    serve,
    expire,
    worst_tick,
    sparse,
    periodic,
    memory_timer,
    memory_loop,
    idle_tick,  // only for counting instructions
};

struct Sample {
    Workload workload;
    double value;
};

// One run of one implementation. Workloads that are asked for together share one
// set-up: n timers, armed.
struct Task {
    std::vector<Workload> workloads;
    std::size_t n;
    std::size_t operations;  // of rearm_hot and idle_tick; 0: as many as make a good figure
    const Inputs &inputs;

    bool wants(Workload workload) const {
        for (Workload each : workloads)
            if (each == workload)
                return true;
        return false;
    }
};

struct Module {
    const char *version;
    const char *postpone_idiom;
    bool virtual_time;  // goes through time as fast as it can, instead of waiting for it
    std::vector<Sample> (*run)(const Task &);
};

// The one symbol of a module.
extern "C" const Module *tickwheel_bench_module();

// A benchmark of something that does not work is worth nothing.
inline void require(bool holds, const char *what) {
    if (holds)
        return;
    std::fprintf(stderr, "\nbench: broken: %s\n", what);
    std::abort();
}

}  // namespace bench

#endif
