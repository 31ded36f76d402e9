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

#if TW_RUNTIME
// Ticks as parts; at most as many as can be counted.
constexpr tick in_parts(tick ticks, tick parts, tick further) {
    return ticks > (never - further) / parts ? never : ticks * parts + further;
}

// Sets a node to a deadline `ahead` parts after a tick: to the tick that this rounds up to.
inline bool set_ahead(tw_node &node, tick from, tick ahead, tick parts) {
    const quotient way = divide(ahead, parts);
    const tick ticks = way.whole + (way.rest != 0 ? 1 : 0);
    if (ticks > last_tick - from)
        return false;
    node.expiry = from + ticks;
    node.part = 1 + static_cast<std::uint32_t>(way.rest != 0 ? parts - way.rest : 0);
    return true;
}

// The same for a node of a wheel with so many parts in a tick, which may be on a grid of these.
// P5: the grid is the deadline + n * period, exactly, and a deadline is what rounds up.
inline bool set_to_next_on_grid(tw_node &node, tick parts, tick now, tick *overruns) {
    if (node.part == 0)
        return set_to_next(node, now, overruns);
    TW_ASSERT(node.period >= parts && node.part <= parts && !before(now, node.expiry));
    const tick early = node.part - 1;
    const quotient missed = divide(in_parts(now - node.expiry, parts, early), node.period);
    const bool is_last = node.fires_left == 1;
    *overruns = missed.whole;
    if (node.missed == TW_BURST) {
        if (node.fires_left != 0 && missed.whole >= node.fires_left)
            *overruns = node.fires_left - 1u;
        if (is_last || !set_ahead(node, node.expiry, node.period - early, parts))
            return false;
    } else {
        const bool keeps_grid = node.missed == TW_SKIP || missed.whole == 0;
        if (is_last || !set_ahead(node, now, node.period - (keeps_grid ? missed.rest : 0), parts))
            return false;
    }
    if (node.fires_left != 0)
        --node.fires_left;
    return true;
}
#endif

// A node that is put elsewhere begins a grid there.
inline void begin_grid([[maybe_unused]] tw_node &node) {
#if TW_RUNTIME
    if (node.part != 0)
        node.part = 1;
#endif
}

using rearm_rule = bool(tw_node &, tick, tick *);

}  // namespace tickwheel::core
