// P13: a fork copies a runtime, but not its threads. The copy in the child is marked: it fires nothing, and
// refuses every call except tw_runtime_free with -ECHILD, until tw_runtime_after_fork has revived it.
#pragma once

#include "state.hpp"

namespace tickwheel::runtime {

// Guards what all runtimes of the process share: the list of runtimes, and the numbers of cells. A forking
// thread holds it. Take it before all locks of runtimes.
extern base::mutex process_mutex;

// Add a runtime to the list that the handlers of pthread_atfork go through (0 or -ENOMEM), and remove it,
// even if it was never added. Any thread.
int watch_for_forks(tw_runtime &rt);
void stop_watching_for_forks(tw_runtime &rt);

}  // namespace tickwheel::runtime
