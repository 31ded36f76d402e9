#include "wall.hpp"

#include <tickwheel/port.h>

#include <cstdlib>
#include <new>

namespace tickwheel::runtime {

namespace {

// What the thread sleeps for is a tick by the former count, with which those armed from
// now on cannot be compared.
void wake_for_anything(wall_timeline &wall) {
    tick sleeps_until = wall.asleep_until.load(std::memory_order_relaxed);
    while (sleeps_until != awake && !wall.asleep_until.compare_exchange_weak(sleeps_until, never)) {
    }
}

}  // namespace

int make_wall(tw_runtime &rt) {
    void *memory = std::calloc(1, sizeof(wall_timeline));
    if (memory == nullptr)
        return -ENOMEM;
    tw_port_hide(memory, sizeof(wall_timeline));
    rt.wall = new (memory) wall_timeline;
    pthread_mutex_init(&rt.wall->mutex, nullptr);
    rt.wall->told = rt.unit.down(rt.clocks.wall());
    tw_init(&rt.wall->wheel, rt.wall->told, 0);
    return 0;
}

void free_wall(tw_runtime &rt) {
    if (rt.wall != nullptr)
        pthread_mutex_destroy(&rt.wall->mutex);
    std::free(rt.wall);
    rt.wall = nullptr;
}

// All nodes are pending at every moment, and what the running callback was due at moves
// with them: so nobody who asks for either needs the mutex to tell one from the other.
tick wall_present(tw_runtime &rt) {
    wall_timeline &wall = *rt.wall;
    const tick read = rt.unit.down(rt.clocks.wall()) + wall.set_back;
    if (read >= wall.told)
        return read;
    const tick back = wall.told - read;
    wall.set_back += back;
    wake_for_anything(wall);
    rt.counters.clock_sets.fetch_add(1, std::memory_order_relaxed);
    tw_postpone_all(&wall.wheel, back);
    return wall.told;
}

tick wall_present_to_tell(tw_runtime &rt) {
    const wall_hold hold(rt);
    return rt.wall->told = wall_present(rt);
}

tick wall_tick(const tw_runtime &rt, std::int64_t deadline) {
    return rt.unit.up(deadline) + rt.wall->set_back;
}

std::int64_t wall_reading(const tw_runtime &rt, tick t) { return rt.unit.reading(t - rt.wall->set_back); }

}  // namespace tickwheel::runtime
