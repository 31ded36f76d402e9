// The system call of this name, for which older C libraries, and musl's, have no function. As epoll_wait,
// with a timeout in nanoseconds; -1 and errno.
#pragma once

#include <sys/epoll.h>
#include <time.h>

extern "C" int tw_port_epoll_pwait2(int set, epoll_event *events, int room, const timespec *timeout,
                                    const sigset_t *mask);
