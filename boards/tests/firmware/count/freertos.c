/* Counts the instructions that calls of timers on FreeRTOS take, without the kernel's own, which read the
 * tick count and mask interrupts: one line each, the least and the most seen. */
#include <stopwatch.h>

#include <tickwheel/freertos/timers.h>

#include "../expect.h"
#include "counting.h"
#include "support/random.h"

#include <stdbool.h>

enum { OTHERS = 100, SOON = 20, LATE = 20000, SAMPLES = 200 };

static struct tw_freertos timers;
static struct tw_node others[OTHERS], timer;
static StackType_t stack[16];
static StaticTask_t task;

static void nothing(struct tw_node *node, void *arg) { (void)node, (void)arg; }

static TickType_t some(TickType_t from, TickType_t to) {
    static uint64_t seed = 1;
    return from + (TickType_t)random_below(&seed, to - from);
}

/* ---- The calls. `w` is &timers.wheel, with which `timers` begins. */

static int start(struct tw *w, struct tw_node *n, tw_tick delay) {
    return tw_freertos_start((struct tw_freertos *)w, n, delay);
}

static int start_in_interrupt(struct tw *w, struct tw_node *n, tw_tick delay) {
    return tw_freertos_start_from_isr((struct tw_freertos *)w, n, delay, NULL);
}

static int stop(struct tw *w, struct tw_node *n) { return tw_freertos_stop((struct tw_freertos *)w, n); }

static int hook(struct tw *w) {
    tw_freertos_tick((struct tw_freertos *)w);
    return 0;
}

/* ---- The kernel's part of them. */

static tw_tick read_ticks(struct tw *w) {
    (void)w;
    return xTaskGetTickCount();
}

static int mask_and_restore(struct tw *w) {
    (void)w;
    taskEXIT_CRITICAL_FROM_ISR(taskENTER_CRITICAL_FROM_ISR());
    return 0;
}

static struct figure ticks, masking;

static void count_kernel(void) {
    ticks = masking = figure_none();
    count_asking(&ticks, read_ticks, NULL);
    count_of_wheel(&masking, mask_and_restore, NULL);
}

static void print_beside(const char *what, const struct figure *f, unsigned kernel) {
    print_figure(what, &(struct figure){f->least - kernel, f->most - kernel});
}

/* ---- Figures. */

/* Starts timers, one of them due soon and all others late, and takes the first turn. */
static void begin(void) {
    EXPECT(tw_freertos_init(&timers) == 0);
    EXPECT(tw_node_init(&timer, nothing, NULL) == 0);
    for (unsigned i = 0; i < OTHERS; ++i) {
        EXPECT(tw_node_init(&others[i], nothing, NULL) == 0);
        EXPECT(tw_freertos_start(&timers, &others[i], i == 0 ? SOON : some(LATE, 2 * LATE)) == 0);
    }
    (void)xTaskIncrementTick();
    tw_freertos_tick(&timers);
}

static void count_starts(const char *what, arming *call, TickType_t from, TickType_t to, bool wakes) {
    struct figure f = figure_none();
    for (unsigned i = 0; i < SAMPLES; ++i) {
        count_arming(&f, call, &timers.wheel, &timer, some(from, to));
        EXPECT(tw_pending(&timers.wheel, &timer) && timers.is_woken == wakes);
        timers.is_woken = 0;
        EXPECT(tw_cancel(&timers.wheel, &timer) == 1);
    }
    print_beside(what, &f, ticks.least + masking.least);
}

static void count_restarts_and_stops(void) {
    struct figure again = figure_none(), stopped = figure_none();
    for (unsigned i = 0; i < SAMPLES; ++i) {
        EXPECT(tw_freertos_start(&timers, &timer, some(SOON, LATE)) == 0);
        count_arming(&again, start, &timers.wheel, &timer, some(SOON, LATE));
        count_of_node(&stopped, stop, &timers.wheel, &timer);
        EXPECT(!tw_pending(&timers.wheel, &timer) && !timers.is_woken);
    }
    print_beside("start again, not earlier", &again, ticks.least + masking.least);
    print_beside("stop", &stopped, masking.least);
}

static void count_ticks(void) {
    struct figure quiet = figure_none();
    while (tw_pending(&timers.wheel, &others[0])) {
        (void)xTaskIncrementTick();
        if ((int32_t)(xTaskGetTickCount() - timers.sleeps_until) < 0)
            count_of_wheel(&quiet, hook, &timers.wheel);
        else
            tw_freertos_tick(&timers);
    }
    print_beside("tick hook, nothing due", &quiet, ticks.least);
}

int main(void) {
    counting_start();
    count_kernel();
    begin();
    count_starts("start, not earlier", start, SOON, LATE, false);
    count_starts("start in an interrupt, not earlier", start_in_interrupt, SOON, LATE, false);
    count_starts("start, earlier, for the hook", start, 0, SOON - 5, true);
    count_restarts_and_stops();
    count_ticks();
    timers.task = xTaskCreateStatic(tw_freertos_run, "timers", 16, &timers, 1, stack, &task);
    count_starts("start, not earlier, with a task", start, 2 * LATE, 3 * LATE, false);
    return 0;
}
