/* Interrupts on FreeRTOS: callbacks in that of the tick, and what a start in one tells the kernel. */
#include "adapter.h"
#include "simulation.h"
#include "support/test.h"

enum { BEGIN = 1000 };

static struct tw_freertos timers;
static struct tw_node node, other;
static unsigned fires;
static int64_t fired_at[2];

static void on_fire(struct tw_node *which, void *arg) {
    (void)which, (void)arg;
    EXPECT(fires < COUNT_OF(fired_at));
    fired_at[fires++] = present();
}

static void (*script)(void);
static bool has_task;

static void run_script(void *unused) {
    (void)unused;
    script();
}

static void set(void) {
    fires = 0;
    EXPECT(tw_freertos_init(&timers) == 0);
    EXPECT(tw_node_init(&node, on_fire, NULL) == 0 && tw_node_init(&other, on_fire, NULL) == 0);
    if (has_task)
        create(tw_freertos_run, &timers);
    create(run_script, NULL);
}

static void check(void) { EXPECT(tw_check(&timers.wheel, NULL, NULL) == 0); }

static void play(void (*hook)(void), void (*of_test)(void)) {
    script = of_test;
    assert_int_equal(
        1, explore(&(struct scene){.begin = BEGIN, .length = 100, .hook = hook, .set = set, .check = check}));
}

static void hook(void) { tw_freertos_tick(&timers); }

/* --- the tick interrupt ------------------------------------------------------------------------ */

static void quiet(void) {
    EXPECT(tw_freertos_start(&timers, &node, 50) == 0);
    pass(1);
    const unsigned before = asked.locks;
    pass(49);
    EXPECT(asked.locks == before);
    pass(1);
    EXPECT(fires == 1 && asked.locks != before);
}
TEST(p09_a_tick_with_nothing_due_leaves_the_wheel_alone) {
    has_task = false;
    play(hook, quiet);
}

static void hook_that_misses_ticks(void) {
    if (present() % 7 == 0)
        tw_freertos_tick(&timers);
}
static void ticks_missed(void) {
    EXPECT(tw_freertos_start(&timers, &node, 3) == 0 && tw_freertos_start(&timers, &other, 10) == 0);
    pass(30);
    EXPECT(fires == 2 && fired_at[0] == 1008 && fired_at[1] == 1015); /* due at 1004 and 1011 */
}
TEST(p04_a_hook_that_missed_ticks_catches_up) {
    has_task = false;
    play(hook_that_misses_ticks, ticks_missed);
}

static void callback_in_task(struct tw_node *which, void *arg) {
    on_fire(which, arg);
    EXPECT(this_thread() == (struct thread *)timers.task);
}
static void with_task(void) {
    EXPECT(tw_node_init(&node, callback_in_task, NULL) == 0);
    EXPECT(tw_freertos_start(&timers, &node, 5) == 0);
    pass(20);
    EXPECT(fires == 1 && fired_at[0] == BEGIN + 6);
}
TEST(with_a_task_the_hook_calls_no_callback) {
    has_task = true;
    play(hook, with_task);
}

/* --- others ------------------------------------------------------------------------------------ */

static void wake_in_interrupts(void) {
    BaseType_t woken = pdFALSE;
    EXPECT(tw_freertos_start_from_isr(&timers, &node, 10, &woken) == 0 && woken == pdTRUE);
    pass(1);
    woken = pdFALSE;
    EXPECT(tw_freertos_start_from_isr(&timers, &other, 10, &woken) == 0 && woken == pdFALSE);
    EXPECT(tw_freertos_start_every_from_isr(&timers, &other, 5, TW_BURST, &woken) == 1 && woken == pdTRUE);
    pass(1);
    woken = pdFALSE;
    tw_freertos_wake_by_from_isr(&timers, BEGIN + 7, &woken);
    EXPECT(woken == pdFALSE);
    tw_freertos_wake_by_from_isr(&timers, BEGIN + 6, &woken);
    EXPECT(woken == pdTRUE);
    EXPECT(asked.wakes == 3 && asked.wakes_from_isr == 3);
    EXPECT(tw_freertos_stop(&timers, &other) == 1);
}
TEST(starts_in_interrupts_say_whether_the_task_should_run) {
    has_task = true;
    play(NULL, wake_in_interrupts);
}

static void without_task(void) {
    BaseType_t woken = pdFALSE;
    EXPECT(tw_freertos_start_from_isr(&timers, &node, 0, &woken) == 0 && woken == pdFALSE);
    pass(1);
    EXPECT(fires == 1 && asked.wakes == 0);
}
TEST(without_a_task_starts_in_interrupts_wake_none) {
    has_task = false;
    play(hook, without_task);
}
