// The driver that also watches the user's descriptors, on the same thread.
//
// The kernel may end a timeout of epoll, poll or select late, by up to a thousandth of the wait. So we use
// epoll's own timeout only for short waits, and only if the kernel takes it in nanoseconds (epoll_pwait2).
// For longer waits, and on older kernels, a timerfd in the set keeps the deadline exactly.
//
// Threads. One thread waits, and only that thread uses the timers. Any thread may wake it and change watches.
#include <initializer_list>

#include "drivers.hpp"
#include "ports/linux/epoll_pwait2.hpp"
#include "timer_descriptor.hpp"
#include "wake_descriptor.hpp"
#include "watches.hpp"

namespace tickwheel::drivers::epoll_driver {

namespace {

constexpr std::int64_t short_wait_ns = 1'000'000;  // its slack: a microsecond

struct state {
    watches watched;  // the driver's own descriptors are in the set, too
    wake_descriptor waker;
    clockid_t clock;
    deadline_timer steady, wall;
    bool has_no_pwait2;
};

state &state_in(void *memory) { return *static_cast<state *>(memory); }

// --- opening -------------------------------------------------------------------------

// `opened`: a descriptor or a negative errno.
int add_own(state &s, int opened) { return opened < 0 ? opened : s.watched.add_own(opened); }

int open_all(state &s, tw_clock clock) {
    if (const int error = s.watched.open(); error != 0)
        return error;
    if (const int error = add_own(s, s.waker.open()); error != 0)
        return error;
    if (const int error = add_own(s, s.steady.timer.open(s.clock)); error != 0)
        return error;
    return clock == TW_CLOCK_WALL ? add_own(s, s.wall.timer.open(CLOCK_REALTIME)) : 0;
}

void close(void *memory) {
    state &s = state_in(memory);
    s.steady.timer.close();
    s.wall.timer.close();
    s.waker.close();
    s.watched.close();
}

int open(void *memory, tw_clock clock) {
    state &s = state_in(memory);
    s.clock = steady_clock_of(clock);
    const int error = open_all(s, clock);
    if (error != 0)
        close(memory);
    return error;
}

// --- waiting --------------------------------------------------------------------------

constexpr std::int64_t forever = -1;

// Sets the timers and chooses the timeout for epoll itself: 0 to short_wait_ns, or `forever`. For a short
// wait we leave the steady timer armed for a later deadline; at worst it causes one spurious wake-up. If it
// is armed for an earlier deadline we set it again, because it would end the wait early.
int arrange(state &s, const tw_deadlines &until, std::int64_t &timeout_ns) {
    timeout_ns = forever;
    if (s.wall.timer.is_open())
        if (const int error = s.wall.set(until.wall_ns); error != 0)
            return error;
    if (until.steady_ns == TW_NO_DEADLINE)
        return s.steady.set(TW_NO_DEADLINE);

    const std::int64_t left = until.steady_ns == 0 ? 0 : until.steady_ns - reading_of(s.clock);
    const bool rings_before = s.steady.is_set && s.steady.set_for < until.steady_ns;
    if (left > 0 && (left > short_wait_ns || s.has_no_pwait2 || rings_before))
        return s.steady.set(until.steady_ns);
    timeout_ns = left > 0 ? left : 0;
    return 0;
}

int fetch(state &s, std::int64_t timeout_ns) {
    if (timeout_ns <= 0)
        return ::epoll_wait(s.watched.fd(), s.watched.room(), watches::batch_size,
                            static_cast<int>(timeout_ns));
    const timespec timeout = {0, static_cast<long>(timeout_ns)};
    return tw_port_epoll_pwait2(s.watched.fd(), s.watched.room(), watches::batch_size, &timeout, nullptr);
}

// Fills the batch. Returns 1 if the thread may have slept, 0 if not, or a negative errno.
int wait_for_events(state &s, const tw_deadlines &until) {
    for (;;) {
        std::int64_t timeout_ns;
        if (const int error = arrange(s, until, timeout_ns); error != 0)
            return error;
        const int fetched = fetch(s, timeout_ns);
        if (fetched >= 0) {
            s.watched.fetched(fetched);
            return timeout_ns != 0 ? 1 : 0;
        }
        if (errno == EINTR)
            return 1;
        // Sandboxes answer an unknown system call with all kinds of errors, so any error makes us do without
        // epoll_pwait2. If the cause is something else, epoll_wait reports it as well.
        if (timeout_ns <= 0)
            return -errno;
        s.has_no_pwait2 = true;
    }
}

// Events of the timers and of the wake descriptor only have to end the wait, which they have done. A timer
// that has expired is no longer set.
void take_own_event(state &s, int fd) {
    for (deadline_timer *each : {&s.steady, &s.wall})
        if (each->timer.is_open() && each->timer.fd() == fd)
            each->is_set = false;
}

int wait_until(void *memory, const tw_deadlines *until) {
    state &s = state_in(memory);
    const int slept = s.watched.is_empty() ? wait_for_events(s, *until) : 0;
    if (slept >= 0)
        s.watched.deliver_one([&s](int own) { take_own_event(s, own); });
    return slept;
}

void wake(void *memory) { state_in(memory).waker.wake(); }

int change_watch(void *memory, tw_watch_change change, int fd, std::uint32_t events, tw_watch_callback *fn,
                 void *arg) {
    return state_in(memory).watched.change(change, fd, events, fn, arg);
}

}  // namespace

}  // namespace tickwheel::drivers::epoll_driver

constexpr tw_driver tickwheel::drivers::epoll = {
    .name = "epoll",
    .clocks = clocks_of_the_system,
    .state_size = sizeof(epoll_driver::state),
    .open = epoll_driver::open,
    .close = epoll_driver::close,
    .wait_until = epoll_driver::wait_until,
    .wake = epoll_driver::wake,
    .watch = epoll_driver::change_watch,
    .descriptor = nullptr,
    .program = nullptr,
};
