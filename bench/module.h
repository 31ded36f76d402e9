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
    lateness_p50,
    lateness_p99,
    lateness_max,
    idle,
    contend,
    foreign,
    handle_start,
    handle_move,
    keyed,
    spawn,
    ttl_mix,
    ttl_p50,
    ttl_p99,
    ttl_max,
    idle_tick,  // only for counting instructions
};

// What a module runs: each kind has a folder of modules, and a header that says what
// an implementation has to bring.
enum class Kind {
    calls,    // modules/, workloads.h: what the calls cost, on one thread
    waiting,  // waiting/, waiting.h: lateness and idle, of a loop
    threads,  // threads/, threads.h: contend and foreign, calls from other threads
    handle,   // handle/: timers that a library keeps, beside nodes
    keyed,    // keyed/: timers under keys
    spawn,    // spawn/: lambdas
    ttl,      // ttl/: maps whose entries expire
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
    bool quick = false;

    bool wants(Workload workload) const {
        for (Workload each : workloads)
            if (each == workload)
                return true;
        return false;
    }
};

struct Module {
    const char *version;
    const char *idiom;  // postpone's; of a loop, its finest way to wait; of threads, how they share
    bool virtual_time;  // of calls: goes through time as fast as it can, instead of waiting for it
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
