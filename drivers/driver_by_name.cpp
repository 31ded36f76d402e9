// tw_driver_named: finds a built-in driver by its name. Any thread.
#include <cstring>
#include <initializer_list>

#include "drivers.hpp"

extern "C" __attribute__((visibility("default"))) const tw_driver *tw_driver_named(const char *name) {
    namespace drivers = tickwheel::drivers;
    if (name == nullptr)
        return nullptr;
    for (const tw_driver *each :
         {&drivers::sleep, &drivers::epoll, &drivers::uring, &drivers::timerfd, &drivers::manual})
        if (std::strcmp(each->name, name) == 0)
            return each;
    return nullptr;
}
