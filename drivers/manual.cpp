// The driver for virtual time. It has no thread and never waits: the program moves time (tw_runtime_advance).
#include "drivers.hpp"

namespace tickwheel::drivers::manual_driver {

namespace {

int open(void *, tw_clock) { return 0; }
void close(void *) {}
void wake(void *) {}

}  // namespace

}  // namespace tickwheel::drivers::manual_driver

constexpr tw_driver tickwheel::drivers::manual = {
    .name = "manual",
    .clocks = TW_CLOCK_BIT(TW_CLOCK_VIRTUAL) | TW_CLOCK_BIT(TW_CLOCK_WALL),
    .state_size = 0,
    .open = manual_driver::open,
    .close = manual_driver::close,
    .wait_until = nullptr,
    .wake = manual_driver::wake,
    .watch = nullptr,
    .descriptor = nullptr,
    .program = nullptr,
};
