// A timerfd with absolute deadlines. Any thread may set it, because the kernel sets it atomically.
#pragma once

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include <tickwheel/driver.h>

namespace tickwheel::drivers {

// The kernel's clock for delays in a runtime on this clock.
inline clockid_t steady_clock_of(tw_clock clock) {
    return clock == TW_CLOCK_BOOT ? CLOCK_BOOTTIME : CLOCK_MONOTONIC;
}

class timer_descriptor {
  public:
    // A descriptor, or a negative errno.
    int open(clockid_t clock) {
        const int fd = ::timerfd_create(clock, TFD_NONBLOCK | TFD_CLOEXEC);
        if (fd < 0)
            return -errno;
        fd_plus_1_ = fd + 1;
        // P12: if the wall clock is set, the descriptor becomes readable.
        flags_ = clock == CLOCK_REALTIME ? TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET : TFD_TIMER_ABSTIME;
        return fd;
    }

    void close() {
        if (is_open())
            ::close(fd());
        fd_plus_1_ = 0;
    }

    bool is_open() const { return fd_plus_1_ != 0; }
    int fd() const { return fd_plus_1_ - 1; }

    // Makes the descriptor readable at the deadline: at once if that has passed, never if it is
    // TW_NO_DEADLINE. 0 or a negative errno.
    int set(std::int64_t deadline) const {
        itimerspec spec = {};
        if (deadline != TW_NO_DEADLINE) {
            spec.it_value.tv_sec = static_cast<time_t>(deadline / 1'000'000'000);
            spec.it_value.tv_nsec = static_cast<long>(deadline % 1'000'000'000);
            if (deadline == 0)
                spec.it_value.tv_nsec = 1;  // zero would mean never
        }
        if (::timerfd_settime(fd(), flags_, &spec, nullptr) == 0 || errno == ECANCELED)
            return 0;  // ECANCELED: the clock was set just before, but the kernel has set the timer
        return -errno;
    }

  private:
    int fd_plus_1_;  // 0: closed, as in zeroed memory
    int flags_;
};

// A timer that remembers its deadline, and so saves the system call if nothing changes. One thread uses it.
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

// The clock's reading in nanoseconds.
inline std::int64_t reading_of(clockid_t clock) {
    timespec reading;
    ::clock_gettime(clock, &reading);
    return std::int64_t{reading.tv_sec} * 1'000'000'000 + reading.tv_nsec;
}

}  // namespace tickwheel::drivers
