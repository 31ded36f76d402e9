/* tickwheel/loops/glib.h - the timers of a runtime in a GLib main loop.
 *
 *     static GSource *timers;
 *     int error = tw_glib_attach(&timers, NULL, rt, on_failed, NULL);   // NULL: the default context
 *     g_main_loop_run(loop);                 // the callbacks of the runtime's timers run here
 *     ...
 *     tw_glib_detach(&timers);               // anywhere, callbacks included
 *     tw_runtime_free(rt);
 *
 *   Owners     Context and runtime are yours; the runtime has the driver "timerfd" and is not started.
 *              Detach before you free the runtime. The source is an ordinary one, and you hold a
 *              reference: you may give it a priority or a name.
 *   Threads    Attach and detach on the thread that runs the context. Timers may be armed on any thread.
 *   The loop   A callback may run its own main loop; no timer of the runtime fires in that loop, because
 *              GLib does not dispatch a source inside itself. */
#ifndef TICKWHEEL_LOOPS_GLIB_H
#define TICKWHEEL_LOOPS_GLIB_H

#include <errno.h>
#include <glib-unix.h>
#include <tickwheel/runtime.h>

struct tw_glib_source {
    GSource base;
    struct tw_runtime *rt;
    void (*failed)(int error, void *arg);
    void *arg;
};

/* Internal: GLib calls this. */
static inline gboolean tw_glib_dispatch(GSource *base, GSourceFunc callback, gpointer data) {
    struct tw_glib_source *source = (struct tw_glib_source *)base;
    const int error = tw_runtime_dispatch(source->rt);
    (void)callback, (void)data;
    if (error == 0 || g_source_is_destroyed(base))
        return G_SOURCE_CONTINUE; /* a callback may have detached the runtime; GLib still holds the source */
    source->failed(error, source->arg);
    return G_SOURCE_REMOVE;
}

/* Makes the main loop dispatch the runtime, through a source that this function stores in *source. If a
 * dispatch fails, this file stops watching and calls failed(error, arg): detach, and find out why. Returns 0.
 *   -EINVAL  `failed` is null
 *   others   as tw_runtime_fd */
static inline int tw_glib_attach(GSource **source, GMainContext *context, struct tw_runtime *rt,
                                 void (*failed)(int error, void *arg), void *arg) {
    /* `prepare` and `check` are null: the source is ready when its descriptor is. */
    static GSourceFuncs functions = {NULL, NULL, tw_glib_dispatch, NULL, NULL, NULL};
    const int fd = failed != NULL ? tw_runtime_fd(rt) : -EINVAL;
    struct tw_glib_source *made;
    *source = NULL;
    if (fd < 0)
        return fd;
    *source = g_source_new(&functions, sizeof *made);
    made = (struct tw_glib_source *)*source;
    made->rt = rt;
    made->failed = failed;
    made->arg = arg;
    g_source_add_unix_fd(*source, fd, G_IO_IN);
    g_source_attach(*source, context);
    return 0;
}

/* Destroys the source and drops the reference. Does nothing if the runtime is not attached. */
static inline void tw_glib_detach(GSource **source) {
    GSource *timers = *source;
    *source = NULL;
    if (timers == NULL)
        return;
    g_source_destroy(timers);
    g_source_unref(timers);
}

#endif
