/* tickwheel/loops/ev.h - the timers of a runtime in a libev loop.
 *
 *     static struct tw_ev timers;
 *     int error = tw_ev_attach(&timers, loop, rt, on_failed, NULL);
 *     ev_run(loop, 0);                       // the callbacks of the runtime's timers run here
 *     ...
 *     tw_ev_detach(&timers);                 // anywhere on the loop's thread, callbacks included
 *     tw_runtime_free(rt);
 *
 *   Arguments  `timers` is the struct that you passed to attach.
 *   Owners     Loop and runtime are yours; the runtime has the driver "timerfd" and is not started. Detach
 *              before you free either. The struct may be freed as soon as it is detached.
 *   Threads    Attach and detach on the loop's thread. Timers may be armed on any thread.
 *   The loop   An attached runtime keeps ev_run going, even if no timer is pending; ev_unref(loop) changes
 *              that. A callback may call ev_run; no timer of the runtime fires inside that call. */
#ifndef TICKWHEEL_LOOPS_EV_H
#define TICKWHEEL_LOOPS_EV_H

#include <errno.h>
#include <ev.h>
#include <stdbool.h>
#include <tickwheel/runtime.h>

#ifdef EV_READ /* libev has an enum; the macro is libevent's, with another value */
#error "tickwheel/loops/ev.h does not go into one source file with libevent's headers"
#endif

struct tw_ev {
    ev_io ready;
    struct ev_loop *loop; /* null: not attached */
    struct tw_runtime *rt;
    void (*failed)(int error, void *arg);
    void *arg;
    bool *detached; /* during a dispatch: a flag that detach sets */
};

/* Internal: libev calls this. The descriptor stays readable during the dispatch, so this function stops
 * watching it; otherwise an ev_run inside a callback would not sleep. Stopping costs no system call, because
 * libev passes only changes on to the kernel, and only before it sleeps. */
static inline void tw_ev_ready(struct ev_loop *loop, ev_io *ready, int events) {
    struct tw_ev *timers = (struct tw_ev *)ready->data;
    bool detached = false;
    int error;
    (void)events;
    timers->detached = &detached;
    ev_io_stop(loop, ready);
    error = tw_runtime_dispatch(timers->rt);
    if (detached)
        return; /* the struct may be gone */
    timers->detached = NULL;
    if (error == 0)
        ev_io_start(loop, ready);
    else
        timers->failed(error, timers->arg);
}

/* Makes the loop dispatch the runtime. If a dispatch fails, this file stops watching and calls
 * failed(error, arg): detach, and find out why. Returns 0.
 *   -EINVAL  `failed` is null
 *   others   as tw_runtime_fd */
static inline int tw_ev_attach(struct tw_ev *timers, struct ev_loop *loop, struct tw_runtime *rt,
                               void (*failed)(int error, void *arg), void *arg) {
    const int fd = failed != NULL ? tw_runtime_fd(rt) : -EINVAL;
    timers->loop = NULL;
    if (fd < 0)
        return fd;
    timers->loop = loop;
    timers->rt = rt;
    timers->failed = failed;
    timers->arg = arg;
    timers->detached = NULL;
    ev_io_init(&timers->ready, tw_ev_ready, fd, EV_READ);
    timers->ready.data = timers;
    ev_io_start(loop, &timers->ready);
    return 0;
}

/* Stops watching. Does nothing if the runtime is not attached. */
static inline void tw_ev_detach(struct tw_ev *timers) {
    if (timers->loop == NULL)
        return;
    ev_io_stop(timers->loop, &timers->ready);
    timers->loop = NULL;
    if (timers->detached != NULL)
        *timers->detached = true;
}

#endif
