// The search for the next busy slot of a level, for wheels of any kind.
#pragma once

#include "assert.hpp"
#include "bitmap.hpp"
#include "tick.hpp"

namespace tickwheel::core {

// The distance in slots from the slot of t to the next busy one of its level, with after < distance <= last;
// 0 if there is none. The search wraps around the end of the level, so it is made in two stretches at most.
// REQUIRES: last < width(level)
template <class Shape, class Digits>
inline unsigned next_busy(const bitmap<Shape::slots> &busy, unsigned level, Digits t, unsigned after,
                          unsigned last) {
    TW_ASSERT(last < Shape::width(level));
    const unsigned width = Shape::width(level);
    const unsigned here = Shape::index(level, t);
    for (unsigned distance = after + 1; distance <= last;) {
        const unsigned index = (here + distance) & (width - 1);
        const unsigned begin = Shape::first_slot(level) + index;
        const unsigned end = begin + smaller(width - index, last - distance + 1);
        const unsigned found = busy.find(begin, end);
        distance += found - begin;
        if (found != end)
            return distance;
    }
    return 0;
}

}  // namespace tickwheel::core
