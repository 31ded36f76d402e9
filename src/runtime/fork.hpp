// P13: a fork copies a runtime, but not its threads. The copy in the child is marked: it refuses every
// call but tw_runtime_free with -ECHILD and fires nothing until tw_runtime_after_fork has made it whole
// again.
#pragma once

#include "state.hpp"

namespace tickwheel::runtime {

// Guards what belongs to all runtimes of the process: their list, and the numbers of cells. It is held over a
// fork, and taken before all locks of runtimes.
extern base::mutex process_mutex;

// Adds a runtime to those that the handlers of pthread_atfork go through (0 or -ENOMEM), and takes it
// off again, also if it was never added. Any thread.
int watch_for_forks(tw_runtime &rt);
void stop_watching_for_forks(tw_runtime &rt);

}  // namespace tickwheel::runtime
