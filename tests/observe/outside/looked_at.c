/* looked_at: a program for others to look at: tickwheel-top, and gdb. It prints a line when all is as these
 * are told to find it, and then waits for the end of its standard input. With an argument it ends itself by
 * abort() then, for its core. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <tickwheel/handle.h>
#include <tickwheel/inspect.h>
#include <tickwheel/observe.h>

struct tw_runtime *the_runtime;
struct tw_node far, idle, often, window;
struct tw_handles *handles;
tw_handle a_handle;
static _Atomic int fires;

static void need(bool is_true) {
    if (!is_true)
        abort();
}

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

/* Where a debugger stops it. */
void all_is_there(void);
__attribute__((noinline)) void all_is_there(void) { __asm__ volatile("" ::: "memory"); }

int main(int argc, char **argv) {
    (void)argv;
    need(tw_runtime_new(&the_runtime, &(struct tw_runtime_options){.thread_name = "looked at"}) == 0);
    need(tw_runtime_start(the_runtime) == 0 && tw_inspect_start(the_runtime, NULL) == 0);
    need(tw_handles_new(&handles, the_runtime, &(struct tw_handles_options){.label = "session"}) == 0);
    tw_node_init(&far, on_timeout, NULL);
    tw_node_init(&idle, on_timeout, NULL);
    tw_node_init(&often, on_timeout, NULL);
    tw_node_init(&window, on_timeout, NULL);
    need(tw_runtime_label(the_runtime, &far, "far \033[31m away") == 0);
    need(tw_runtime_label(the_runtime, &often, "often") == 0);
    need(tw_runtime_after(the_runtime, &far, 5000 * TW_SECOND) == 0);
    need(tw_runtime_every(the_runtime, &often, 10 * TW_MILLISECOND, TW_SKIP) == 0);
    need(tw_handle_after(handles, &a_handle, 4000 * TW_SECOND, on_event, NULL) == 0);
    while (fires < 5)
        usleep(1000);
    all_is_there();
    printf("%d\n", getpid());
    fflush(stdout);
    for (char byte; read(STDIN_FILENO, &byte, 1) == 1;) {
    }
    if (argc > 1)
        abort();
    return tw_runtime_free(the_runtime);
}
