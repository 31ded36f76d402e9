#include "parts.hpp"

namespace tickwheel::runtime {

namespace {

// A part that this stop has not reached yet. None is freed meanwhile (see tw_workers_free
// and its like), but callbacks that are waited for may make and free others.
part *next_to_stop(tw_runtime &rt, std::uint64_t stop) {
    const mutex_hold hold(&rt.parts_mutex);
    for (part *each = rt.parts; each != nullptr; each = each->next)
        if (each->kind->stop != nullptr && each->stopped_in != stop) {
            each->stopped_in = stop;
            return each;
        }
    return nullptr;
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
    if (it.previous != nullptr)
        it.previous->next = it.next;
    if (it.next != nullptr)
        it.next->previous = it.previous;
}

void stop_parts(tw_runtime &rt) {
    const std::uint64_t stop = ++rt.stops;
    while (part *each = next_to_stop(rt, stop))
        each->kind->stop(*each);
}

void fork_parts(tw_runtime &rt, tw_fork_moment moment) {
    if (moment == TW_FORK_PREPARE)
        pthread_mutex_lock(&rt.parts_mutex);
    for (part *each = rt.parts; each != nullptr; each = each->next)
        if (each->kind->fork != nullptr)
            each->kind->fork(*each, moment);
    if (moment != TW_FORK_PREPARE)
        pthread_mutex_unlock(&rt.parts_mutex);
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
