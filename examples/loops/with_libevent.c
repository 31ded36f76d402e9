/* Timers in a libevent loop. */
#include <tickwheel/loops/libevent.h>

#include <stdlib.h>

#include "story.h"

static struct tw_libevent *timers;

/* With the runtime gone, the loop has nothing left to wait for. */
static void end(void) {
    tw_libevent_detach(timers);
    free(timers);
    timers = NULL;
}

int main(int argc, char **argv) {
    struct tw_runtime *rt = story_begin(argc, argv, end, NULL);
    struct event_base *base = event_base_new();
    timers = malloc(sizeof *timers);
    const int error = tw_libevent_attach(timers, base, rt, story_failed, NULL);
    if (error != 0)
        story_refused(error);
    event_base_dispatch(base);
    event_base_free(base);
    free(timers);
    return story_end();
}
