// P12: deadlines on the wall clock, which may be set.
//
// Forwards: what has come due meanwhile fires. Back: every node of the wall timeline is
// moved as many ticks later, so that it is still due at the same reading. Whoever reads
// the clock first after it was set back does that: the thread before it fires, or a call
// before it arms; so no node is taken as due by a reading that was withdrawn (P1). The
// sum of all that has ways to go: 2^64 ticks, 584 years of ticks of 1 ns.
#pragma once

#include "runtime.hpp"

namespace tickwheel::runtime {

// Held by calls on nodes of a runtime with two timelines; nothing to hold with one.
class wall_hold : mutex_hold {
  public:
    explicit wall_hold(tw_runtime &rt) : mutex_hold(rt.wall != nullptr ? &rt.wall->mutex : nullptr) {}
};

// Makes the wall timeline. 0 or a negative errno.
int make_wall(tw_runtime &rt);
void free_wall(tw_runtime &rt);

// With the hold: the timeline that a node is, or was last, armed on.
inline bool is_on_wall(const tw_runtime &rt, const tw_node *node) {
    return rt.wall != nullptr && node->wheel == &rt.wall->wheel;
}
inline timeline &line_of(tw_runtime &rt, const tw_node *node) {
    if (is_on_wall(rt, node))
        return *rt.wall;
    return rt.steady;
}

// All with the hold: the present tick of the wall timeline, having followed the clock
// if it was set; the tick of a deadline; the deadline of a tick.
tick wall_present(tw_runtime &rt);
tick wall_tick(const tw_runtime &rt, std::int64_t deadline);
std::int64_t wall_reading(const tw_runtime &rt, tick t);

// Without the hold, by whoever fires: the same as wall_present, for the wheel to be told
// next. If the clock is set back before that is done, nodes go beyond this tick: so what is
// armed by the new reading does not fire by the former one (P1).
tick wall_present_to_tell(tw_runtime &rt);

}  // namespace tickwheel::runtime
