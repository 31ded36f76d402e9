// The driver on a timerfd: exact and absolute, on any clock. The user's own loop can watch the descriptor in
// place of the runtime's thread (tw_runtime_fd).
#include <poll.h>
#include <sys/epoll.h>

#include "base/kept_errno.hpp"
#include "drivers.hpp"
#include "timer_descriptor.hpp"

namespace tickwheel::drivers::timerfd_driver {

namespace {

using base::kept_errno;

struct state {
    timer_descriptor steady, wall;
    int both_plus_1;      // if there are two timers, an epoll descriptor with both in its set; 0: closed
    std::uint32_t woken;  // 1 from `wake` to `settle`
};

state &state_in(void *memory) { return *static_cast<state *>(memory); }

void close(void *memory) {
    state &s = state_in(memory);
    s.steady.close();
    s.wall.close();
    if (s.both_plus_1 != 0)
        ::close(s.both_plus_1 - 1);
    s.both_plus_1 = 0;
}

int add_to(int set, int fd) {
    epoll_event event = {};
    event.events = EPOLLIN;
    return ::epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

int open_wall(state &s) {
    if (const int fd = s.wall.open(CLOCK_REALTIME); fd < 0)
        return fd;
    const int set = ::epoll_create1(EPOLL_CLOEXEC);
    if (set < 0)
        return -errno;
    s.both_plus_1 = set + 1;
    const int error = add_to(set, s.steady.fd());
    return error != 0 ? error : add_to(set, s.wall.fd());
}

int open(void *memory, tw_clock clock) {
    state &s = state_in(memory);
    int error = s.steady.open(steady_clock_of(clock));
    if (error >= 0)
        error = clock == TW_CLOCK_WALL ? open_wall(s) : 0;
    if (error < 0)
        close(memory);
    return error;
}

int descriptor(void *memory) {
    state &s = state_in(memory);
    return s.both_plus_1 != 0 ? s.both_plus_1 - 1 : s.steady.fd();
}

void settle(state &s) { __atomic_exchange_n(&s.woken, 0, __ATOMIC_SEQ_CST); }

// Sets the timer, unless the driver was woken. `wake` sets the flag and then sets the timer to the past;
// `program` sets the timer and then reads the flag. So the thread that sets the timer last sets it to the
// past (tests/drivers/timerfd_wake.pml).
int program(void *memory, const tw_deadlines *until) {
    state &s = state_in(memory);
    if (until == nullptr) {
        settle(s);
        return 0;
    }
    int error = s.steady.set(until->steady_ns);
    if (error == 0 && s.wall.is_open())
        error = s.wall.set(until->wall_ns);
    if (__atomic_load_n(&s.woken, __ATOMIC_SEQ_CST) != 0)
        error = s.steady.set(0);
    return error;
}

void wake(void *memory) {
    state &s = state_in(memory);
    const kept_errno kept;
    __atomic_store_n(&s.woken, 1, __ATOMIC_SEQ_CST);
    s.steady.set(0);
}

int wait_until(void *memory, const tw_deadlines *until) {
    state &s = state_in(memory);
    if (const int error = program(memory, until); error != 0)
        return error;
    pollfd readable = {descriptor(memory), POLLIN, 0};
    if (::poll(&readable, 1, -1) < 0 && errno != EINTR)
        return -errno;
    settle(s);
    return 1;
}

}  // namespace

}  // namespace tickwheel::drivers::timerfd_driver

constexpr tw_driver tickwheel::drivers::timerfd = {
    .name = "timerfd",
    .clocks = clocks_of_the_system,
    .state_size = sizeof(timerfd_driver::state),
    .open = timerfd_driver::open,
    .close = timerfd_driver::close,
    .wait_until = timerfd_driver::wait_until,
    .wake = timerfd_driver::wake,
    .watch = nullptr,
    .descriptor = timerfd_driver::descriptor,
    .program = timerfd_driver::program,
};
