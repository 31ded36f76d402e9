/* tickwheel/loops/uv.h - the timers of a runtime in a libuv loop.
 *
 *     struct tw_runtime_options options = {.driver = "timerfd"};
 *     int made = tw_runtime_new(&rt, &options);
 *     static struct tw_uv timers;
 *     int error = tw_uv_attach(&timers, loop, rt, on_failed, NULL);
 *     uv_run(loop, UV_RUN_DEFAULT);          // the callbacks of the runtime's timers run here
 *     ...
 *     tw_uv_detach(&timers, NULL);           // anywhere on the loop's thread, callbacks included
 *     tw_runtime_free(rt);
 *
 *   Owners     Loop and runtime are yours; the runtime has the driver "timerfd" and is not started. Detach
 *              before you free either. The struct must stay where it is until libuv calls `closed`, or
 *              uv_run returns 0: libuv closes handles later, in uv_run.
 *   Threads    Attach and detach on the loop's thread. Timers may be armed on any thread.
 *   The loop   An attached runtime keeps uv_run going, even if no timer is pending;
 *              uv_unref((uv_handle_t *)&timers.poll) changes that. */
#ifndef TICKWHEEL_LOOPS_UV_H
#define TICKWHEEL_LOOPS_UV_H

#include <errno.h>
#include <tickwheel/runtime.h>
#include <uv.h>

struct tw_uv {
    uv_poll_t poll;
    struct tw_runtime *rt; /* null: not attached */
    void (*failed)(int error, void *arg);
    void (*closed)(void *arg);
    void *arg;
};

/* Internal: libuv calls this. */
static inline void tw_uv_ready(uv_poll_t *poll, int status, int events) {
    struct tw_uv *timers = (struct tw_uv *)poll->data;
    const int error = status < 0 ? status : tw_runtime_dispatch(timers->rt);
    (void)events;
    if (error == 0 || uv_is_closing((uv_handle_t *)poll))
        return; /* a callback may have detached the runtime */
    uv_poll_stop(poll);
    timers->failed(error, timers->arg);
}

/* Internal: libuv calls this. */
static inline void tw_uv_closed(uv_handle_t *poll) {
    struct tw_uv *timers = (struct tw_uv *)poll->data;
    if (timers->closed != NULL)
        timers->closed(timers->arg);
}

/* Makes the loop dispatch the runtime. If polling or a dispatch fails, this file stops watching and calls
 * failed(error, arg): detach, and find out why. Returns 0.
 *   -EINVAL  `failed` is null
 *   others   as tw_runtime_fd, or as uv_poll_init (libuv's errors are negative errno values) */
static inline int tw_uv_attach(struct tw_uv *timers, uv_loop_t *loop, struct tw_runtime *rt,
                               void (*failed)(int error, void *arg), void *arg) {
    const int fd = failed != NULL ? tw_runtime_fd(rt) : -EINVAL;
    const int error = fd >= 0 ? uv_poll_init(loop, &timers->poll, fd) : fd;
    timers->rt = NULL;
    if (error != 0)
        return error;
    timers->poll.data = timers;
    timers->rt = rt;
    timers->failed = failed;
    timers->arg = arg;
    return uv_poll_start(&timers->poll, UV_READABLE, tw_uv_ready); /* 0: uv_poll_init has checked it */
}

/* Stops watching. Calls closed(arg), with the `arg` of attach, as soon as you may free the struct; `closed`
 * may be null. Does nothing if the runtime is not attached. */
static inline void tw_uv_detach(struct tw_uv *timers, void (*closed)(void *arg)) {
    if (timers->rt == NULL)
        return;
    timers->rt = NULL;
    timers->closed = closed;
    uv_close((uv_handle_t *)&timers->poll, tw_uv_closed);
}

#endif
