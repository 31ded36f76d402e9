/* trace_program: records timers of all kinds, and writes the recording to the standard output. The begin
 * and the end of the run, by CLOCK_MONOTONIC in nanoseconds, go to the standard error. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tickwheel/handle.h>
#include <tickwheel/trace.h>
#include <tickwheel/workers.h>

#define MS TW_MILLISECOND

static atomic_int fired, ran, handled;

static long long now(void) {
    struct timespec it;
    clock_gettime(CLOCK_MONOTONIC, &it);
    return it.tv_sec * 1000000000LL + it.tv_nsec;
}

static void need(bool is_true) {
    if (!is_true)
        abort();
}

static void pause_ms(long ms) { nanosleep(&(struct timespec){0, ms * 1000000}, NULL); }

static void busy(struct tw_node *node, void *arg) {
    (void)node;
    (void)arg;
    for (const long long until = now() + 500000; now() < until;) {
    }
    ++fired;
}

static void on_worker(struct tw_node *node, void *arg) {
    (void)node;
    (void)arg;
    pause_ms(2);
    ++ran;
}

void public_callback(const struct tw_event *event, void *arg);
void public_callback(const struct tw_event *event, void *arg) {
    (void)event;
    (void)arg;
    ++handled;
}

static void print(const char *text, size_t size, void *file) { need(fwrite(text, 1, size, file) == size); }

int main(void) {
    struct tw_runtime *rt = NULL;
    struct tw_workers *workers = NULL;
    struct tw_handles *handles = NULL;
    struct tw_node node;
    struct tw_job job;
    tw_handle handle;
    need(tw_runtime_new(&rt, &(struct tw_runtime_options){.thread_name = "fires \"here\""}) == 0);
    need(tw_workers_new(&workers, rt, &(struct tw_workers_options){.threads = 2}) == 0);
    need(tw_handles_new(&handles, rt, NULL) == 0);
    need(tw_runtime_start(rt) == 0);
    fprintf(stderr, "%lld\n", now());
    need(tw_trace_start(rt, 10000) == 0);
    tw_node_init(&node, busy, NULL);
    need(tw_runtime_label(rt, &node, "say \"hi\"\n\\ \xc3\xa9 \xff\x01") == 0);
    need(tw_job_init(&job, workers, on_worker, NULL, TW_CONCURRENT) == 0);
    need(tw_runtime_label(rt, &job.node, "on a worker") == 0);
    need(tw_runtime_every(rt, &node, 3 * MS, TW_BURST) == 0);
    need(tw_runtime_every(rt, &job.node, 3 * MS, TW_BURST) == 0);
    need(tw_handle_every(handles, &handle, MS, TW_BURST, public_callback, NULL) == 0);
    while (fired < 20 || ran < 20 || handled < 20)
        pause_ms(1);
    tw_runtime_stop(rt); /* and nothing runs on the workers, either */
    need(tw_trace_stop(rt) == 0);
    const long long end = now();
    pause_ms(2);
    need(tw_trace_write(rt, print, stdout) > 0);
    fprintf(stderr, "%lld %p %#llx %d %d %d\n", end, (void *)&node, (unsigned long long)handle, (int)fired,
            (int)ran, (int)handled);
    tw_runtime_free(rt);
    return 0;
}
