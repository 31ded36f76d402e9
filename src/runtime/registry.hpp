// The runtimes that a checking build (TW_CHECK) knows: which exist, which have been freed, and which no
// thread has driven yet. In every other build these functions are empty.
#pragma once

#include <tickwheel/port.h>
#include <tickwheel/runtime.h>

namespace tickwheel::runtime::registry {

#ifdef TW_PORT_CHECKS

// The runtime was made; its memory is about to be freed.
void note_made(tw_runtime &rt);
void note_gone(const tw_runtime &rt);

// Stops the program unless `rt` is a runtime. Does not follow `rt`, which may be null. `by` is the address of
// the call, for reports if TW_NOTE_CALLER has not noted one.
void check_runtime(const tw_runtime *rt, const void *by = nullptr);

// Call this at the start of tw_runtime_free. Stops the program if the runtime was freed already, or if
// another thread is freeing it.
void check_free(const tw_runtime *rt, const void *by);

// The runtime's thread was started, or the program drives it.
void note_driven(const tw_runtime &rt);

// Warns, once, if timers of the runtime have been due for a while and no thread has driven the runtime yet.
// Call this without locks.
void warn_if_idle(tw_runtime &rt);

#else

inline void note_made(tw_runtime &) {}
inline void note_gone(const tw_runtime &) {}
inline void check_runtime(const tw_runtime *, const void * = nullptr) {}
inline void check_free(const tw_runtime *, const void *) {}
inline void note_driven(const tw_runtime &) {}
inline void warn_if_idle(tw_runtime &) {}

#endif

}  // namespace tickwheel::runtime::registry
