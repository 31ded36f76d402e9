// The built-in drivers. tickwheel/driver.h says which thread may call which of their functions.
#pragma once

#include <tickwheel/driver.h>

namespace tickwheel::drivers {

extern const tw_driver sleep, epoll, uring, timerfd, manual;

// The clocks of a driver that can set the system's timers to deadlines on any of them.
inline constexpr unsigned clocks_of_the_system =
    TW_CLOCK_BIT(TW_CLOCK_MONOTONIC) | TW_CLOCK_BIT(TW_CLOCK_BOOT) | TW_CLOCK_BIT(TW_CLOCK_WALL);

}  // namespace tickwheel::drivers
