// The driver that also watches the user's descriptors, on the same thread.
//
// Waiting. The kernel may end a timeout of epoll, poll or select a thousandth of the wait late. So
// epoll's own timeout serves for short waits only, where the kernel has it in nanoseconds
// (epoll_pwait2). For longer waits, and on older kernels, a timerfd in the set keeps the deadline exactly.
//
// Delivering. Events are fetched in batches and delivered one for each wait, so that timers, stopping and
// removal get their turn in between. An event carries the number of the watch it was meant for. If the
// watch was removed or modified since, its number is another, and the event is dropped: a descriptor may
// be closed and its value used again while events of the former one are still in the batch
// (tests/drivers/epoll_remove.pml).
//
// Threads. One thread waits, and alone uses the batch and the timers. Any thread wakes it, and adds,
// modifies and removes watches, which the mutex guards.
#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cstdlib>
#include <initializer_list>

#include "drivers.hpp"
#include "ports/linux/kept_errno.hpp"
#include "timer_descriptor.hpp"

namespace {

using tickwheel::drivers::steady_clock_of;
using tickwheel::drivers::timer_descriptor;
using tickwheel::ports::kept_errno;

constexpr int batch_size = 64;
constexpr std::int64_t short_wait_ns = 1'000'000;  // its slack: a microsecond

// A watched descriptor, at its number's place in a table.
struct watch {
    tw_watch_callback *fn;  // null if the descriptor is not watched
    void *arg;
    std::uint32_t number;  // a new one for each change
};

// A timer in the set, and what it is set to. Only the waiting thread uses it. Setting it is a system call,
// so that is left out if nothing would change.
struct deadline_timer {
    timer_descriptor timer;
    bool is_set;
    std::int64_t set_for;

    int set(std::int64_t deadline) {
        if (is_set ? set_for == deadline : deadline == TW_NO_DEADLINE)
            return 0;
        const int error = timer.set(deadline);
        is_set = error == 0 && deadline != TW_NO_DEADLINE;
        set_for = deadline;
        return error;
    }
};

struct state {
    int set, wake;  // epoll and eventfd descriptors; -1: closed
    clockid_t clock;
    deadline_timer steady, wall;
    bool has_no_pwait2;

    epoll_event batch[batch_size];  // the waiting thread's
    int fetched, delivered;

    // Guards what follows; not held during callbacks. While the callback of a watch runs, `running` is
    // its descriptor, and `calls` has counted it. A call that removes the watch waits for `returned`
    // until one of the two has changed.
    pthread_mutex_t mutex;
    pthread_cond_t returned;
    watch *watches;
    std::size_t room;  // in `watches`
    std::uint32_t last_number;
    int running;  // descriptor whose callback runs, or -1
    pthread_t running_on;
    std::uint64_t calls;  // callbacks that have begun
};

state &state_in(void *memory) { return *static_cast<state *>(memory); }

class holder {
  public:
    explicit holder(state &s) : s_(s) { pthread_mutex_lock(&s_.mutex); }
    ~holder() { pthread_mutex_unlock(&s_.mutex); }
    holder(const holder &) = delete;
    holder &operator=(const holder &) = delete;

