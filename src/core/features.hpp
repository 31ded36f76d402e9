// What the library is built with; see config.h. Plain constants, so that plain conditions leave out what a
// small part does not pay for. A function that belongs to a feature is not there without it, and a program
// that calls it does not link.
#pragma once

#include <tickwheel/port.h>
#include <tickwheel/tw.h>

namespace tickwheel::core {

#ifdef TW_PORT_ONE_THREAD
inline constexpr bool has_threads = false;
#else
inline constexpr bool has_threads = true;
#endif

inline constexpr bool has_validation = TW_VALIDATION != 0;
inline constexpr bool has_owner_check =
    TW_OWNER_CHECK != 0 && TW_TICK_BITS != 32;  // short nodes name no wheel
inline constexpr bool has_periodic = TW_PERIODIC != 0;
inline constexpr bool has_policies = has_periodic && TW_POLICIES != 0;
inline constexpr bool has_overruns = has_periodic && TW_OVERRUNS != 0;
inline constexpr bool has_budget = TW_BUDGET != 0;
inline constexpr bool can_be_interrupted = has_budget || has_threads;  // threads: by a fork
inline constexpr bool has_clear = TW_CLEAR != 0;
inline constexpr bool has_lock_choice = TW_LOCK_CHOICE != 0;

}  // namespace tickwheel::core
