// The smaller and the larger of two numbers, because the freestanding core has no <algorithm>.
#pragma once

namespace tickwheel::base {

template <class Number> constexpr Number smaller(Number a, Number b) { return a < b ? a : b; }
template <class Number> constexpr Number larger(Number a, Number b) { return a < b ? b : a; }

}  // namespace tickwheel::base
