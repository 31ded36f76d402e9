// The interface between the benchmark and its modules. A module is a shared object that holds one
// timer implementation. It is opened with RTLD_LOCAL because two builds of this library define
// the same symbols, and so do libev and libevent.
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
    fire_cpu,
    idle,
    contend,
    foreign,
    handle_start,
    handle_move,
    life,
    churn,
    block_longest,
    block_p999,
    block_total,
    handle_memory,
    keyed,
    spawn,
    ttl_mix,
    ttl_p50,
    ttl_p99,
    ttl_max,
    observed_rearm,
    observed_nodes,
    observed_handles,
    idle_tick,  // only for counting instructions
};

// The kinds of module. Each has a folder of modules and a header that states what an
// implementation provides.
enum class Kind {
    calls,      // modules/, workloads.h: what the calls cost, on one thread
    waiting,    // waiting/, waiting.h: lateness and idle, of a loop
    threads,    // threads/, threads.h: contend and foreign, calls from other threads
    handle,     // handle/: timers that the library keeps, compared with nodes
    keyed,      // keyed/: timers under keys
    spawn,      // spawn/: lambdas called once
    ttl,        // ttl/: maps whose entries expire
    observing,  // observing/: with and without the runtime's meter
};

struct Sample {
    Workload workload;
    double value;
};

// One run of one implementation. Workloads that one run names share one set-up: n
// timers, armed.
struct Task {
    std::vector<Workload> workloads;
    std::size_t n;
    std::size_t operations;  // of the only run (--once); 0: as many as make a steady figure
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
    const char *idiom;  // how it postpones; for waiting, how it waits; for threads, how they share
    bool virtual_time;  // for calls: moves its own clock forward instead of waiting for real time
    std::vector<Sample> (*run)(const Task &);
    const char *(*why_not)() = nullptr;  // returns null if it can run on this system, else the reason why not
};

// The only symbol that a module exports.
extern "C" const Module *tickwheel_bench_module();

// Aborts the run: figures of an implementation that fails are worthless.
inline void require(bool holds, const char *what) {
    if (holds)
        return;
    std::fprintf(stderr, "\nbench: broken: %s\n", what);
    std::abort();
}

}  // namespace bench

#endif
