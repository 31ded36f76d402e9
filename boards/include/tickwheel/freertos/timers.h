/* tickwheel/freertos/timers.h - timers on FreeRTOS and ESP-IDF: a wheel in the kernel's ticks, and a task
 * that advances it.
 *
 *     static struct tw_freertos timers;
 *     static struct tw_node retry;
 *     static StackType_t stack[256];
 *     static StaticTask_t task;
 *     int main(void) {
 *         tw_freertos_init(&timers);
 *         tw_node_init(&retry, on_retry, &modem);
 *         tw_freertos_start(&timers, &retry, TW_FREERTOS_MS(30));  // or later, in tasks
 *         xTaskCreateStatic(tw_freertos_run, "timers", 256, &timers, configMAX_PRIORITIES - 1, stack, &task);
 *         vTaskStartScheduler();                                   // the task calls on_retry
 *     }
 *
 * The task sleeps until the tick that tw_next names. Starting a timer wakes the task only if that timer is
 * due earlier. Stopping does not wake the task: the task wakes once more at the tick of a stopped timer,
 * finds nothing due and goes on sleeping. Any task may drive the timers, on either core of an ESP32.
 *
 * Give the task a priority that no other task has, the highest where lateness matters; docs/PORTING.md says
 * why. The task's notification of index 0 belongs to the timers: if a callback waits for it, a start may wake
 * the callback.
 *
 * Without a task the tick interrupt can do the same: vApplicationTickHook calls tw_freertos_tick. This
 * excludes tickless idle, whose hook misses ticks, and ESP-IDF, whose hook runs on both cores, even while
 * flash cannot be read.
 *
 * A tick of the wheel is a tick of the kernel (configTICK_RATE_HZ of them are a second). The library must
 * have TW_ENGINE=tree32, and TickType_t 32 bits, so that both wrap together. The task also wakes once in 2^29
 * ticks with nothing to do.
 *
 * Conventions are those of tw.h, and:
 *   Arguments  `timers` are the timers that the call is about. If `woken` is not null, the call sets it to
 *              pdTRUE if the task should run when the interrupt ends; see portYIELD_FROM_ISR.
 *   Callbacks  Run in the task, at its priority, one after the other; tasks and interrupts of a higher
 *              priority delay them. Without a task callbacks run in the tick interrupt, and must use the
 *              kernel's ...FromISR functions.
 *   Wheel      All of tw.h may be called on `timers->wheel` except tw_init, tw_advance and tw_update. After
 *              arming there, call tw_freertos_wake_by.
 *   Interrupts May call tw_freertos_stop, and the functions that end with from_isr, which only interrupts
 *              call; interrupts above configMAX_SYSCALL_INTERRUPT_PRIORITY must call none.
 *   Clock      A delay counts from the end of the tick that xTaskGetTickCount() shows, so no timer is early.
 *              If that count is behind, because the tick interrupt is held back (masked, or served after the
 *              present interrupt) or the scheduler is suspended, a timer may be early by as much.
 *   -EINVAL    also: timers is null */
#ifndef TICKWHEEL_FREERTOS_TIMERS_H
#define TICKWHEEL_FREERTOS_TIMERS_H

#include <stdint.h>

#include <tickwheel/freertos/kernel.h>
#include <tickwheel/tw.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Milliseconds in ticks, rounded up, so that a timer is not early. (pdMS_TO_TICKS rounds down.) */
#define TW_FREERTOS_MS(ms) ((TickType_t)(((uint64_t)(ms)*configTICK_RATE_HZ + 999u) / 1000u))

/* The longest delay and period, in ticks: 2^30. */
#define TW_FREERTOS_LONGEST (TW_NEVER / 4u + 1u)

/* Timers, in the caller's storage. All fields but `wheel` are private.
 *
 * How a turn, of the task or in the tick interrupt, and a start agree on waking:
 *
 *     a turn at tick `now`                          a start, in a task or an interrupt
 *     T1  sleeps_until = now                        S1  due = tick count + delay + 1
 *     T2  advances the wheel to now                 S2  arms the node at due
 *     T3  sleeps_until = now + the longest sleep    S3  wakes, if due is before sleeps_until
 *     T4  sleeps_until = the tick of tw_next, if that is earlier
 *     T5  sleeps until that tick, or woken
 *
 * To wake is to notify the task. Without a task, to wake is to set is_woken, and to sleep is to return at
 * once from each tick interrupt before sleeps_until, unless is_woken is set.
 *
 * Invariants
 *   K1  Only turns write sleeps_until, and there is one at a time.
 *   K2  During T5, each pending node is due at sleeps_until or later, or a wake ends the sleep, or a start
 *       of that node has not finished S3.
 *   K3  Compared ticks are less than 2^31 apart: a sleep is 2^29 ticks at most, a delay 2^30, and a turn may
 *       be late by the rest.
 *   K4  S2 and tw_next take the wheel's lock. No access to sleeps_until moves across the lock, so K1 to K3
 *       hold on several cores too.
 *
 * K2 holds: if S2 comes before the tw_next of T4, that tw_next knows the node. Otherwise S3 compares with the
 * value that T3 or T4 wrote, which is not before the end of the sleep, or with the value of a later turn,
 * whose tw_next knows the node. A wake between T1 and T5 ends the sleep at once. Between T1 and T3 no start
 * wakes the task, because no node is due before now; T4, which follows, knows the node. */
