// A runtime's counts and measurements, for the other files of this folder. Any thread.
#pragma once

#include <tickwheel/observe.h>

#include "runtime/state.hpp"

namespace tickwheel::observe {

void take_counts(const tw_runtime &rt, tw_observed &observed);

}  // namespace tickwheel::observe
