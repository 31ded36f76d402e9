// Making, freeing and setting back the wall timeline. See wall.hpp.
#include "wall.hpp"

#include <tickwheel/port.h>

#include <cstdlib>
#include <new>

#include "core/door.h"

namespace tickwheel::runtime {

namespace {

// The firing thread sleeps until a tick of the old count, which is not comparable with the ticks of timers
// armed from now on. So any of them wakes it.
void wake_for_anything(timeline &line) {
    __atomic_store_n(&line.lanes.attention[0].next, never, __ATOMIC_SEQ_CST);
    tick sleeps_until = line.asleep_until.load(std::memory_order_relaxed);
    while (sleeps_until != awake && sleeps_until != falling_asleep &&
           !line.asleep_until.compare_exchange_weak(sleeps_until, falling_asleep - 1)) {
    }
}

}  // namespace

int make_wall(tw_runtime &rt, const tick_unit &unit) {
    void *memory = std::calloc(1, sizeof(timeline));
    if (memory == nullptr)
        return -ENOMEM;
    tw_port_hide(memory, sizeof(timeline));
    rt.absolute = new (memory) timeline;
    if (is_manual(*rt.driver))
        rt.absolute->clock.be_virtual(&rt.steady.clock);
    else
        rt.absolute->clock.be_system(CLOCK_REALTIME);
    rt.absolute->open(unit, true);
    open_lanes(rt.absolute->lanes, rt.absolute->wheel, rt.absolute->clock, 1);
    tw_core_share_lock(&rt.absolute->wheel, &rt.steady.wheel);
    return 0;
}

void free_wall(tw_runtime &rt) {
    if (has_wall(rt))
        std::free(rt.absolute);
    rt.absolute = &rt.steady;
}

// The clock was set back by `back` ticks. From here on deadlines are converted with the larger `set_back`,
// and pending timers move by as much, so all stay due at the readings they were armed for. tw_core_shift
// keeps every timer pending throughout, and shifts the deadline of the running callback too, so a concurrent
// call never finds either missing.
// REQUIRES: wall_hold
void timeline::shift(tick back) {
    set_back.store(set_back.load(std::memory_order_relaxed) + back, std::memory_order_relaxed);
    wake_for_anything(*this);
    times_set_back.fetch_add(1, std::memory_order_relaxed);
    tw_core_shift(&wheel, back);
}

}  // namespace tickwheel::runtime
