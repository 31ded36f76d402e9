// The parts of a runtime's life that others need.
#pragma once

#include "runtime.hpp"

namespace tickwheel::runtime {

// Sees off a thread that a callback has stopped. From outside callbacks.
void join_if_stopped(tw_runtime &rt);

// Whoever fires comes to an end; the runtime's thread is joined. From outside callbacks.
void end_firing(tw_runtime &rt);

// No node is pending any more, without a word to anybody.
void empty_wheels(tw_runtime &rt);

// Opens the driver; 0 or a negative errno.
int open_driver(tw_runtime &rt);

// Closes and frees everything. Nobody fires, and nobody is in a call.
void destroy(tw_runtime &rt);

}  // namespace tickwheel::runtime
