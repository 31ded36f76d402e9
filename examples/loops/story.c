/* A heartbeat, a timeout that each beat puts off, one that is cancelled in time, a timer that another thread
 * arms while the loop sleeps, and ten timers at once where a dispatch may run four. The output does not
 * depend on how long anything takes: timers fire in the order of their deadlines, however late (P3).
 *
 * With an argument, for the tests, something else happens as well:
 *   inside   the second beat runs the loop, and so holds up the beats after it
 *   free     the last callback frees the runtime
 *   fail     the descriptor cannot be programmed any more after the last beat
 *   refuse   the runtime has no descriptor to lend */
#include "story.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tickwheel/observe.h>

enum { BEATS = 5, CROWD = 10, BUDGET = 4 };

static struct tw_runtime *rt;
static struct tw_node heartbeat, session, reply, from_thread, in_an_hour, crowd[CROWD];
static const char *trouble = "";
static void (*end_loop)(void), (*run_inside)(void);
static int beats;
static uint64_t dispatches; /* until the crowd was armed */
static pthread_t thread;
static bool over;

static bool with(const char *argument) { return strcmp(trouble, argument) == 0; }

/* --- the end ------------------------------------------------------------------------ */

static void finish(void) {
    over = true;
    printf("%zu timer left\n", tw_runtime_count(rt));
    end_loop();
    if (with("free")) {
        tw_runtime_free(rt);
        rt = NULL;
    }
}

static uint64_t dispatches_so_far(void) {
    struct tw_stats stats;
    tw_runtime_stats(rt, &stats);
    return stats.wakeups;
}

static void on_crowd(struct tw_node *node, void *arg) {
    (void)arg;
    printf(" %d", (int)(node - crowd));
    if (node != &crowd[CROWD - 1])
        return;
    printf(dispatches_so_far() > dispatches ? ", in more than one dispatch\n" : ", in one dispatch\n");
    finish();
}

/* --- another thread ----------------------------------------------------------------- */

static void on_from_thread(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    pthread_join(thread, NULL);
    printf("armed by another thread\nten at once:");
    dispatches = dispatches_so_far();
    for (int i = 0; i < CROWD; ++i)
        tw_runtime_after(rt, &crowd[i], 0);
}

/* The loop has gone to sleep for an hour by now, unless the system is very busy. */
static void *arm_from_thread(void *arg) {
    nanosleep(&(struct timespec){.tv_nsec = 20 * TW_MILLISECOND}, NULL);
    tw_runtime_after(rt, &from_thread, 0);
    return arg;
}

/* --- the heartbeat and its timeout -------------------------------------------------- */

static void run_loop_inside(void) {
    printf("the loop runs inside a callback\n");
    run_inside();
    printf("and returns\n");
}

static void on_beat(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    printf("beat %d\n", ++beats);
    tw_runtime_postpone(rt, &session, 25 * TW_MILLISECOND);
    if (beats == 1 && tw_runtime_cancel(rt, &reply) == 1)
        printf("the reply came in time\n");
    if (beats == 2 && with("inside"))
        run_loop_inside();
}

static void on_no_reply(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    printf("no reply\n");
}

static void on_session_over(struct tw_node *node, void *arg) {
    (void)node, (void)arg;
    printf("the session timed out\n");
    pthread_create(&thread, NULL, arm_from_thread, NULL);
}

static void arm_first(void) {
    const struct tw_when five_times = {
        .due_ns = 10 * TW_MILLISECOND, .period_ns = 10 * TW_MILLISECOND, .fires = BEATS};
    tw_node_init(&heartbeat, on_beat, NULL);
    tw_node_init(&session, on_session_over, NULL);
    tw_node_init(&reply, on_no_reply, NULL);
    tw_node_init(&from_thread, on_from_thread, NULL);
    tw_node_init(&in_an_hour, on_no_reply, NULL);
    for (int i = 0; i < CROWD; ++i)
        tw_node_init(&crowd[i], on_crowd, NULL);
    tw_runtime_arm(rt, &heartbeat, &five_times);
    tw_runtime_after(rt, &reply, 15 * TW_MILLISECOND);
    tw_runtime_after(rt, &session, 25 * TW_MILLISECOND);
    tw_runtime_after(rt, &in_an_hour, 3600 * TW_SECOND);
}

/* --- the runtime -------------------------------------------------------------------- */

static int program_fails(void *state, const struct tw_deadlines *until) {
    const bool fails = until != NULL && beats == BEATS;
    return fails ? -EIO : tw_driver_named("timerfd")->program(state, until);
}

struct tw_runtime *story_begin(int argc, char **argv, void (*end)(void), void (*inside)(void)) {
    static struct tw_driver failing;
    struct tw_runtime_options options = {.driver = "timerfd", .budget = BUDGET};
    trouble = argc > 1 ? argv[1] : "";
    end_loop = end;
    run_inside = inside;
    if (with("refuse"))
        options.driver = "sleep";
    if (with("fail")) {
        failing = *tw_driver_named("timerfd");
        failing.program = program_fails;
        options.driver = NULL;
        options.own_driver = &failing;
    }
    int error = tw_runtime_new(&rt, &options);
    if (error != 0) {
        fprintf(stderr, "no timers: %s\n", tw_explain(error));
        exit(1);
    }
    arm_first();
    return rt;
}

void story_failed(int error, void *arg) {
    (void)arg;
    printf("dispatch failed: %s\n", strerror(-error));
    over = with("fail");
    end_loop();
}

void story_refused(int error) {
    printf("not attached: %s\n", strerror(-error));
    over = with("refuse");
}

int story_end(void) {
    /* After a failure, the descriptor still exists for another loop. */
    if (trouble[0] == '\0' && tw_runtime_dispatch(rt) != 0)
        over = false;
    tw_runtime_free(rt);
    printf("%s\n", over ? "the end" : "the loop ended early");
    return over ? 0 : 1;
}
