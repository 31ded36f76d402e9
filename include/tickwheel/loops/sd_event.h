/* tickwheel/loops/sd_event.h - the timers of a runtime in a loop of sd-event (libsystemd).
 *
 *     static struct tw_sd_event timers;
 *     int error = tw_sd_event_attach(&timers, event, rt, on_failed, NULL);
 *     sd_event_loop(event);                  // the callbacks of the runtime's timers run here
 *     ...
 *     tw_sd_event_detach(&timers);           // anywhere on the loop's thread, callbacks included
 *     tw_runtime_free(rt);
 *
 *   Arguments  `timers` is the struct that you passed to attach.
 *   Owners     Loop and runtime are yours; the runtime has the driver "timerfd" and is not started. Detach
 *              before you free either. The struct may be freed as soon as it is detached.
 *   Threads    Attach and detach on the loop's thread. Timers may be armed on any thread.
 *   The loop   sd_event_loop goes on until sd_event_exit, whether a runtime is attached or not.
 *              `timers.source` is an ordinary source: you may give it a priority or a description. */
#ifndef TICKWHEEL_LOOPS_SD_EVENT_H
#define TICKWHEEL_LOOPS_SD_EVENT_H

#include <errno.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>
#include <tickwheel/runtime.h>

struct tw_sd_event {
    sd_event_source *source; /* null: not attached */
    struct tw_runtime *rt;
    void (*failed)(int error, void *arg);
    void *arg;
    bool *detached; /* during a dispatch: a flag that detach sets */
};

/* Internal: sd-event calls this. */
static inline int tw_sd_event_ready(sd_event_source *source, int fd, uint32_t events, void *arg) {
    struct tw_sd_event *timers = (struct tw_sd_event *)arg;
    bool detached = false;
    int error;
    (void)fd, (void)events;
    timers->detached = &detached;
    error = tw_runtime_dispatch(timers->rt);
    if (detached)
        return 0; /* the struct may be gone */
    timers->detached = NULL;
    if (error == 0)
        return 0;
    sd_event_source_set_enabled(source, SD_EVENT_OFF);
    timers->failed(error, timers->arg);
    return 0;
}

/* Makes the loop dispatch the runtime. If a dispatch fails, this file stops watching and calls
 * failed(error, arg): detach, and find out why. Returns 0.
 *   -EINVAL  `failed` is null
 *   others   as tw_runtime_fd or sd_event_add_io */
static inline int tw_sd_event_attach(struct tw_sd_event *timers, sd_event *event, struct tw_runtime *rt,
                                     void (*failed)(int error, void *arg), void *arg) {
    const int fd = failed != NULL ? tw_runtime_fd(rt) : -EINVAL;
    int error;
    timers->source = NULL;
    if (fd < 0)
        return fd;
    timers->rt = rt;
    timers->failed = failed;
    timers->arg = arg;
    timers->detached = NULL;
    error = sd_event_add_io(event, &timers->source, fd, EPOLLIN, tw_sd_event_ready, timers);
    return error < 0 ? error : 0;
}

/* Stops watching. Does nothing if the runtime is not attached. */
static inline void tw_sd_event_detach(struct tw_sd_event *timers) {
    if (timers->source == NULL)
        return;
    timers->source = sd_event_source_disable_unref(timers->source); /* null */
    if (timers->detached != NULL)
        *timers->detached = true;
}

#endif
