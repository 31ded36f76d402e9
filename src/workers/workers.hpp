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

// Whether these are workers of this runtime. Whoever uses them keeps them from being freed.
bool are_of(const tw_workers &workers, const tw_runtime &rt);
void add_user(tw_workers &workers);
void remove_user(tw_workers &workers);

}  // namespace tickwheel::runtime
