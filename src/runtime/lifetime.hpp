// Functions for other files that stop, empty and free a runtime. The public functions are in lifetime.cpp.
#pragma once

#include "state.hpp"

namespace tickwheel::runtime {

// Joins the runtime's thread if a callback has stopped it. Call this outside callbacks.
void join_if_stopped(tw_runtime &rt);

// Interrupts the firing thread, and joins it if it is the runtime's own. Call this outside callbacks.
void end_firing(tw_runtime &rt);

// Takes all nodes off the wheels, without calling any function.
void empty_wheels(tw_runtime &rt);

// Opens the driver; 0 or a negative errno.
int open_driver(tw_runtime &rt);

// Closes and frees everything. No thread fires, and only the caller is in a call.
void destroy(tw_runtime &rt);

}  // namespace tickwheel::runtime
