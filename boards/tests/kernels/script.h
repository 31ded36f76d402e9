/* script.h - timers on a kernel, call by call: a thread of the test runs a script, which begins when the
 * timers' thread sleeps. The test counts ticks since that beginning. */
#ifndef TICKWHEEL_TESTS_KERNELS_SCRIPT_H
#define TICKWHEEL_TESTS_KERNELS_SCRIPT_H

#include "adapter.h"
#include "simulation.h"
#include "support/test.h"

enum { MOST_FIRES = 16, LENGTH = 100 };

static struct tw_kernel timers;
static struct tw_node node, other;

static struct {
    struct tw_node *node;
    int64_t after; /* ticks since `begin` */
    tw_tick overruns;
} fired[MOST_FIRES];
static unsigned fires;
static int64_t begin;

static void on_fire(struct tw_node *which, void *arg) {
    void (*const more)(void) = *(void (**)(void))arg;
    EXPECT(fires < MOST_FIRES);
    fired[fires].overruns = tw_overruns(&timers.wheel);
    fired[fires].node = which;
    fired[fires++].after = present() - begin;
    if (more != NULL)
        more();
}

/* What the nodes' callbacks do after recording the fire; null: nothing. */
static void (*on_node)(void), (*on_other)(void);

static void (*script)(void);
static bool is_deferred; /* to a thread; else callbacks run in the tick interrupt */

static void run_script(void *unused) {
    (void)unused;
    script();
}

static void set(void) {
    fires = 0;
    EXPECT(tw_kernel_init(&timers) == 0);
    EXPECT(tw_node_init(&node, on_fire, &on_node) == 0 && tw_node_init(&other, on_fire, &on_other) == 0);
    if (is_deferred)
        create(run_timers, &timers);
    create(run_script, NULL);
}

static void check(void) { EXPECT(tw_check(&timers.wheel, NULL, NULL) == 0); }

static void play_from(int64_t from, int64_t length, void (*hook)(void), void (*of_test)(void)) {
    begin = from;
    script = of_test;
    assert_int_equal(1, explore(&(struct scene){
                            .begin = from, .length = length, .hook = hook, .set = set, .check = check}));
    on_node = on_other = NULL;
}

static inline void tick_interrupt(void) { tw_kernel_tick(&timers); }

#endif
