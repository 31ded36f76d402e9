// The system call epoll_pwait2, for which musl and older C libraries have no function: epoll_wait with a
// signal mask and a timeout in nanoseconds. Returns -1 and sets errno on error.
#pragma once

#include <sys/epoll.h>
#include <time.h>

extern "C" int tw_port_epoll_pwait2(int set, epoll_event *events, int room, const timespec *timeout,
                                    const sigset_t *mask);
