#include "components.hpp"

namespace tickwheel::runtime {

namespace {

// A part that this round has not reached yet. The one that was reached last is not freed
// meanwhile (see tw_workers_free and its like), but functions of the user's that it calls or
// waits for may make and free others.
component *next_in(tw_runtime &rt, std::uint64_t round) {
    const mutex_hold hold(&rt.components_mutex);
    component *each = rt.unreached;
    if (each == nullptr)  // at the end; what was made meanwhile stands before
        each = rt.components;
    while (each != nullptr && each->round == round)
        each = each->next;
    rt.unreached = nullptr;
    if (each != nullptr) {
        each->round = round;
        rt.unreached = each->next;
    }
    return each;
}

// One round at a time.
void for_each_component_once(tw_runtime &rt, void (*component_hooks::*what)(component &)) {
    const std::uint64_t round = ++rt.rounds;
    {
        const mutex_hold hold(&rt.components_mutex);
        rt.unreached = rt.components;
    }
    while (component *each = next_in(rt, round))
        if (each->hooks->*what != nullptr)
            (each->hooks->*what)(*each);
}

component *newest(tw_runtime &rt) {
    const mutex_hold hold(&rt.components_mutex);
    return rt.components;
}

}  // namespace

void add_component(component &it, tw_runtime &rt, const component_hooks &hooks) {
    const mutex_hold hold(&rt.components_mutex);
    it = {&rt, &hooks, rt.components, nullptr, 0};
    if (rt.components != nullptr)
        rt.components->previous = &it;
    rt.components = &it;
}

void remove_component(component &it) {
    const mutex_hold hold(&it.rt->components_mutex);
    if (it.rt->components == &it)
        it.rt->components = it.next;
    if (it.rt->unreached == &it)
        it.rt->unreached = it.next;
    if (it.previous != nullptr)
        it.previous->next = it.next;
    if (it.next != nullptr)
        it.next->previous = it.previous;
}

void stop_components(tw_runtime &rt) { for_each_component_once(rt, &component_hooks::stop); }

void end_components(tw_runtime &rt) { for_each_component_once(rt, &component_hooks::end); }

void fork_components(tw_runtime &rt, tw_fork_moment moment) {
    if (moment == TW_FORK_PREPARE)
        pthread_mutex_lock(&rt.components_mutex);
    for (component *each = rt.components; each != nullptr; each = each->next)
        if (each->hooks->fork != nullptr)
            each->hooks->fork(*each, moment);
    if (moment != TW_FORK_PREPARE)
        pthread_mutex_unlock(&rt.components_mutex);
}

void lock_all(tw_runtime &rt) {
    fork_components(rt, TW_FORK_PREPARE);
    if (rt.wall != nullptr)
        pthread_mutex_lock(&rt.wall->mutex);
}

void unlock_all(tw_runtime &rt) {
    if (rt.wall != nullptr)
        pthread_mutex_unlock(&rt.wall->mutex);
    fork_components(rt, TW_FORK_PARENT);
}

int revive_components(tw_runtime &rt) {
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
