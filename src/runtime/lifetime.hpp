// Stopping, emptying and freeing a runtime, for other files. The public functions are in lifetime.cpp.
#pragma once

#include "state.hpp"

namespace tickwheel::runtime {

// Joins the runtime's thread if a callback has stopped it. From outside callbacks.
void join_if_stopped(tw_runtime &rt);

// Interrupts the firing thread, and joins it if it is the runtime's own. From outside callbacks.
void end_firing(tw_runtime &rt);

// Takes all nodes off the wheels. No function is called for them.
void empty_wheels(tw_runtime &rt);

// Opens the driver; 0 or a negative errno.
int open_driver(tw_runtime &rt);

// Closes and frees everything. No thread fires, and none but the caller is in a call.
void destroy(tw_runtime &rt);

}  // namespace tickwheel::runtime
