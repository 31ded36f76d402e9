// How a runtime ends, for those who end it late: after the callback that asked for it.
#pragma once

#include "runtime.hpp"

namespace tickwheel::runtime {

// Opens the driver; 0 or a negative errno.
int open_driver(tw_runtime &rt);

// Closes and frees everything. Nobody fires, and nobody is in a call.
void destroy(tw_runtime &rt);

}  // namespace tickwheel::runtime
