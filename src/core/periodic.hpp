// Computes the next tick of a periodic node.
#pragma once

#include <tickwheel/tw.h>

#include "assert.hpp"
#include "door.h"
#include "features.hpp"
#include "tick.hpp"

namespace tickwheel::core {

// How a periodic node fires after its first tick.
struct series {
    tick period;
    tw_missed missed;
    std::uint32_t fires;  // 0: without end
};

// A label shares its byte with the policy for missed fires. Only builds with the runtime have labels.
static_assert(TW_LABELS == 1 << (8 - TW_MISSED_BITS) && TW_BURST < 1 << TW_MISSED_BITS);

inline unsigned label_of(const tw_node &node) {
    return TW_RUNTIME != 0 ? node.missed_and_label >> TW_MISSED_BITS : 0;
}
inline std::uint8_t missed_and_label(unsigned missed, unsigned label) {
    return static_cast<std::uint8_t>(label << TW_MISSED_BITS | missed);
}

inline unsigned missed_in(std::uint8_t missed_and_label) {
    return TW_RUNTIME != 0 ? missed_and_label & ((1U << TW_MISSED_BITS) - 1) : missed_and_label;
}

// A one-shot node has a period of 0, or remembers its delay in `period` (TW_CORE_ONCE). Nothing reads its
// `fires_left`.
inline bool is_periodic(const tw_node &node) {
#if TW_RUNTIME
    return node.period != 0 && node.part != TW_CORE_ONCE;
#else
    return node.period != 0;
#endif
}

inline void make_periodic(tw_node &node, const series &next) {
    node.period = next.period;
    node.fires_left = static_cast<std::uint16_t>(next.fires);
    // Atomic, because the node's own callback may read it while another thread arms the node.
    __atomic_store_n(&node.missed_and_label, missed_and_label(next.missed, label_of(node)), __ATOMIC_RELAXED);
#if TW_RUNTIME
    node.part = 0;
#endif
}

struct quotient {
    tick whole;
    tick rest;
};

// A processor without division of this width divides bit by bit: the compiler's helper would add as much code
// as a third of the wheel, for the rare case of missed fires.
#if defined(__arm__) && !defined(__ARM_FEATURE_IDIV)
inline constexpr bool has_division = false;
#else
inline constexpr bool has_division = sizeof(tick) <= sizeof(void *);
#endif

TW_INLINE_IF_SMALL constexpr quotient divide_by_bits(tick dividend, tick divisor) {
    tick whole = 0;
    tick rest = dividend;
    tick multiple = divisor;
    while (multiple <= rest >> 1)
        multiple <<= 1;
    for (;; multiple >>= 1) {
        whole <<= 1;
        if (rest >= multiple) {
            rest -= multiple;
            whole |= 1;
        }
        if (multiple == divisor)
            return {whole, rest};
    }
}

constexpr quotient divide(tick dividend, tick divisor) {
    if constexpr (has_division) {
        if (has_room && dividend < divisor)
            return {0, dividend};
        return {dividend / divisor, dividend % divisor};
    } else {
        return divide_by_bits(dividend, divisor);
    }
}

// Sets a firing node, or a record's schedule with the same members, to its next tick. Returns false if this
// fire is its last. *overruns is the number of due ticks in (expiry, now]; with TW_BURST it counts only the
// ones that will fire.
//
// P5: the grid is expiry + n * period, and expiry only moves along it, so errors do not accumulate. TW_BURST
// takes the next point of the grid however late that is. TW_COALESCE takes the first one after `now`.
// TW_DELAY starts a new grid at `now`, but only if points were missed.
template <class Periodic> bool set_to_next(Periodic &node, tick now, tick *overruns) {
    TW_ASSERT(node.period != 0 && may_have_passed(now, node.expiry));
    const quotient missed = divide(now - node.expiry, node.period);
    const unsigned policy = is_small ? unsigned{TW_COALESCE} : missed_in(node.missed_and_label);
    const std::uint32_t fires_left = node.fires_left;
    if (!is_small)
        *overruns = missed.whole;
    if (policy == TW_COALESCE || missed.whole == 0)
        node.expiry = now - missed.rest;
    else if (policy == TW_DELAY)
        node.expiry = now;
    else if (!is_small && fires_left != 0 && missed.whole >= fires_left)
        *overruns = fires_left - 1;
    if (fires_left != 0) {
        if (fires_left == 1)
            return false;
        --node.fires_left;
    }
    if (!has_tick_after(node.expiry, node.period))
        return false;
    node.expiry += node.period;
    return true;
}

#if TW_RUNTIME
// Converts ticks to parts and adds `further` parts; saturates.
constexpr tick in_parts(tick ticks, tick parts, tick further) {
    return ticks > (never - further) / parts ? never : ticks * parts + further;
}

// Sets a node to the deadline `ahead` parts after tick `from`: rounds the deadline up to a tick (P1), and
// remembers by how many parts the deadline is before that tick. Returns false if the tick would be after the
// last one.
template <class Periodic> bool set_ahead(Periodic &node, tick from, tick ahead, tick parts) {
    const quotient way = divide(ahead, parts);
    const tick ticks = way.whole + (way.rest != 0 ? 1 : 0);
    if (ticks > last_tick - from)
        return false;
    node.expiry = from + ticks;
    node.part = 1 + static_cast<std::uint32_t>(way.rest != 0 ? parts - way.rest : 0);
    return true;
}

// set_to_next for a wheel that has grids: node.part says whether this node is on one. P5: later deadlines
// are exactly deadline + n * period, counted in parts. Each rounds up to a tick independently, so rounding
// errors do not accumulate either.
template <class Periodic> bool set_to_next_on_grid(Periodic &node, tick parts, tick now, tick *overruns) {
    if (node.part == 0)
        return set_to_next(node, now, overruns);
    TW_ASSERT(node.period >= parts && node.part <= parts && !before(now, node.expiry));
    const tick early = node.part - 1;
    const quotient missed = divide(in_parts(now - node.expiry, parts, early), node.period);
    const bool is_last = node.fires_left == 1;
    *overruns = missed.whole;
    if (missed_in(node.missed_and_label) == TW_BURST) {
        if (node.fires_left != 0 && missed.whole >= node.fires_left)
            *overruns = node.fires_left - 1u;
        if (is_last || !set_ahead(node, node.expiry, node.period - early, parts))
            return false;
    } else {
        const bool keeps_grid = missed_in(node.missed_and_label) == TW_COALESCE || missed.whole == 0;
        if (is_last || !set_ahead(node, now, node.period - (keeps_grid ? missed.rest : 0), parts))
            return false;
    }
    if (node.fires_left != 0)
        --node.fires_left;
    return true;
}
#endif

// Starts a new grid at the node's new tick, after a move or a postponement.
inline void begin_grid([[maybe_unused]] tw_node &node) {
#if TW_RUNTIME
    if (node.part != 0 && node.part != TW_CORE_ONCE)
        node.part = 1;
#endif
}

}  // namespace tickwheel::core
