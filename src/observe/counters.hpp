// A runtime's counts and measurements, for the other files of this folder. Any thread.
#pragma once

#include <tickwheel/observe.h>

#include "runtime/state.hpp"

namespace tickwheel::observe {

tw_stats stats_of(const tw_runtime &rt);

}  // namespace tickwheel::observe
