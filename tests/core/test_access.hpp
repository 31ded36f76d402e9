// Access to a wheel's state, for tests that break it.
#pragma once

#include "core/engine.hpp"
#include "core/wheel_state.hpp"

namespace tickwheel::core {
namespace {

struct test_access {
    library_wheel &wheel;

    std::size_t &count() const { return wheel.count; }
#if TW_TREE
    tick &now() const { return wheel.now; }
    tick &cursor() const { return wheel.cursor_; }
    tw_node *&top() const { return wheel.top_; }
#else
    placement<library_shape> &at() const { return wheel; }
    tick &quiet_until() const { return wheel.quiet_until; }
    unsigned &open_level() const { return wheel.open_level; }
    slots_of<library_shape> &slots() const { return wheel.slots; }
#endif
};

}  // namespace
}  // namespace tickwheel::core
