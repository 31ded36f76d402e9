// An eventfd with which any thread ends another thread's wait. No thread ever reads it: the driver polls for
// edges, so it sees every write, and the count does not matter.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/kept_errno.hpp"

namespace tickwheel::drivers {

class wake_descriptor {
  public:
    // A descriptor, or a negative errno.
    int open() {
        const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (fd < 0)
            return -errno;
        fd_plus_1_ = fd + 1;
        return fd;
    }

    void close() {
        if (fd_plus_1_ != 0)
            ::close(fd());
        fd_plus_1_ = 0;
    }

    int fd() const { return fd_plus_1_ - 1; }

    // Any thread.
    void wake() const {
        const base::kept_errno kept;
        const std::uint64_t one = 1;
        // This fails only if the counter is full, and then the descriptor is readable.
        [[maybe_unused]] const auto written = ::write(fd(), &one, sizeof one);
    }

  private:
    int fd_plus_1_;  // 0: closed, as in zeroed memory
};

}  // namespace tickwheel::drivers
