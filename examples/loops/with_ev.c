/* Timers in a libev loop. */
#include <tickwheel/loops/ev.h>

#include <stdlib.h>

#include "story.h"

static struct ev_loop *loop;
static struct tw_ev *timers;

/* With the runtime gone, the loop has nothing left to wait for. */
static void end(void) {
    tw_ev_detach(timers);
    free(timers);
    timers = NULL;
}

static void on_moment_over(struct ev_loop *here, ev_timer *moment, int events) {
    (void)moment, (void)events;
    ev_break(here, EVBREAK_ONE);
}

static void inside(void) {
    ev_timer moment;
    ev_timer_init(&moment, on_moment_over, 0.03, 0);
    ev_timer_start(loop, &moment);
    ev_run(loop, 0);
}

int main(int argc, char **argv) {
    struct tw_runtime *rt = story_begin(argc, argv, end, inside);
    loop = ev_loop_new(EVFLAG_AUTO);
    timers = malloc(sizeof *timers);
    const int error = tw_ev_attach(timers, loop, rt, story_failed, NULL);
    if (error != 0)
        story_refused(error);
    ev_run(loop, 0);
    ev_loop_destroy(loop);
    free(timers);
    return story_end();
}
