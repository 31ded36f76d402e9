// P13: a fork copies a runtime, but not its thread. The copy is marked, refuses every
// call, and fires nothing until tw_runtime_after_fork.
#pragma once

#include "runtime.hpp"

namespace tickwheel::runtime {

// Adds a runtime to those that a fork concerns, and takes it off again (also one that
// was never added). 0 or -ENOMEM.
int watch_for_forks(tw_runtime &rt);
void stop_watching_for_forks(tw_runtime &rt);

}  // namespace tickwheel::runtime
