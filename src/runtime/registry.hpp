// What a checking build (TW_CHECK) knows of runtimes: which there are, which have been freed, and which have
// timers that nobody fires. In every other build these functions are empty.
#pragma once

#include <tickwheel/port.h>
#include <tickwheel/runtime.h>

namespace tickwheel::runtime::registry {

#ifdef TW_PORT_CHECKS

// A runtime was made, and its memory is about to be given back.
void is_made(tw_runtime &rt);
void is_gone(const tw_runtime &rt);

// Stops the program unless this is a runtime. `rt` is not followed, and may be null; `by` is the call that
// names it, if TW_NOTE_CALLER does not say so.
void is_runtime(const tw_runtime *rt, const void *by = nullptr);

// Called when tw_runtime_free begins; stops the program if another thread is in it, or has been.
void is_freed(const tw_runtime *rt, const void *by);

// The runtime's thread was started, or the program drives it.
void is_driven(const tw_runtime &rt);

// Warns, once, if timers of the runtime have been due for a while and nobody drives it. Without locks held.
void may_be_idle(tw_runtime &rt);

#else

inline void is_made(tw_runtime &) {}
inline void is_gone(const tw_runtime &) {}
inline void is_runtime(const tw_runtime *, const void * = nullptr) {}
inline void is_freed(const tw_runtime *, const void *) {}
inline void is_driven(const tw_runtime &) {}
inline void may_be_idle(tw_runtime &) {}

#endif

}  // namespace tickwheel::runtime::registry
