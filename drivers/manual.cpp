// The driver for virtual time. It has no thread and never waits: the program moves time (tw_runtime_advance).
#include "drivers.hpp"

namespace {

int open(void *, tw_clock) { return 0; }
void close(void *) {}
void wake(void *) {}

}  // namespace

constexpr tw_driver tickwheel::drivers::manual = {
    .name = "manual",
    .clocks = TW_CLOCK_BIT(TW_CLOCK_VIRTUAL) | TW_CLOCK_BIT(TW_CLOCK_WALL),
    .state_size = 0,
    .open = open,
    .close = close,
    .wait_until = nullptr,
    .wake = wake,
    .watch = nullptr,
    .descriptor = nullptr,
    .program = nullptr,
};
