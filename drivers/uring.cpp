// The driver on io_uring: a single system call hands the deadline to the kernel and sleeps, where epoll may
// need two. It also watches descriptors, by the same rules as epoll.
//
// The driver keeps four requests in the ring, and resubmits each when it completes: poll the wake descriptor;
// on the wall clock poll a timerfd, because only a timerfd reports that the clock was set (P12); time out at
// the deadline; and fetch the events of the watched descriptors.
//
// Watched descriptors are in an epoll set, and the ring waits for the set. A poll request for each descriptor
// would change the rules. It keeps the file open until the waiting thread takes the request's last result, so
// after unwatch and close a peer may see no end of file and a port may stay taken. It ends with the thread.
// And it accepts regular files. From Linux 6.15 on the ring itself fetches the events from the set, so a wait
// is still one system call; before that the ring only reports that the set has events.
//
// `open` creates a ring so that the first start of a runtime cannot fail. io_uring binds a ring to its first
// waiter, so a later thread gets -EEXIST, creates its own ring and submits all requests again. No wake is
// lost with the old ring: the wake descriptor is never read, so the new ring finds it readable.
//
// Threads. One thread waits, and only that thread uses the ring and the timer. Any thread may wake it and
// change watches.
#include <sys/stat.h>

#include <cerrno>

#include "drivers.hpp"
#include "kernel_ring.hpp"
#include "timer_descriptor.hpp"
#include "wake_descriptor.hpp"
#include "watches.hpp"

namespace tickwheel::drivers::uring_driver {

namespace {

// The names of requests. The driver ignores `unnamed` results.
enum request : unsigned { for_wake, for_wall, for_events, for_deadline, unnamed };

struct state {
    watches watched;
    wake_descriptor waker;
    clockid_t clock;
    deadline_timer wall;

