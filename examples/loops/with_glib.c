/* Timers in a GLib main loop. */
#include <tickwheel/loops/glib.h>

#include "story.h"

static GMainLoop *loop;
static GSource *timers;

static void end(void) {
    tw_glib_detach(&timers);
    g_main_loop_quit(loop);
}

static gboolean on_moment_over(gpointer inner) {
    g_main_loop_quit(inner);
    return G_SOURCE_REMOVE;
}

static void inside(void) {
    GMainLoop *inner = g_main_loop_new(NULL, FALSE);
    g_timeout_add(30, on_moment_over, inner);
    g_main_loop_run(inner);
    g_main_loop_unref(inner);
}

int main(int argc, char **argv) {
    struct tw_runtime *rt = story_begin(argc, argv, end, inside);
    loop = g_main_loop_new(NULL, FALSE);
    const int error = tw_glib_attach(&timers, NULL, rt, story_failed, NULL);
    if (error == 0)
        g_main_loop_run(loop);
    else
        story_refused(error);
    g_main_loop_unref(loop);
    return story_end();
}
