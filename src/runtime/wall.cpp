#include "wall.hpp"

#include <cstdlib>
#include <new>

namespace tickwheel::runtime {

namespace {

struct shift {
    tw *wheel;
    tick by;
};

// Nodes of one tick are handed out in their order, and keep it.
void arm_later(tw_node *node, void *arg) {
    const shift &back = *static_cast<const shift *>(arg);
    const tick due = node->expiry > never - 1 - back.by ? never - 1 : node->expiry + back.by;
    if (node->period == 0)
        tw_arm_at(back.wheel, node, due);
    else
        tw_arm_every(back.wheel, node, due, node->period, static_cast<tw_missed>(node->missed),
                     node->fires_left);
}

bool is_interrupted(wall_timeline &wall, tick due) {
    return wall.interrupted.node != nullptr && wall.interrupted.node == tw_running(&wall.wheel) &&
           wall.interrupted.due == due;
}

void remember_callback(wall_timeline &wall) {
    const tick due = tw_due(&wall.wheel);
    if (due != never && !is_interrupted(wall, due))
        wall.interrupted = {tw_running(&wall.wheel), due, wall.set_back};
}

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
    rt.wall = new (memory) wall_timeline;
    pthread_mutex_init(&rt.wall->mutex, nullptr);
    tw_init(&rt.wall->wheel, rt.unit.down(rt.clocks.wall()), 0);
    return 0;
}

void free_wall(tw_runtime &rt) {
    if (rt.wall != nullptr)
        pthread_mutex_destroy(&rt.wall->mutex);
    std::free(rt.wall);
    rt.wall = nullptr;
}

// What the wheel was told is read first: the clock reads no less afterwards, unless it
// was set back.
tick wall_present(tw_runtime &rt) {
    wall_timeline &wall = *rt.wall;
    const tick told = tw_now(&wall.wheel);
    const tick read = rt.unit.down(rt.clocks.wall()) + wall.set_back;
    if (read >= told)
        return read;
    remember_callback(wall);
    shift back = {&wall.wheel, told - read};
    wall.set_back += back.by;
    wake_for_anything(wall);
    rt.seen.clock_sets.fetch_add(1, std::memory_order_relaxed);
    tw_clear(&wall.wheel, arm_later, &back);
    return told;
}

tick wall_tick(const tw_runtime &rt, std::int64_t deadline) {
    return rt.unit.up(deadline) + rt.wall->set_back;
}

std::int64_t wall_due(tw_runtime &rt) {
    const wall_timeline &wall = *rt.wall;
    const tick due = tw_due(&rt.wall->wheel);
    if (due == never)
        return TW_NO_DEADLINE;
    return rt.unit.reading(due - (is_interrupted(*rt.wall, due) ? wall.interrupted.set_back : wall.set_back));
}

std::int64_t wall_reading(const tw_runtime &rt, tick t) { return rt.unit.reading(t - rt.wall->set_back); }

}  // namespace tickwheel::runtime
