// What is made on a runtime and ends with it: pools of workers, sets of timers.
#pragma once

#include "runtime.hpp"

namespace tickwheel::runtime {

struct part;

// What happens to a part when something happens to its runtime. Null: nothing.
struct part_kind {
    // tw_runtime_stop, from outside callbacks: nobody fires any more.
    void (*stop)(part &);

    // In the handlers of pthread_atfork. PREPARE takes the locks of the part, which come
    // before those of the wheels.
    void (*fork)(part &, tw_fork_moment);

    // tw_runtime_after_fork, in a child whose wheels are empty again. 0 or a negative errno;
    // then it is called once more.
    int (*revive)(part &);

    // The runtime is being freed: nobody fires, its wheels are empty, parts that were made
    // later are gone. Also in the child of a fork. Takes itself off by no_part_any_more.
    void (*destroy)(part &);
};

struct part {
    tw_runtime *rt;
    const part_kind *kind;
    part *next, *previous;     // newest first; guarded by the runtime's parts_mutex
    std::uint64_t stopped_in;  // which stop of the runtime it has seen
};

void make_part(part &it, tw_runtime &rt, const part_kind &kind);
void no_part_any_more(part &it);

// For the runtime's own life.
void stop_parts(tw_runtime &rt);
void fork_parts(tw_runtime &rt, tw_fork_moment moment);
int revive_parts(tw_runtime &rt);
void destroy_parts(tw_runtime &rt);

}  // namespace tickwheel::runtime
