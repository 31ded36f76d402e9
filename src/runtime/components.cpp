// The list of a runtime's components, and the calls to their hooks. `components_mutex` guards the list.
#include "components.hpp"

#include "base/linked_list.hpp"
#include "core/door.h"
#include "wall.hpp"

namespace tickwheel::runtime {

namespace {

// Walks call a hook of each component without holding a lock.
//
// The hooks `stop` and `end` run the user's functions, or wait for them, and these functions may make and
// free components. So the mutex cannot be held meanwhile, and no pointer into the list would stay valid.
// Instead, a walk has a number, and each component remembers the last walk that reached it. The search for
// the next component continues at `unreached`, which remove_component keeps valid; at the end of the list it
// starts again at the front, where new components are. The walk ends when all components have its number. The
// component whose hook runs is not freed meanwhile: tw_workers_free waits for `lifecycle_mutex` or refuses,
// and a set cannot be freed from inside its own callbacks.
component *next_in(tw_runtime &rt, std::uint64_t walk) {
    const base::mutex_hold hold(&rt.components_mutex);
    component *each = rt.unreached;
    if (each == nullptr)  // at the end; new components are at the front
        each = rt.components;
    while (each != nullptr && each->last_walk == walk)
        each = each->next;
    rt.unreached = nullptr;
    if (each != nullptr) {
        each->last_walk = walk;
        rt.unreached = each->next;
    }
    return each;
}

// One walk at a time: with `lifecycle_mutex` held, or when no other thread is in a call.
void for_each_component_once(tw_runtime &rt, void (*component_hooks::*what)(component &)) {
    const std::uint64_t walk = ++rt.walks;
    {
        const base::mutex_hold hold(&rt.components_mutex);
        rt.unreached = rt.components;
    }
    while (component *each = next_in(rt, walk))
        if (each->hooks->*what != nullptr)
            (each->hooks->*what)(*each);
}

template <class Do> void for_each_component(tw_runtime &rt, Do what) TW_REQUIRES(rt.components_mutex) {
    for (component *each = rt.components; each != nullptr; each = each->next)
        what(*each);
}

// Calls a hook of each component that has it. Only for hooks that run none of the user's functions.
void call_each(tw_runtime &rt, void (*component_hooks::*what)(component &)) TW_REQUIRES(rt.components_mutex) {
    for_each_component(rt, [what](component &each) {
        if (each.hooks->*what != nullptr)
            (each.hooks->*what)(each);
    });
}

// The component that has asked to be settled, or null. Takes its lock before releasing the list's mutex, so
// that no thread frees it in between.
// ACQUIRES: the component's lock
component *lock_unsettled(tw_runtime &rt) {
    const base::mutex_hold hold(&rt.components_mutex);
    component *const unsettled = rt.unsettled;
    if (unsettled != nullptr)
        unsettled->hooks->lock(*unsettled);
    return unsettled;
}

// tw_core_fork takes a wheel's lock, and releases it in the parent. In the child it makes a new lock, and
// forgets the callbacks and waits of threads that the child lacks. A wheel that shares another wheel's lock
// leaves the lock to that wheel.
void fork_wheels(tw_runtime &rt, tw_core_fork_moment moment) {
    for_each_wheel(rt, [moment](tw &wheel) { tw_core_fork(&wheel, moment); });
}

void unlock_all_by(tw_runtime &rt, void (*component_hooks::*unlock)(component &), tw_core_fork_moment moment)
    TW_RELEASE(rt.components_mutex, rt.wall_mutex) {
    call_each(rt, unlock);
    fork_wheels(rt, moment);
    wall_hold::unlock(rt);
    rt.components_mutex.unlock();
}

// The newest component goes first, because it may use older ones, as a set uses its workers.
component *newest(tw_runtime &rt) {
    const base::mutex_hold hold(&rt.components_mutex);
    return rt.components;
}

component *find(tw_runtime &rt, const component_hooks &hooks) TW_REQUIRES(rt.components_mutex) {
    component *found = rt.components;
    while (found != nullptr && found->hooks != &hooks)
        found = found->next;
    return found;
}

}  // namespace

// Adding is the last step of making a component, so a component that was added before a fork is complete in
// the child.
void add_component_locked(component &added, tw_runtime &rt, const component_hooks &hooks) {
    added.rt = &rt;
    added.hooks = &hooks;
    added.last_walk = 0;
    added.number = ++rt.components_made;
    base::link_first(rt.components, added);
    if (hooks.work_relay != nullptr)
        rt.work_relay.store(hooks.work_relay, std::memory_order_relaxed);
}

void add_component(component &added, tw_runtime &rt, const component_hooks &hooks) {
    const base::mutex_hold hold(&rt.components_mutex);
    add_component_locked(added, rt, hooks);
}

bool add_only_component(component &added, tw_runtime &rt, const component_hooks &hooks) {
    const base::mutex_hold hold(&rt.components_mutex);
    if (find(rt, hooks) != nullptr)
        return false;
    add_component_locked(added, rt, hooks);
    return true;
}

component *find_component(tw_runtime &rt, const component_hooks &hooks) {
    const base::mutex_hold hold(&rt.components_mutex);
    return find(rt, hooks);
}

// If a walk would have reached this component next, the walk continues with the component after it.
void remove_component(component &removed) {
    const base::mutex_hold hold(&removed.rt->components_mutex);
    if (removed.rt->unreached == &removed)
        removed.rt->unreached = removed.next;
    base::unlink(removed.rt->components, removed);
}

void stop_components(tw_runtime &rt) { for_each_component_once(rt, &component_hooks::stop); }

void end_components(tw_runtime &rt) { for_each_component_once(rt, &component_hooks::end); }

// One `unsettled` is enough: only callbacks on the firing thread ask, and after the first such callback the
// wheel fires nothing more until `settle` has run.
void ask_to_settle(component &asking) {
    asking.rt->unsettled = &asking;
    for_each_wheel(*asking.rt, [](tw &wheel) {
        if (tw_core_is_in_callback(&wheel) != 0)
            tw_core_interrupt(&wheel);
    });
}

// Clears `unsettled` only if this component is still the one to settle: another may have asked since.
void mark_settled(component &settled) {
    component *unsettled = &settled;
    settled.rt->unsettled.compare_exchange_strong(unsettled, nullptr);
}

bool settle_components_slowly(tw_runtime &rt) {
    component *const unsettled = lock_unsettled(rt);
    return unsettled == nullptr || unsettled->hooks->settle(*unsettled);
}

// Holds the mutex throughout, unlike a walk: callbacks call this too, perhaps during a walk. The hooks take
// locks for a moment and wait for nothing.
void interrupt_components(tw_runtime &rt) {
    const base::mutex_hold hold(&rt.components_mutex);
    call_each(rt, &component_hooks::interrupt);
}

void begin_withdrawal_in_components(tw_runtime &rt) {
    const base::mutex_hold hold(&rt.components_mutex);
    call_each(rt, &component_hooks::begin_withdrawal);
}

// Takes one node per call, and releases the mutex in between, because tw_runtime_cancel_all calls the user's
// function for each node. That function may make and free components, so each search starts at the first
// component.
tw_node *withdraw_next_in_components(tw_runtime &rt) {
    const base::mutex_hold hold(&rt.components_mutex);
    tw_node *found = nullptr;
    for_each_component(rt, [&found](component &each) {
        if (found == nullptr && each.hooks->withdraw_next != nullptr)
            found = each.hooks->withdraw_next(each);
    });
    return found;
}

void lock_all(tw_runtime &rt) {
    rt.components_mutex.lock();
    wall_hold::lock(rt);
    fork_wheels(rt, TW_CORE_FORK_PREPARE);
    call_each(rt, &component_hooks::lock);
}

void unlock_all(tw_runtime &rt) { unlock_all_by(rt, &component_hooks::unlock, TW_CORE_FORK_PARENT); }

void unlock_all_in_child(tw_runtime &rt) {
    unlock_all_by(rt, &component_hooks::begin_in_child, TW_CORE_FORK_CHILD);
}

// For a child, which has only this thread. If a component cannot be revived, the runtime stays marked, and a
// repeated call revives the earlier components again.
int revive_components(tw_runtime &rt) {
    rt.components_mutex.assume_held();  // no other thread is here
    for (component *each = rt.components; each != nullptr; each = each->next)
        if (const int error = each->hooks->revive != nullptr ? each->hooks->revive(*each) : 0; error != 0)
            return error;
    return 0;
}

void destroy_components(tw_runtime &rt) {
    while (component *each = newest(rt))
        each->hooks->destroy(*each);
}

}  // namespace tickwheel::runtime
