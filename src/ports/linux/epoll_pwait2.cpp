#include "epoll_pwait2.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

// The kernel's timespec has 64-bit fields everywhere. The last argument is the size of the kernel's signal
// sets.
int tw_port_epoll_pwait2(int set, epoll_event *events, int room, const timespec *timeout,
                         const sigset_t *mask) {
    const std::int64_t kernel_timeout[2] = {timeout->tv_sec, timeout->tv_nsec};
    return static_cast<int>(::syscall(SYS_epoll_pwait2, set, events, room, kernel_timeout, mask, 8));
}
