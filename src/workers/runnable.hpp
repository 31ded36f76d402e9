// The workers' interface for the library's own timers: src/timers makes its records runnable, enqueues
// their fires and withdraws them. Work items (tw_work_init) use the same functions. Any thread, except as
// noted.
#pragma once

#include <tickwheel/workers.h>

#include "runtime/components.hpp"

// How a worker runs or discards the fires of a runnable. Called with no lock held.
struct tw_runnable_hooks {
    void (*run)(tw_runnable &);                             // runs one fire
    void (*discarded)(tw_runnable &, std::uint32_t fires);  // that many fires will not run
    void (*describe)(const tw_runnable &, tickwheel::runtime::running_callback &);  // the callback of `run`
};

namespace tickwheel::workers {

void make_runnable(tw_runnable &runnable, tw_workers &workers, const tw_runnable_hooks &hooks,
                   bool concurrent);

// Queues a fire for a worker; with `skips`, the fire joins a waiting one if there is one. Called by the
// firing thread.
enum class enqueued {
    waits,
    joins,    // a waiting fire counts this one as an overrun
    rejected  // the queue is full
};
enqueued enqueue(tw_runnable &runnable, bool skips, std::int64_t due, std::uint64_t overruns);

// Takes back the waiting fires; returns how many.
std::uint32_t withdraw(tw_runnable &runnable);

// True if the workers belong to this runtime.
bool are_of(const tw_workers &workers, const tw_runtime &rt);

// A set holds a reference to its workers, so tw_workers_free refuses to free them.
void add_reference(tw_workers &workers);
void remove_reference(tw_workers &workers);

}  // namespace tickwheel::workers
