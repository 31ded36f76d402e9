// The default driver: sleeps on a word of memory until a deadline on the monotonic clock. Uses no descriptor,
// and one system call per wait.
#include <cstdint>

#include <tickwheel/port.h>

#include "drivers.hpp"

namespace tickwheel::drivers::sleep_driver {

namespace {

struct state {
    std::uint32_t woken;  // 1 if wake was called since the last wait
};

int open(void *, tw_clock) { return 0; }  // zeroed memory is a valid state
void close(void *) {}

// The kernel sleeps only if the word is still 0, so no wake before the wait is lost (P2). The exchange,
// unlike a store, makes visible here all that the waking thread did before its wake.
int wait_until(void *memory, const tw_deadlines *until) {
    std::uint32_t &woken = static_cast<state *>(memory)->woken;
    const bool sleeps = __atomic_load_n(&woken, __ATOMIC_ACQUIRE) == 0;
    if (sleeps)
        tw_port_wait(&woken, 0, until->steady_ns);
    __atomic_exchange_n(&woken, 0, __ATOMIC_ACQ_REL);
    return sleeps ? 1 : 0;
}

// Calls the kernel even if the word is already 1: the thread that set it may have been preempted before it
// made this call.
void wake(void *memory) {
    std::uint32_t &woken = static_cast<state *>(memory)->woken;
    __atomic_store_n(&woken, 1, __ATOMIC_RELEASE);
    tw_port_wake_all(&woken);
}

}  // namespace

}  // namespace tickwheel::drivers::sleep_driver

constexpr tw_driver tickwheel::drivers::sleep = {
    .name = "sleep",
    .clocks = TW_CLOCK_BIT(TW_CLOCK_MONOTONIC),
    .state_size = sizeof(sleep_driver::state),
    .open = sleep_driver::open,
    .close = sleep_driver::close,
    .wait_until = sleep_driver::wait_until,
    .wake = sleep_driver::wake,
    .watch = nullptr,
    .descriptor = nullptr,
    .program = nullptr,
};
