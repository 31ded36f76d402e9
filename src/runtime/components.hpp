// What is made on a runtime and ends with it: pools of workers, sets of timers.
#pragma once

#include "runtime.hpp"

namespace tickwheel::runtime {

struct component;

// What happens to a part when something happens to its runtime. Null: nothing.
struct component_hooks {
    // tw_runtime_stop, from outside callbacks: nobody fires any more.
    void (*stop)(component &);

    // In the handlers of pthread_atfork, and see lock_all. PREPARE takes the locks of the part,
    // which come before those of the wheels; PARENT lets them go, and no more.
    void (*fork)(component &, tw_fork_moment);

    // Nobody fires, and the wheels are empty: gives back all that is the user's, by functions
    // of the user's, which may call anything. All parts are still there.
    void (*end)(component &);

    // tw_runtime_after_fork, in a child, when all parts have ended. 0 or a negative errno;
    // then it is called once more.
    int (*revive)(component &);

    // The runtime is being freed, and nothing of the user's runs any more. Also in the child
    // of a fork. Parts that were made later are gone. Takes itself off by remove_component.
    void (*destroy)(component &);
};

struct component {
    tw_runtime *rt;
    const component_hooks *hooks;
    component *next, *previous;  // newest first; guarded by the runtime's components_mutex
    std::uint64_t round;         // the last that it has been part of; see for_each_component_once
};

void add_component(component &it, tw_runtime &rt, const component_hooks &hooks);
void remove_component(component &it);

// For the runtime's own life.
void stop_components(tw_runtime &rt);
void end_components(tw_runtime &rt);
void fork_components(tw_runtime &rt, tw_fork_moment moment);
int revive_components(tw_runtime &rt);

// Every lock of a runtime's that comes before those of its wheels: so that nobody is in the
// middle of anything but `control`, which a thread may hold while it waits for a callback.
void lock_all(tw_runtime &rt);
void unlock_all(tw_runtime &rt);
void destroy_components(tw_runtime &rt);

}  // namespace tickwheel::runtime
