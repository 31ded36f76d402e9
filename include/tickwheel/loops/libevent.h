/* tickwheel/loops/libevent.h - the timers of a runtime in a libevent loop.
 *
 *     static struct tw_libevent timers;
 *     int error = tw_libevent_attach(&timers, base, rt, on_failed, NULL);
 *     event_base_dispatch(base);             // the callbacks of the runtime's timers run here
 *     ...
 *     tw_libevent_detach(&timers);           // anywhere on the loop's thread, callbacks included
 *     tw_runtime_free(rt);
 *
 *   Arguments  `timers` is the struct that you passed to attach.
 *   Owners     Base and runtime are yours; the runtime has the driver "timerfd" and is not started. Detach
 *              before you free either. The struct may be freed as soon as it is detached.
 *   Threads    Attach and detach on the loop's thread. Timers may be armed on any thread, even if
 *              libevent's support for threads is off.
 *   The loop   An attached runtime keeps event_base_dispatch going, even if no timer is pending. */
#ifndef TICKWHEEL_LOOPS_LIBEVENT_H
#define TICKWHEEL_LOOPS_LIBEVENT_H

#include <errno.h>
#include <event2/event.h>
#include <stdbool.h>
#include <tickwheel/runtime.h>

struct tw_libevent {
    struct event *ready; /* null: not attached */
    struct tw_runtime *rt;
    void (*failed)(int error, void *arg);
    void *arg;
    bool *detached; /* during a dispatch: a flag that detach sets */
};

/* Internal: libevent calls this. */
static inline void tw_libevent_ready(evutil_socket_t fd, short events, void *arg) {
    struct tw_libevent *timers = (struct tw_libevent *)arg;
    bool detached = false;
    int error;
    (void)fd, (void)events;
    timers->detached = &detached;
    error = tw_runtime_dispatch(timers->rt);
    if (detached)
        return; /* the struct may be gone */
    timers->detached = NULL;
    if (error == 0)
        return;
    event_del(timers->ready);
    timers->failed(error, timers->arg);
}

/* Makes the loop dispatch the runtime. If a dispatch fails, this file stops watching and calls
 * failed(error, arg): detach, and find out why. Returns 0.
 *   -EINVAL  `failed` is null
 *   -ENOMEM, -EIO  libevent cannot make, or watch, another event; it gives no reason
 *   others   as tw_runtime_fd */
static inline int tw_libevent_attach(struct tw_libevent *timers, struct event_base *base,
                                     struct tw_runtime *rt, void (*failed)(int error, void *arg), void *arg) {
    const int fd = failed != NULL ? tw_runtime_fd(rt) : -EINVAL;
    timers->ready = NULL;
    if (fd < 0)
        return fd;
    timers->rt = rt;
    timers->failed = failed;
    timers->arg = arg;
    timers->detached = NULL;
    timers->ready = event_new(base, fd, EV_READ | EV_PERSIST, tw_libevent_ready, timers);
    if (timers->ready == NULL)
        return -ENOMEM;
    if (event_add(timers->ready, NULL) == 0)
        return 0;
    event_free(timers->ready);
    timers->ready = NULL;
    return -EIO;
}

/* Stops watching. Does nothing if the runtime is not attached. */
static inline void tw_libevent_detach(struct tw_libevent *timers) {
    if (timers->ready == NULL)
        return;
    event_free(timers->ready);
    timers->ready = NULL;
    if (timers->detached != NULL)
        *timers->detached = true;
}

#endif
