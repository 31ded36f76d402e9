/* looked_at: a program for tickwheel-top and gdb to look at. It prints a line when all timers are as the
 * tests expect them, and then waits for the end of its standard input.
 * looked_at trace: records timers of all kinds, and writes the recording to the standard output. The start
 * and the end of the run, by CLOCK_MONOTONIC in nanoseconds, go to the standard error. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <tickwheel/inspect.h>
#include <tickwheel/observe.h>
#include <tickwheel/timers.h>
#include <tickwheel/trace.h>
#include <tickwheel/workers.h>

#define MS TW_MILLISECOND

static void need(bool is_true) {
    if (!is_true)
        abort();
}

/* --- to look at ---------------------------------------------------------------------------- */

struct tw_runtime *the_runtime;
struct tw_node far, idle, often;
struct tw_timers *handles;
tw_handle a_handle;
static _Atomic int fires;

void on_timeout(struct tw_node *node, void *arg);
void on_timeout(struct tw_node *node, void *arg) {
    (void)node;
    (void)arg;
    ++fires;
}

static void on_event(const struct tw_event *event, void *arg) {
    (void)event;
    (void)arg;
}

/* Where a debugger stops the program. */
void all_is_there(void);
__attribute__((noinline)) void all_is_there(void) { __asm__ volatile("" ::: "memory"); }

/* Gets a lane of its own, because the main thread has made a set before. */
static void *make_set_in_another_lane(void *arg) {
    need(tw_timers_new(&handles, the_runtime, &(struct tw_set_options){.label = "session", .capacity = 4}) ==
         0);
    return arg;
}

static int be_looked_at(void) {
    need(tw_runtime_new(&the_runtime, &(struct tw_runtime_options){.thread_name = "looked at"}) == 0);
    need(tw_runtime_start(the_runtime) == 0 && tw_inspect_start(the_runtime, NULL) == 0);
    need(tw_timers_new(&handles, the_runtime, &(struct tw_set_options){.capacity = 1}) == 0);
    need(tw_timers_free(handles) == 0);
    pthread_t thread;
    need(pthread_create(&thread, NULL, make_set_in_another_lane, NULL) == 0 &&
         pthread_join(thread, NULL) == 0);
    tw_node_init(&far, on_timeout, NULL);
    tw_node_init(&idle, on_timeout, NULL);
    tw_node_init(&often, on_timeout, NULL);
    need(tw_runtime_label(the_runtime, &far, "far \033[31m away") == 0);
    need(tw_runtime_label(the_runtime, &often, "often") == 0);
    need(tw_runtime_after(the_runtime, &far, 5000 * TW_SECOND) == 0);
    need(tw_runtime_every(the_runtime, &often, 10 * MS, TW_COALESCE) == 0);
    need(tw_timer_after(handles, &a_handle, 4000 * TW_SECOND, on_event, NULL) == 0);
    while (fires < 5)
        usleep(1000);
    all_is_there();
    printf("%d\n", getpid());
    fflush(stdout);
    for (char byte; read(STDIN_FILENO, &byte, 1) == 1;) {
    }
    return tw_runtime_free(the_runtime);
}

/* --- a recording ---------------------------------------------------------------------------- */

static atomic_int fired, ran, handled;

static long long now(void) {
    struct timespec reading;
    clock_gettime(CLOCK_MONOTONIC, &reading);
    return reading.tv_sec * 1000000000LL + reading.tv_nsec;
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

static int record(void) {
    struct tw_runtime *rt = NULL;
    struct tw_workers *workers = NULL;
    struct tw_node node;
    struct tw_work item;
    tw_handle handle;
    need(tw_runtime_new(&rt, &(struct tw_runtime_options){.thread_name = "fires \"here\""}) == 0);
    need(tw_workers_new(&workers, rt, &(struct tw_workers_options){.threads = 2}) == 0);
    need(tw_timers_new(&handles, rt, NULL) == 0);
    need(tw_runtime_start(rt) == 0);
    fprintf(stderr, "%lld\n", now());
    need(tw_trace_start(rt, 10000) == 0);
    tw_node_init(&node, busy, NULL);
    need(tw_runtime_label(rt, &node, "say \"hi\"\n\\ \xc3\xa9 \xff\x01") == 0);
    need(tw_work_init(&item, workers, on_worker, NULL, TW_CONCURRENT) == 0);
    need(tw_runtime_label(rt, &item.node, "on a worker") == 0);
    need(tw_runtime_every(rt, &node, 3 * MS, TW_BURST) == 0);
    need(tw_runtime_every(rt, &item.node, 3 * MS, TW_BURST) == 0);
    need(tw_timer_every(handles, &handle, MS, TW_BURST, public_callback, NULL) == 0);
    while (fired < 20 || ran < 20 || handled < 20)
        pause_ms(1);
    tw_runtime_stop(rt); /* nor does anything run on the workers any more */
    need(tw_trace_start(rt, 0) == 0);
    const long long end = now();
    pause_ms(2);
    need(tw_trace_write(rt, print, stdout) > 0);
    fprintf(stderr, "%lld %p %#llx %d %d %d\n", end, (void *)&node, (unsigned long long)handle, (int)fired,
            (int)ran, (int)handled);
    tw_runtime_free(rt);
    return 0;
}

int main(int argc, char **argv) {
    (void)argv;
    return argc > 1 ? record() : be_looked_at();
}
