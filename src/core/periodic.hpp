// What becomes of a periodic node when it fires.
#pragma once

#include <tickwheel/tw.h>

#include "assert.hpp"
#include "tick.hpp"

namespace tickwheel::core {

struct quotient {
    tick whole;
    tick rest;
};

// Bit by bit where the processor cannot: what the compiler would call brings in as much
// code as a third of the wheel, for fires that were missed.
#if defined(__arm__) && !defined(__ARM_FEATURE_IDIV)
inline constexpr bool has_division = false;
#else
inline constexpr bool has_division = sizeof(tick) <= sizeof(void *);
#endif

constexpr quotient divide(tick dividend, tick divisor) {
    if (dividend < divisor)
        return {0, dividend};
    if constexpr (has_division) {
        return {dividend / divisor, dividend % divisor};
    } else {
        quotient q = {dividend, 0};
        for (unsigned bits = 8 * sizeof(tick); bits != 0; --bits) {
            const bool carry = q.rest >> (8 * sizeof(tick) - 1) != 0;
            q.rest = q.rest << 1 | q.whole >> (8 * sizeof(tick) - 1);
            q.whole <<= 1;
            if (carry || q.rest >= divisor) {
                q.rest -= divisor;
                q.whole |= 1;
            }
        }
        return q;
    }
}

// Sets a node that fires to its next tick; false if this fire is its last. `overruns`: the
// due ticks in (expiry, now]; in a burst, those of them that will fire.
// P5: the grid is expiry + n * period. Only TW_DELAY leaves it, for a new one, and
// only if due ticks were missed.
inline bool set_to_next(tw_node &node, tick now, tick *overruns) {
    TW_ASSERT(node.period != 0 && !before(now, node.expiry));
    const quotient missed = divide(now - node.expiry, node.period);
    tick from = node.expiry;
    *overruns = missed.whole;
    if (node.missed == TW_BURST) {
        if (node.fires_left != 0 && missed.whole >= node.fires_left)
            *overruns = node.fires_left - 1u;
    } else if (missed.whole != 0) {
        from = node.missed == TW_SKIP ? now - missed.rest : now;
    }
    if (node.fires_left == 1 || !in_range(now, from, node.period))
        return false;
    if (node.fires_left != 0)
        --node.fires_left;
    node.expiry = from + node.period;
    return true;
}

using refire_rule = bool(tw_node &, tick, tick *);

}  // namespace tickwheel::core
