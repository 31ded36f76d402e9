// The built-in drivers. tickwheel/driver.h says which thread may call which of their functions.
//
// Each driver has a namespace of its own, such as epoll_driver, because packaging/amalgamate puts all sources
// into one file.
#pragma once

#include <tickwheel/driver.h>

namespace tickwheel::drivers {

extern const tw_driver sleep, epoll, uring, timerfd, manual;

// The clocks of drivers that use the system's timers, which take deadlines on any of these.
inline constexpr unsigned clocks_of_the_system =
    TW_CLOCK_BIT(TW_CLOCK_MONOTONIC) | TW_CLOCK_BIT(TW_CLOCK_BOOT) | TW_CLOCK_BIT(TW_CLOCK_WALL);

}  // namespace tickwheel::drivers
