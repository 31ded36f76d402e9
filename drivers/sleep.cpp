// The driver that needs nothing: it sleeps on a word of memory, until a deadline of the
// monotonic clock. No descriptor, one system call a wait.
#include <cstdint>

#include <tickwheel/port.h>

#include "drivers.hpp"

namespace {

struct state {
    std::uint32_t woken;  // 1: somebody called wake since the last wait
};

int open(void *, tw_clock) { return 0; }  // zeroed memory will do
void close(void *) {}

// The kernel sleeps only if the word is still 0: a wake that came first is not lost.
int wait_until(void *memory, const tw_deadlines *until) {
    std::uint32_t &woken = static_cast<state *>(memory)->woken;
    const bool sleeps = __atomic_load_n(&woken, __ATOMIC_ACQUIRE) == 0;
    if (sleeps)
        tw_port_wait(&woken, 0, until->steady_ns);
    __atomic_exchange_n(&woken, 0, __ATOMIC_ACQ_REL);  // not a store: see what the waker did before
    return sleeps ? 1 : 0;
}

// Always told to the kernel, also if the word is 1 already: who set it may have been
// preempted before it came to that.
void wake(void *memory) {
    std::uint32_t &woken = static_cast<state *>(memory)->woken;
    __atomic_store_n(&woken, 1, __ATOMIC_RELEASE);
    tw_port_wake_all(&woken);
}

}  // namespace

constexpr tw_driver tickwheel::drivers::sleep = {
    .name = "sleep",
    .clocks = TW_CLOCK_BIT(TW_CLOCK_MONOTONIC),
    .state_size = sizeof(state),
    .open = open,
    .close = close,
    .wait_until = wait_until,
    .wake = wake,
    .watch = nullptr,
    .descriptor = nullptr,
    .program = nullptr,
};
