// What timers that are run by workers need of them. See workers.h.
#pragma once

#include <tickwheel/workers.h>

#include "runtime/components.hpp"

// What the workers do with something to be run. Called with no lock held.
struct tw_runnable_kind {
    void (*run)(tw_runnable &);                             // one fire of it
    void (*discarded)(tw_runnable &, std::uint32_t fires);  // these will not be run
};

namespace tickwheel::runtime {

void make_runnable(tw_runnable &it, tw_workers &workers, const tw_runnable_kind &kind, bool concurrent);

// In the callback of its node: has a worker run it.
enum class enqueued {
    waits,
    joins,    // an earlier fire that waits, and counts it as an overrun
    rejected  // the queue is full
};
enqueued enqueue(tw_runnable &it, const tw_node &node, std::int64_t due, std::uint64_t overruns);

// Takes back the fires that still wait; returns how many.
std::uint32_t withdraw(tw_runnable &it);

// The same for jobs whose fires wait, one by one: those of all that waited when this began.
// Returns the node of one; null: there is none any more.
void begin_to_withdraw_jobs(tw_runtime &rt);
tw_node *withdraw_a_job(tw_runtime &rt);

// Returns when the runs that other threads are in have ended; at once from inside one.
void wait_for_runs(tw_runnable &it);

// What a job's node has run; null for other nodes.
tw_runnable *runnable_of(tw_node *node);

// Whether these are workers of this runtime. Whoever uses them keeps them from being freed.
bool are_of(const tw_workers &workers, const tw_runtime &rt);
void use(tw_workers &workers);
void use_no_more(tw_workers &workers);

// --- for the runtime's own life ---

// Called by whoever fires, before and after its wheels do: sees that no more fires wait
// than may. False: it has to leave first, and calls this again before it fires more.
bool keep_to_bound(tw_runtime &rt);

// Whoever fires is to leave: also out of keep_to_bound. Discards what is to be discarded.
void interrupt_workers(tw_runtime &rt);

// Whether this thread is a worker of the runtime, in a run; and if so: has it free the
// runtime when that has returned.
bool is_worker_of(const tw_runtime &rt);
void free_after_this_run();

}  // namespace tickwheel::runtime
