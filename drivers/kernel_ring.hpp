// An io_uring ring, shared with the kernel: requests go in on one side, results come out on the other, and
// one system call hands over the requests and waits for a result. Uses raw system calls, so the library does
// not depend on liburing.
//
// Only the thread that called `begin` uses a ring. In return the kernel does not interrupt that thread until
// it enters the ring: a result that arrives during a callback cuts no system call short (EINTR).
#pragma once

#include <linux/io_uring.h>

#include <cstddef>
#include <cstdint>

namespace tickwheel::drivers {

// Constants missing from the oldest headers that we build with, those of Linux 5.15.
constexpr std::uint8_t fetch_epoll_events = 59;   // IORING_OP_EPOLL_WAIT, Linux 6.15
constexpr std::uint8_t silent_success = 1u << 6;  // IOSQE_CQE_SKIP_SUCCESS, Linux 5.17

class kernel_ring {
  public:
    // Returns 0 or a negative errno: -ENOSYS if the kernel is too old, -EPERM if io_uring is forbidden here.
    // REQUIRES: the ring is zeroed memory. Any thread.
    int open();

    // Binds the ring to the calling thread. 0 or a negative errno.
    int begin();
    bool has_begun() const { return has_begun_; }

    // In the child of a fork this leaves the parent's ring alone.
    void close();

    bool is_open() const { return fd_plus_1_ != 0; }
    bool can_fetch_epoll_events() const { return can_fetch_epoll_events_; }

    // Returns a zeroed request for the caller to fill in. Its result carries `name`. At most `room` requests
    // between two calls of `enter`.
    io_uring_sqe &ask(std::uint8_t operation, std::uint64_t name);
    static constexpr unsigned room = 8;

    // Hands over the requests. If `sleeps`, waits until there is a result. Returns 0 or a negative errno:
    // -EINTR after a signal, -EEXIST if the ring belongs to another thread. After any other error close the
    // ring.
    int enter(bool sleeps) const;

    // True if the kernel has not taken all requests yet.
    bool has_untaken() const;

    // Takes the next result; false if there is none.
    bool take(io_uring_cqe &result);

    // True if enter(false) would have nothing to do.
    bool is_idle() const;

  private:
    struct queue {
        std::uint32_t *head, *tail;
        std::uint32_t mask;
    };

    int map(const io_uring_params &as);
    void probe();

    int fd_plus_1_;  // 0: closed, so zeroed memory is a closed ring
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
