/* Timers in a loop of sd-event. */
#include <tickwheel/loops/sd_event.h>

#include <stdlib.h>

#include "story.h"

static sd_event *event;
static struct tw_sd_event *timers;

static void end(void) {
    tw_sd_event_detach(timers);
    free(timers);
    timers = NULL;
    sd_event_exit(event, 0);
}

int main(int argc, char **argv) {
    struct tw_runtime *rt = story_begin(argc, argv, end, NULL);
    timers = malloc(sizeof *timers);
    int error = sd_event_new(&event);
    if (error >= 0)
        error = tw_sd_event_attach(timers, event, rt, story_failed, NULL);
    if (error == 0)
        sd_event_loop(event);
    else
        story_refused(error);
    sd_event_unref(event);
    free(timers);
    return story_end();
}
