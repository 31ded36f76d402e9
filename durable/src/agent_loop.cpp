#include "agent_loop.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <new>
#include <system_error>

namespace tickwheel::durable {

agent_loop::~agent_loop() {
    stop();
    if (bell_ >= 0)
        close(bell_);
}

int agent_loop::start(const char *thread_name) {
    if (timers_ != nullptr) {
        start_timer(0);
        return 0;
    }
    bell_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (bell_ < 0)
        return -errno;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);  // the new thread must not receive the program's signals
    int error = 0;
    try {
        thread_ = std::thread([this] { run(); });
        pthread_setname_np(thread_.native_handle(), thread_name);
    } catch (const std::system_error &failure) {
        error = -failure.code().value();
    } catch (const std::bad_alloc &) {
        error = -ENOMEM;
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return error;
}

void agent_loop::ring() {
    if (is_rung_.exchange(true))
        return;
    if (timers_ == nullptr)
        eventfd_write(bell_, 1);
    else if (!is_in_step_ && !is_stopping_)
        tw_timer_move(timers_, timer_, 0);
}

void agent_loop::stop() {
    is_stopping_ = true;
    if (timers_ != nullptr) {
        tw_timer_cancel_wait(timers_, timer_);
    } else if (thread_.joinable()) {
        is_rung_ = false;
        ring();
        thread_.join();
    }
}

// --- on a thread --------------------------------------------------------------------------

void agent_loop::wait_until(std::int64_t time) {
    pollfd ready[2] = {{bell_, POLLIN, 0}, {whom_.descriptor(), POLLIN, 0}};
    const std::int64_t left = time == never ? never : time - clock_.now();
    timespec timeout = {static_cast<time_t>(std::max<std::int64_t>(left, 0) / TW_SECOND),
                        static_cast<long>(std::max<std::int64_t>(left, 0) % TW_SECOND)};
    ppoll(ready, 2, time == never ? nullptr : &timeout, nullptr);
    eventfd_t rung;
    eventfd_read(bell_, &rung);
}

void agent_loop::run() {
    while (!is_stopping_) {
        is_rung_ = false;
        const std::int64_t next = whom_.step(clock_.now());
        if (!is_rung_)
            wait_until(next);
    }
}

// --- on a timer ---------------------------------------------------------------------------

void agent_loop::start_timer(std::int64_t delay) {
    // A one-shot timer that has fired cannot be moved, so each wait arms a new timer.
    const int error = tw_timer_after(
        timers_, &timer_, delay,
        [](const tw_event *, void *loop) { static_cast<agent_loop *>(loop)->fire(); }, this);
    if (error != 0)
        timer_ = TW_NO_HANDLE;  // the set has ended
}

void agent_loop::fire() {
    constexpr std::int64_t a_day = 86400 * TW_SECOND;
    is_rung_ = false;
    is_in_step_ = true;
    const std::int64_t next = whom_.step(clock_.now());
    is_in_step_ = false;
    if (is_stopping_)
        return;
    const std::int64_t left = next == never ? a_day : next - clock_.now();
    start_timer(is_rung_ ? 0 : std::clamp<std::int64_t>(left, 0, a_day));
}

}  // namespace tickwheel::durable
