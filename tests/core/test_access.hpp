// Access to a wheel's state, for tests that break it.
#pragma once

#include "core/locked_wheel.hpp"

namespace tickwheel::core {

struct test_access {
    locked_wheel &wheel;

    time_position<shape> &at() const { return wheel.at_; }
    tick &quiet_until() const { return wheel.quiet_until_; }
    std::size_t &count() const { return wheel.count_; }
    unsigned &open_level() const { return wheel.open_level_; }
    levels<shape> &slots() const { return wheel.slots_; }
};

}  // namespace tickwheel::core
