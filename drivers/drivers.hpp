// The drivers that are built in.
#pragma once

#include <tickwheel/driver.h>

namespace tickwheel::drivers {

extern const tw_driver sleep, epoll, timerfd, manual;

}  // namespace tickwheel::drivers
