// What becomes of a periodic node when it fires.
#pragma once

#include <tickwheel/tw.h>

#include "assert.hpp"
#include "tick.hpp"

namespace tickwheel::core {

struct refire {
    tick next;      // `never`: this fire was the last
    tick overruns;  // due ticks in (expiry, now]; in a burst, those of them that will fire
};

// P5: the grid is expiry + n * period. Only TW_DELAY leaves it, for a new one, and
// only if due ticks were missed.
inline refire refire_after(const tw_node &node, tick now) {
    TW_ASSERT(node.period != 0 && node.expiry <= now);
    const tick late = now - node.expiry;
    // Mostly not late; then this saves a 64-bit division.
    const tick missed = late < node.period ? 0 : late / node.period;

    tick last_due = node.expiry;
    if (node.missed == TW_SKIP)
        last_due += missed * node.period;
    else if (node.missed == TW_DELAY && missed != 0)
        last_due = now;

    const bool limited = node.fires_left != 0;
    const bool ends = node.fires_left == 1 || node.period > last_tick - last_due;
    const bool all_missed_fire = node.missed != TW_BURST || !limited || missed < node.fires_left;
    return {ends ? never : last_due + node.period, all_missed_fire ? missed : node.fires_left - 1u};
}

}  // namespace tickwheel::core