  private:
    state &s_;
};

// --- opening -------------------------------------------------------------------------

constexpr std::uint32_t internal = 0;  // the number of the driver's own descriptors

std::uint64_t tag(int fd, std::uint32_t number) {
    return std::uint64_t{number} << 32 | static_cast<std::uint32_t>(fd);
}

// Edge-triggered: an event says all there is to know of the driver's own descriptors, so they need not be
// read.
int add_own(state &s, int fd) {
    epoll_event event = {};
    event.events = EPOLLIN | EPOLLET;
    event.data.u64 = tag(fd, internal);
    return ::epoll_ctl(s.set, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

int open_timer(state &s, deadline_timer &timer, clockid_t clock) {
    const int fd = timer.timer.open(clock);
    return fd < 0 ? fd : add_own(s, fd);
}

int open_all(state &s, tw_clock clock) {
    if ((s.set = ::epoll_create1(EPOLL_CLOEXEC)) < 0)
        return -errno;
    if ((s.wake = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
        return -errno;
    if (const int error = add_own(s, s.wake); error != 0)
        return error;
    if (const int error = open_timer(s, s.steady, s.clock); error != 0)
        return error;
    return clock == TW_CLOCK_WALL ? open_timer(s, s.wall, CLOCK_REALTIME) : 0;
}

// Takes no lock: in the child of a fork it may be held by a thread that is not there.
void close(void *memory) {
    state &s = state_in(memory);
    s.steady.timer.close();
    s.wall.timer.close();
    if (s.wake >= 0)
        ::close(s.wake);
    if (s.set >= 0)
        ::close(s.set);
    std::free(s.watches);
}

int open(void *memory, tw_clock clock) {
    state &s = state_in(memory);
    s.set = s.wake = s.running = -1;
    s.clock = steady_clock_of(clock);
    pthread_mutex_init(&s.mutex, nullptr);
    pthread_cond_init(&s.returned, nullptr);
    const int error = open_all(s, clock);
    if (error != 0)
        close(memory);
    return error;
}

// --- waiting --------------------------------------------------------------------------

std::int64_t now(const state &s) {
    timespec reading;
    ::clock_gettime(s.clock, &reading);
    return std::int64_t{reading.tv_sec} * 1'000'000'000 + reading.tv_nsec;
}

constexpr std::int64_t for_ever = -1;

// Sets the timers, and says how long the kernel's own timeout is to be: 0 to short_wait_ns, or for_ever. For
// a short wait the steady timer may stay set for a later deadline: then it rings some other time, for
// nothing. But it must not ring before this one, or the wait would end early.
int arrange(state &s, const tw_deadlines &until, std::int64_t &timeout_ns) {
    timeout_ns = for_ever;
    if (s.wall.timer.is_open())
        if (const int error = s.wall.set(until.wall_ns); error != 0)
            return error;
    if (until.steady_ns == TW_NO_DEADLINE)
        return s.steady.set(TW_NO_DEADLINE);

    const std::int64_t left = until.steady_ns == 0 ? 0 : until.steady_ns - now(s);
    const bool rings_before = s.steady.is_set && s.steady.set_for < until.steady_ns;
    if (left > 0 && (left > short_wait_ns || s.has_no_pwait2 || rings_before))
        return s.steady.set(until.steady_ns);
    timeout_ns = left > 0 ? left : 0;
    return 0;
}

int fetch(state &s, std::int64_t timeout_ns) {
    if (timeout_ns <= 0)
        return ::epoll_wait(s.set, s.batch, batch_size, static_cast<int>(timeout_ns));
    const timespec timeout = {0, static_cast<long>(timeout_ns)};
    return ::epoll_pwait2(s.set, s.batch, batch_size, &timeout, nullptr);
}

// Fills the batch. 1 if it may have slept, 0 if not, or a negative errno.
int wait_for_events(state &s, const tw_deadlines &until) {
    for (;;) {
        std::int64_t timeout_ns;
        if (const int error = arrange(s, until, timeout_ns); error != 0)
            return error;
        s.delivered = 0;
        s.fetched = fetch(s, timeout_ns);
        if (s.fetched >= 0)
            return timeout_ns != 0 ? 1 : 0;
        s.fetched = 0;
        if (errno == EINTR)
            return 1;
        // Sandboxes answer with all kinds of errors to calls that they do not know; if the fault
        // is another, the other way of waiting finds it too.
        if (timeout_ns <= 0)
            return -errno;
        s.has_no_pwait2 = true;
    }
}

// An event of a timer or of the descriptor for wakes has ended the wait, which is all that it is for. A timer
// that has rung is not set any more.
void take_own_event(state &s, int fd) {
    for (deadline_timer *each : {&s.steady, &s.wall})
        if (each->timer.is_open() && each->timer.fd() == fd)
            each->is_set = false;
}

// Calls the function of the watch that the event is for, with no lock held; returns false if that watch was
// removed or modified since.
bool deliver(state &s, const epoll_event &event) {
    const int fd = static_cast<int>(static_cast<std::uint32_t>(event.data.u64));
    watch called;
    {
        const holder hold(s);
        called = s.watches[fd];
        if (called.fn == nullptr || tag(fd, called.number) != event.data.u64)
            return false;
        s.running = fd;
        s.running_on = pthread_self();
        ++s.calls;
    }
    called.fn(fd, event.events, called.arg);
    const holder hold(s);
    s.running = -1;
    pthread_cond_broadcast(&s.returned);
    return true;
}

// Events of the driver's own descriptors do not count: one of the user's is delivered after them.
void deliver_one(state &s) {
    while (s.delivered < s.fetched) {
        const epoll_event event = s.batch[s.delivered++];
        if (event.data.u64 >> 32 == internal)
            take_own_event(s, static_cast<int>(event.data.u64));
        else if (deliver(s, event))
            return;
    }
}

int wait_until(void *memory, const tw_deadlines *until) {
    state &s = state_in(memory);
    const int slept = s.delivered < s.fetched ? 0 : wait_for_events(s, *until);
    if (slept >= 0)
        deliver_one(s);
    return slept;
}

void wake(void *memory) {
    const kept_errno kept;
    const std::uint64_t one = 1;
    // This fails only if the counter is full, and then the descriptor is readable.
    [[maybe_unused]] const auto written = ::write(state_in(memory).wake, &one, sizeof one);
}

// --- watching -------------------------------------------------------------------------

// The old table is freed last, so that the child of a fork in between finds one that is whole (P13).
int make_room(state &s, int fd) {
    const auto needed = static_cast<std::size_t>(fd) + 1;
    if (needed <= s.room)
        return 0;
    const std::size_t room = needed > 2 * s.room ? needed : 2 * s.room;
    auto *watches = static_cast<watch *>(std::calloc(room, sizeof(watch)));
    if (watches == nullptr)
        return -ENOMEM;
    watch *const old = s.watches;
    for (std::size_t i = 0; i < s.room; ++i)
        watches[i] = old[i];
    s.watches = watches;
    s.room = room;
    std::free(old);
    return 0;
}

std::uint32_t next_number(state &s) {
    if (++s.last_number == internal)
        ++s.last_number;
    return s.last_number;
}

int control(state &s, int operation, int fd, std::uint32_t events, std::uint32_t number) {
    epoll_event event = {};
    event.events = events;
    event.data.u64 = tag(fd, number);
    return ::epoll_ctl(s.set, operation, fd, &event) == 0 ? 0 : -errno;
}

// A descriptor that was closed while it was watched is unknown to the kernel, and may be added again: its
// former watch is overwritten.
int add(state &s, int fd, std::uint32_t events, tw_watch_callback *fn, void *arg) {
    if (::fcntl(fd, F_GETFD) < 0)
        return -errno;  // before room is made for a number that is no descriptor
    if (const int error = make_room(s, fd); error != 0)
        return error;
    const std::uint32_t number = next_number(s);
    const int error = control(s, EPOLL_CTL_ADD, fd, events, number);
    if (error == 0)
        s.watches[fd] = {fn, arg, number};
    return error;
}

bool is_watched(const state &s, int fd) {
    return static_cast<std::size_t>(fd) < s.room && s.watches[fd].fn != nullptr;
}

int modify(state &s, int fd, std::uint32_t events) {
    if (!is_watched(s, fd))
        return -ENOENT;
    const std::uint32_t number = next_number(s);
    const int error = control(s, EPOLL_CTL_MOD, fd, events, number);
    if (error == 0)
        s.watches[fd].number = number;
    return error;
}

// A callback that removes its own watch does not wait for itself. `calls` tells a callback that runs from a
// later one of another watch with the same descriptor, which is not waited for.
// REQUIRES: mutex held. RELEASES AND REACQUIRES: it
void wait_for_callback(state &s, int fd) {
    const std::uint64_t calls = s.calls;
    while (s.running == fd && s.calls == calls && pthread_equal(s.running_on, pthread_self()) == 0)
        pthread_cond_wait(&s.returned, &s.mutex);
}

// Also removes a watch whose descriptor was closed too early, which the kernel has forgotten already. The
// callback of a watch that is removed already may still run, and is waited for, too.
int remove(state &s, int fd) {
    const bool watched = is_watched(s, fd);
    if (watched) {
        control(s, EPOLL_CTL_DEL, fd, 0, internal);
        s.watches[fd].fn = nullptr;
    }
    wait_for_callback(s, fd);
    return watched ? 0 : -ENOENT;
}

int change_watch(void *memory, tw_watch_change change, int fd, std::uint32_t events, tw_watch_callback *fn,
                 void *arg) {
    state &s = state_in(memory);
    const holder hold(s);
    switch (change) {
    case TW_WATCH_ADD:
        return add(s, fd, events, fn, arg);
    case TW_WATCH_MODIFY:
        return modify(s, fd, events);
    case TW_WATCH_REMOVE:
        return remove(s, fd);
    }
    return -EINVAL;
}

}  // namespace

constexpr tw_driver tickwheel::drivers::epoll = {
    .name = "epoll",
    .clocks = TW_CLOCK_BIT(TW_CLOCK_MONOTONIC) | TW_CLOCK_BIT(TW_CLOCK_BOOT) | TW_CLOCK_BIT(TW_CLOCK_WALL),
    .state_size = sizeof(state),
    .open = open,
    .close = close,
    .wait_until = wait_until,
    .wake = wake,
    .watch = change_watch,
    .descriptor = nullptr,
    .program = nullptr,
};
