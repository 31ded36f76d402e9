#include "parts.hpp"

namespace tickwheel::runtime {

namespace {

// A part that this round has not reached yet. The one that was reached last is not freed
// meanwhile (see tw_workers_free and its like), but functions of the user's that it calls or
// waits for may make and free others.
part *next_in(tw_runtime &rt, std::uint64_t round) {
    const mutex_hold hold(&rt.parts_mutex);
    part *each = rt.unreached;
    if (each == nullptr)  // at the end; what was made meanwhile stands before
        each = rt.parts;
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
void for_each_part_once(tw_runtime &rt, void (*part_kind::*what)(part &)) {
    const std::uint64_t round = ++rt.rounds;
    {
        const mutex_hold hold(&rt.parts_mutex);
        rt.unreached = rt.parts;
    }
    while (part *each = next_in(rt, round))
        if (each->kind->*what != nullptr)
            (each->kind->*what)(*each);
}

part *newest(tw_runtime &rt) {
    const mutex_hold hold(&rt.parts_mutex);
    return rt.parts;
}

}  // namespace

void make_part(part &it, tw_runtime &rt, const part_kind &kind) {
    const mutex_hold hold(&rt.parts_mutex);
    it = {&rt, &kind, rt.parts, nullptr, 0};
    if (rt.parts != nullptr)
        rt.parts->previous = &it;
    rt.parts = &it;
}

void no_part_any_more(part &it) {
    const mutex_hold hold(&it.rt->parts_mutex);
    if (it.rt->parts == &it)
        it.rt->parts = it.next;
    if (it.rt->unreached == &it)
        it.rt->unreached = it.next;
    if (it.previous != nullptr)
        it.previous->next = it.next;
    if (it.next != nullptr)
        it.next->previous = it.previous;
}

void stop_parts(tw_runtime &rt) { for_each_part_once(rt, &part_kind::stop); }

void end_parts(tw_runtime &rt) { for_each_part_once(rt, &part_kind::end); }

void fork_parts(tw_runtime &rt, tw_fork_moment moment) {
    if (moment == TW_FORK_PREPARE)
        pthread_mutex_lock(&rt.parts_mutex);
    for (part *each = rt.parts; each != nullptr; each = each->next)
        if (each->kind->fork != nullptr)
            each->kind->fork(*each, moment);
    if (moment != TW_FORK_PREPARE)
        pthread_mutex_unlock(&rt.parts_mutex);
}

void hold_all(tw_runtime &rt) {
    fork_parts(rt, TW_FORK_PREPARE);
    if (rt.wall != nullptr)
        pthread_mutex_lock(&rt.wall->mutex);
}

void let_go_of_all(tw_runtime &rt) {
    if (rt.wall != nullptr)
        pthread_mutex_unlock(&rt.wall->mutex);
    fork_parts(rt, TW_FORK_PARENT);
}

int revive_parts(tw_runtime &rt) {
    for (part *each = rt.parts; each != nullptr; each = each->next)
        if (const int error = each->kind->revive != nullptr ? each->kind->revive(*each) : 0; error != 0)
            return error;
    return 0;
}

void destroy_parts(tw_runtime &rt) {
    while (part *each = newest(rt))
        each->kind->destroy(*each);
}

}  // namespace tickwheel::runtime
