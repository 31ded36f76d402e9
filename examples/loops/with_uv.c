/* Timers in a libuv loop. */
#include <tickwheel/loops/uv.h>

#include <stdlib.h>

#include "story.h"

static uv_loop_t loop;
static struct tw_uv *timers;

/* With the runtime gone, the loop only waits until libuv has closed the handle. */
static void end(void) { tw_uv_detach(timers, free); }

int main(int argc, char **argv) {
    struct tw_runtime *rt = story_begin(argc, argv, end, NULL);
    uv_loop_init(&loop);
    timers = malloc(sizeof *timers);
    const int error = tw_uv_attach(timers, &loop, rt, story_failed, timers);
    if (error != 0) {
        story_refused(error);
        free(timers);
    }
    uv_run(&loop, UV_RUN_DEFAULT);
    const int unclosed = uv_loop_close(&loop); /* UV_EBUSY if a handle is still open */
    return story_end() | (unclosed != 0);
}
