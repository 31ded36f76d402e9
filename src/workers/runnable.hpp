// Workers for timers of the library's own: src/timers makes its records runnable, enqueues their fires
// and withdraws them. Jobs (tw_job_init) are made of the same functions. Any thread, except as noted.
#pragma once

#include <tickwheel/workers.h>

#include "runtime/components.hpp"

// How a worker runs or discards the fires of a runnable. Called with no lock held.
struct tw_runnable_hooks {
    void (*run)(tw_runnable &);                             // runs one fire
    void (*discarded)(tw_runnable &, std::uint32_t fires);  // so many fires will not be run
    void (*describe)(const tw_runnable &, tickwheel::runtime::running_callback &);  // what `run` will run
};

namespace tickwheel::workers {

void make_runnable(tw_runnable &it, tw_workers &workers, const tw_runnable_hooks &hooks, bool concurrent);

// Has a worker run a fire. Called by the firing thread. With `skips`, a fire joins one that waits already.
enum class enqueued {
    waits,
    joins,    // an earlier fire waits, and counts this one as an overrun
    rejected  // the queue is full
};
enqueued enqueue(tw_runnable &it, bool skips, std::int64_t due, std::uint64_t overruns);

// Takes back the fires that still wait; returns how many.
std::uint32_t withdraw(tw_runnable &it);

// True if these are workers of this runtime. A set that uses them has a reference, which keeps them
// from being freed.
bool are_of(const tw_workers &workers, const tw_runtime &rt);
void add_reference(tw_workers &workers);
void remove_reference(tw_workers &workers);

}  // namespace tickwheel::workers
