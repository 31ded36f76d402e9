// What a runtime has measured, for the other files of this folder. Any thread.
#pragma once

#include <tickwheel/observe.h>

#include "runtime/runtime.hpp"

namespace tickwheel::runtime {

void observe(const tw_runtime &rt, tw_observed &observed);

}  // namespace tickwheel::runtime
