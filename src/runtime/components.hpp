// Components: what is made on a runtime and ends with it, such as pools of workers and sets of
// timers. The runtime knows them by their hooks alone. The order of locks is in state.hpp.
#pragma once

#include "state.hpp"

namespace tickwheel::runtime {

struct component;

// Jobs: nodes whose callback only passes a fire on, to be run elsewhere. The runtime recognises them by that
// callback; cancelling one has to take back the fires that were passed on, too. Records have no relay: the
// calls on records find their waiting fires through their set.
struct fire_relay {
    tw_callback *callback;
    std::uint32_t (*withdraw)(tw_node &);  // takes back the fires that wait; returns how many
    void (*wait_for_runs)(tw_node &);      // until the runs that other threads are in have ended
};

struct running_callbacks {
    running_callback *first;
    unsigned count;
    bool has_more;  // fires that wait to be run, or a run that begins or ends
};

// A component's answers to what happens to its runtime. A hook that is null does nothing;
// begin_in_child and destroy are never null, nor are lock and unlock of one that asks to be settled.
struct component_hooks {
    // How the runtime recognises nodes that are jobs; null if the component has none. The runtime keeps one
    // value, so all components that set it set it to the same one.
    const fire_relay *job_relay = nullptr;

    // Take and release the component's lock. A thread that holds it keeps the component from being freed.
    void (*lock)(component &) = nullptr;
    void (*unlock)(component &) = nullptr;

    // In the child of a fork, instead of `unlock`: only the forking thread is there.
    void (*begin_in_child)(component &) = nullptr;

    // The firing thread is to leave, also out of `settle`. Any thread, in callbacks as well.
    // REQUIRES: components mutex held
    void (*interrupt)(component &) = nullptr;

    // Called by the firing thread, outside of callbacks, after ask_to_settle. Returns false if the
    // firing thread has to leave first; then it is called again before anything is fired.
    // REQUIRES: component's lock held. RELEASES: it
    bool (*settle)(component &) = nullptr;

    // For tw_runtime_clear: fires that wait in the component, one after the other. The first marks
    // those that wait now; the second takes back those of one node and returns that, or null.
    // REQUIRES: components mutex held
    void (*begin_clear)(component &) = nullptr;
    tw_node *(*clear_one)(component &) = nullptr;

    // tw_runtime_stop, from outside callbacks: nothing is fired any more.
    void (*stop)(component &) = nullptr;

    // Nothing is fired any more, and the wheels are empty: gives back all that is the user's, by
    // functions of the user's, which may call anything. All components are still there.
    void (*end)(component &) = nullptr;

    // tw_runtime_after_fork, in a child, when all components have ended. 0 or a negative errno;
    // then it is called once more.
    int (*revive)(component &) = nullptr;

    // The runtime is being freed, and nothing of the user's runs any more. Also in the child
    // of a fork. Components that were made later are gone. Takes itself off by remove_component.
    void (*destroy)(component &) = nullptr;

    // What the threads of the component run at this moment.
    // REQUIRES: components mutex held
    running_callbacks (*callbacks)(component &) = nullptr;
};

struct component {
    tw_runtime *rt;
    const component_hooks *hooks;
    component *next, *previous;  // newest first; guarded by the runtime's components_mutex
    std::uint64_t last_walk;     // the last that has reached it; see for_each_component_once
    std::uint64_t number;        // of a later one, it is higher
};

void add_component(component &added, tw_runtime &rt, const component_hooks &hooks);
void remove_component(component &it);

void add_component_locked(component &added, tw_runtime &rt, const component_hooks &hooks)
    TW_REQUIRES(rt.components_mutex);

// Of kinds that a runtime has at most one of. The first returns false, having done nothing, if there is one
// with these hooks already; the second returns null if there is none.
bool add_only_component(component &it, tw_runtime &rt, const component_hooks &hooks);
component *find_component(tw_runtime &rt, const component_hooks &hooks);

// --- called by components ---

// From inside a callback on the firing thread: has it call nothing more, and then this component's
// `settle` before it fires more. So that is done outside of callbacks, where no tw_runtime_cancel_wait
// waits for it.
// REQUIRES: component's lock held
void ask_to_settle(component &it);

// `settle` need not be called (any more).
// REQUIRES: component's lock held, or components mutex held
void mark_settled(component &it);

// --- for the runtime's own life ---

// Called by the firing thread before it fires, and after each wheel. Returns false if the thread has to
// leave, and to call this again before it fires more. With nothing to settle this is one relaxed load:
// only the firing thread itself makes `unsettled` non-null, in its callbacks.
bool settle_components_slowly(tw_runtime &rt);
inline bool settle_components(tw_runtime &rt) {
    return rt.unsettled.load(std::memory_order_relaxed) == nullptr || settle_components_slowly(rt);
}

void interrupt_components(tw_runtime &rt);
void begin_to_clear_components(tw_runtime &rt);
tw_node *clear_one_in_components(tw_runtime &rt);  // null when all are cleared

void stop_components(tw_runtime &rt);
void end_components(tw_runtime &rt);
int revive_components(tw_runtime &rt);
void destroy_components(tw_runtime &rt);

// For a fork: take and release every lock of a runtime, so that no other thread is in the middle of a change.
// Not `lifecycle_mutex`, which a thread may hold while it waits for a callback.
void lock_all(tw_runtime &rt) TW_ACQUIRE(rt.components_mutex, rt.wall_mutex);
void unlock_all(tw_runtime &rt) TW_RELEASE(rt.components_mutex, rt.wall_mutex);
void unlock_all_in_child(tw_runtime &rt) TW_RELEASE(rt.components_mutex, rt.wall_mutex);

}  // namespace tickwheel::runtime
