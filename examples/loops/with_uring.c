/* Timers in a loop on io_uring. */
#include <tickwheel/loops/uring.h>

#include <stdio.h>
#include <string.h>

#include "story.h"

static struct io_uring ring;
static struct tw_uring timers;

/* With the runtime gone, nothing is outstanding. */
static void end(void) { tw_uring_detach(&timers); }

static void serve(void) {
    struct io_uring_cqe *done = NULL;
    while (io_uring_peek_cqe(&ring, &done) == 0) {
        void *data = io_uring_cqe_get_data(done);
        const int result = done->res;
        io_uring_cqe_seen(&ring, done);
        if (data == &timers)
            tw_uring_complete(&timers, result);
    }
}

int main(int argc, char **argv) {
    int error = io_uring_queue_init(8, &ring, 0);
    if (error != 0) {
        printf("io_uring is not available here: %s\n", strerror(-error));
        return 1;
    }
    error = tw_uring_attach(&timers, &ring, story_begin(argc, argv, end, NULL), story_failed, NULL);
    if (error != 0)
        story_refused(error);
    while (tw_uring_outstanding(&timers)) {
        io_uring_submit_and_wait(&ring, 1);
        serve();
    }
    io_uring_queue_exit(&ring);
    return story_end();
}
