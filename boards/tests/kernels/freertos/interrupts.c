/* Interrupts on FreeRTOS: callbacks in the tick interrupt, and the wake-ups of starts in interrupts. */
#include "script.h"

enum { BEGIN = 1000 };

static void play(bool has_task, void (*hook_of_test)(void), void (*of_test)(void)) {
    is_deferred = has_task;
    play_from(BEGIN, 100, hook_of_test, of_test);
    is_deferred = false;
}

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
TEST(p09_a_tick_with_nothing_due_leaves_the_wheel_alone) { play(false, tick_interrupt, quiet); }

static void hook_that_misses_ticks(void) {
    if (present() % 7 == 0)
        tw_freertos_tick(&timers);
}
static void ticks_missed(void) {
    EXPECT(tw_freertos_start(&timers, &node, 3) == 0 && tw_freertos_start(&timers, &other, 10) == 0);
    pass(30);
    EXPECT(fires == 2 && fired[0].after == 8 && fired[1].after == 15); /* due at 4 and 11 */
}
TEST(p04_a_hook_that_missed_ticks_catches_up) { play(false, hook_that_misses_ticks, ticks_missed); }

static void callback_in_task(struct tw_node *which, void *arg) {
    on_fire(which, arg);
    EXPECT(this_thread() == (struct thread *)timers.task);
}
static void with_task(void) {
    EXPECT(tw_node_init(&node, callback_in_task, &on_node) == 0);
    EXPECT(tw_freertos_start(&timers, &node, 5) == 0);
    pass(20);
    EXPECT(fires == 1 && fired[0].after == 6);
}
TEST(with_a_task_the_hook_calls_no_callback) { play(true, tick_interrupt, with_task); }

/* --- others ------------------------------------------------------------------------------------ */

static void wake_in_interrupts(void) {
    BaseType_t woken = pdFALSE;
    EXPECT(tw_freertos_start_from_isr(&timers, &node, 10, &woken) == 0 && woken == pdTRUE);
    pass(1);
    woken = pdFALSE;
    EXPECT(tw_freertos_start_from_isr(&timers, &other, 10, &woken) == 0 && woken == pdFALSE);
    EXPECT(tw_freertos_start_every_from_isr(&timers, &other, 5, TW_BURST, &woken) == 0 && woken == pdTRUE);
    pass(1);
    woken = pdFALSE;
    tw_freertos_wake_by_from_isr(&timers, BEGIN + 7, &woken);
    EXPECT(woken == pdFALSE);
    tw_freertos_wake_by_from_isr(&timers, BEGIN + 6, &woken);
    EXPECT(woken == pdTRUE);
    EXPECT(asked.wakes == 3 && asked.wakes_from_isr == 3);
    EXPECT(tw_freertos_stop(&timers, &other) == 1);
}
TEST(starts_in_interrupts_say_whether_the_task_should_run) { play(true, NULL, wake_in_interrupts); }

static void without_task(void) {
    BaseType_t woken = pdFALSE;
    EXPECT(tw_freertos_start_from_isr(&timers, &node, 0, &woken) == 0 && woken == pdFALSE);
    pass(1);
    EXPECT(fires == 1 && asked.wakes == 0);
}
TEST(without_a_task_starts_in_interrupts_wake_none) { play(false, tick_interrupt, without_task); }
