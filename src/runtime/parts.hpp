// What is made on a runtime and ends with it: pools of workers, sets of timers.
#pragma once

#include "runtime.hpp"

namespace tickwheel::runtime {

struct part;

// What happens to a part when something happens to its runtime. Null: nothing.
struct part_kind {
    // tw_runtime_stop, from outside callbacks: nobody fires any more.
    void (*stop)(part &);

    // In the handlers of pthread_atfork, and see hold_all. PREPARE takes the locks of the part,
    // which come before those of the wheels; PARENT lets them go, and no more.
    void (*fork)(part &, tw_fork_moment);

    // Nobody fires, and the wheels are empty: gives back all that is the user's, by functions
    // of the user's, which may call anything. All parts are still there.
    void (*end)(part &);

    // tw_runtime_after_fork, in a child, when all parts have ended. 0 or a negative errno;
    // then it is called once more.
    int (*revive)(part &);

    // The runtime is being freed, and nothing of the user's runs any more. Also in the child
    // of a fork. Parts that were made later are gone. Takes itself off by no_part_any_more.
    void (*destroy)(part &);
};

struct part {
    tw_runtime *rt;
    const part_kind *kind;
    part *next, *previous;  // newest first; guarded by the runtime's parts_mutex
    std::uint64_t round;    // the last that it has been part of; see for_each_part_once
};

void make_part(part &it, tw_runtime &rt, const part_kind &kind);
void no_part_any_more(part &it);

// For the runtime's own life.
void stop_parts(tw_runtime &rt);
void end_parts(tw_runtime &rt);
void fork_parts(tw_runtime &rt, tw_fork_moment moment);
int revive_parts(tw_runtime &rt);

// Every lock of a runtime's that comes before those of its wheels: so that nobody is in the
// middle of anything but `control`, which a thread may hold while it waits for a callback.
void hold_all(tw_runtime &rt);
void let_go_of_all(tw_runtime &rt);
void destroy_parts(tw_runtime &rt);

}  // namespace tickwheel::runtime
