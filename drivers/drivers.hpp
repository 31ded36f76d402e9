// The drivers that are built in. tickwheel/driver.h says which thread may call which of their functions.
#pragma once

#include <tickwheel/driver.h>

namespace tickwheel::drivers {

extern const tw_driver sleep, epoll, uring, timerfd, manual;

}  // namespace tickwheel::drivers