    kernel_ring ring;
    unsigned asked;             // a bit for each request in the ring
    std::int64_t deadline;      // of the request `for_deadline`, while that is in the ring
    __kernel_timespec timeout;  // the same, for the kernel
    bool timeout_is_read;  // false if a signal interrupted the kernel (EINTR) before it took the requests
};

state &state_in(void *memory) { return *static_cast<state *>(memory); }

bool is_asked(const state &s, request which) { return (s.asked & 1u << which) != 0; }

// --- requests ------------------------------------------------------------------------

__kernel_timespec timespec_of(std::int64_t ns) { return {ns / 1'000'000'000, ns % 1'000'000'000}; }

std::uint64_t address_of(const void *memory) { return reinterpret_cast<std::uintptr_t>(memory); }

// Yields a result for each edge, and stays in the ring.
void ask_for_edges(state &s, request which, int fd) {
    if (is_asked(s, which))
        return;
    io_uring_sqe &poll = s.ring.ask(IORING_OP_POLL_ADD, which);
    poll.fd = fd;
    poll.len = IORING_POLL_ADD_MULTI;
    poll.poll32_events = EPOLLIN;
    s.asked |= 1u << which;
}

// The kernel writes the events into the batch, which is empty now. If the ring cannot fetch them, it only
// reports that there are some.
void ask_for_events(state &s) {
    if (is_asked(s, for_events))
        return;
    const bool fetches = s.ring.can_fetch_epoll_events();
    io_uring_sqe &events =
        s.ring.ask(fetches ? fetch_epoll_events : std::uint8_t{IORING_OP_POLL_ADD}, for_events);
    events.fd = s.watched.fd();
    if (fetches) {
        events.addr = address_of(s.watched.room());
        events.len = watches::batch_size;
    } else {
        events.poll32_events = EPOLLIN;
    }
    s.asked |= 1u << for_events;
}

// If the timeout request is already in the ring, this updates its deadline. If the timeout has just expired,
// the update fails, and the result of the failed update ends the wait early.
void ask_for_deadline(state &s, std::int64_t deadline) {
    const bool is_set = is_asked(s, for_deadline);
    if (is_set ? s.deadline == deadline : deadline == TW_NO_DEADLINE)
        return;
    s.deadline = deadline;
    s.timeout = timespec_of(deadline);
    if (is_set && !s.timeout_is_read)
        return;
    s.timeout_is_read = false;
    if (is_set) {
        io_uring_sqe &change = s.ring.ask(IORING_OP_TIMEOUT_REMOVE, unnamed);
        change.flags = silent_success;
        change.addr = for_deadline;
        change.addr2 = address_of(&s.timeout);
        change.timeout_flags = IORING_TIMEOUT_UPDATE | IORING_TIMEOUT_ABS;
        return;
    }
    io_uring_sqe &timeout = s.ring.ask(IORING_OP_TIMEOUT, for_deadline);
    timeout.addr = address_of(&s.timeout);
    timeout.len = 1;
    timeout.timeout_flags = IORING_TIMEOUT_ABS | (s.clock == CLOCK_BOOTTIME ? IORING_TIMEOUT_BOOTTIME : 0u);
    s.asked |= 1u << for_deadline;
}

// --- results -------------------------------------------------------------------------

int fetch_events(state &s, int count) {
    if (!s.ring.can_fetch_epoll_events())
        count = ::epoll_wait(s.watched.fd(), s.watched.room(), watches::batch_size, 0);
    if (count < 0)
        return errno == EINTR ? 0 : -errno;
    s.watched.fetched(count);
    return 0;
}

int take_result(state &s, const io_uring_cqe &result) {
    if ((result.flags & IORING_CQE_F_MORE) == 0)
        s.asked &= ~(1u << result.user_data);
    if (result.user_data == unnamed || result.res == -ETIME)
        return 0;
    if (result.res < 0)
        return result.res;
    if (result.user_data == for_wall)
        s.wall.is_set = false;  // the timer has expired
    return result.user_data == for_events ? fetch_events(s, result.res) : 0;
}

// Takes all results. Returns 0 or the first error.
int take_results(state &s) {
    int error = 0;
    for (io_uring_cqe result; s.ring.take(result);)
        if (const int of_one = take_result(s, result); error == 0)
            error = of_one;
    return error;
}

// --- waiting -------------------------------------------------------------------------

void discard_ring(state &s) {
    s.ring.close();
    s.asked = 0;
}

int arrange(state &s, const tw_deadlines &until, bool sleeps) {
    if (!s.ring.is_open())
        if (const int error = s.ring.open(); error != 0)
            return error;
    if (!s.ring.has_begun())
        if (const int error = s.ring.begin(); error != 0)
            return error;
    ask_for_edges(s, for_wake, s.waker.fd());
    ask_for_events(s);
    if (sleeps)
        ask_for_deadline(s, until.steady_ns);
    if (!s.wall.timer.is_open())
        return 0;
    ask_for_edges(s, for_wall, s.wall.timer.fd());
    return s.wall.set(until.wall_ns);
}

int enter(state &s, const tw_deadlines &until, bool sleeps) {
    int error = arrange(s, until, sleeps);
    if (error != 0 || (!sleeps && s.ring.is_idle()))
        return error;
    error = s.ring.enter(sleeps);
    s.timeout_is_read = !s.ring.has_untaken();
    return error;
}

// Fills the batch. Returns 1 if the thread may have slept, 0 if not, or a negative errno.
int wait_for_events(state &s, const tw_deadlines &until) {
    const bool sleeps = until.steady_ns != 0 && until.steady_ns > reading_of(s.clock);
    int error = enter(s, until, sleeps);
    if (error == -EEXIST) {
        discard_ring(s);
        error = enter(s, until, sleeps);
    }
    if (error == -EINTR)
        error = 0;
    if (error == 0)
        error = take_results(s);
    if (error != 0) {
        discard_ring(s);
        return error;
    }
    return sleeps ? 1 : 0;
}

int wait_until(void *memory, const tw_deadlines *until) {
    state &s = state_in(memory);
    const int slept = s.watched.is_empty() ? wait_for_events(s, *until) : 0;
    if (slept >= 0)
        s.watched.deliver_one([](int) {});
    return slept;
}

void wake(void *memory) { state_in(memory).waker.wake(); }

int change_watch(void *memory, tw_watch_change change, int fd, std::uint32_t events, tw_watch_callback *fn,
                 void *arg) {
    return state_in(memory).watched.change(change, fd, events, fn, arg);
}

// --- opening -------------------------------------------------------------------------

int open_descriptors(state &s, tw_clock clock) {
    if (const int error = s.watched.open(); error != 0)
        return error;
    if (const int fd = s.waker.open(); fd < 0)
        return fd;
    if (clock != TW_CLOCK_WALL)
        return 0;
    const int fd = s.wall.timer.open(CLOCK_REALTIME);
    return fd < 0 ? fd : 0;
}

// io_uring ignores the clock offsets of a time namespace (Linux 6.18), so a wait in one would end early, or
// much too late. False without /proc, because then we cannot tell.
bool is_outside_of_time_namespaces() {
    constexpr ino_t of_the_system = 0xEFFFFFFA;
    struct stat found;
    if (::stat("/proc/thread-self/ns/time", &found) == 0)
        return found.st_ino == of_the_system;
    // A kernel without time namespaces has the folder without the file.
    return errno == ENOENT && ::stat("/proc/thread-self/ns", &found) == 0;
}

// Waits once, for no time, on a ring of this thread, to find out what the kernel lacks or a sandbox forbids.
// Then opens a fresh ring, which no thread owns yet.
int try_out(state &s) {
    constexpr tw_deadlines at_once = {0, TW_NO_DEADLINE};
    if (!is_outside_of_time_namespaces())
        return -EOPNOTSUPP;
    if (const int error = wait_for_events(s, at_once); error < 0)
        return error;
    discard_ring(s);
    return s.ring.open();
}

void close(void *memory) {
    state &s = state_in(memory);
    s.ring.close();
    s.wall.timer.close();
    s.waker.close();
    s.watched.close();
}

int open(void *memory, tw_clock clock) {
    state &s = state_in(memory);
    s.clock = steady_clock_of(clock);
    int error = open_descriptors(s, clock);
    if (error == 0)
        error = try_out(s);
    if (error != 0)
        close(memory);
    return error;
}

}  // namespace

}  // namespace tickwheel::drivers::uring_driver

constexpr tw_driver tickwheel::drivers::uring = {
    .name = "uring",
    .clocks = clocks_of_the_system,
    .state_size = sizeof(uring_driver::state),
    .open = uring_driver::open,
    .close = uring_driver::close,
    .wait_until = uring_driver::wait_until,
    .wake = uring_driver::wake,
    .watch = uring_driver::change_watch,
    .descriptor = nullptr,
    .program = nullptr,
};
