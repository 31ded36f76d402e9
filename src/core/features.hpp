// The settings of config.h as constants, so that ordinary conditions leave out code. A library with TW_SMALL
// lacks some functions; a program that calls one of them does not link.
#pragma once

#include <tickwheel/port.h>
#include <tickwheel/tw.h>

namespace tickwheel::core {

#ifdef TW_PORT_ONE_THREAD
inline constexpr bool has_threads = false;
#else
inline constexpr bool has_threads = true;
#endif

inline constexpr bool is_small = TW_SMALL != 0;
inline constexpr bool has_validation = TW_VALIDATION != 0;
inline constexpr bool has_owner_check = !is_small && TW_TICK_BITS != 32;  // short nodes name no wheel

}  // namespace tickwheel::core
