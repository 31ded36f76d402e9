#include "watches.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/exceptions.h"

namespace tickwheel::drivers {

namespace {

using base::mutex_hold;

std::uint64_t tag(int fd, std::uint32_t number) {
    return std::uint64_t{number} << 32 | static_cast<std::uint32_t>(fd);
}

}  // namespace

int watches::open() {
    const int set = ::epoll_create1(EPOLL_CLOEXEC);
    if (set < 0)
        return -errno;
    set_plus_1_ = set + 1;
    mutex_.init();
    mutex_.assume_held();  // no other thread knows the watches
    running_ = none;
    pthread_cond_init(&returned_, nullptr);
    return 0;
}

void watches::close() {
    if (set_plus_1_ != 0)
        ::close(fd());
    set_plus_1_ = 0;
    mutex_.assume_held();  // no other thread is in a call
    std::free(table_);
    table_ = nullptr;
}

int watches::add_own(int fd) { return control(EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLET, internal); }

// --- delivering -----------------------------------------------------------------------

// Calls the function of the event's watch, with no lock held. Returns false if that watch has been removed or
// modified since the event.
bool watches::deliver(const epoll_event &event) {
    const int fd = fd_of(event);
    watch called;
    {
        const mutex_hold hold(&mutex_);
        called = table_[fd];
        if (called.fn == nullptr || tag(fd, called.number) != event.data.u64)
            return false;
        running_ = fd;
        running_on_ = pthread_self();
        ++calls_;
    }
    base::passing_exceptions([&] { called.fn(fd, event.events, called.arg); }, [this] { end_call(); });
    end_call();
    return true;
}

void watches::end_call() {
    const mutex_hold hold(&mutex_);
    running_ = none;
    pthread_cond_broadcast(&returned_);
}

// --- changing -------------------------------------------------------------------------

// Frees the old table last, so that a forked child always finds a whole table (P13).
int watches::make_room(int fd) {
    const auto needed = static_cast<std::size_t>(fd) + 1;
    if (needed <= room_)
        return 0;
    const std::size_t room = needed > 2 * room_ ? needed : 2 * room_;
    auto *table = static_cast<watch *>(std::calloc(room, sizeof(watch)));
    if (table == nullptr)
        return -ENOMEM;
    watch *const old = table_;
    for (std::size_t i = 0; i < room_; ++i)
        table[i] = old[i];
    table_ = table;
    room_ = room;
    std::free(old);
    return 0;
}

std::uint32_t watches::next_number() {
    if (++last_number_ == internal)
        ++last_number_;
    return last_number_;
}

int watches::control(int operation, int fd, std::uint32_t events, std::uint32_t number) const {
    epoll_event event = {};
    event.events = events;
    event.data.u64 = tag(fd, number);
    return ::epoll_ctl(this->fd(), operation, fd, &event) == 0 ? 0 : -errno;
}

// If the user closed a watched descriptor, the kernel has forgotten it, and the number may be added again:
// that overwrites the old watch.
int watches::add(int fd, std::uint32_t events, tw_watch_callback *fn, void *arg) {
    if (::fcntl(fd, F_GETFD) < 0)
        return -errno;  // checked first, so that an invalid number does not grow the table
    if (const int error = make_room(fd); error != 0)
        return error;
    const std::uint32_t number = next_number();
    const int error = control(EPOLL_CTL_ADD, fd, events, number);
    if (error == 0)
        table_[fd] = {fn, arg, number};
    return error;
}

bool watches::is_watched(int fd) const {
    return static_cast<std::size_t>(fd) < room_ && table_[fd].fn != nullptr;
}

int watches::modify(int fd, std::uint32_t events) {
    if (!is_watched(fd))
        return -ENOENT;
    const std::uint32_t number = next_number();
    const int error = control(EPOLL_CTL_MOD, fd, events, number);
    if (error == 0)
        table_[fd].number = number;
    return error;
}

// A callback that removes its own watch does not wait for itself. `calls_` distinguishes the callback that
// runs now from a later one of another watch on the same descriptor, which this need not wait for.
void watches::wait_for_callback(int fd) {
    const std::uint64_t calls = calls_;
    while (running_ == fd && calls_ == calls && pthread_equal(running_on_, pthread_self()) == 0)
        pthread_cond_wait(&returned_, &mutex_.native);
}

// Also removes a watch whose descriptor the user closed too early, so that the kernel has already forgotten
// it. Waits even if the watch is already removed, because its callback may still run.
int watches::remove(int fd) {
    const bool watched = is_watched(fd);
    if (watched) {
        control(EPOLL_CTL_DEL, fd, 0, internal);
        table_[fd].fn = nullptr;
    }
    wait_for_callback(fd);
    return watched ? 0 : -ENOENT;
}

int watches::change(tw_watch_change change, int fd, std::uint32_t events, tw_watch_callback *fn, void *arg) {
    const mutex_hold hold(&mutex_);
    switch (change) {
    case TW_WATCH_ADD:
        return add(fd, events, fn, arg);
    case TW_WATCH_MODIFY:
        return modify(fd, events);
    case TW_WATCH_REMOVE:
        return remove(fd);
    }
    return -EINVAL;
}

}  // namespace tickwheel::drivers
