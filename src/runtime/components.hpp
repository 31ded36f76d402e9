// Components are made on a runtime and end with it: pools of workers and sets of timers, for example. The
// runtime knows them only by their hooks. The order of locks is in state.hpp.
#pragma once

#include "state.hpp"

namespace tickwheel::runtime {

struct component;

// Work items are nodes whose callback only passes a fire on, to run elsewhere. The runtime recognises them by
// that callback; cancelling a work item must also take back the fires that were passed on. Records have no
// relay: the calls on records find their waiting fires through their set.
struct fire_relay {
    tw_callback *callback;
    std::uint32_t (*withdraw)(tw_node &);  // takes back the waiting fires; returns how many
    void (*wait_for_runs)(tw_node &);      // until the runs on other threads have ended
};

struct running_callbacks {
    running_callback *first;
    unsigned count;
    bool has_more;  // fires wait for a run, or a run begins or ends
};

// A component's hooks for the events of its runtime. A null hook does nothing. begin_in_child and destroy are
// never null; nor are lock and unlock if the component asks to be settled.
struct component_hooks {
    // How the runtime recognises nodes that are work items; null if the component has none. The runtime keeps
    // one value, so all components with a work_relay must set the same one.
    const fire_relay *work_relay = nullptr;

    // Take and release the component's lock. Nothing frees the component while a thread holds it.
    void (*lock)(component &) = nullptr;
    void (*unlock)(component &) = nullptr;

    // Replaces `unlock` in the child of a fork, which has the forking thread only.
    void (*begin_in_child)(component &) = nullptr;

    // Makes the firing thread leave, even out of `settle`. Any thread, in callbacks as well.
    // REQUIRES: components mutex held
    void (*interrupt)(component &) = nullptr;

    // The firing thread calls this outside callbacks, after ask_to_settle. Returns false if the firing thread
    // must leave first; then the runtime calls this again before it fires anything.
    // REQUIRES: component's lock held. RELEASES: it
    bool (*settle)(component &) = nullptr;

    // For tw_runtime_cancel_all: begin_withdrawal marks the fires that wait in the component now;
    // withdraw_next withdraws the marked fires of one node and returns the node, or null when none is left.
    // REQUIRES: components mutex held
    void (*begin_withdrawal)(component &) = nullptr;
    tw_node *(*withdraw_next)(component &) = nullptr;

    // tw_runtime_stop calls this from outside callbacks. Nothing fires any more.
    void (*stop)(component &) = nullptr;

    // Gives back everything that belongs to the user, by calling the user's functions, which may call
    // anything. Nothing fires any more, the wheels are empty, and all components still exist.
    void (*end)(component &) = nullptr;

    // tw_runtime_after_fork calls this in a child, after `end` of every component. 0 or a negative errno;
    // after an error the next tw_runtime_after_fork calls this again.
    int (*revive)(component &) = nullptr;

    // Frees the component, and calls remove_component. The runtime is being freed, and none of the user's
    // functions runs any more; later components are gone. Also in the child of a fork.
    void (*destroy)(component &) = nullptr;

    // The callbacks that the component's threads are running.
    // REQUIRES: components mutex held
    running_callbacks (*callbacks)(component &) = nullptr;
};

struct component {
    tw_runtime *rt;
    const component_hooks *hooks;
    component *next, *previous;  // newest first; guarded by the runtime's components_mutex
    std::uint64_t last_walk;     // the last walk that reached it; see for_each_component_once
    std::uint64_t number;        // later components have higher numbers
};

void add_component(component &added, tw_runtime &rt, const component_hooks &hooks);
void remove_component(component &removed);

void add_component_locked(component &added, tw_runtime &rt, const component_hooks &hooks)
    TW_REQUIRES(rt.components_mutex);

// For singletons. add_only_component returns false, having done nothing, if the runtime already has a
// component with these hooks; find_component returns null if it has none.
bool add_only_component(component &added, tw_runtime &rt, const component_hooks &hooks);
component *find_component(tw_runtime &rt, const component_hooks &hooks);

// --- called by components ---

// Call this in a callback on the firing thread. After that callback the firing thread calls this component's
// `settle` before it fires more. So `settle` runs outside callbacks, where no tw_runtime_cancel_wait waits
// for it.
// REQUIRES: component's lock held
void ask_to_settle(component &asking);

// Cancels ask_to_settle.
// REQUIRES: component's lock held, or components mutex held
void mark_settled(component &settled);

// --- for the runtime's own life ---

// The firing thread calls this before it fires, and after each wheel. If this returns false, the thread must
// leave, and call this again before it fires more. With nothing to settle this is one relaxed load: only the
// firing thread itself makes `unsettled` non-null, in its callbacks.
bool settle_components_slowly(tw_runtime &rt);
inline bool settle_components(tw_runtime &rt) {
    return rt.unsettled.load(std::memory_order_relaxed) == nullptr || settle_components_slowly(rt);
}

void interrupt_components(tw_runtime &rt);
void begin_withdrawal_in_components(tw_runtime &rt);
tw_node *withdraw_next_in_components(tw_runtime &rt);  // null when none is left

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
