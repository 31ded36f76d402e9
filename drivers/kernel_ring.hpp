// A ring of io_uring, shared with the kernel: requests to the kernel go in on one side, their results come
// out on the other, and one system call hands over the requests and waits for a result. Made of raw system
// calls, so that the library needs no other one.
//
// One thread uses a ring, the one that has begun to (`begin`). In return the kernel leaves that thread alone
// until it enters the ring: no system call of a callback is cut short because a result arrives (EINTR).
#pragma once

#include <linux/io_uring.h>

#include <cstddef>
#include <cstdint>

namespace tickwheel::drivers {

// Newer than the oldest headers that the library is built with, those of Linux 5.15.
constexpr std::uint8_t fetch_epoll_events = 59;   // IORING_OP_EPOLL_WAIT, Linux 6.15
constexpr std::uint8_t silent_success = 1u << 6;  // IOSQE_CQE_SKIP_SUCCESS, Linux 5.17

class kernel_ring {
  public:
    // 0 or a negative errno; -ENOSYS if the kernel is too old, -EPERM if io_uring is forbidden here. A ring
    // is zeroed memory before. Any thread.
    int open();

    // From now on this thread uses the ring. 0 or a negative errno.
    int begin();
    bool has_begun() const { return has_begun_; }

    // In the child of a fork this leaves the parent's ring alone.
    void close();

    bool is_open() const { return fd_plus_1_ != 0; }
    bool can_fetch_epoll_events() const { return can_fetch_epoll_events_; }

    // A zeroed request, to be filled in. `name` comes back with the result. At most `room` between two calls
    // of `enter`.
    io_uring_sqe &ask(std::uint8_t operation, std::uint64_t name);
    static constexpr unsigned room = 8;

    // Hands over the requests. If `sleeps`, waits until there is a result. 0 or a negative errno: -EINTR
    // after a signal, -EEXIST if the ring is another thread's. After other errors the ring must be closed.
    int enter(bool sleeps) const;

    // Whether there are requests that the kernel has not taken yet.
    bool has_untaken() const;

    // Takes the next result; false if there is none.
    bool take(io_uring_cqe &result);

    // Whether `enter` would find nothing to do if it did not sleep.
    bool is_idle() const;

  private:
    struct queue {
        std::uint32_t *head, *tail;
        std::uint32_t mask;
    };

    int map(const io_uring_params &as);
    void probe();

    int fd_plus_1_;  // 0 is closed, as zeroed memory is
    bool has_begun_, can_fetch_epoll_events_;
    std::uint32_t enter_flags_;
    void *queues_;
    std::size_t queues_size_, requests_size_;
    queue to_kernel_, from_kernel_;
    std::uint32_t *state_flags_;
    io_uring_sqe *requests_;
    io_uring_cqe *results_;
};

}  // namespace tickwheel::drivers