struct tw_freertos {
    struct tw wheel;
    TaskHandle_t volatile task; /* takes turns; NULL: the tick interrupt does */
    TickType_t volatile sleeps_until;
    uint8_t volatile is_woken; /* without a task: a start has asked for a turn */
};

/* Initialises `timers`, with none pending, and returns 0. Call it before all other functions. */
int tw_freertos_init(struct tw_freertos *timers);

/* The function of the task, for xTaskCreate and xTaskCreateStatic; a task may also call it. It takes turns
 * and sleeps between them, and never returns. The task's stack also carries the callbacks. */
void tw_freertos_run(void *timers);

/* Takes one turn, for a task that waits for other things too: calls the callbacks that are due, and returns
 * how many ticks the task may sleep. The task must wait for its notification no longer than that, with
 * ulTaskNotifyTake or xTaskNotifyWait, and then take the next turn. One task takes all turns. */
TW_MUST_CHECK TickType_t tw_freertos_turn(struct tw_freertos *timers);

#if configUSE_TICKLESS_IDLE == 0 && !defined(ESP_PLATFORM)
/* Takes a turn if there is something to do; call it in vApplicationTickHook if there is no task. With nothing
 * due it compares two ticks and returns. It catches up after ticks at which the hook did not call it. */
void tw_freertos_tick(struct tw_freertos *timers);
#endif

/* Starts a one-shot timer: its node is due when at least `delay` ticks have passed. A node that is pending
 * starts again. Wakes the task if it would sleep for longer. Returns 0.
 *   -EPERM   the node is retired
 *   -ERANGE  the delay is longer than TW_FREERTOS_LONGEST */
int tw_freertos_start(struct tw_freertos *timers, struct tw_node *node, TickType_t delay);

/* tw_freertos_start for interrupts. Returns 0.
 *   -EPERM   the node is retired
 *   -ERANGE  the delay is longer than TW_FREERTOS_LONGEST
 *   -EAGAIN  with configUSE_TICKLESS_IDLE: the scheduler is suspended, as it is in the interrupt that ends a
 *            sleep, before the kernel has counted the ticks of that sleep. Have a task start the timer */
int tw_freertos_start_from_isr(struct tw_freertos *timers, struct tw_node *node, TickType_t delay,
                               BaseType_t *woken);

/* Starts a periodic timer: its node is due first when at least `period` ticks have passed, and then every
 * `period` ticks, without drift. `missed` says what becomes of missed fires. Otherwise as
 * tw_freertos_start. Returns 0.
 *   -EINVAL  also: the period is 0, or `missed` is unknown
 *   -EPERM   the node is retired
 *   -ERANGE  the period is longer than TW_FREERTOS_LONGEST */
int tw_freertos_start_every(struct tw_freertos *timers, struct tw_node *node, TickType_t period,
                            enum tw_missed missed);

/* tw_freertos_start_every for interrupts, with the same `period` and `missed`. Returns 0.
 *   -EINVAL  also: the period is 0, or `missed` is unknown
 *   -EPERM   the node is retired
 *   -ERANGE  the period is longer than TW_FREERTOS_LONGEST
 *   -EAGAIN  with configUSE_TICKLESS_IDLE: the scheduler is suspended; see tw_freertos_start_from_isr */
int tw_freertos_start_every_from_isr(struct tw_freertos *timers, struct tw_node *node, TickType_t period,
                                     enum tw_missed missed, BaseType_t *woken);

/* Stops a timer, as tw_cancel does on its wheel. Returns 1 if this prevented a fire, else 0; the callback may
 * be running in the task. tw_wait on the wheel waits for that, in tasks. */
int tw_freertos_stop(struct tw_freertos *timers, struct tw_node *node);

/* Wakes the task if it would sleep beyond `tick`. Call this after a function of tw.h has armed or moved a
 * node on `timers->wheel`, with the first tick at which the node may fire: for at least d ticks from now,
 * xTaskGetTickCount() + d + 1. */
void tw_freertos_wake_by(struct tw_freertos *timers, TickType_t tick);

/* tw_freertos_wake_by for interrupts, with the same `tick`. */
void tw_freertos_wake_by_from_isr(struct tw_freertos *timers, TickType_t tick, BaseType_t *woken);

#ifdef __cplusplus
}
#endif

#endif
