/* handler ADDRESS [SCHEMA]: a process for tickwheel-jobs to look at. It handles jobs of the kinds
 *
 *   slow   its handlers run until the standard input is closed
 *   bad    fails at its first try
 *   held   nothing, but claims those that are due within a minute
 *
 * Its name, and the reason of the failure, would clear a terminal that they reach. It prints a line when it
 * is ready. */
#include <stdio.h>
#include <stdlib.h>
#include <tickwheel/durable.h>
#include <unistd.h>

#define CLEAR "\033[2J"

static int end[2]; /* a pipe: closed for all handlers at once */

static void must(int64_t result) {
    if (result >= 0)
        return;
    fprintf(stderr, "%s\n", tw_durable_explain((int)result));
    exit(1);
}

static enum tw_durable_answer on_slow(struct tw_durable_fire *fire, void *arg) {
    char byte;
    (void)fire, (void)arg;
    while (read(end[0], &byte, 1) > 0)
        ;
    return TW_DURABLE_DONE;
}

static enum tw_durable_answer on_bad(struct tw_durable_fire *fire, void *arg) {
    (void)arg;
    return tw_durable_failed(fire, "no " CLEAR "paper");
}

int main(int argc, char **argv) {
    struct tw_durable_options options = {.name = "host" CLEAR " 17", .horizon_ns = 60 * TW_SECOND};
    struct tw_durable_retries once = {.attempts = 1};
    struct tw_durable *jobs;
    struct tw_runtime *rt;
    char byte;
    if (argc < 2 || pipe(end) != 0 || tw_runtime_new(&rt, NULL) != 0 || tw_runtime_start(rt) != 0)
        return 1;
    options.schema = argc > 2 ? argv[2] : NULL;
    must(tw_durable_open(&jobs, rt, argv[1], &options));
    must(tw_durable_handle(jobs, "slow", on_slow, NULL, NULL));
    must(tw_durable_handle(jobs, "held", on_slow, NULL, NULL));
    must(tw_durable_handle(jobs, "bad", on_bad, NULL, &once));
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    close(end[1]);
    tw_durable_close(jobs);
    tw_runtime_free(rt);
    return 0;
}
